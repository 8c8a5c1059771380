// The error of a transaction that got no connection.
import { TracelessError } from '../common/traceless-error.ts'
import type { DatabaseFailure } from '../rest/database.ts'

type Kind = Exclude<DatabaseFailure['kind'], 'statement failed'>

/** Nothing ran: no connection could be opened, none became free in time or is expected to, or the caller was gone. */
export class ConnectionError extends TracelessError {
  readonly kind: Kind

  constructor(kind: Kind, message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'ConnectionError'
    this.kind = kind
  }
}

export const connectionErrors = {
  /** @param message message of the cause */
  notConnected: (message: string, cause: unknown) => new ConnectionError('not connected', message, cause),
  timedOut: () => new ConnectionError('timed out', 'no connection became free in time'),
  overloaded: () => new ConnectionError('overloaded', 'too many requests wait for a connection'),
  callerGone: () => new ConnectionError('caller gone', 'the caller no longer waits'),
}
