// Decodes images to pixels. Only JPEG, PNG and WebP can be decoded in this process: all other loaders are blocked.
// https://sharp.pixelplumbing.com/api-utility#block
import sharp, { type Sharp } from 'sharp'
import type { ImageFault } from './message.ts'

/** Pixels in rows from the top, each with its red, green and blue, 8 bits each. */
export type Pixels = { readonly width: number; readonly height: number; readonly data: Uint8Array }

export type DecodedImage = {
  /** Size of the upright original. */
  readonly width: number
  readonly height: number
  /** The upright image, made smaller where the original is larger than asked for. */
  readonly pixels: Pixels
}

/** The image cannot be analysed, for a fault of its own. */
export class ImageError extends Error {
  readonly fault: ImageFault

  constructor(fault: ImageFault, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ImageError'
    this.fault = fault
  }
}

const formats: ReadonlySet<string | undefined> = new Set(['jpeg', 'png', 'webp'])
const loaders = ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer']

/** Prepares the process for decoding. */
export function prepareDecoding(threads: number): void {
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: loaders })
  // No image comes twice.
  sharp.cache(false)
  sharp.concurrency(threads)
}

/**
 * libjpeg's warnings about files that are complete: many phones write such. Every other warning means that pixels are
 * missing or made up.
 */
const harmlessWarnings = /invalid sos parameters|extraneous bytes before marker|unknown adobe color transform/i

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Decodes an image, turns it upright as its EXIF orientation says, and drops all metadata.
 *
 * @param pixelLimit largest number of pixels, checked before anything is decoded
 * @param longSide pixels that the longer side shall have at most
 * @throws ImageError for what is no complete JPEG, PNG or WebP, or has too many pixels
 */
export async function decodeImage(image: Uint8Array, pixelLimit: number, longSide: number): Promise<DecodedImage> {
  const { width, height } = await sizeOf(image)
  if (width * height > pixelLimit) {
    throw new ImageError(
      'too many pixels',
      `The image has ${width} x ${height} pixels; the limit is ${pixelLimit / 1_000_000} megapixels.`,
    )
  }
  const options = { limitInputPixels: pixelLimit, pages: 1 } as const
  const decode = (failOn: 'warning' | 'error'): Promise<Pixels> =>
    pixelsOf(
      sharp(image, { ...options, failOn })
        .autoOrient()
        .resize({ width: longSide, height: longSide, fit: 'inside', withoutEnlargement: true }),
    )
  try {
    const pixels = await decode('warning').catch((error: unknown) => {
      if (harmlessWarnings.test(reasonOf(error))) return decode('error')
      throw error
    })
    return { width, height, pixels }
  } catch (error) {
    throw new ImageError('undecodable', 'Could not decode image', error)
  }
}

/** Size of the upright image, from its header alone. */
async function sizeOf(image: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
  try {
    const { format, autoOrient } = await sharp(image, { limitInputPixels: false, failOn: 'none' }).metadata()
    if (formats.has(format) && autoOrient.width > 0 && autoOrient.height > 0) return autoOrient
  } catch (error) {
    throw new ImageError('undecodable', 'Could not decode image', error)
  }
  throw new ImageError('undecodable', 'Could not decode image')
}

/** Transparent parts become white; greyscale, CMYK and 16 bits become sRGB. */
async function pixelsOf(image: Sharp): Promise<Pixels> {
  const { data, info } = await image
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  if (info.channels !== 3) throw new Error(`the decoded image has ${info.channels} channels`)
  return { width: info.width, height: info.height, data }
}

const raw = ({ width, height, data }: Pixels): Sharp => sharp(data, { raw: { width, height, channels: 3 } })

/** The image in exactly this size, distorted where the proportions differ. */
export async function resized(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  if (pixels.width === width && pixels.height === height) return pixels
  return pixelsOf(raw(pixels).resize({ width, height, fit: 'fill' }))
}

/** The middle of the image in this size: as much of it as has these proportions. */
export function centre(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  return pixelsOf(raw(pixels).resize({ width, height, fit: 'cover', position: 'centre' }))
}
