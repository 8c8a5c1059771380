// Checks the type of an uploaded file, as declared by the client and by its first bytes.
import { problems } from './problem.ts'

const jpeg = [0xff, 0xd8, 0xff]
const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const riff = [...Buffer.from('RIFF')]
const webp = [...Buffer.from('WEBP')]

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  signature.every((byte, index) => bytes[at + index] === byte)

/** Whether the file begins like a JPEG, PNG or WebP. */
export const looksLikeImage = (bytes: Uint8Array): boolean => imageTypeOf(bytes) !== undefined

/** The format that the file begins like; undefined for another one. */
export function imageTypeOf(bytes: Uint8Array): 'image/jpeg' | 'image/png' | 'image/webp' | undefined {
  if (startsWith(bytes, jpeg)) return 'image/jpeg'
  if (startsWith(bytes, png)) return 'image/png'
  return startsWith(bytes, riff) && startsWith(bytes, webp, 8) ? 'image/webp' : undefined
}

/** Media types that clients send for these formats, including outdated names. */
const accepted: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/jpg',
  'image/pjpeg',
  'image/png',
  'image/x-png',
  'image/webp',
])
/** Types that declare nothing. `application/octet-stream` is the multipart parser's default for a file without a type. */
const unspecific: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'text/plain', 'image/*'])

/** `image/JPEG; q=1` -> `image/jpeg` */
export const mediaTypeOf = (header: string | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/**
 * @param bytes undefined for a file above the size limit
 * @throws Problem 415 when another type is declared, or none and the file does not begin like an image
 */
export function requireImageType(declared: string, bytes: Uint8Array | undefined): void {
  if (accepted.has(declared)) return
  if (!unspecific.has(declared) || (bytes && !looksLikeImage(bytes))) throw problems.unsupportedType(declared)
}
