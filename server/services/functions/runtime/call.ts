// One call of a function, from the request until the end of the response.
import { request as sendRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { BodyLimit } from './body-limit.ts'
import { FunctionFailure } from './function-failure.ts'
import type { FunctionLimits, FunctionRequest, FunctionResponse } from './function-source.ts'
import { headerPairs, messageHeaders } from './headers.ts'
import { requestIdHeader, mostHeaderBytes } from './message.ts'

/** Milliseconds in which the end of a process is known after that of its connection. */
const endIsKnownWithin = 500

type Connection = { readonly socketPath: string; readonly agent: Agent }

export type CallEvents = {
  /** The call took too long. */
  readonly onTimeout: () => void
  /** Called once, when nothing more is received or sent. */
  readonly onEnd: () => void
}

const declaredLength = ({ headers }: FunctionRequest): number =>
  Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0)

export class Call {
  readonly request: FunctionRequest
  /** Rejects with a `FunctionFailure`, or the reason of the aborted signal. */
  readonly response: Promise<FunctionResponse>
  readonly #limits: FunctionLimits
  readonly #events: CallEvents
  #timer: NodeJS.Timeout | undefined
  #resolve: (response: FunctionResponse) => void = () => undefined
  #reject: (error: Error) => void = () => undefined
  #message: ClientRequest | undefined
  #body: BodyLimit | undefined
  #hasEnded = false

  constructor(request: FunctionRequest, limits: FunctionLimits, events: CallEvents) {
    this.request = request
    this.#limits = limits
    this.#events = events
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Begins to count the time, and to heed the signal. Ends the call if the signal or the size of the body forbids it. */
  begin(): void {
    const { signal, body } = this.request
    body?.on('error', (error) => this.fail(error))
    this.#timer = setTimeout(() => {
      this.#events.onTimeout()
      this.fail(new FunctionFailure('timed out', `The call took longer than ${this.#limits.timeoutMs} ms`))
    }, this.#limits.timeoutMs)
    if (signal.aborted) this.#abort()
    else signal.addEventListener('abort', this.#abort, { once: true })
    if (declaredLength(this.request) > this.#limits.requestBytes) this.#refuseBody()
  }

  readonly #abort = (): void => this.fail(this.request.signal.reason as Error)

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  #refuseBody(): void {
    this.fail(
      new FunctionFailure(
        'request too large',
        `The body of the request has more than ${this.#limits.requestBytes} bytes`,
      ),
    )
  }

  /** Sends the request to a worker. */
  send({ socketPath, agent }: Connection): void {
    if (this.#hasEnded) return
    const { method, url, body, headers, requestId } = this.request
    const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD'
    const sent = messageHeaders(headers).filter(([name]) => !/^(?:host|content-length|x-rowhouse-request)$/i.test(name))
    // The number of bytes remains visible to the function. Without one, the body is sent in chunks.
    const length = declaredLength(this.request)
    const framing = length > 0 ? ['content-length', String(length)] : ['transfer-encoding', 'chunked']
    try {
      const target = new URL(url)
      const message = sendRequest({
        socketPath,
        agent,
        maxHeaderSize: mostHeaderBytes,
        method,
        path: target.href,
        headers: [
          'host',
          target.host,
          ...sent.flat(),
          ...(hasBody ? framing : []),
          requestIdHeader,
          encodeURIComponent(requestId),
        ],
      })
      this.#message = message
      message.on('error', (error) => this.#onBroken(error))
      message.on('response', (response) => this.#receive(response))
      if (hasBody) this.#sendBody(body, message, length)
      else message.end()
    } catch (error) {
      this.fail(new FunctionFailure('crashed', `The request cannot be sent: ${String(error)}`))
    }
  }

  /** Sends as many bytes as the header says: others would be those of the next request on the connection. */
  #sendBody(body: Readable, message: ClientRequest, declared: number): void {
    const { requestBytes } = this.#limits
    const limited = new BodyLimit(declared > 0 ? Math.min(declared, requestBytes) : requestBytes, () =>
      this.#refuseBody(),
    )
    limited.once('end', () => {
      if (limited.size < declared) this.fail(new FunctionFailure('crashed', 'The body of the request is incomplete'))
    })
    body.pipe(limited).pipe(message)
  }

  #receive(response: IncomingMessage): void {
    const body = new BodyLimit(this.#limits.responseBytes, () => this.#refuseResponse())
    this.#body = body
    if (Number(response.headers['content-length'] ?? 0) > this.#limits.responseBytes) {
      this.#refuseResponse()
      return
    }
    response.on('error', (error) => this.#onBroken(error))
    // It may fail before the caller listens.
    body.on('error', () => undefined)
    body.once('close', () => this.#end())
    response.pipe(body)
    this.#resolve({
      status: response.statusCode ?? 500,
      headers: messageHeaders(headerPairs(response.rawHeaders)),
      body,
    })
  }

  #refuseResponse(): void {
    this.fail(
      new FunctionFailure('response too large', `The response has more than ${this.#limits.responseBytes} bytes`),
    )
  }

  /** The connection ended. If the process did, too, its worker soon says why. */
  #onBroken(error: Error): void {
    if (this.#hasEnded) return
    setTimeout(
      () => this.fail(new FunctionFailure('crashed', `The function broke off its response: ${error.message}`)),
      endIsKnownWithin,
    )
  }

  /** Ends the call with an error, as long as its response is incomplete. */
  fail(error: Error): void {
    if (this.#hasEnded) return
    this.#end()
    this.#reject(error)
    this.#body?.destroy(error)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.request.signal.removeEventListener('abort', this.#abort)
    // Of a request that the function did not read to its end, the rest stays with the caller.
    this.request.body?.unpipe()
    const message = this.#message
    if (message && !(message.writableFinished && this.#body?.writableFinished)) message.destroy()
    this.#events.onEnd()
  }
}
