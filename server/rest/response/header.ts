// Header fields of responses.
import { isStreamed, type Body } from './result.ts'

/** [name, value] */
export type Header = readonly [string, string]
export type Headers = readonly Header[]

// RFC 9110, section 5.6.2.
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const writable = /^[\t\x20-\x7e]*$/
const control = /[^\t\x20-\x7e\u{80}-\u{10ffff}]/gu

export const isHeaderName = (name: string): boolean => token.test(name)

/** Whether a value is valid: no control characters except tabs. RFC 9110, section 5.5. */
export const isHeaderValue = (value: string): boolean => value.search(control) < 0

/** Framing headers. RFC 9110, sections 6.6.2, 7.6.1 and 8.6; RFC 9112, section 6. */
const framing: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Whether a header determines the length of the message or the use of the connection. Only the HTTP server may set
 * these: with a wrong value, clients would read part of the next response, or wait forever.
 */
export const isFramingHeader = (name: string): boolean => framing.has(name.toLowerCase())

/** The warning about framing headers that SQL set. */
export const framingWarning = (source: string, names: readonly string[]): string =>
  `${source} must not set ${names.join(', ')}: reserved for the server; ignored`

/** Whether `headerText` returns a text unchanged. */
export const isWritable = (text: string): boolean => writable.test(text)

/**
 * Encodes a text for a header: UTF-8 with one character per byte, since Node writes strings as latin1. Control
 * characters become spaces (RFC 9110, section 5.5), because names in the database may contain any character, and must
 * not inject another header or response.
 */
export const headerText = (text: string): string =>
  isWritable(text) ? text : Buffer.from(text.replace(control, ' ')).toString('latin1')

export function hasHeader(headers: Headers, name: string): boolean {
  const lowerCase = name.toLowerCase()
  for (const [other] of headers) if (other.length === name.length && other.toLowerCase() === lowerCase) return true
  return false
}

/** Builds the headers of a response, in the order in which they are sent. */
export class HeaderList {
  #headers: Header[] = []

  get headers(): Headers {
    return this.#headers
  }

  /** @param value any text; it is encoded by `headerText` */
  add(name: string, value: string): void {
    this.#headers.push([name, headerText(value)])
  }

  /** Adds `Content-Length`, if it is known. */
  addLength(body: Body): void {
    const length = contentLength(body)
    if (length) this.#headers.push(length)
  }

  /** Adds headers, and removes those of the same names. */
  replace(others: Headers): void {
    this.#headers = this.#headers.filter(([name]) => !hasHeader(others, name))
    for (const [name, value] of others) this.add(name, value)
  }
}

/** The header with the length of a body; undefined when it is not known in advance. */
export function contentLength(body: Body): Header | undefined {
  const length = isStreamed(body) ? body.length : Buffer.byteLength(body)
  return length === undefined ? undefined : ['Content-Length', String(length)]
}

const encodedMarks = /[!'()*]/g

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
export const queryText = (text: string): string =>
  encodeURIComponent(text).replace(encodedMarks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
