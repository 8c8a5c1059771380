// Turns images into predictions, for the routes and the WebSocket.
import { isInTime } from '../../common/timers.ts'
import type { Analyser, AnalyserStatus } from './analyser.ts'
import type { Analysis } from './analyser/message.ts'
import { requireImageType } from './image-type.ts'
import { Problem, problems } from './problem.ts'
import type { UploadedImage } from './uploaded-images.ts'

export type PredictorSettings = {
  readonly analyser: Analyser
  /** Paths of ONNX files; null without one. */
  readonly classifier: string | null
  readonly detector: string | null
  readonly requireModel: boolean
  /** Bytes of one image. */
  readonly fileLimit: number
  /** Milliseconds that callers wait for the models to load. */
  readonly patience: number
}

export class Predictor {
  readonly #settings: PredictorSettings

  constructor(settings: PredictorSettings) {
    this.#settings = settings
  }

  /** Whether any model is configured. */
  get hasModels(): boolean {
    const { classifier, detector } = this.#settings
    return classifier !== null || detector !== null
  }

  /**
   * Checks that images can be analysed. Starts the analyser if models have to be loaded.
   *
   * @throws Problem 503
   */
  async requireUsable(): Promise<void> {
    const reason = await this.unusable()
    if (reason instanceof Problem) throw reason
  }

  /** Why images cannot be analysed; undefined when they can. Waits for configured models to load, but not for long. */
  async unusable(): Promise<Problem | undefined> {
    const { analyser, requireModel } = this.#settings
    if (!this.hasModels) {
      if (requireModel) return problems.noModel()
      // Without models, the process starts at first use. After a failed start, it is tried again.
      if (analyser.status.kind !== 'failed') return undefined
    }
    const status = await this.#started()
    switch (status.kind) {
      case 'running': {
        const faults = Object.entries(status.state).flatMap(([name, model]) =>
          model.kind === 'failed' ? [`The ${name} ${model.file} is not loaded: ${model.reason}.`] : [],
        )
        return faults.length > 0 ? new Problem(503, faults.join(' ')) : undefined
      }
      case 'failed':
        return problems.unavailable(`The analyser does not run: ${status.reason}.`)
      case 'starting':
        return problems.unavailable('The analyser is still starting.')
      case 'idle':
        return problems.unavailable('The analyser does not run.')
      default:
        return status satisfies never
    }
  }

  /** Starts the analyser unless it is running. @returns its status when it is ready, has failed, or takes too long */
  async #started(): Promise<AnalyserStatus> {
    const { analyser, patience } = this.#settings
    await isInTime(patience, analyser.start())
    return analyser.status
  }

  /**
   * Analyses one image.
   *
   * @param signal aborts when the client has disconnected
   * @throws Problem 415, 413; TaskError
   */
  analyse({ type, bytes }: UploadedImage, signal: AbortSignal): Promise<Analysis> {
    const { analyser, fileLimit } = this.#settings
    requireImageType(type, bytes)
    if (!bytes || bytes.length > fileLimit) throw problems.fileTooLarge(fileLimit)
    return analyser.analyse(bytes, signal)
  }
}
