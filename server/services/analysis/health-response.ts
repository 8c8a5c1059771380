// The response to `GET {prefix}/health`, in the format of the original service.
import { basename } from 'node:path'
import type { Analyser } from './analyser.ts'
import type { ModelState } from './analyser/message.ts'

/** `schemas/health-response.json` */
export type HealthResponse = {
  readonly status: 'ok'
  readonly device: 'cpu'
  readonly classifier_loaded: boolean
  readonly detector_loaded: boolean
  readonly classifier_weights: string | null
  readonly detector_weights: string | null
  readonly api_prefix: string
}

type Described = {
  readonly prefix: string
  readonly analyser: Analyser
  readonly classifier: string | null
  readonly detector: string | null
}

/** File names without their folders. */
export function healthResponse({ prefix, analyser, classifier, detector }: Described): HealthResponse {
  const { status } = analyser
  const models = status.kind === 'running' ? status.state : undefined
  const isLoaded = (model: ModelState | undefined): boolean => model?.kind === 'loaded'
  return {
    status: 'ok',
    device: 'cpu',
    classifier_loaded: isLoaded(models?.classifier),
    detector_loaded: isLoaded(models?.detector),
    classifier_weights: classifier === null ? null : basename(classifier),
    detector_weights: detector === null ? null : basename(detector),
    api_prefix: prefix,
  }
}
