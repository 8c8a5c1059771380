// Why an outgoing request got no response.

export type OutgoingErrorDetails = {
  /** Whether it would be the same at another time: the request itself is refused. */
  readonly isFinal?: boolean
  /** Whether the time was over. */
  readonly isTimeout?: boolean
  /** The status of a response that could not be followed. */
  readonly status?: number
  readonly cause?: unknown
}

/** An outgoing request got no response. The message says why, for the owner of the request. */
export class OutgoingError extends Error {
  override readonly name = 'OutgoingError'
  readonly isFinal: boolean
  readonly isTimeout: boolean
  readonly status: number | undefined

  constructor(message: string, { isFinal = false, isTimeout = false, status, cause }: OutgoingErrorDetails = {}) {
    super(message, { cause })
    this.isFinal = isFinal
    this.isTimeout = isTimeout
    this.status = status
  }
}

/** The error of a request that is refused, now and later. */
export const refusal = (message: string): OutgoingError => new OutgoingError(message, { isFinal: true })
