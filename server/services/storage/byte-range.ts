// The header `Range`. https://www.rfc-editor.org/rfc/rfc9110#section-14.2
import type { ByteRange } from './object-store.ts'

/**
 * Whether a header asks for bytes. Every other unit is unknown, so its header is ignored.
 *
 * @param header undefined or empty if the client asks for nothing
 */
export const isByteRange = (header: string | undefined): header is string => /^\s*bytes\s*=/i.test(header ?? '')

/**
 * The part that a header asks for. Several parts are not supported.
 *
 * @param header for which `isByteRange` is true
 * @returns undefined if there is no such part
 */
export function byteRange(header: string, size: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^\s*bytes\s*=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (size === 0 || (from === '' && to === '')) return undefined
  const [first, last] = [Number(from), Number(to)]
  // Numbers beyond those that are exact are beyond every size, too.
  if (from === '') return last === 0 ? undefined : { start: Math.max(size - last, 0), end: size - 1 }
  const end = to === '' ? size - 1 : last
  if (end < first || first >= size) return undefined
  return { start: first, end: Math.min(end, size - 1) }
}
