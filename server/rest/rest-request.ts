// The port to HTTP: what the engine reads of a request. Each adapter implements it for its kind of server.
import type { Caller } from './database.ts'
import type { BodyGate } from './request/body.ts'
import type { Headers } from './response/header.ts'
import type { RestResponse } from './response/result.ts'

/** A request to the REST API, and who waits for its response. Texts have one character per byte. */
export type RestRequest = Caller & {
  readonly method: string
  /** Mount path without a slash at its end; empty at the root. */
  readonly basePath: string
  /** Path below the mount path and query string, still percent-encoded, with a leading slash. */
  readonly target: string
  /** Header names in lower case, in the order they came; repeated headers stay apart where the server keeps them apart. */
  readonly headers: Headers
  /** The request as the server passed it: Node's `IncomingMessage`, or the Fetch standard's `Request`. */
  readonly source: unknown
  /** Whether part of a body without a declared length has not arrived. Its end may never come. */
  readonly isOpenEnded: boolean
  /** Whether the client ended the connection before the whole request had arrived. */
  readonly isAborted: boolean
  /**
   * The value of a header.
   *
   * @param name in lower case
   */
  header(name: string): string | undefined
  /**
   * Reads the whole body.
   *
   * @throws ApiError 413 when the body is larger than the limit, as soon as that is known; 400 when the client ends the
   *   connection first; the errors of the gate. The rest of the body is not read.
   */
  readBody(gate: BodyGate): Promise<Buffer>
}

/** What answers requests: the result of `createRest`. */
export type Answering = {
  /** Answers a request. Every error becomes a response. */
  answer(request: RestRequest): Promise<RestResponse>
}
