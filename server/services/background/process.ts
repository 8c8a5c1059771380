// The parent's side of a background process, which `program.ts` is the other side of.
import { fork, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { bytesChannel, type TaskRequest } from './message.ts'

/** Variables that a process inherits. They contain no secrets and no database addresses. */
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

export type ProcessEvents<Message> = {
  readonly onMessage: (message: Message) => void
  /** Called once when the process ends. */
  readonly onEnd: (reason: string) => void
}

/** Characters of the latest error output, which explain why the process ended. */
const longestErrorOutput = 500

/** A process with its own program, options, kind of work (`Task`) and messages. */
export class BackgroundProcess<Task, Message> {
  readonly #child: ChildProcess
  readonly #bytes: Socket
  readonly #errorOutput: Socket
  #reason: string | undefined

  /**
   * Starts the process, which prepares its work and then reports that it is ready.
   *
   * @param program path of the file to run, which calls `serveTasks`
   */
  constructor(program: string, options: object, { onMessage, onEnd }: ProcessEvents<Message>) {
    this.#child = fork(program, [], {
      serialization: 'advanced',
      // With more malloc arenas, glibc does not return the memory of processed images to the system.
      env: { ...childEnvironment(), MALLOC_ARENA_MAX: '2' },
      execArgv: childExecArgv(),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
    })
    this.#bytes = this.#child.stdio[bytesChannel] as Socket
    this.#errorOutput = this.#child.stderr as Socket
    // The process has ended, which is reported below.
    this.#bytes.on('error', () => undefined)
    let errorOutput = ''
    let hasEnded = false
    const end = (reason: string): void => {
      if (hasEnded) return
      hasEnded = true
      onEnd(reason)
    }
    this.#errorOutput.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-longestErrorOutput)
    })
    this.#child.on('message', (message: Message) => {
      if (!hasEnded) onMessage(message)
    })
    // The process failed to start or its channel broke: it is unusable.
    this.#child.on('error', (error) => {
      this.kill(error.message)
      end(error.message)
    })
    this.#child.once('exit', (code, signal) => {
      const suffix = errorOutput.trim() === '' ? '' : `: ${errorOutput.trim()}`
      end(this.#reason ?? `${signal === null ? `exit code ${code}` : `signal ${signal}`}${suffix}`)
    })
    this.#child.send(options, this.#onSent)
  }

  /** A message that was not delivered. As a rule the process has ended, and its exit gives the reason. */
  readonly #onSent = (error: Error | null): void => {
    if (error) this.#child.kill('SIGKILL')
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Sends a task, after the reply to the one before it. The reply has the same id. */
  send(id: number, task: Task, bytes: Uint8Array): void {
    const request: TaskRequest<Task> = { id, task, bytes: bytes.length }
    this.#child.send(request, this.#onSent)
    if (bytes.length > 0) this.#bytes.write(bytes)
  }

  /** A process whose results are needed keeps the server running. */
  setNeeded(isNeeded: boolean): void {
    for (const handle of [this.#child, this.#child.channel, this.#bytes, this.#errorOutput]) {
      if (isNeeded) handle?.ref()
      else handle?.unref()
    }
  }

  /** Lets the process end, which has no task. */
  end(): void {
    if (this.#child.connected) this.#child.disconnect()
  }

  /** Kills the process immediately. A thread busy computing would not handle any other signal. */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }
}
