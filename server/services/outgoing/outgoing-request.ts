// Requests to servers of others, which may be slow, endless, broken or hostile.
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isFramingHeader } from '../../rest/response/header.ts'
import { addressFamily } from '../../text/host-text.ts'
import type { OutgoingConnections } from './connections.ts'
import { OutgoingError, refusal } from './outgoing-error.ts'
import { hostOf, outgoingUrl, redirectedUrl } from './outgoing-url.ts'
import { receivedText, type ReceivedText } from './received-text.ts'

/** How far a request has come. Times are those of `performance.now()`. */
export type OutgoingProgress = {
  /** Whether a kept connection is used, so that the others have no value. */
  isKept?: boolean
  /** When the address was known. */
  lookedUp?: number
  /** When the connection was open, and encrypted if it is to be. */
  connected?: number
}

export type OutgoingRequest = {
  readonly method: string
  readonly url: string
  /** Those that belong to the connection are left out; see `ownHeaders`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Bytes of the body of the response that are kept. */
  readonly keptBytes: number
  /** Written while the request is sent; with redirects, that of the last request. */
  readonly progress?: OutgoingProgress | undefined
}

export type OutgoingResponse = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[]
  readonly body: ReceivedText
}

const mostRedirects = 5
/** Bytes of all headers of a response. */
const headerBytes = 16 * 1024

/** Headers that this side sets itself, besides those of framing. `Host` can be chosen, as with curl and pg_net. */
const ownHeaders: ReadonlySet<string> = new Set(['accept-encoding', 'expect', 'http2-settings', 'proxy-authorization'])

/**
 * Sends a request, follows redirects within the host, and receives the beginning of the response.
 *
 * @param signal ends it, with an error that is the reason. A response whose head has arrived is returned nevertheless
 * @throws OutgoingError
 */
export async function sendRequest(
  connections: OutgoingConnections,
  { method, url: text, headers, body, keptBytes, progress = {} }: OutgoingRequest,
  signal: AbortSignal,
): Promise<OutgoingResponse> {
  let hop: Hop = { method, url: outgoingUrl(text), headers: sentHeaders(headers), body }
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === 'host') connections.checkHostHeader(hop.url, value)
  }
  for (let redirects = 0; ; redirects++) {
    const response = await respondedTo(connections, { ...hop, progress }, signal)
    const { statusCode: status = 0, headers: received, rawHeaders } = response
    const { location } = received
    if (!isRedirect(status) || location === undefined) {
      return { status, headers: received, rawHeaders, body: await receivedText(response, keptBytes, signal) }
    }
    // Its body is of no interest, and may be endless.
    response.destroy()
    if (redirects === mostRedirects) {
      throw new OutgoingError(`${hop.url.host} redirects more than ${mostRedirects} times`, { status })
    }
    const target = { ...hop, url: redirectedUrl(hop.url, location, status) }
    // What was sent has been processed then; the others ask for the same request again.
    hop = status === 303 && method !== 'HEAD' ? { ...target, method: 'GET', body: null } : target
  }
}

type Hop = {
  readonly method: string
  readonly url: URL
  readonly headers: OutgoingHttpHeaders
  readonly body: string | null
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** Node.js sends each character of a header as a byte. Text is sent in UTF-8, as curl and pg_net do. */
const bytesOf = (value: string): string => Buffer.from(value).toString('latin1')

function sentHeaders(given: Readonly<Record<string, string>>): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (!ownHeaders.has(lower) && !isFramingHeader(lower)) headers[name] = bytesOf(value)
  }
  return headers
}

type Attempt = Hop & { readonly progress: OutgoingProgress }

/** The response to one request. Repeats it if a kept connection was closed meanwhile. */
async function respondedTo(
  connections: OutgoingConnections,
  hop: Attempt,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  try {
    return await attempt(connections, hop, signal)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error
    return await attempt(connections, hop, signal)
  }
}

/** The receiver has closed a connection that was kept, without responding. */
class StaleConnection extends OutgoingError {}

const attempt = (
  connections: OutgoingConnections,
  { method, url, headers, body, progress }: Attempt,
  signal: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { host } = url
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const own: OutgoingHttpHeaders = { 'accept-encoding': 'identity' }
    if (body !== null) own['content-length'] = Buffer.byteLength(body)
    if (connections.keepsEnough) own.connection = 'close'
    try {
      const request = send(url, {
        method,
        agent: connections.agentFor(url),
        // Node would take it from the header Host, and accept the certificate of that host.
        ...(url.protocol === 'https:'
          ? { servername: addressFamily(hostOf(url)) === undefined ? hostOf(url) : '' }
          : {}),
        headers: { ...headers, ...own },
        maxHeaderSize: headerBytes,
        signal,
      })
      request.on('socket', (socket) => {
        progress.isKept = request.reusedSocket
        delete progress.lookedUp
        delete progress.connected
        if (request.reusedSocket) return
        // Node looks no address up.
        if (addressFamily(hostOf(url)) !== undefined) progress.lookedUp = performance.now()
        socket.once('lookup', () => (progress.lookedUp = performance.now()))
        socket.once(
          url.protocol === 'https:' ? 'secureConnect' : 'connect',
          () => (progress.connected = performance.now()),
        )
      })
      request.on('response', resolve)
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (signal.aborted && signal.reason instanceof OutgoingError) reject(signal.reason)
        else if (error instanceof OutgoingError) reject(error)
        else {
          const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
          reject(new (isStale ? StaleConnection : OutgoingError)(faultOf(error, host), { cause: error }))
        }
      })
      // Without an error: after a response that switches to another protocol.
      request.on('close', () => reject(new OutgoingError(`${host} ended the connection without a response`)))
      request.end(body ?? undefined)
    } catch (error) {
      // What Node refuses before it connects: a method or a header.
      reject(error instanceof OutgoingError ? error : refusal(faultOf(error, host)))
    }
  })

/** A connection error in words. With several addresses, Node has one error for each. */
function faultOf(error: unknown, host: string): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const messages = errors.map((one) => (one instanceof Error ? one.message : String(one)))
  return `${host}: ${[...new Set(messages)].join(', ').slice(0, 500)}`
}
