// The parent's side of the child process that analyses images one at a time. `analyser/main.ts` is the child's side.
import { fork, type ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  imageChannel,
  type AnalyserOptions,
  type AnalyserReply,
  type AnalyserRequest,
  type ModelStates,
} from './analyser/message.ts'

export type AnalyserEvents = {
  readonly onReady: (models: ModelStates) => void
  readonly onReply: (reply: Exclude<AnalyserReply, { kind: 'ready' }>) => void
  /** Called once when the process ends. */
  readonly onEnd: (reason: string) => void
}

/** The TypeScript source or the compiled file, like this one. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './analyser/main.ts' : './analyser/main.js', import.meta.url),
)

/** Variables that the process inherits. They contain no secrets and no database addresses. */
const inherited =
  /^(?:PATH|HOME|TMPDIR|TEMP|TMP|LANG|LC_.*|TZ|NODE_OPTIONS|LD_LIBRARY_PATH|SYSTEMROOT|(?:TS_NODE|TAP|_?TAPJS)_.*)$/i

function environment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => inherited.test(name))
  return {
    ...Object.fromEntries(names.map((name) => [name, process.env[name]])),
    // With more malloc arenas, glibc does not return the memory of processed images to the system.
    MALLOC_ARENA_MAX: '2',
  }
}

/** Characters of the latest error output, which explain why the process ended. */
const longestErrorOutput = 500

export class AnalyserProcess {
  readonly #child: ChildProcess
  readonly #images: Writable
  #reason: string | undefined

  /** Starts the process, which loads the models and then reports that it is ready. */
  constructor(options: AnalyserOptions, { onReady, onReply, onEnd }: AnalyserEvents) {
    this.#child = fork(program, [], {
      serialization: 'advanced',
      env: environment(),
      execArgv: process.execArgv.filter((argument) => !argument.startsWith('--inspect')),
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
    })
    this.#images = this.#child.stdio[imageChannel] as Writable
    // The process has ended, which is reported below.
    this.#images.on('error', () => undefined)
    let errorOutput = ''
    let hasEnded = false
    const end = (reason: string): void => {
      if (hasEnded) return
      hasEnded = true
      onEnd(reason)
    }
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-longestErrorOutput)
    })
    this.#child.on('message', (reply: AnalyserReply) => {
      if (hasEnded) return
      if (reply.kind === 'ready') onReady(reply.models)
      else onReply(reply)
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
    this.#child.send(options, (error) => {
      if (error) this.kill(error.message)
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Sends an image, after the reply to the one before it. The reply has the same id. */
  send(id: number, image: Uint8Array): void {
    const request: AnalyserRequest = { id, bytes: image.length }
    this.#child.send(request, (error) => {
      if (error) this.kill(error.message)
    })
    this.#images.write(image)
  }

  /** Kills the process immediately. A thread busy computing would not handle any other signal. */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }
}
