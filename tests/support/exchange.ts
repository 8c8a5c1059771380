// Requests and their expected responses, as rows of a table.
import { Agent, request as sendRequest } from 'node:http'
import type { Test } from 'tap'
import type { Environment } from '../../server/config/load.ts'

type RequestHeader =
  'Accept' | 'Accept-Profile' | 'Authorization' | 'Content-Profile' | 'Origin' | 'Prefer' | 'Range' | 'Range-Unit'

export type ReadRequest = {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'TRACE'
  /** Path and query relative to the mount path. Characters that a URL cannot contain are encoded when sent. */
  readonly path: string
  readonly headers?: Readonly<Partial<Record<RequestHeader, string>>>
}

export type AnswerHeader =
  | 'Access-Control-Allow-Credentials'
  | 'Access-Control-Allow-Headers'
  | 'Access-Control-Allow-Methods'
  | 'Access-Control-Allow-Origin'
  | 'Access-Control-Expose-Headers'
  | 'Access-Control-Max-Age'
  | 'Allow'
  | 'Content-Length'
  | 'Content-Location'
  | 'Content-Profile'
  | 'Content-Range'
  | 'Content-Type'
  | 'Location'
  | 'Preference-Applied'
  | 'Proxy-Status'
  | 'Range-Unit'
  | 'Server-Timing'
  | 'Vary'
  | 'Warning'
  | 'WWW-Authenticate'
  | 'X-Garage'

export type ExpectedAnswer = {
  /** Defaults to 200. */
  readonly status?: number
  /** The body, parsed as JSON. */
  readonly json?: unknown
  /** The body as text. */
  readonly text?: string | RegExp
  /** The bytes of the body, in hexadecimal digits. */
  readonly bytes?: string
  /** Expected headers; null if a header must be absent. */
  readonly headers?: Readonly<Partial<Record<AnswerHeader, string | RegExp | null>>>
}

/** A group of related exchanges. */
export type Topic = {
  readonly title: string
  /** Settings of the server in addition to those of all read tests. */
  readonly settings?: Environment
  readonly exchanges: readonly Exchange[]
}

/** The complete body of an error. */
export const fault = (
  status: number,
  code: string,
  message: string,
  details: unknown = null,
  hint: string | null = null,
): ExpectedAnswer => ({ status, json: { code, message, details, hint } })

/** The response to a query string that violates the grammar. */
export const notParsed = (text: string, column: number, details: string): ExpectedAnswer =>
  fault(400, 'PGRST100', `"failed to parse ${text}" (line 1, column ${column})`, details)

/** A request, or the path of a GET, with its response, or the rows of a successful one. */
export type Exchange = readonly [request: string | ReadRequest, answer: readonly unknown[] | ExpectedAnswer]

export type RawAnswer = {
  readonly status: number
  readonly header: (name: AnswerHeader) => string | null
  readonly body: Buffer
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Non-ASCII characters, and the ASCII characters that a request line cannot contain. */
const unsendable = /[^\x21-\x7e]/gu

/** Sends a request unchanged: no headers are added, and its path is not normalised. */
export function send(url: string, { method = 'GET', path, headers }: ReadRequest): Promise<RawAnswer> {
  const target = path.replace(unsendable, (text) => encodeURIComponent(text))
  const { hostname, port, pathname } = new URL(url)
  const base = pathname === '/' ? '' : pathname
  return new Promise((resolve, reject) => {
    const request = sendRequest({ hostname, port, method, path: base + target, headers: { ...headers }, agent })
    request.once('error', reject)
    request.once('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          header: (name) => {
            const value = response.headers[name.toLowerCase()]
            if (value === undefined) return null
            // Node decodes the bytes of headers as Latin-1.
            return Buffer.from(Array.isArray(value) ? value.join(', ') : value, 'latin1').toString()
          },
          body: Buffer.concat(chunks),
        })
      })
    })
    request.end()
  })
}

export const readRequest = (request: string | ReadRequest): ReadRequest =>
  typeof request === 'string' ? { path: request } : request

/** Converts a header that contains the mount path to its form at the root. */
function unmounted(value: string | null, name: AnswerHeader, mountPath: string): string | null {
  if (name !== 'Content-Location' || value === null) return value
  return value.startsWith(`${mountPath}/`) ? value.slice(mountPath.length) : `${value}, not below ${mountPath}`
}

/** Compares a response with the expected one. Its `Content-Location` must start with the mount path. */
export function matches(t: Test, answer: RawAnswer, expected: Exchange[1], mountPath: string, title: string): void {
  const {
    status = 200,
    json,
    text,
    bytes,
    headers = {},
  }: ExpectedAnswer = isRows(expected) ? { json: expected } : expected
  const body = answer.body.toString()
  const found: Record<string, unknown> = { status: answer.status }
  const wanted: Record<string, unknown> = { status }
  const expect = (what: string, wants: unknown, finds: unknown): void => {
    wanted[what] = wants instanceof RegExp ? true : wants
    found[what] = wants instanceof RegExp ? wants.test(String(finds)) || finds : finds
  }
  if (json !== undefined) expect('json', json, jsonOf(body))
  if (text !== undefined) expect('text', text, body)
  if (bytes !== undefined) expect('bytes', bytes, answer.body.toString('hex'))
  for (const [name, value] of Object.entries(headers) as [AnswerHeader, string | RegExp | null][]) {
    expect(name, value, unmounted(answer.header(name), name, mountPath))
  }
  t.strictSame(found, wanted, title)
}

const isRows = (expected: Exchange[1]): expected is readonly unknown[] => Array.isArray(expected)

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return { 'not JSON': text }
  }
}
