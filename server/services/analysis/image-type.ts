// Which type an uploaded file has: what its sender says, and what its first bytes say.
import { problems } from './problem.ts'

const jpeg = [0xff, 0xd8, 0xff]
const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const riff = [...Buffer.from('RIFF')]
const webp = [...Buffer.from('WEBP')]

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  signature.every((byte, index) => bytes[at + index] === byte)

/** Whether the file begins as a JPEG, PNG or WebP. */
export const looksLikeImage = (bytes: Uint8Array): boolean =>
  startsWith(bytes, jpeg) || startsWith(bytes, png) || (startsWith(bytes, riff) && startsWith(bytes, webp, 8))

/** Types as clients send them, some under old names. */
const accepted: ReadonlySet<string> = new Set([
  ...['image/jpeg', 'image/jpg', 'image/pjpeg', 'image/png', 'image/x-png', 'image/webp'],
])
/** Types that say nothing: the second is what a multipart parser takes a part without a type for. */
const unspecific: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'text/plain', 'image/*'])

/** `image/JPEG; q=1` -> `image/jpeg` */
export const mediaTypeOf = (header: string | undefined): string =>
  (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/**
 * @param bytes undefined for a file that is not kept
 * @throws Problem 415 when the declared type is another one, or says nothing and the file does not begin as an image
 */
export function requireImageType(declared: string, bytes: Uint8Array | undefined): void {
  if (accepted.has(declared)) return
  if (!unspecific.has(declared) || (bytes && !looksLikeImage(bytes))) throw problems.unsupportedType(declared)
}
