// Query strings and forms. Each character stands for one byte, as in Node's HTTP parser.
import { isUtf8 } from 'node:buffer'

/** Percent-decoded name and value, one character per byte. The value is undefined without a `=`. */
export type BytePair = readonly [string, string | undefined]

const encoded = /[%+]/
const escapes = /\+|%[0-9A-Fa-f]{2}/g
/** A byte that is not an ASCII character. */
const beyondAscii = /[\x80-\uffff]/

const decodeEscape = (escape: string): string =>
  escape === '+' ? ' ' : String.fromCharCode(Number.parseInt(escape.slice(1), 16))

const decode = (text: string): string => (encoded.test(text) ? text.replace(escapes, decodeEscape) : text)

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
