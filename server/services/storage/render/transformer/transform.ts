// Transforms images. Only JPEG, PNG, WebP, GIF and AVIF can be decoded in this process: all other loaders are blocked.
// https://sharp.pixelplumbing.com/api-utility#block
import sharp, { type Sharp } from 'sharp'
import { RefusedTask } from '../../../background/program.ts'
import { layoutOf, type Size } from './layout.ts'
import type { TransformedImage, TransformerOptions, TransformFault, TransformTask } from './message.ts'

const loaders = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadHeifBuffer',
]

type Format = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif'

/** Quality unless it is requested. */
const defaultQuality = { jpeg: 80, webp: 80, avif: 62 } as const

/** Prepares the process for decoding. */
export function prepareTransforming(threads: number): void {
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: loaders })
  // Caching is useless, because every image is different.
  sharp.cache(false)
  sharp.concurrency(threads)
}

const refusal = (cause?: unknown): RefusedTask<TransformFault> =>
  new RefusedTask('undecodable', 'The source image is invalid or unsupported for rendering', cause)

/**
 * Transforms an image: applies its EXIF orientation, drops all metadata, scales, crops and encodes it.
 *
 * @throws RefusedTask for anything but an image in a supported format, or with too many pixels
 */
export async function transform(
  image: Uint8Array,
  { transformation, acceptsWebp }: TransformTask,
  { pixelLimit }: TransformerOptions,
): Promise<TransformedImage> {
  const { format: source, size } = await describe(image)
  if (size.width * size.height > pixelLimit) {
    throw new RefusedTask<TransformFault>('too many pixels', 'The source image resolution is too large to process')
  }
  const { scaled, crop } = layoutOf(size, transformation)
  const target = targetOf(source, transformation.format, acceptsWebp)
  try {
    let result = sharp(image, { limitInputPixels: pixelLimit, pages: 1, failOn: 'error' }).autoOrient()
    if (transformation.gravity === 'sm') {
      result = result.resize({ width: crop.width, height: crop.height, fit: 'cover', position: 'attention' })
    } else {
      if (scaled.width !== size.width || scaled.height !== size.height)
        result = result.resize({ ...scaled, fit: 'fill' })
      if (crop.width !== scaled.width || crop.height !== scaled.height) result = result.extract(crop)
    }
    const bytes = await encoded(result.toColourspace('srgb'), target, transformation.quality).toBuffer()
    return { bytes, type: `image/${target}` }
  } catch (error) {
    throw refusal(error)
  }
}

/** Format, and size of the upright image, read from its header. */
async function describe(image: Uint8Array): Promise<{ readonly format: Format; readonly size: Size }> {
  try {
    const { format, compression, autoOrient, pageHeight } = await sharp(image, {
      limitInputPixels: false,
      failOn: 'none',
    }).metadata()
    const height = pageHeight ?? autoOrient.height
    const size = { width: autoOrient.width, height }
    if (!(size.width > 0 && height > 0)) throw refusal()
    if (format === 'heif' && compression === 'av1') return { format: 'avif', size }
    if (format === 'jpeg' || format === 'png' || format === 'webp' || format === 'gif') return { format, size }
    throw refusal()
  } catch (error) {
    throw error instanceof RefusedTask ? error : refusal(error)
  }
}

function targetOf(source: Format, requested: TransformTask['transformation']['format'], acceptsWebp: boolean): Format {
  if (requested === 'origin') return source
  return requested ?? (acceptsWebp ? 'webp' : source)
}

function encoded(image: Sharp, format: Format, quality: number | undefined): Sharp {
  switch (format) {
    case 'jpeg':
      // JPEG has no transparency.
      return image.flatten({ background: '#ffffff' }).jpeg({ quality: quality ?? defaultQuality.jpeg })
    case 'png':
      return image.png()
    case 'webp':
      return image.webp({ quality: quality ?? defaultQuality.webp })
    case 'gif':
      return image.gif()
    case 'avif':
      // The default effort takes ten times as long.
      return image.avif({ quality: quality ?? defaultQuality.avif, effort: 2 })
    default:
      return format satisfies never
  }
}
