// Adapts a request of Node's HTTP server to the engine.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StatementObserver } from '../rest/database.ts'
import type { BodyGate, BodyStream } from '../rest/request/body.ts'
import type { RestRequest } from '../rest/rest-request.ts'
import { NodeBodyStream, readNodeBody } from './node-body.ts'
import { observerOf } from './request-observer.ts'
import { isIncomplete } from '../common/incomplete-request.ts'

/** A request, with the state of its connection. */
export class NodeRequest implements RestRequest {
  readonly method: string
  readonly basePath: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly source: IncomingMessage
  readonly #response: ServerResponse

  /** @param target path below the mount path, with the query string */
  constructor(source: IncomingMessage, response: ServerResponse, basePath: string, target: string) {
    this.method = source.method ?? 'GET'
    this.basePath = basePath
    this.target = target
    this.headers = headerPairs(source)
    this.source = source
    this.#response = response
  }

  get observer(): StatementObserver | undefined {
    return observerOf(this.source)
  }

  get isGone(): boolean {
    return this.source.socket.destroyed && !this.#response.writableFinished
  }

  get isOpenEnded(): boolean {
    return isIncomplete(this.source) && this.source.headers['content-length'] === undefined
  }

  get takesUnknownLength(): boolean {
    return this.source.httpVersion !== '1.0'
  }

  get isAborted(): boolean {
    return this.source.destroyed && !this.source.complete
  }

  onGone(listener: () => void): () => void {
    // The response's own `close` event is unsuitable: it also fires on completion, and not while the response is queued.
    const { socket } = this.source
    const onClose = (): void => {
      if (this.isGone) listener()
    }
    // With pipelining, every request of the connection adds a listener.
    socket.setMaxListeners(0)
    socket.once('close', onClose)
    return () => socket.off('close', onClose)
  }

  header(name: string): string | undefined {
    const value = this.source.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  readBody(gate: BodyGate): Promise<Buffer> {
    return readNodeBody(this.source, gate)
  }

  streamBody(): BodyStream {
    return new NodeBodyStream(this.source)
  }
}

function headerPairs({ rawHeaders }: IncomingMessage): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    pairs.push([(rawHeaders[index] ?? '').toLowerCase(), rawHeaders[index + 1] ?? ''])
  }
  return pairs
}
