// What a client asks to be done to an image: the parameters of `/render/image`, and their form in signed URLs.
// https://supabase.com/docs/guides/storage/serving/image-transformations

const resizings = ['cover', 'contain', 'fill'] as const
export const formats = ['origin', 'avif', 'webp'] as const
const gravities = ['no', 'so', 'ea', 'we', 'noea', 'nowe', 'soea', 'sowe', 'ce', 'sm', 'fp'] as const

export type Resizing = (typeof resizings)[number]
export type Gravity = (typeof gravities)[number]

export type Transformation = {
  /** In pixels; 0 or undefined: follows from the other side. */
  readonly width?: number
  readonly height?: number
  readonly resize?: Resizing
  readonly format?: (typeof formats)[number]
  /** From 20 to 100. */
  readonly quality?: number
  /** Which part of an image is kept when it is cropped: a side or corner, the middle, `sm` the busiest, `fp` a point. */
  readonly gravity?: Gravity
  /** Distance from that side, in pixels, or a fraction of the size if it is below 1; of `fp`, the point itself. */
  readonly x_offset?: number
  readonly y_offset?: number
}

/** The least and the greatest width and height; others are replaced by these. */
export type SizeLimits = { readonly min: number; readonly max: number }

/** The parameters are invalid. The message names the parameter, as the original does. */
export class TransformationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TransformationError'
  }
}

const isOneOf = <T extends string>(value: string, allowed: readonly T[]): value is T =>
  (allowed as readonly string[]).includes(value)

/** Numbers as Ajv coerces them from text. */
function numberOf(text: string, place: string, kind: 'integer' | 'number', min?: number, max?: number): number {
  const value = Number(text)
  const isNumber = text !== '' && Number.isFinite(value) && text.trim() === text
  if (!isNumber || (kind === 'integer' && !Number.isInteger(value))) {
    throw new TransformationError(`${place} must be ${kind}`)
  }
  if (min !== undefined && value < min) throw new TransformationError(`${place} must be >= ${min}`)
  if (max !== undefined && value > max) throw new TransformationError(`${place} must be <= ${max}`)
  return value
}

/**
 * Reads the transformation of a query string.
 *
 * @throws TransformationError: `querystring/width must be integer`
 */
export function transformationOf(query: URLSearchParams): Transformation {
  const read = <T>(name: string, parse: (text: string, place: string) => T): T | undefined => {
    const values = query.getAll(name)
    const place = `querystring/${name}`
    // A repeated parameter is a list, so its type is not valid.
    return values.length === 0 ? undefined : parse(values.length === 1 ? (values[0] ?? '') : '', place)
  }
  const choice =
    <T extends string>(allowed: readonly T[]) =>
    (text: string, place: string): T => {
      if (isOneOf(text, allowed)) return text
      throw new TransformationError(`${place} must be equal to one of the allowed values`)
    }
  const transformation = withoutUndefined({
    height: read('height', (text, place) => numberOf(text, place, 'integer', 0)),
    width: read('width', (text, place) => numberOf(text, place, 'integer', 0)),
    resize: read('resize', choice(resizings)),
    format: read('format', choice(formats)),
    quality: read('quality', (text, place) => numberOf(text, place, 'integer', 20, 100)),
    gravity: read('gravity', choice(gravities)),
    x_offset: read('x_offset', (text, place) => numberOf(text, place, 'number')),
    y_offset: read('y_offset', (text, place) => numberOf(text, place, 'number')),
  })
  requireFocalPoint(transformation)
  return transformation
}

/** A focal point needs both coordinates, as fractions of the size. */
function requireFocalPoint({ gravity, x_offset, y_offset }: Transformation): void {
  if (gravity !== 'fp') return
  for (const value of [x_offset, y_offset]) {
    if (value === undefined || value < 0 || value > 1) {
      throw new TransformationError('Focal point requires x and y coordinates within 0-1 range')
    }
  }
}

const withoutUndefined = (values: { readonly [K in keyof Transformation]: Transformation[K] | undefined }) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Transformation

const clamped = (size: number, { min, max }: SizeLimits): number => Math.min(Math.max(size, min), max)

/** The same with a width and a height within the limits. */
export function withinLimits(transformation: Transformation, limits: SizeLimits): Transformation {
  const { width, height } = transformation
  return {
    ...transformation,
    ...(width ? { width: clamped(width, limits) } : {}),
    ...(height ? { height: clamped(height, limits) } : {}),
  }
}

/** The names of the resizings in the header `X-Transformations`. */
const resizingTypes = { cover: 'fill', contain: 'fit', fill: 'force' } satisfies Record<Resizing, string>

/**
 * The value of the header `X-Transformations`: `height:60,width:80,resizing_type:fill,quality:50`.
 *
 * @param transformation within the limits
 */
export const describe = (transformation: Transformation): string => parts(transformation, false).join(',')

/**
 * The claim `transformations` of a signed URL: `height:60,width:80,resize:cover`. `transformationOfClaim` reads it.
 *
 * @param transformation within the limits
 */
export const claimOf = (transformation: Transformation): string => parts(transformation, true).join(',')

function parts(transformation: Transformation, keepsResize: boolean): string[] {
  const { width, height, resize, quality, format, gravity, x_offset, y_offset } = transformation
  const offsets = x_offset === undefined && y_offset === undefined ? '' : `:${x_offset ?? 0}:${y_offset ?? 0}`
  return [
    ...(height ? [`height:${height}`] : []),
    ...(width ? [`width:${width}`] : []),
    ...(width || height
      ? [keepsResize ? `resize:${resize}` : `resizing_type:${resizingTypes[resize ?? 'cover']}`]
      : []),
    ...(quality ? [`quality:${quality}`] : []),
    ...(format && format !== 'origin' ? [`format:${format}`] : []),
    ...(gravity ? [`gravity:${gravity}${gravity === 'sm' ? '' : offsets}`] : []),
  ]
}

/** Reads the claim of a signed URL. Ignores what it does not know: the signature proves that this server wrote it. */
export function transformationOfClaim(claim: string): Transformation {
  const found: { -readonly [K in keyof Transformation]: Transformation[K] } = {}
  for (const part of claim.split(',')) {
    const [name, value = '', x = '', y = ''] = part.split(':')
    const number = Number.parseInt(value, 10)
    if (name === 'height' && number >= 0) found.height = number
    if (name === 'width' && number >= 0) found.width = number
    if (name === 'quality' && number >= 1 && number <= 100) found.quality = number
    if (name === 'resize' && isOneOf(value, resizings)) found.resize = value
    if (name === 'format' && isOneOf(value, formats)) found.format = value
    if (name === 'gravity' && isOneOf(value, gravities)) {
      found.gravity = value
      if (Number.isFinite(Number.parseFloat(x))) found.x_offset = Number.parseFloat(x)
      if (Number.isFinite(Number.parseFloat(y))) found.y_offset = Number.parseFloat(y)
    }
  }
  return found
}
