// The queue in front of the analyser process, which decodes and analyses images.
import type { PoolStatus, QueueSettings } from '../background/pool-options.ts'
import { BackgroundPool } from '../background/pool.ts'
import { childProgram } from '../background/process.ts'
import type { AnalyserOptions, Analysis, ImageFault, ModelStates } from './analyser/message.ts'

export type AnalyserSettings = AnalyserOptions & QueueSettings

/** Events for metrics and the log. Times are in seconds. */
export type AnalyserObserver = {
  readonly waited: (seconds: number) => void
  readonly decoded: (seconds: number) => void
  readonly inferred: (seconds: number) => void
  readonly killed: () => void
  readonly warned: (message: string) => void
}

export type AnalyserStatus = PoolStatus<ModelStates>

const program = childProgram(import.meta.url, './analyser/main')

/** Milliseconds without an image after which the process ends, which has nothing to load. */
const longestIdle = 60_000

export class Analyser {
  readonly #pool: BackgroundPool<AnalyserOptions, ModelStates, null, Analysis, ImageFault>

  constructor({ queueLimit, timeout, ...options }: AnalyserSettings, observer: AnalyserObserver) {
    this.#pool = new BackgroundPool({
      queueLimit,
      timeout,
      program,
      options,
      texts: {
        process: 'analyser',
        work: 'analysis',
        task: 'an image',
        timedOut: 'Inference timed out.',
        failed: 'Inference failed.',
      },
      size: 1,
      // Loading models takes time, so the next process starts right away.
      longestIdle: options.classifier !== null || options.detector !== null ? 'never' : longestIdle,
      attempts: 1,
      tracedAs: 'image',
      describe: ({ decodeMilliseconds, inferenceMilliseconds }) => ({
        'rowhouse.image.decode_seconds': decodeMilliseconds / 1000,
        'rowhouse.image.inference_seconds': inferenceMilliseconds / 1000,
      }),
      observer: {
        waited: observer.waited,
        ready: (models) => {
          for (const [name, state] of Object.entries(models)) {
            if (state.kind === 'failed') observer.warned(`The ${name} ${state.file} was not loaded: ${state.reason}`)
          }
        },
        done: ({ decodeMilliseconds, inferenceMilliseconds }) => {
          observer.decoded(decodeMilliseconds / 1000)
          observer.inferred(inferenceMilliseconds / 1000)
        },
        killed: observer.killed,
        warned: observer.warned,
      },
    })
  }

  get status(): AnalyserStatus {
    return this.#pool.status
  }

  /** Whether the next image would be rejected. */
  get isFull(): boolean {
    return this.#pool.isFull
  }

  /** Number of images that wait. */
  get queueLength(): number {
    return this.#pool.queueLength
  }

  /** Id of the process, or undefined when no analyser runs. */
  get pid(): number | undefined {
    return this.#pool.pid
  }

  /** Starts the process unless it is running. Resolves when it is ready or has failed. */
  start(): Promise<AnalyserStatus> {
    return this.#pool.start()
  }

  /**
   * Queues an image and analyses it.
   *
   * @param signal removes the image from the queue, because the client has disconnected
   * @throws TaskError
   */
  analyse(image: Uint8Array, signal?: AbortSignal): Promise<Analysis> {
    return this.#pool.run(null, image, signal)
  }

  /** Ends the process and rejects all waiting images. */
  stop(): void {
    this.#pool.stop()
  }
}
