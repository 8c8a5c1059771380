// What processes that this one starts inherit.

/** Variables that they inherit. They contain no secrets and no database addresses. */
const inherited =
  /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_.*|TZ|NODE_OPTIONS|LD_LIBRARY_PATH|SYSTEMROOT|(?:TS_NODE|TAP|_?TAPJS)_.*)$/i

/** The variables of this process that are no secrets. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => inherited.test(name))
  return Object.fromEntries(names.map((name) => [name, process.env[name]]))
}

/** Options that name what to run instead of a file. Their values are arguments of their own. */
const programs = new Set(['-e', '--eval', '-p', '-pe', '--print'])

/**
 * The options of Node.js of this process, without those of a debugger, which listens on a port that is in use, and without
 * a program, which would run instead of that of the new process.
 */
export const childExecArgv = (own: readonly string[] = process.execArgv): string[] =>
  own.filter(
    (argument, index) =>
      !argument.startsWith('--inspect') && !programs.has(argument) && !programs.has(own[index - 1] ?? ''),
  )
