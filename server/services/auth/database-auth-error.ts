// Maps errors of shared code, and of the database, to errors of `/auth/v1`.
import { Failure } from '../../http/envelope.ts'
import {
  isNotMigrated,
  isOverloaded,
  isUnreachable,
  leavesConnection,
  sqlState,
} from '../../postgres/database-error.ts'
import { authErrorCodes, type AuthErrorCode } from './auth-error-codes.ts'
import { AuthError, authErrors } from './auth-error.ts'

/** The fields of an error that the database sent. */
export type ServerFields = {
  readonly code?: string
  readonly message?: string
  readonly hint?: string
  readonly detail?: string
  /** Names the functions and triggers that were running. */
  readonly where?: string
  readonly constraint?: string
}

/** The fields that the database sent; undefined for other errors. */
export function serverFields(error: unknown): ServerFields | undefined {
  if (sqlState(error) === undefined || !(error instanceof Error)) return undefined
  return ('server' in error ? error.server : error) as ServerFields
}

/** The response to an error: its own, that of the database, or 500 without a cause. */
export function authErrorOf(error: unknown): AuthError {
  if (error instanceof AuthError) return error
  if (error instanceof Failure) return ofFailure(error)
  // The path has invalid percent-encoding.
  if (error instanceof URIError) return new AuthError(400, 'validation_failed', 'The address is not valid')
  const own = raised(error)
  if (own) return own
  if (isNotMigrated(error)) {
    return new AuthError(
      503,
      'unexpected_failure',
      'The database is not set up for this: `rowhouse migrate` has not run',
      { cause: error },
    )
  }
  if (isOverloaded(error)) return authErrors.overloaded(error)
  if (isUnreachable(error)) {
    return new AuthError(503, 'unexpected_failure', 'The database cannot be reached at the moment', { cause: error })
  }
  return authErrors.unexpected(error)
}

/** Errors of code that the services share: limits of attempts, the queue of passwords. */
function ofFailure({ statusCode, message, headers, cause }: Failure): AuthError {
  const code =
    statusCode === 429 ? 'over_request_rate_limit' : statusCode >= 500 ? 'unexpected_failure' : 'validation_failed'
  return new AuthError(statusCode, code, message, { headers, cause })
}

/** SQLSTATE of the errors that `auth.fail` raises, with JSON as their message: `{"status", "code", "message"}`. */
const ownState = 'AU000'

/** The error of a RAISE: in our own functions as they say, in triggers of the database's owner with their message. */
function raised(error: unknown): AuthError | undefined {
  const fields = serverFields(error)
  if (!fields) return undefined
  const { code, message = '', hint, where } = fields
  if (code === ownState) return ownError(message, error)
  // lock_not_available
  if (code === '55P03') {
    const text = 'Too many concurrent token refresh requests on the same session or refresh token'
    return new AuthError(409, 'conflict', text, { cause: error })
  }
  // untranslatable_character, character_not_in_repertoire
  if (code === '22P05' || code === '22021') {
    return new AuthError(400, 'validation_failed', 'Text must not contain the character NUL', { cause: error })
  }
  // string_data_right_truncation, program_limit_exceeded: a text is longer than its column or an entry of an index.
  if ((code === '22001' || code === '54000') && !isOfTrigger(where)) {
    return new AuthError(400, 'validation_failed', `A text is too long: ${message}`, { cause: error })
  }
  const details = { code, message, ...(hint === undefined ? {} : { hint }) }
  // `raise exception`, and the conditions that such code raises on purpose: SQLSTATEs of the class of users.
  if (code === 'P0001' || (code !== undefined && /^(?:PT\d{3}|[J-OQ-WYZ])/.test(code))) {
    return new AuthError(statusOf(code), 'unexpected_failure', message, { body: { database: details }, cause: error })
  }
  // Any other error of a trigger, such as a missing table: the owner of the database needs its message. An error that ends
  // the connection, such as a shutdown, is not the trigger's.
  if (leavesConnection(error) && isOfTrigger(where)) {
    return new AuthError(500, 'unexpected_failure', `Database error saving the user: ${message}`, {
      body: { database: details },
      cause: error,
    })
  }
  return undefined
}

/** Whether code of the database's owner was running. */
const isOfTrigger = (where: string | undefined): boolean =>
  where !== undefined && /PL\/pgSQL function (?!auth\.)/.test(where)

/** `PT422` is the status 422, as at the REST API. */
const statusOf = (code: string): number => (/^PT[45]\d\d$/.test(code) ? Number(code.slice(2)) : 500)

function ownError(text: string, cause: unknown): AuthError | undefined {
  try {
    const { status, code, message } = JSON.parse(text) as { status: number; code: AuthErrorCode; message: string }
    const isOurs = Object.hasOwn(authErrorCodes, code) && Number.isInteger(status) && status >= 400 && status < 600
    if (isOurs) return new AuthError(status, code, message, { cause })
  } catch {
    // Is no error of ours.
  }
  // Code of the database's owner has raised the same SQLSTATE.
  return undefined
}

/** What the log shows of an error: for one of a trigger, the functions that were running. */
export function loggedError(error: unknown): unknown {
  const { message, where } = serverFields(error) ?? {}
  return where === undefined ? error : new Error(`${message ?? ''}\n${where}`, { cause: error })
}
