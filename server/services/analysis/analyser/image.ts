// Decodes images to pixels. Only JPEG, PNG and WebP can be decoded in this process: all other loaders are blocked.
// https://sharp.pixelplumbing.com/api-utility#block
import sharp, { type Sharp } from 'sharp'
import { RefusedTask } from '../../background/program.ts'
import type { ImageFault } from './message.ts'

/** Pixels in rows from the top, each as red, green and blue with 8 bits. */
export type Pixels = { readonly width: number; readonly height: number; readonly data: Uint8Array }

export type DecodedImage = {
  /** Size of the upright original. */
  readonly width: number
  readonly height: number
  /** The upright image, scaled down if the original is larger than requested. */
  readonly pixels: Pixels
}

/** The image is invalid and cannot be analysed. */
export class ImageError extends RefusedTask<ImageFault> {
  constructor(fault: ImageFault, message: string, cause?: unknown) {
    super(fault, message, cause)
    this.name = 'ImageError'
  }
}

const formats: ReadonlySet<string | undefined> = new Set(['jpeg', 'png', 'webp'])
const loaders = ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer']

/** Prepares the process for decoding. */
export function prepareDecoding(threads: number): void {
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: loaders })
  // Caching is useless, because every image is different.
  sharp.cache(false)
  sharp.concurrency(threads)
}

/**
 * libjpeg's warnings about complete files, which many phones write. All other warnings mean that pixels are missing or
 * invented.
 */
const harmlessWarnings = /invalid sos parameters|extraneous bytes before marker|unknown adobe color transform/i

/** libvips' number of those warnings of libjpeg, of which it reports only the first one. */
const warningCount = /^read gave (\d+) warnings/

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Decodes an image, rotates it by its EXIF orientation, and drops all metadata.
 *
 * @param pixelLimit largest number of pixels, checked before anything is decoded
 * @param longSide maximum pixels of the longer side
 * @throws ImageError for anything but a complete JPEG, PNG or WebP, or with too many pixels
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
  const reduced = (failOn: 'warning' | 'error'): Sharp =>
    sharp(image, { ...options, failOn })
      .autoOrient()
      .resize({ width: longSide, height: longSide, fit: 'inside', withoutEnlargement: true })
  try {
    const pixels = await pixelsOf(reduced('warning')).catch((error: unknown) => {
      if (harmlessWarnings.test(reasonOf(error))) return pixelsWithOneWarning(reduced('error'))
      throw error
    })
    return { width, height, pixels }
  } catch (error) {
    throw new ImageError('undecodable', 'Could not decode image', error)
  }
}

/** @throws Error when there are further warnings behind the first one, such as about missing pixels */
async function pixelsWithOneWarning(image: Sharp): Promise<Pixels> {
  let warnings = 0
  image.on('warning', (text: string) => {
    warnings = Math.max(warnings, Number(warningCount.exec(text)?.[1] ?? 0))
  })
  const pixels = await pixelsOf(image)
  if (warnings > 1) throw new Error(`${warnings} warnings`)
  return pixels
}

/** Size of the upright image, read from its header. */
async function sizeOf(image: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
  try {
    const { format, autoOrient } = await sharp(image, { limitInputPixels: false, failOn: 'none' }).metadata()
    if (formats.has(format) && autoOrient.width > 0 && autoOrient.height > 0) return autoOrient
  } catch (error) {
    throw new ImageError('undecodable', 'Could not decode image', error)
  }
  throw new ImageError('undecodable', 'Could not decode image')
}

/** Converts to 8-bit sRGB, with transparent parts in white. */
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

/** The image in exactly this size, distorted if the proportions differ. */
export async function resized(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  if (pixels.width === width && pixels.height === height) return pixels
  return pixelsOf(raw(pixels).resize({ width, height, fit: 'fill' }))
}

/** The largest centred part of the image with these proportions, in this size. */
export function centre(pixels: Pixels, width: number, height: number): Promise<Pixels> {
  return pixelsOf(raw(pixels).resize({ width, height, fit: 'cover', position: 'centre' }))
}
