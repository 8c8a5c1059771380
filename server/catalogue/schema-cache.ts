// The snapshot of the database's metadata that requests are planned against. Immutable: a reload creates a new one.
import type { QualifiedIdentifier } from './identifier.ts'
import type { MediaHandlers } from './media-handler.ts'
import type { NameIndex } from './name-index.ts'
import type { Relationships } from './relationship.ts'
import type { Representations } from './representation.ts'
import type { Routines } from './routine.ts'
import type { Tables } from './table.ts'

/** Oids of types, and of arrays of them. */
export type TextTypes = { readonly types: ReadonlySet<number>; readonly arrays: ReadonlySet<number> }

export type SchemaCache = {
  readonly tables: Tables
  readonly relationships: Relationships
  readonly routines: Routines
  readonly representations: Representations
  readonly mediaHandlers: MediaHandlers
  /** The names of tables, relationships and routines, for hints about similar ones. */
  readonly names: NameIndex
  /**
   * Whether volatile functions run only when a query names them, and not implicitly through a cast, an operator, a domain
   * or a computed column of any row type. Otherwise no statement is known to be free of side effects.
   */
  readonly isSound: boolean
  /** Relations that call no volatile function when they are read, by `qualifiedKey(schema, name)`. */
  readonly stableRelations: ReadonlySet<string>
  /** Those that call no function that may set `response.headers` or `response.status`, either. */
  readonly quietRelations: ReadonlySet<string>
  /**
   * Tables of which that is also true when they are written, apart from triggers. Dates are in the format of ISO 8601 in all
   * sessions then.
   */
  readonly quietlyWritten: ReadonlySet<string>
  /** Functions of which no overload is volatile or may set them, by `qualifiedKey(schema, name)`. */
  readonly quietRoutines: ReadonlySet<string>
  /** The pre-request function of the settings, if it is declared stable or immutable. */
  readonly stablePreRequest?: QualifiedIdentifier
  /** Types of the database whose values are strings in JSON. */
  readonly textTypes: TextTypes
  /** Whether Citus manages tables of the database. */
  readonly isDistributed: boolean
  /** `server_version_num`: 180001 is 18.1. */
  readonly postgresVersion: number
  /** Whether `auth.check_session` exists. If so, tokens that name a session are valid only while the session is. */
  readonly checksSessions: boolean
  /** Whether `rowhouse.claim_idempotency_key` exists. If so, requests with an `Idempotency-Key` take effect once. */
  readonly keepsResponses: boolean
}
