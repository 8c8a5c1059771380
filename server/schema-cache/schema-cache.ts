// The snapshot of the database's metadata that requests are planned against. Immutable: a reload makes a new one.
import type { MediaHandlers } from './media-handler.ts'
import type { NameIndex } from './name-index.ts'
import type { Relationships } from './relationship.ts'
import type { Representations } from './representation.ts'
import type { Routines } from './routine.ts'
import type { Tables } from './table.ts'

export type SchemaCache = {
  readonly tables: Tables
  readonly relationships: Relationships
  readonly routines: Routines
  readonly representations: Representations
  readonly mediaHandlers: MediaHandlers
  /** The names of tables, relationships and routines, for hints about similar ones. */
  readonly names: NameIndex
  /**
   * Whether no function that is declared volatile can be called without being named: by a cast, an operator, a domain, or
   * as a column of any row. If one can, nothing is known to be without effects.
   */
  readonly isSound: boolean
  /** Relations whose reading calls no function that is declared volatile, by `qualifiedKey(schema, name)`. */
  readonly stableRelations: ReadonlySet<string>
  /** `server_version_num`: 180001 is 18.1. */
  readonly postgresVersion: number
  /** Whether `auth.check_session` is there: tokens that name a session end with it. */
  readonly checksSessions: boolean
}
