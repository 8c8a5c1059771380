// The parts of a plan for versions of rows and for preconditions.
import type { QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { PlannedLogicTree } from '../../plan/field.ts'
import type { Fragment } from '../../sql/fragment.ts'

/** Where the version of a row is: the system column `xmin`, or the column that `db-version-column` names. */
export type RowVersion = (
  { readonly kind: 'system' } | { readonly kind: 'column'; readonly name: string; readonly isTimestamp: boolean }
) & { readonly sql: RowVersionSql }

/** The SQL of versions. */
export type RowVersionSql = {
  /** The version of a row as text. */
  readonly of: (relation: QualifiedIdentifier, version: RowVersion) => string
  /** The version of the row of a read, from rows with the column `pgrst_version`. */
  readonly read: string
  /** The version of the row that a statement has written. */
  readonly written: (version: RowVersion) => string
  /** The condition that a row has one of the versions. */
  readonly required: (relation: QualifiedIdentifier, versions: RequiredVersions) => Fragment
}

/** The versions of which the row to write must have one. */
export type RequiredVersions = {
  readonly kind: 'version'
  readonly source: RowVersion
  readonly versions: readonly string[]
}

/** What a write requires of its row. */
export type Precondition =
  /** `If-Match` with entity tags: the row has one of the versions. */
  | RequiredVersions
  /** `If-Match: *`: the row exists. */
  | { readonly kind: 'exists' }
  /** `If-None-Match: *`: the row does not exist. */
  | { readonly kind: 'absent' }

/** Counts the rows that the filters of a write match. */
export type MatchedCount = (write: {
  readonly into: QualifiedIdentifier
  readonly where: readonly PlannedLogicTree[]
}) => Fragment
