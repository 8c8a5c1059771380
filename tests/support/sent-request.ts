// Requests sent exactly as written, and their responses as received.
import { Agent, request as startRequest } from 'node:http'

export type SentRequest = {
  readonly method: string
  /** Path and query below the URL of the server. Characters that a request line cannot contain are encoded when sent. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Headers of responses, as tables and comparisons spell them. */
export type AnswerHeader =
  | 'Access-Control-Allow-Credentials'
  | 'Access-Control-Allow-Headers'
  | 'Access-Control-Allow-Methods'
  | 'Access-Control-Allow-Origin'
  | 'Access-Control-Expose-Headers'
  | 'Access-Control-Max-Age'
  | 'Allow'
  | 'Cache-Control'
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
  | `X-${string}`

export type RawAnswer = {
  readonly status: number
  /** The value of a header in UTF-8, null if it is absent; the values of a repeated header are joined. */
  readonly header: (name: AnswerHeader) => string | null
  readonly body: Buffer
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Non-ASCII characters, and the ASCII characters that a request line cannot contain. */
const unsendable = /[^\x21-\x7e]/gu

/**
 * Sends a request unchanged: no headers are added except for the length of a body, and its path is not normalised.
 *
 * @param url of the server, with the mount path if there is one
 */
export function send(url: string, { method, path, headers, body }: SentRequest): Promise<RawAnswer> {
  const target = path.replace(unsendable, (text) => encodeURIComponent(text))
  const { hostname, port, pathname } = new URL(url)
  const base = pathname === '/' ? '' : pathname
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  const options = { hostname, port, method, path: base + target, headers: { ...headers, ...length }, agent }
  return new Promise((resolve, reject) => {
    const request = startRequest(options)
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
    request.end(body)
  })
}
