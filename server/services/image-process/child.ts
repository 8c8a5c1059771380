// The child's side of a process that works on one image at a time. If it crashes or hangs, the server replaces it.
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { lowerPriority } from '../../common/low-priority.ts'
import { Pace } from '../../common/pace.ts'
import { imageChannel, type ChildMessage, type ImageRequest } from './message.ts'

/** Milliseconds between two checks of the parent. */
const watchInterval = 1000
/** Milliseconds between two images, on a busy processor. */
const longestRest = 500

/** The image is invalid, and the work is refused for that reason. */
export class RefusedImage<Fault> extends Error {
  readonly fault: Fault

  constructor(fault: Fault, message: string, cause?: unknown) {
    super(message, { cause })
    this.fault = fault
  }
}

/** The work of a process. `work` throws RefusedImage for an invalid image. */
export type ImageWork<State, Task, Result> = {
  readonly state: State
  readonly work: (image: Uint8Array, task: Task) => Promise<Result>
}

/** Receives an image. The next one is sent after the reply to this one. */
const receive = (images: Socket, size: number): Promise<Buffer> =>
  new Promise((resolve) => {
    const image = Buffer.allocUnsafeSlow(size)
    let end = 0
    const onData = (piece: Buffer): void => {
      end += piece.copy(image, end)
      if (end < size) return
      images.off('data', onData).pause()
      resolve(image)
    }
    if (size === 0) resolve(image)
    else images.on('data', onData).resume()
  })

/**
 * Ends this process when the server was killed. Another thread watches the parent, because this one cannot notice a closed
 * channel while it works.
 */
function endWithServer(): void {
  const watch = `
    const parent = process.ppid
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, ${watchInterval})
  `
  new Worker(watch, { eval: true, execArgv: [], stdout: true, stderr: true }).unref()
}

/**
 * Receives images from the server and replies with results, until the server ends.
 *
 * @param prepare is called once with the options of the server, and resolves with the work
 */
export function serveImages<Options, State, Task, Result>(
  prepare: (options: Options) => Promise<ImageWork<State, Task, Result>>,
): void {
  const reply = (message: ChildMessage<State, Result, unknown>): void => {
    if (process.connected) process.send?.(message)
  }
  // Ignores signals that a terminal or service manager sends to the whole process group. The server ends this process
  // after requests in flight.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit())
  endWithServer()
  process.once('message', (options: Options) => {
    void prepare(options).then(({ state, work }) => {
      // Not before, because a busy machine would not let it get ready in time.
      lowerPriority()
      const images = new Socket({ fd: imageChannel })
      const pace = new Pace(longestRest)
      const answer = async ({ id, bytes, task }: ImageRequest<Task>): Promise<void> => {
        const image = await receive(images, bytes)
        try {
          reply({ kind: 'done', id, result: await pace.run(() => work(image, task)) })
        } catch (error) {
          if (error instanceof RefusedImage) reply({ kind: 'refused', id, fault: error.fault, message: error.message })
          else reply({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) })
        }
      }
      process.on('message', (request: ImageRequest<Task>) => void answer(request))
      reply({ kind: 'ready', state })
    })
  })
}
