// The snapshot of the database's metadata that requests are planned against. Immutable: a reload makes a new one.
import type { MediaHandlers } from './media-handler.ts'
import type { Relationships } from './relationship.ts'
import type { Representations } from './representation.ts'
import type { Routines } from './routine.ts'
import type { Tables } from './table.ts'

/** Whether the session is alive; and whether its account still has the `app_role` of the token. */
export type SessionCheck = 'session' | 'session and role'

export type SchemaCache = {
  readonly tables: Tables
  readonly relationships: Relationships
  readonly routines: Routines
  readonly representations: Representations
  readonly mediaHandlers: MediaHandlers
  /**
   * Whether no function that is declared volatile can be called without being named: by a cast, an operator, a domain, or
   * as a column of any row. If one can, nothing is known to be without effects.
   */
  readonly isSound: boolean
  /** Relations whose reading calls no function that is declared volatile, by `qualifiedKey(schema, name)`. */
  readonly stableRelations: ReadonlySet<string>
  /** `server_version_num`: 180001 is 18.1. */
  readonly postgresVersion: number
  /** What `auth.check_session` can check of tokens that name a session; null without that function. */
  readonly sessionCheck: SessionCheck | null
}
