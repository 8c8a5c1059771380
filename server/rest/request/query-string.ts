// Query strings and forms. Each character stands for one byte, as in Node's HTTP parser.
import { isUtf8 } from 'node:buffer'

/** Percent-decoded name and value, one character per byte. The value is undefined without a `=`. */
export type BytePair = readonly [string, string | undefined]

const encoded = /[%+]/
const percent = 0x25
const plus = 0x2b
const space = 0x20
/** A byte that is not an ASCII character. */
const beyondAscii = /[\x80-\uffff]/

/** The values of hexadecimal digits by their codes; undefined for other characters. */
const digits: readonly (number | undefined)[] = Array.from({ length: 0x67 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? undefined : value
})

/** Percent-decodes in place, because a form may consist of millions of escapes. */
function decode(text: string): string {
  if (!encoded.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  let end = 0
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0
    if (byte === plus) byte = space
    else if (byte === percent) {
      const high = digits[bytes[at + 1] ?? 0]
      const low = digits[bytes[at + 2] ?? 0]
      if (high !== undefined && low !== undefined) {
        byte = high * 16 + low
        at += 2
      }
    }
    bytes[end++] = byte
  }
  return bytes.toString('latin1', 0, end)
}

/** Splits at `&` and `;`, and percent-decodes. Invalid escapes are kept as they are. */
export function parseQueryString(query: string): BytePair[] {
  if (query === '') return []
  const parts = query.split(/[&;]/)
  // A separator at the end does not begin another pair.
  if (parts.at(-1) === '') parts.pop()
  return parts.map((part) => {
    const equals = part.indexOf('=')
    return equals === -1 ? [decode(part), undefined] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))]
  })
}

/** Decodes UTF-8; undefined for invalid UTF-8. */
export function utf8Text(bytes: string): string | undefined {
  if (!beyondAscii.test(bytes)) return bytes
  const buffer = Buffer.from(bytes, 'latin1')
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined
}

/** Decodes UTF-8, with U+FFFD in place of invalid bytes. */
export const lenientUtf8Text = (bytes: string): string =>
  beyondAscii.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes

/** Characters that `encodeURIComponent` does not escape, but that must be escaped. */
const marks = /[!'()*]/
const reserved = /[^A-Za-z0-9\-_.~]/g

// A byte above 127 is encoded like the character with that code, which gives two escapes, as in PostgREST.
const escapeOf = (byte: string): string =>
  marks.test(byte) ? `%${byte.charCodeAt(0).toString(16).toUpperCase()}` : encodeURIComponent(byte)

/** The escapes of all bytes. */
const escapeTable = Array.from({ length: 256 }, (_, code) => escapeOf(String.fromCharCode(code)))

const escapeByte = (byte: string): string => escapeTable[byte.charCodeAt(0)] ?? escapeOf(byte)

const encode = (bytes: string): string => bytes.replace(reserved, escapeByte)

/** Sorts the pairs by name and encodes them uniformly. Joins the values of a repeated name with commas. */
export function canonicalQueryString(pairs: readonly BytePair[]): string {
  let canonical = ''
  let previous: string | undefined
  for (const [name, value] of [...pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (name === previous) canonical += ','
    else canonical += `${previous === undefined ? '' : '&'}${encode(name)}=`
    canonical += encode(value ?? '')
    previous = name
  }
  return canonical
}
