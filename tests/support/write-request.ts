// Requests with a body, sent unchanged.
import { Agent, request as sendRequest } from 'node:http'
import type { RawAnswer } from './exchange.ts'
import { headersOf, type Exchange } from './request-table.ts'

export type WriteRequest = {
  readonly method: string
  /** Path and query relative to the mount path. Characters that a URL cannot contain are encoded when sent. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

const agent = new Agent({ keepAlive: true, maxSockets: 2 })

/** Non-ASCII characters, and the ASCII characters that a request line cannot contain. */
const unsendable = /[^\x21-\x7e]/gu

/** Sends a request to a path of `url`, which itself has no path. */
export function sendWrite(url: string, { method, path, headers, body }: WriteRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const target = path.replace(unsendable, (text) => encodeURIComponent(text))
  const bytes = Buffer.from(body ?? '')
  const length = body === undefined ? {} : { 'Content-Length': String(bytes.length) }
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path: target, headers: { ...headers, ...length }, agent }
    const request = sendRequest(options, (response) => {
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
    request.once('error', reject)
    request.end(bytes)
  })
}

/** Sends the request of a row of a table. */
export async function requestOf(row: Exchange): Promise<WriteRequest> {
  const [method, path, body] = row.send
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const told = await headersOf(row)
  const headers = body === undefined ? told : { 'Content-Type': 'application/json', ...told }
  return { method, path, headers, ...(text === undefined ? {} : { body: text }) }
}
