// The images of a request, and what it may bring.
import type { BodyBudget } from '../../rest/request/body-budget.ts'

export type UploadedImage = {
  /** The file's name; empty when it has none. */
  readonly name: string
  /** The declared media type in lower case; empty without one. */
  readonly type: string
  /** Undefined for a file above the limit, which is discarded. */
  readonly bytes: Buffer | undefined
}

export type Upload = {
  readonly images: readonly UploadedImage[]
  /** Text fields by their names, each with all of its values. */
  readonly fields: ReadonlyMap<string, readonly string[]>
}

export type UploadLimits = {
  /** Maximum bytes of one image. */
  readonly fileLimit: number
  /** Maximum bytes of the whole body. */
  readonly bodyLimit: number
  /** Maximum number of images. */
  readonly batchLimit: number
}

export type UploadSettings = UploadLimits & {
  /** Names of the image fields. */
  readonly names: ReadonlySet<string>
  /** Whether a single image and JSON are accepted, too. */
  readonly acceptsSingle: boolean
  readonly budget: BodyBudget
}
