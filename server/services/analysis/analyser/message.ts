// The messages between the server and the analyser process.
import type { Box } from './box.ts'

/** The result for an image; `needs_review` when it is uncertain. */
export type Classification = 'water_hyacinth' | 'non_water_hyacinth' | 'needs_review'

/** Options of the analyser, which the server sends at the start. */
export type AnalyserOptions = {
  /** Paths of the ONNX files; null if not configured. */
  readonly classifier: string | null
  readonly detector: string | null
  /** Maximum number of pixels of an image. */
  readonly pixelLimit: number
  /** Threads for decoding and inference. */
  readonly threads: number
}

/** The state of a model: loaded, or why it is not. */
export type ModelState =
  | { readonly kind: 'not configured' }
  | { readonly kind: 'loaded'; readonly file: string }
  | { readonly kind: 'failed'; readonly file: string; readonly reason: string }

export type ModelStates = { readonly classifier: ModelState; readonly detector: ModelState }

export type Analysis = {
  /** Pixels of the upright image. */
  readonly width: number
  readonly height: number
  readonly classification: Classification
  /** Confidence in the classification, from 0 to 1. */
  readonly confidence: number
  /** Probability of water hyacinth, and the model's threshold for a positive result; null without a model. */
  readonly probability: number | null
  readonly threshold: number | null
  /** In pixels of the upright image. */
  readonly boxes: readonly Box[]
  readonly method: 'onnx' | 'colour-index'
  readonly modelVersion: string
  readonly decodeMilliseconds: number
  readonly inferenceMilliseconds: number
}

/** Why an image is rejected. */
export type ImageFault = 'undecodable' | 'too many pixels'
