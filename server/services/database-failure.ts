// Maps errors of the database to responses of the services.
import { failures, type Failure } from '../http/envelope.ts'
import { isNotMigrated, isOverloaded, isUnreachable } from '../postgres/database-error.ts'

/** 503 when the database cannot be reached, is overloaded, or lacks the services' own objects; undefined for other errors. */
export function databaseFailure(error: unknown): Failure | undefined {
  if (isNotMigrated(error)) return failures.notMigrated(error)
  if (isOverloaded(error)) return failures.overloaded(error)
  return isUnreachable(error) ? failures.unreachable(error) : undefined
}
