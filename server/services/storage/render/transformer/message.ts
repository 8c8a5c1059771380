// The messages between the server and the process that transforms images.
import type { Transformation } from '../transformation.ts'

export type TransformerOptions = {
  /** Maximum number of pixels of an image. */
  readonly pixelLimit: number
  /** Threads that transform an image. */
  readonly threads: number
}

export type TransformTask = {
  /** Within the limits. */
  readonly transformation: Transformation
  /** Whether the client accepts WebP, which images are then converted to unless a format is requested. */
  readonly acceptsWebp: boolean
}

export type TransformedImage = { readonly bytes: Uint8Array; readonly type: string }

/** Why an image is rejected. */
export type TransformFault = 'undecodable' | 'too many pixels'
