// Processes that this one starts with `fork`: their program, and what they inherit.
import { fileURLToPath } from 'node:url'

/** Variables that they inherit. They contain no secrets and no database addresses. */
const inherited =
  /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_.*|TZ|NODE_OPTIONS|LD_LIBRARY_PATH|SYSTEMROOT|(?:TS_NODE|TAP|_?TAPJS)_.*)$/i

/** The variables of this process that are no secrets. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => inherited.test(name))
  return Object.fromEntries(names.map((name) => [name, process.env[name]]))
}

/** Options with a debugger, which would listen on a port that is in use, or with a text to run instead of a file. */
const own = /^--(?:inspect|eval=|print=)/
/** Options with a text to run in the next argument. */
const ownWithText = /^(?:-e|-pe?|--eval|--print)$/

/** The options of Node.js of this process that a child inherits. `fork` leaves out a text to run only from its default. */
export const childExecArgv = (options: readonly string[] = process.execArgv): string[] =>
  options.filter(
    (option, index) => !own.test(option) && !ownWithText.test(option) && !ownWithText.test(options[index - 1] ?? ''),
  )

/**
 * The path of a program, for `fork`: its TypeScript source or the compiled file, like the importing one.
 *
 * @param importer `import.meta.url` of the importing file
 * @param path relative to it, without a suffix: `./analyser/main`
 */
export const childProgram = (importer: string, path: string): string =>
  fileURLToPath(new URL(`${path}${importer.endsWith('.ts') ? '.ts' : '.js'}`, importer))
