// The port to HTTP. Each adapter implements `RestRequest` for its kind of server.
import type { Caller } from './database.ts'
import type { BodyGate, BodyStream } from './request/body.ts'
import type { Headers } from './response/header.ts'
import type { RestResponse } from './response/result.ts'

/** A request to the REST API, and who waits for its response. Strings have one character per byte. */
export type RestRequest = Caller & {
  readonly method: string
  /** Mount path without a slash at its end; empty at the root. */
  readonly basePath: string
  /** Path below the mount path and query string, still percent-encoded, with a leading slash. */
  readonly target: string
  /** Lower-case names and values in the order received. Repeated headers are separate if the server separates them. */
  readonly headers: Headers
  /** The server's request object: Node's `IncomingMessage`, or the Fetch standard's `Request`. */
  readonly source: unknown
  /** Whether a body without a declared length is incomplete. It might never end. */
  readonly isOpenEnded: boolean
  /**
   * Whether the response can have a body of unknown length whose end is certain; by default true. In HTTP/1.0, a body
   * without a length ends with its connection, so that a response that was broken off looks complete.
   */
  readonly takesUnknownLength?: boolean
  /** Whether the client closed the connection before the whole request was received. */
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
   * @throws ApiError 413 as soon as the body is known to exceed the limit; 400 when the client closes the connection
   *   early; the errors of the gate. The rest of the body is not read.
   */
  readBody(gate: BodyGate): Promise<Buffer>
  /**
   * Begins to read the body piece by piece, instead of `readBody`. Imports need it.
   *
   * @throws TypeError when something has read of the body before
   */
  streamBody?(): BodyStream
}

/** Something that answers requests, such as the result of `createRest`. */
export type Answering = {
  /** Answers a request. Every error becomes a response. */
  answer(request: RestRequest): Promise<RestResponse>
}
