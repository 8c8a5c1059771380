// One process that analyses images, one at a time. See `analyser/main.ts` for its side.
import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { AnalyserOptions, AnalyserReply, AnalyserRequest, ModelStates } from './analyser/message.ts'

export type AnalyserEvents = {
  readonly onReady: (models: ModelStates) => void
  readonly onReply: (reply: Exclude<AnalyserReply, { kind: 'ready' }>) => void
  /** The process has ended, for this reason. */
  readonly onEnd: (reason: string) => void
}

/** As the source or as compiled, like this file. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './analyser/main.ts' : './analyser/main.js', import.meta.url),
)

/** What the process is given of the environment: no secrets, no addresses of databases. */
const inherited =
  /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_.*|TZ|NODE_OPTIONS|LD_LIBRARY_PATH|SYSTEMROOT|(?:TS_NODE|TAP|_?TAPJS)_.*)$/i

function environment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => inherited.test(name))
  return {
    ...Object.fromEntries(names.map((name) => [name, process.env[name]])),
    // Of the C library: with more arenas, memory that images have used is not given back.
    MALLOC_ARENA_MAX: '2',
  }
}

/** Bytes of what the process has written last, to say why it has ended. */
const longestComplaint = 500

export class AnalyserProcess {
  readonly #child: ChildProcess
  #reason: string | undefined

  /** Starts the process, which loads the models and then says that it is ready. */
  constructor(options: AnalyserOptions, { onReady, onReply, onEnd }: AnalyserEvents) {
    this.#child = fork(program, [], {
      serialization: 'advanced',
      env: environment(),
      execArgv: process.execArgv.filter((argument) => !argument.startsWith('--inspect')),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let complaint = ''
    let hasEnded = false
    const end = (reason: string): void => {
      if (hasEnded) return
      hasEnded = true
      onEnd(reason)
    }
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-longestComplaint)
    })
    this.#child.on('message', (reply: AnalyserReply) => {
      if (hasEnded) return
      if (reply.kind === 'ready') onReady(reply.models)
      else onReply(reply)
    })
    // Of the start, or of a channel that is broken: the process is of no more use.
    this.#child.on('error', (error) => {
      this.kill(error.message)
      end(error.message)
    })
    this.#child.once('exit', (code, signal) => {
      const words = complaint.trim() === '' ? '' : `: ${complaint.trim()}`
      end(this.#reason ?? `${signal === null ? `exit code ${code}` : `signal ${signal}`}${words}`)
    })
    this.#child.send(options, (error) => {
      if (error) this.kill(error.message)
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Hands an image over; the reply has the same id. */
  send(request: AnalyserRequest): void {
    this.#child.send(request, (error) => {
      if (error) this.kill(error.message)
    })
  }

  /** Ends the process at once, whatever it is doing; a thread that computes hears no other signal. */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }
}
