// Maps errors of the database to responses of the services.
import { failures, type Failure } from '../http/envelope.ts'
import { isNotMigrated, isUnreachable } from '../postgres/database-error.ts'

/** 503 when the database cannot be reached, or lacks the services' own objects; undefined for other errors. */
export function databaseFailure(error: unknown): Failure | undefined {
  if (isNotMigrated(error)) return failures.notMigrated(error)
  return isUnreachable(error) ? failures.unreachable(error) : undefined
}
