// The settings that the image analysis reads.

export type AnalysisSettings = {
  /** Mount path of the image analysis; `/` for the root. */
  readonly imageBasePath: string
  /** Paths of ONNX files; null: none. */
  readonly imageClassifier: string | null
  readonly imageDetector: string | null
  /** Whether images are analysed by models alone, and never by the baseline. */
  readonly imageRequireModel: boolean
  /** Whether callers without credentials may have images analysed. */
  readonly imageAnonymous: boolean
  /** Images that one caller may send in a minute. */
  readonly imageRateLimit: number
  /** Bytes of one image. */
  readonly imageFileLimit: number
  /** Bytes of a body with several images. */
  readonly imageBodyLimit: number
  /** Images in one request. */
  readonly imageBatchLimit: number
  /** Megapixels of one image. */
  readonly imagePixelLimit: number
  /** Images that may wait for their analysis. */
  readonly imageQueueLimit: number
  /** Seconds in which an image is analysed. */
  readonly imageTimeout: number
  /** Bytes of uploads that the process holds at one time. */
  readonly imageBodyBudget: number
  /** WebSocket connections at one time. */
  readonly imageSocketLimit: number
  /** Threads that decode and analyse an image. */
  readonly imageThreads: number
}
