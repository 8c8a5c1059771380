// The queue in front of the analyser process, which decodes and analyses images.
import { childProgram } from '../../common/child-process.ts'
import { ImageQueue, type ImageQueueSettings, type ImageQueueStatus } from '../image-process/image-queue.ts'
import type { AnalyserOptions, Analysis, ImageFault, ModelStates } from './analyser/message.ts'

export type AnalyserSettings = AnalyserOptions & ImageQueueSettings

/** Events for metrics and the log. Times are in seconds. */
export type AnalyserObserver = {
  readonly waited: (seconds: number) => void
  readonly decoded: (seconds: number) => void
  readonly inferred: (seconds: number) => void
  readonly killed: () => void
  readonly warned: (message: string) => void
}

export type AnalyserStatus = ImageQueueStatus<ModelStates>

const program = childProgram(import.meta.url, './analyser/main')

export class Analyser {
  readonly #queue: ImageQueue<AnalyserOptions, ModelStates, null, Analysis, ImageFault>

  constructor({ queueLimit, timeout, ...options }: AnalyserSettings, observer: AnalyserObserver) {
    this.#queue = new ImageQueue({
      queueLimit,
      timeout,
      program,
      options,
      texts: {
        process: 'analyser',
        work: 'analysis',
        timedOut: 'Inference timed out.',
        failed: 'Inference failed.',
      },
      // Loading models takes time, so the next process starts right away.
      restarts: options.classifier !== null || options.detector !== null,
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
    return this.#queue.status
  }

  /** Whether the next image would be rejected. */
  get isFull(): boolean {
    return this.#queue.isFull
  }

  /** Number of images that wait. */
  get queueLength(): number {
    return this.#queue.queueLength
  }

  /** Id of the process, or undefined when no analyser runs. */
  get pid(): number | undefined {
    return this.#queue.pid
  }

  /** Starts the process unless it is running. Resolves when it is ready or has failed. */
  start(): Promise<AnalyserStatus> {
    return this.#queue.start()
  }

  /**
   * Queues an image and analyses it.
   *
   * @param signal removes the image from the queue, because the client has disconnected
   * @throws ImageTaskError
   */
  analyse(image: Uint8Array, signal?: AbortSignal): Promise<Analysis> {
    return this.#queue.run(image, null, signal)
  }

  /** Ends the process and rejects all waiting images. */
  stop(): void {
    this.#queue.stop()
  }
}
