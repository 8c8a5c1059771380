// Errors of the protocol tus, with the statuses and texts of the library.
import { ERRORS } from '@tus/server'

/** An error as the library sends it: a status and a text. */
export class TusError extends Error {
  readonly status_code: number
  readonly body: string

  constructor({ status_code: status, body }: { readonly status_code: number; readonly body: string }) {
    super(body.trim())
    this.name = 'TusError'
    this.status_code = status
    this.body = body
  }
}

export const tusErrors = {
  notFound: () => new TusError(ERRORS.FILE_NOT_FOUND),
  offsetConflict: () => new TusError(ERRORS.INVALID_OFFSET),
  invalidLength: () => new TusError(ERRORS.INVALID_LENGTH),
  sizeExceeded: () => new TusError(ERRORS.ERR_SIZE_EXCEEDED),
  invalidTermination: () => new TusError(ERRORS.INVALID_TERMINATION),
} as const
