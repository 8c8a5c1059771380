// Converts errors of the database to errors of the API.
// https://docs.postgrest.org/en/stable/references/errors.html#postgresql-errors
import { CredentialError } from '../identity/credential-error.ts'
import type { ClaimRefusal, DatabaseFailure, ServerError } from './database.ts'
import { ApiError, errors, ofCredential } from './errors.ts'
import { framingWarning, isFramingHeader, isHeaderName } from './response/header.ts'
import { isStatus } from './response/override.ts'

/** An error of `pg`: one raised by the server, which has a severity, or one of the connection. */
export type DatabaseError = {
  readonly message: string
  /** SQLSTATE, or the name of a socket error such as `ECONNREFUSED`. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
  readonly severity?: string | undefined
  /** The failed system call, for socket errors. */
  readonly syscall?: string | undefined
}

type SqlStates = Readonly<Record<string, readonly [status: number, name: string]>>

/** HTTP status and name of single SQLSTATEs. */
export const sqlStates: SqlStates = {
  '23503': [409, 'foreign_key_violation'],
  '23505': [409, 'unique_violation'],
  '25006': [405, 'read_only_sql_transaction'],
  '53400': [500, 'configuration_limit_exceeded'],
  '57P01': [503, 'admin_shutdown'],
  P0001: [400, 'raise_exception without a state'],
  '42P01': [404, 'undefined_table'],
  '42P17': [500, 'invalid_object_definition: infinite recursion'],
}

/** HTTP status and name of the classes of SQLSTATEs, which are their first two characters. All others are 400. */
export const sqlClasses: SqlStates = {
  '08': [503, 'connection exception'],
  '09': [500, 'triggered action exception'],
  '0L': [403, 'invalid grantor'],
  '0P': [403, 'invalid role specification'],
  '25': [500, 'invalid transaction state'],
  '28': [403, 'invalid authorization specification'],
  '2D': [500, 'invalid transaction termination'],
  '38': [500, 'external routine exception'],
  '39': [500, 'external routine invocation exception'],
  '3B': [500, 'savepoint exception'],
  '40': [500, 'transaction rollback'],
  '53': [503, 'insufficient resources'],
  '54': [500, 'program limit exceeded'],
  '55': [500, 'object not in prerequisite state'],
  '57': [500, 'operator intervention'],
  '58': [500, 'system error'],
  F0: [500, 'configuration file error'],
  HV: [500, 'foreign data wrapper error'],
  P0: [500, 'PL/pgSQL error'],
  XX: [500, 'internal error'],
}

/** `PT402` sets the status to 402, and the message becomes the reason phrase. */
const customStatus = /^PT([0-9]{3})$/

/** The status of a `PTxyz` state; undefined for other states. */
function customStatusOf(state: string): number | undefined {
  const status = Number(customStatus.exec(state)?.[1])
  return isStatus(status) ? status : undefined
}

