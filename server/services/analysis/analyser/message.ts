// What the server and its analyser, a process of its own, say to each other.
import type { Box } from './box.ts'

/** What an image was found to be; `needs_review` when that is not certain. */
export type Classification = 'water_hyacinth' | 'non_water_hyacinth' | 'needs_review'

/** The server's settings for the analyser, given with its start. */
export type AnalyserOptions = {
  /** Paths of the ONNX files; null: not configured. */
  readonly classifier: string | null
  readonly detector: string | null
  /** Largest number of pixels of an image. */
  readonly pixelLimit: number
  /** Threads for decoding and inference. */
  readonly threads: number
}

/** How a configured model does: loaded, or why it is not. */
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
  /** Of the classification, from 0 to 1. */
  readonly confidence: number
  /** That water hyacinth is in the image, and from where on a model says so; null without a model. */
  readonly probability: number | null
  readonly threshold: number | null
  /** In pixels of the upright image. */
  readonly boxes: readonly Box[]
  readonly method: 'onnx' | 'colour-index'
  readonly modelVersion: string
  readonly decodeMilliseconds: number
  readonly inferenceMilliseconds: number
}

/** Why an image is refused. */
export type ImageFault = 'undecodable' | 'too many pixels'

export type AnalyserRequest = { readonly id: number; readonly image: Uint8Array }

export type AnalyserReply =
  | { readonly kind: 'ready'; readonly models: ModelStates }
  | { readonly kind: 'analysed'; readonly id: number; readonly analysis: Analysis }
  | { readonly kind: 'refused'; readonly id: number; readonly fault: ImageFault; readonly message: string }
  /** The fault is not the image's. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
