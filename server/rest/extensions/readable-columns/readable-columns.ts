// What is known about the columns that roles may read (setting `db-select-readable-columns`).
import { createHash } from 'node:crypto'
import { SecondChanceCache } from '../../../common/second-chance-cache.ts'
import { qualifiedKey, type QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import { ApiError, errors } from '../../errors.ts'
import type { RoleColumns } from './starred.ts'
import { foundColumns } from './readable-columns-sql.ts'

/** How often a request is planned again because privileges change while it runs. */
const maxAttempts = 5

/** Roles whose columns are remembered. A token can name any role, before the database says whether it exists. */
const mostRoles = 1000
/** Bytes that a role takes before anything is known of it. What is known is of the catalog. */
const bytesOfRole = 1024

class KnownColumns implements RoleColumns {
  key = ''
  readonly #restricted = new Map<string, readonly string[]>()

  of({ schema, name }: QualifiedIdentifier): readonly string[] | undefined {
    return this.#restricted.get(qualifiedKey(schema, name))
  }

  set({ schema, name }: QualifiedIdentifier, columns: readonly string[] | null): void {
    if (columns === null) this.#restricted.delete(qualifiedKey(schema, name))
    else this.#restricted.set(qualifiedKey(schema, name), columns)
    const entries = [...this.#restricted].sort(([a], [b]) => (a < b ? -1 : 1))
    this.key = entries.length === 0 ? '' : createHash('sha256').update(JSON.stringify(entries)).digest('base64')
  }
}

/**
 * The columns that roles may read, as the database said last. Every transaction checks them (see
 * `sql/readable-columns.ts`), so a change of privileges costs a repetition, never a wrong response.
 */
export class ReadableColumns {
  readonly #roles = new SecondChanceCache<KnownColumns>({ entries: mostRoles, bytes: mostRoles * bytesOfRole })

  /**
   * Answers a request of a role: plans it, and plans it again if its transaction has found other columns. Such a
   * transaction has not executed the statement of the request.
   *
   * @param mayRepeat whether the request may run again in another transaction, with everything before that statement
   * @throws the error of `attempt`; ApiError PGRSTX34 if it may not be repeated, or privileges keep changing
   */
  answer<T>(
    role: string,
    mayRepeat: boolean,
    attempt: (columns: RoleColumns) => Promise<T> | ApiError,
  ): Promise<T> | ApiError {
    const outcome = attempt(this.#of(role))
    return outcome instanceof ApiError ? outcome : this.#settle(role, mayRepeat, attempt, outcome)
  }

  async #settle<T>(
    role: string,
    mayRepeat: boolean,
    attempt: (columns: RoleColumns) => Promise<T> | ApiError,
    first: Promise<T>,
  ): Promise<T> {
    let outcome: Promise<T> | ApiError = first
    for (let attempts = 1; ; attempts++) {
      if (outcome instanceof ApiError) throw outcome
      try {
        return await outcome
      } catch (error) {
        if (!this.#learn(role, error)) throw error
        if (!mayRepeat || attempts === maxAttempts) throw errors.columnsChanged()
      }
      outcome = attempt(this.#of(role))
    }
  }

  #of(role: string): KnownColumns {
    let known = this.#roles.get(role)
    if (!known) this.#roles.add(role, (known = new KnownColumns()), 0)
    return known
  }

  /** Remembers what the check of a transaction has found. False for any other error. */
  #learn(role: string, error: unknown): boolean {
    const found = error instanceof ApiError ? foundColumns(error) : undefined
    if (!found) return false
    const known = this.#of(role)
    for (const { relation, columns } of found) known.set(relation, columns)
    return true
  }
}
