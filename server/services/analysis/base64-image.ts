// Images in JSON: base64, or a `data:` URL. https://www.rfc-editor.org/rfc/rfc4648#section-4,
// https://www.rfc-editor.org/rfc/rfc2397
import { problems } from './problem.ts'

export type EncodedImage = {
  /** Media type of a `data:` URL; empty without one. */
  readonly type: string
  readonly bytes: Buffer
}

const dataUrl = /^data:([\w.+*-]*\/?[\w.+*-]*)((?:;[\w.+-]+=[^;,]{0,100}){0,4});base64,/i

/**
 * Decodes an image strictly: only characters of the standard alphabet, with complete padding.
 *
 * @throws Problem 400 for anything else
 */
export function decodeBase64Image(text: string): EncodedImage {
  const url = dataUrl.exec(text.slice(0, 600))
  const start = url?.[0].length ?? 0
  const encoded = start === 0 ? text : text.slice(start)
  const padding = encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(encoded, 'base64')
  // Node ignores invalid characters and also accepts those of base64url.
  const isStrict =
    encoded.length % 4 === 0 &&
    bytes.length === (encoded.length / 4) * 3 - padding &&
    !encoded.includes('-') &&
    !encoded.includes('_')
  if (!isStrict || encoded === '') throw problems.invalidBase64()
  return { type: (url?.[1] ?? '').toLowerCase(), bytes }
}
