// Classifies errors of the database, from `pg` or from a pipeline.
import { PasswordMissing } from './connection/pool-config.ts'
import { ConnectionError } from './connection-error.ts'

/** The fields that the server sent: `pg` has them on the error itself, a pipeline in its property `server`. */
function sent(error: unknown): { readonly code?: unknown; readonly severity?: unknown } | undefined {
  if (!(error instanceof Error)) return undefined
  const server: unknown = 'server' in error ? error.server : error
  return typeof server === 'object' && server !== null ? server : undefined
}

/** Whether Node found that the server has ended the connection; its code has the form of a SQLSTATE, but no severity. */
const isBrokenPipe = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPIPE' && !('severity' in error)

/** The SQLSTATE, if the error came from the server. */
export function sqlState(error: unknown): string | undefined {
  const code = sent(error)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !isBrokenPipe(error) ? code : undefined
}

/** Whether the connection can still be used after this error: a statement failed, not the connection. */
export const leavesConnection = (error: unknown): boolean => sent(error)?.severity === 'ERROR'

/** Undefined function, table or schema; switching to an unknown role. */
const missing = new Set(['42883', '42P01', '3F000', '22023'])

/** Whether the program's own objects are missing: the migrations have not run on this database. */
export const isNotMigrated = (error: unknown): boolean => missing.has(sqlState(error) ?? '')

/** Whether they are missing, or the role of the connection may not use them, as where another server has the database. */
export const isNotForThisRole = (error: unknown): boolean => isNotMigrated(error) || sqlState(error) === '42501'

/** Connection exceptions, failed login, unknown database, insufficient resources, shutdown. */
const unreachable = /^(?:08|28|3D|53|57P)/

const lostConnection = /^Connection terminated|is not queryable$/

/** Whether the database cannot be reached at the moment. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.kind !== 'caller gone'
  const state = sqlState(error)
  if (state !== undefined) return unreachable.test(state)
  if (!(error instanceof Error)) return false
  // `pg` has no code for a connection that ends during or before a query.
  return 'syscall' in error || isBrokenPipe(error) || lostConnection.test(error.message)
}

/** Whether the pool had no connection for a request in time. */
export const lacksFreeConnection = (error: unknown): boolean =>
  error instanceof ConnectionError && (error.kind === 'timed out' || error.kind === 'overloaded')

/** Whether a request was refused because too many others wait. */
export const isOverloaded = (error: unknown): boolean => error instanceof ConnectionError && error.kind === 'overloaded'

/** Whether the password is wrong or missing, so that retrying does not help. */
export function isLoginRefused(error: unknown): boolean {
  const cause = error instanceof ConnectionError ? error.cause : error
  // invalid_password
  return cause instanceof PasswordMissing || sqlState(cause) === '28P01'
}

/** Whether the server, the database or the role has reached its maximum number of connections: too_many_connections. */
export const isOutOfSlots = (error: unknown): boolean =>
  sqlState(error instanceof ConnectionError ? error.cause : error) === '53300'
