// The parent's side of a child process that works on one image at a time. `child.ts` is the child's side.
import { fork, type ChildProcess } from 'node:child_process'
import type { Writable } from 'node:stream'
import { childEnvironment, childExecArgv } from '../../common/child-process.ts'
import { imageChannel, type ChildMessage, type ImageReply, type ImageRequest } from './message.ts'

export type ImageProcessEvents<State, Result, Fault> = {
  readonly onReady: (state: State) => void
  readonly onReply: (reply: ImageReply<Result, Fault>) => void
  /** Called once when the process ends. */
  readonly onEnd: (reason: string) => void
}

/** Characters of the latest error output, which explain why the process ended. */
const longestErrorOutput = 500

/** A process with its own program, options, kind of work (`Task`) and results. */
export class ImageProcess<Options extends object, State, Task, Result, Fault> {
  readonly #child: ChildProcess
  readonly #images: Writable
  #reason: string | undefined

  /**
   * Starts the process, which prepares its work and then reports that it is ready.
   *
   * @param program path of the file to run, which calls `serveImages`
   */
  constructor(
    program: string,
    options: Options,
    { onReady, onReply, onEnd }: ImageProcessEvents<State, Result, Fault>,
  ) {
    this.#child = fork(program, [], {
      serialization: 'advanced',
      // With more malloc arenas, glibc does not return the memory of processed images to the system.
      env: { ...childEnvironment(), MALLOC_ARENA_MAX: '2' },
      execArgv: childExecArgv(),
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
    this.#child.on('message', (message: ChildMessage<State, Result, Fault>) => {
      if (hasEnded) return
      if (message.kind === 'ready') onReady(message.state)
      else onReply(message)
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

  /** Sends an image, after the reply to the one before it. The reply has the same id. */
  send(id: number, image: Uint8Array, task: Task): void {
    const request: ImageRequest<Task> = { id, bytes: image.length, task }
    this.#child.send(request, this.#onSent)
    this.#images.write(image)
  }

  /** Kills the process immediately. A thread busy computing would not handle any other signal. */
  kill(reason: string): void {
    this.#reason ??= reason
    this.#child.kill('SIGKILL')
  }
}
