// What an error of the database means, whichever way it came.
import { PasswordMissing } from './connection/pool-config.ts'
import { ConnectionError } from './connection-error.ts'

/** What the server sent: `pg` puts it on the error itself, a pipeline on its property `server`. */
function sent(error: unknown): { readonly code?: unknown; readonly severity?: unknown } | undefined {
  if (!(error instanceof Error)) return undefined
  const server: unknown = 'server' in error ? error.server : error
  return typeof server === 'object' && server !== null ? server : undefined
}

/** The SQLSTATE, if the error is one of the server's. */
export function sqlState(error: unknown): string | undefined {
  const code = sent(error)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Whether the connection can be used after this error: it was a statement's, not the connection's own. */
export const leavesConnection = (error: unknown): boolean => sent(error)?.severity === 'ERROR'

/** Undefined function, table or schema; unknown role, when it is switched to. */
const missing = new Set(['42883', '42P01', '3F000', '22023'])

/** Whether the program's own objects are not there: the migrations have not run, or not on this database. */
export const isNotMigrated = (error: unknown): boolean => missing.has(sqlState(error) ?? '')

/** Connection exceptions, refused login, no such database, no resources, shutdown. */
const unreachable = /^(?:08|28|3D|53|57P)/

const lostConnection = /^Connection terminated|is not queryable$/

/** Whether the database cannot be asked at the moment. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.kind !== 'caller gone'
  const state = sqlState(error)
  if (state !== undefined) return unreachable.test(state)
  // `pg` has no code for a connection that ends in the middle of a query, or has ended before one.
  return error instanceof Error && ('syscall' in error || lostConnection.test(error.message))
}

/** Whether the password is wrong or missing: to try again would not help. */
export function isLoginRefused(error: unknown): boolean {
  const cause = error instanceof ConnectionError ? error.cause : error
  // invalid_password
  return cause instanceof PasswordMissing || sqlState(cause) === '28P01'
}

/** Whether the server, the database or the role has as many connections as it may have: too_many_connections. */
export const isOutOfSlots = (error: unknown): boolean =>
  sqlState(error instanceof ConnectionError ? error.cause : error) === '53300'
