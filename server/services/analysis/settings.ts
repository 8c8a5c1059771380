// The settings that the image analysis reads.

export type AnalysisSettings = {
  /** Mount path of the image analysis; `/` for the root. */
  readonly imageBasePath: string
  /** Paths of ONNX files; null without one. */
  readonly imageClassifier: string | null
  readonly imageDetector: string | null
  /** Whether images are analysed only by models, never by the baseline. */
  readonly imageRequireModel: boolean
  /** Whether callers without credentials may have images analysed. */
  readonly imageAnonymous: boolean
  /** Images per caller and minute. */
  readonly imageRateLimit: number
  /** Maximum bytes of one image. */
  readonly imageFileLimit: number
  /** Maximum bytes of a body with several images. */
  readonly imageBodyLimit: number
  /** Maximum number of images in one request. */
  readonly imageBatchLimit: number
  /** Maximum megapixels of one image. */
  readonly imagePixelLimit: number
  /** Maximum number of images that wait for their analysis. */
  readonly imageQueueLimit: number
  /** Timeout for the analysis of an image in seconds. */
  readonly imageTimeout: number
  /** Maximum bytes of uploads in memory at a time. */
  readonly imageBodyBudget: number
  /** Maximum number of concurrent WebSocket connections. */
  readonly imageSocketLimit: number
  /** Threads that decode and analyse an image. */
  readonly imageThreads: number
  /** Bucket of images that are kept. */
  readonly imageBucket: string
}
