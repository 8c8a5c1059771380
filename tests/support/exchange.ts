// Requests and the answers they must get, as rows of a table.
import { Agent, request as sendRequest } from 'node:http'

type RequestHeader =
  'Accept' | 'Accept-Profile' | 'Authorization' | 'Content-Profile' | 'Origin' | 'Prefer' | 'Range' | 'Range-Unit'

export type ReadRequest = {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'TRACE'
  /** Path and query below the mount path. Characters that a URL cannot hold are encoded when it is sent. */
  readonly path: string
  readonly headers?: Readonly<Partial<Record<RequestHeader, string>>>
}

export type AnswerHeader =
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
  /** 200 unless it is told. */
  readonly status?: number
  /** The body, read as JSON. */
  readonly json?: unknown
  /** The body as it is. */
  readonly text?: string
  /** Headers that must be so; null: must not be there. */
  readonly headers?: Readonly<Partial<Record<AnswerHeader, string | RegExp | null>>>
}

/** A request, or the path of a GET; and its answer, or the rows of a successful one. */
export type Exchange = readonly [request: string | ReadRequest, answer: readonly unknown[] | ExpectedAnswer]

export type RawAnswer = {
  readonly status: number
  readonly header: (name: AnswerHeader) => string | null
  readonly body: Buffer
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Everything that is not ASCII, and the few ASCII characters that a request line cannot hold. */
const unsendable = /[^\x21-\x7e]/gu

/** Sends a request as it is: nothing is added to it, and its path is not tidied up. */
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
            return Array.isArray(value) ? value.join(', ') : (value ?? null)
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