function statusOf(state: string, message: string, authenticated: boolean): number {
  switch (state) {
    case '21000': // cardinality_violation; the extension safeupdate raises it for the client's mistake
      return message.endsWith('requires a WHERE clause') ? 400 : 500
    case '22023': // invalid_parameter_value; also a token's role that does not exist
      return message.startsWith('role') && message.endsWith('does not exist') ? 401 : 400
    case '42883': // undefined_function; also `text/xml` for a type that cannot be aggregated as XML
      return message.startsWith('function xmlagg(') ? 406 : 404
    case '42501': // insufficient_privilege
      return authenticated ? 403 : 401
    default:
      break
  }
  if (state.startsWith('PT')) return customStatusOf(state) ?? 500
  return (sqlStates[state] ?? sqlClasses[state.slice(0, 2)])?.[0] ?? 400
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isOptionalText = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || isText(value)
const isHeader = (entry: [string, unknown]): entry is [string, string] => isHeaderName(entry[0]) && isText(entry[1])

/** `RAISE SQLSTATE 'PGRST'`: message and detail are JSON and define the whole response. */
function raisedError(message: string, detail: string | undefined, cause: unknown): ApiError {
  const body = parsedObject(message)
  if (body === undefined || !isText(body.code) || !isText(body.message)) {
    return errors.raiseUnreadable({ part: 'message', text: message })
  }
  if (!isOptionalText(body.details) || !isOptionalText(body.hint)) {
    return errors.raiseUnreadable({ part: 'message', text: message })
  }
  if (detail === undefined) return errors.raiseUnreadable({ part: 'no detail' })
  const response = parsedObject(detail)
  const unreadable = errors.raiseUnreadable({ part: 'detail', text: detail })
  if (response === undefined || typeof response.status !== 'number' || !isStatus(response.status)) return unreadable
  if (!isOptionalText(response.status_text) || typeof response.headers !== 'object' || response.headers === null) {
    return unreadable
  }
  const headers: [string, unknown][] = Object.entries(response.headers)
  if (Array.isArray(response.headers) || !headers.every(isHeader)) return unreadable
  const ignored = headers.map(([name]) => name).filter(isFramingHeader)
  return new ApiError({
    code: body.code,
    status: response.status,
    message: body.message,
    details: body.details,
    hint: body.hint,
    headers: headers.filter(([name]) => !isFramingHeader(name)).sort(([a], [b]) => (a < b ? -1 : 1)),
    warning: ignored.length > 0 ? framingWarning("The detail of RAISE SQLSTATE 'PGRST'", ignored) : undefined,
    statusText: response.status_text ?? undefined,
    cause,
  })
}

/**
 * Converts an error of the database. Code, message, details and hint are Postgres's; the SQLSTATE sets the status.
 * Connection errors become PGRST000 (connecting failed) or PGRST001 (the connection was lost).
 *
 * @param authenticated whether the request acts as another role than the anonymous one; insufficient privileges get 403
 *   then, otherwise 401
 */
export function toApiError(error: DatabaseError, authenticated: boolean): ApiError {
  const { code, message, detail, hint, severity, syscall } = error
  if (severity === undefined || code === undefined) {
    const neverMade = syscall === 'connect' || syscall === 'getaddrinfo'
    return neverMade ? errors.connectionFailed(message) : errors.databaseClient(message)
  }
  if (code === 'PGRST') return raisedError(message, detail, error)
  const status = statusOf(code, message, authenticated)
  return new ApiError({
    code,
    status,
    message,
    details: detail,
    hint,
    headers: status === 401 ? [['WWW-Authenticate', 'Bearer']] : [],
    statusText: customStatusOf(code) === undefined ? undefined : message,
    cause: error,
  })
}

const kinds: ReadonlySet<unknown> = new Set<DatabaseFailure['kind']>([
  'statement failed',
  'not connected',
  'timed out',
  'overloaded',
  'caller gone',
])

const isDatabaseFailure = (error: unknown): error is DatabaseFailure =>
  error instanceof Error && 'kind' in error && kinds.has(error.kind)

/** Number of the statement of a transaction that failed; undefined when it is not one of its own statements. */
export const failedStatement = (error: unknown): number | undefined =>
  isDatabaseFailure(error) && error.kind === 'statement failed' ? error.statement : undefined

/** Number of the statement of a precheck that failed; undefined when it is not one of them. */
export const failedCheck = (error: unknown): number | undefined =>
  isDatabaseFailure(error) && error.kind === 'statement failed' ? error.checked : undefined

/** The server's error, if a statement of the transaction failed. */
export const serverError = (error: unknown): ServerError | undefined =>
  isDatabaseFailure(error) && error.kind === 'statement failed' ? error.server : undefined

/**
 * Converts what `Database.run` rejects with. Returns an API error as it is.
 *
 * @param authenticated see `toApiError`
 */
export function transactionError(error: unknown, authenticated: boolean): ApiError {
  if (error instanceof ApiError) return error
  if (!isDatabaseFailure(error)) return toApiError(error as Error, authenticated)
  return error.kind === 'statement failed' ? toApiError(error.server, authenticated) : connectionError(error)
}

function connectionError(failure: Exclude<DatabaseFailure, { kind: 'statement failed' }>): ApiError {
  switch (failure.kind) {
    case 'not connected':
      return errors.connectionFailed(failure.message, failure.cause)
    case 'timed out':
      return errors.acquisitionTimeout()
    case 'overloaded':
      return errors.overloaded()
    case 'caller gone':
      return errors.callerGone()
    default:
      return failure satisfies never
  }
}

/** Converts errors of credentials and connections to API errors. Returns any other error as it is. */
export function withCode(error: unknown): unknown {
  if (error instanceof CredentialError) return ofCredential(error)
  return isDatabaseFailure(error) && error.kind !== 'statement failed' ? connectionError(error) : error
}

/** Whether a request failed because the database was unreachable or the connection was lost. */
export const isConnectionLoss = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 503 && /^(?:PGRST00[01]$|08|53|57P)/.test(error.code)

/** Whether an error says that another request has the same key. Undefined for other errors. */
export function refusalOf(error: unknown): ClaimRefusal['reason'] | undefined {
  const failure = error as Partial<ClaimRefusal> | null
  return failure?.kind === 'claim refused' ? failure.reason : undefined
}
