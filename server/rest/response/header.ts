// Header fields of answers.
import { isStreamed, type Body } from './result.ts'

/** [name, value]. Order and repetitions are kept. */
export type Header = readonly [string, string]
export type Headers = readonly Header[]

// RFC 9110, section 5.6.2.
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const writable = /^[\t\x20-\x7e]*$/
const control = /[^\t\x20-\x7e\u{80}-\u{10ffff}]/gu

export const isHeaderName = (name: string): boolean => token.test(name)

/** Whether a value can be sent as it is: no line break, no other control character but the tab. RFC 9110, section 5.5. */
export const isHeaderValue = (value: string): boolean => value.search(control) < 0

/** RFC 9110, sections 6.6.2, 7.6.1 and 8.6; RFC 9112, section 6. */
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
 * Whether a header says where the message ends or what happens to the connection. Only the HTTP server knows that: a
 * wrong one makes clients read a part of the next answer as this one, or wait for ever.
 */
export const isFramingHeader = (name: string): boolean => framing.has(name.toLowerCase())

/** The warning about framing headers that SQL set. */
export const framingWarning = (source: string, names: readonly string[]): string =>
  `${source} must not set ${names.join(', ')}: the server does that itself; ignored`

/** Whether `headerText` leaves a text as it is. */
export const isWritable = (text: string): boolean => writable.test(text)

/**
 * Text as it can be written into a header: UTF-8 bytes, one character each (Node writes strings as latin1). Control
 * characters become spaces (RFC 9110, section 5.5): names in the database and settings of functions may hold any
 * character, but no second header or response may come of them.
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

  /** @param value any text; it is written as `headerText` says */
  add(name: string, value: string): void {
    this.#headers.push([name, headerText(value)])
  }

  addLength(body: Body): void {
    this.#headers.push(contentLength(body))
  }

  /** Adds headers in place of those of the same name. */
  replace(others: Headers): void {
    this.#headers = this.#headers.filter(([name]) => !hasHeader(others, name))
    for (const [name, value] of others) this.add(name, value)
  }
}

export const contentLength = (body: Body): Header => [
  'Content-Length',
  String(isStreamed(body) ? body.length : Buffer.byteLength(body)),
]

const encodedMarks = /[!'()*]/g

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
export const queryText = (text: string): string =>
  encodeURIComponent(text).replace(encodedMarks, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
