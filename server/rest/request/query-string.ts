// Query strings and forms, as bytes: every character stands for one byte, as Node's HTTP parser hands them over.
import { isUtf8 } from 'node:buffer'

/** Name and value as byte strings, decoded; undefined where there is no `=`. */
export type BytePair = readonly [string, string | undefined]

const encoded = /[%+]/
const escapes = /\+|%[0-9A-Fa-f]{2}/g
// All of ASCII is meant, control characters, too.
// eslint-disable-next-line no-control-regex
const ascii = /^[\x00-\x7f]*$/

const decodeEscape = (escape: string): string =>
  escape === '+' ? ' ' : String.fromCharCode(Number.parseInt(escape.slice(1), 16))

const decode = (text: string): string => (encoded.test(text) ? text.replace(escapes, decodeEscape) : text)

/** Splits at `&` and `;`, and decodes. Escapes that are not `%` and two hexadecimal digits stay as they are. */
export function parseQueryString(query: string): BytePair[] {
  if (query === '') return []
  const parts = query.split(/[&;]/)
  // A separator at the end is followed by nothing, not by an empty pair.
  if (parts.at(-1) === '') parts.pop()
  return parts.map((part) => {
    const equals = part.indexOf('=')
    return equals === -1 ? [decode(part), undefined] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))]
  })
}

/** Bytes as UTF-8 text; undefined when they are not. */
export function utf8Text(bytes: string): string | undefined {
  if (ascii.test(bytes)) return bytes
  const buffer = Buffer.from(bytes, 'latin1')
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined
}

/** Bytes as UTF-8 text, with U+FFFD for what is not. */
export const lenientUtf8Text = (bytes: string): string =>
  ascii.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')

/** What `encodeURIComponent` leaves as it is, but is to be escaped. */
const marks = /[!'()*]/
const reserved = /[^A-Za-z0-9\-_.~]/g

// A byte above 127 is taken for the character of that number and becomes two: clients have always got it so.
const escapeByte = (byte: string): string =>
  marks.test(byte) ? `%${byte.charCodeAt(0).toString(16).toUpperCase()}` : encodeURIComponent(byte)

const encode = (bytes: string): string => bytes.replace(reserved, escapeByte)

/** The pairs sorted by name and encoded anew; the values of a repeated name stand together, with commas between them. */
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
