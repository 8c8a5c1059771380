// The header `Range`. https://www.rfc-editor.org/rfc/rfc9110#section-14.2
import type { ByteRange } from './object-store.ts'

/**
 * The part that a header asks for. Several parts are not supported.
 *
 * @returns undefined if there is no such part
 */
export function byteRange(header: string, size: number): ByteRange | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  if (size === 0 || (from === '' && to === '')) return undefined
  const [first, last] = [Number(from), Number(to)]
  // Numbers beyond those that are exact are beyond every size, too.
  if (from === '') return last === 0 ? undefined : { start: Math.max(size - last, 0), end: size - 1 }
  const end = to === '' ? size - 1 : last
  if (end < first || first >= size) return undefined
  return { start: first, end: Math.min(end, size - 1) }
}
