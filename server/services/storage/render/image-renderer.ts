// Transforms images in a process of its own, which a hostile image may crash or hang without any effect on the server.
import { TaskError } from '../../background/pool-options.ts'
import { BackgroundPool } from '../../background/pool.ts'
import { childProgram } from '../../background/process.ts'
import { StorageError, storageErrors } from '../storage-error.ts'
import type { TransformedImage, TransformerOptions, TransformFault, TransformTask } from './transformer/message.ts'

const program = childProgram(import.meta.url, './transformer/main')

const mebibyte = 1024 * 1024
/** Bytes of a source image. */
const largestSource = 25 * mebibyte
/** Bytes of source images that are in memory at a time. */
const mostMemory = 64 * mebibyte
/** Pixels of a source image. */
const pixelLimit = 50_000_000
/** Images that may wait. */
const queueLimit = 24
/** Milliseconds, including waiting. */
const timeout = 15_000
/** Milliseconds without an image after which the process ends. */
const longestIdle = 60_000

export type RendererLimits = { readonly queueLimit: number; readonly timeout: number; readonly memory: number }

export class ImageRenderer {
  readonly #pool: BackgroundPool<TransformerOptions, null, TransformTask, TransformedImage, TransformFault>
  readonly #memory: number
  #used = 0

  /** @param limits for tests */
  constructor(warn: (message: string) => void, limits: Partial<RendererLimits> = {}) {
    this.#memory = limits.memory ?? mostMemory
    this.#pool = new BackgroundPool({
      queueLimit: limits.queueLimit ?? queueLimit,
      timeout: limits.timeout ?? timeout,
      program,
      options: { pixelLimit, threads: 1 },
      texts: {
        process: 'transformer of images',
        work: 'transformation',
        task: 'an image',
        timedOut: 'Image request timed out',
        failed: 'Internal error',
      },
      size: 1,
      longestIdle,
      attempts: 1,
      tracedAs: 'image',
      observer: { warned: warn },
    })
  }

  /** Id of the process, or undefined when it is not running. */
  get pid(): number | undefined {
    return this.#pool.pid
  }

  /**
   * Transforms an image.
   *
   * @param size bytes of the image, which are reserved before they are read
   * @param read reads them
   * @param signal aborts when the client has disconnected
   * @throws StorageError 400 for anything but an image, or one that is too large; 503 when too many wait or the process
   *   fails; the error of `read`
   */
  async render(
    size: number,
    read: () => Promise<Uint8Array>,
    task: TransformTask,
    signal: AbortSignal,
  ): Promise<TransformedImage> {
    if (size > largestSource) throw refused('The source image file is too large to process')
    if (this.#pool.isFull || (this.#used > 0 && this.#used + size > this.#memory)) throw busy()
    this.#used += size
    try {
      return await this.#pool.run(task, await read(), signal)
    } catch (error) {
      throw error instanceof TaskError ? errorOf(error as TaskError<TransformFault>) : error
    } finally {
      this.#used -= size
    }
  }

  stop(): void {
    this.#pool.stop()
  }
}

const refused = (message: string, cause?: unknown): StorageError =>
  new StorageError(400, 'InvalidRequest', message, { cause })

const unavailable = (message: string, cause?: unknown): StorageError =>
  new StorageError(503, 'SlowDown', message, { httpStatus: 503, headers: { 'Retry-After': '2' }, cause })

const busy = (): StorageError => unavailable('Too many images are waiting to be transformed')

function errorOf(error: TaskError<TransformFault>): StorageError {
  switch (error.failure) {
    case 'refused':
      return refused(error.message, error)
    case 'busy':
      return busy()
    case 'too slow':
      return unavailable(error.message, error)
    case 'unavailable':
      return unavailable('Images cannot be transformed at the moment', error)
    case 'failed':
      return storageErrors.internal(error)
    default:
      return error.failure satisfies never
  }
}
