// A request of a tool to the engine of the REST API, in the process and as the caller.
import type { IncomingMessage } from 'node:http'
import { BodyMeter, type BodyGate } from '../../rest/request/body.ts'
import type { RestRequest } from '../../rest/rest-request.ts'

export type EngineCall = {
  readonly method: string
  /** Path below that of the REST API and query string, percent-encoded. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: Buffer | undefined
}

/** Where a request comes from. */
export type CallOrigin = {
  /** The request of the agent, for logs. */
  readonly source: IncomingMessage
  readonly basePath: string
  /** Aborted when the caller is gone, or has waited too long. */
  readonly signal: AbortSignal
}

export class EngineRequest implements RestRequest {
  readonly method: string
  readonly basePath: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly source: IncomingMessage
  readonly isOpenEnded = false
  readonly #body: Buffer
  readonly #signal: AbortSignal

  constructor(
    { method, target, headers, body = Buffer.alloc(0) }: EngineCall,
    { source, basePath, signal }: CallOrigin,
  ) {
    this.method = method
    this.basePath = basePath
    this.target = target
    this.headers = headers
    this.source = source
    this.#body = body
    this.#signal = signal
  }

  get isGone(): boolean {
    return this.#signal.aborted
  }

  get isAborted(): boolean {
    return this.#signal.aborted
  }

  onGone(listener: () => void): () => void {
    this.#signal.addEventListener('abort', listener, { once: true })
    return () => this.#signal.removeEventListener('abort', listener)
  }

  header(name: string): string | undefined {
    return this.headers.find(([known]) => known === name)?.[1]
  }

  async readBody(gate: BodyGate): Promise<Buffer> {
    const meter = new BodyMeter(gate)
    await meter.begin(this.#body.length)
    await meter.add(this.#body.length)
    return this.#body
  }
}
