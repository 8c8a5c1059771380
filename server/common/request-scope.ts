// The request that running code belongs to, for code that its parts are not passed to.
import { AsyncLocalStorage } from 'node:async_hooks'

/** A request to another server, in the trace of the request that causes it. */
export type OutgoingRequest = {
  /** The trace context. https://www.w3.org/TR/trace-context/ */
  readonly headers: Readonly<Record<string, string>>
  /** @param status the status of the response; undefined when there was none */
  end(status: number | undefined): void
}

/** Work outside of this process, such as an operation of another service, in the trace of the request that waits for it. */
export type Call = {
  /** What is done: one of few names. */
  readonly name: string
  /** `client` for another service, `internal` for a child process. */
  readonly kind: 'client' | 'internal'
  readonly attributes: Readonly<Record<string, string | number>>
}

export type CallEnd = {
  /** What is known at the end. Undefined values are left out. */
  readonly attributes?: Readonly<Record<string, string | number | undefined>>
  /** The kind of error, one of few; undefined if the call succeeded. */
  readonly error?: string | undefined
}

export type RequestScope = {
  /** Begins a call. The function ends it; undefined if it is not to be recorded. */
  call(call: Call): ((end: CallEnd) => void) | undefined
  /** Begins a request to another server; undefined if it is not to be recorded. Query and user of the URL are not recorded. */
  outgoing(method: string, url: URL): OutgoingRequest | undefined
}

/** Only requests that are observed have a scope, because Node before 24 slows down all promises once there was one. */
export const requestScope = new AsyncLocalStorage<RequestScope>()
