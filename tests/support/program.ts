// The real program, `rowhouse serve`, as a separate process.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { caller, type Call } from './call.ts'

/** The program as built by `tests/before.ts`. */
export const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The command line for a given Node.js, by default for the one that runs the tests. */
export const command = (node = process.execPath): readonly string[] => [node, main]

export type LogLine = Readonly<Record<string, unknown>>

export type Program = {
  readonly pid: number
  /** Address of the API, without a trailing slash; empty until it listens. */
  readonly url: () => string
  readonly call: Call
  /** The log lines so far. */
  readonly logged: () => readonly LogLine[]
  /** The whole output so far, on both streams. */
  readonly written: () => string
  /** The standard output so far. */
  readonly printed: () => string
  /** Resolves with the first matching line from index `after` on; rejects when the program ends or after three minutes. */
  readonly line: (fits: (line: LogLine) => boolean, after?: number) => Promise<LogLine>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

/** The environment without settings of the program and of libpq. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR|REST_)/.test(name)),
)

/**
 * Starts the program for the duration of a test, on a free port. Resolves at once; `line` waits for its output.
 *
 * @param env settings
 * @param args configuration file
 * @param run command line of the program
 */
export function startProgram(
  t: Pick<Test, 'teardown'>,
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[] = [],
  run: readonly string[] = command(),
): Program {
  const [program = process.execPath, ...given] = run
  const child = spawn(program, [...given, 'serve', ...args], {
    env: { ...inherited, PGRST_SERVER_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  let printed = ''
  const lines: LogLine[] = []
  const waiting = new Set<() => void>()
  const wake = (): void => waiting.forEach((look) => look())
  for (const output of [child.stdout, child.stderr]) {
    let rest = ''
    output.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const parts = (rest + chunk).split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part) as LogLine)
      wake()
    })
  }
  child.stdout.on('data', (chunk: string) => (printed += chunk))
  let hasEnded = false
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      hasEnded = true
      wake()
      resolve(code)
    })
  })
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = (): string => {
    const message = lines.find(({ event }) => event === 'listening')?.msg
    return typeof message === 'string' ? message.replace('Listening on ', '') : ''
  }
  const line = (fits: (line: LogLine) => boolean, after = 0): Promise<LogLine> =>
    new Promise((resolve, reject) => {
      const settle = (found: LogLine | undefined): void => {
        waiting.delete(look)
        clearTimeout(timer)
        if (found) resolve(found)
        else reject(new Error(`the program did not say so:\n${text}`))
      }
      const look = (): void => {
        const found = lines.slice(after).find(fits)
        if (found || hasEnded) settle(found)
      }
      const timer = setTimeout(() => settle(undefined), 180_000)
      waiting.add(look)
      look()
    })
  return {
    pid: child.pid ?? 0,
    url,
    call: (method, path, more) => caller(url())(method, path, more),
    logged: () => lines,
    written: () => text,
    printed: () => printed,
    line,
    kill: (signal) => void child.kill(signal),
    ended,
  }
}

/** Whether a line reports an event. */
export const says =
  (event: string) =>
  (line: LogLine): boolean =>
    line.event === event
