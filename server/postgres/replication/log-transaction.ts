// What logical replication says of a committed transaction.
// https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html

/** A column of a table, as the log describes it. */
export type LogColumn = {
  readonly name: string
  /** Oid of its type. */
  readonly type: number
  /** Whether it belongs to the replica identity. */
  readonly isKey: boolean
}

/** `default`: the primary key; `full`: all columns; `index`: a unique index; `nothing`: no old row is known. */
export type ReplicaIdentity = 'default' | 'nothing' | 'full' | 'index'

/**
 * A table, as the log describes it. There is another object after each change of the table: of its columns, its privileges, its
 * policies or its publications.
 */
export type LogRelation = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly replicaIdentity: ReplicaIdentity
  readonly columns: readonly LogColumn[]
}

/** The text of the type's output function; null for NULL; undefined for a large value that has not changed and is not in the log. */
export type LogValue = Buffer | null | undefined

/** The values of a row, in the order of the relation's columns. */
export type LogTuple = readonly LogValue[]

export type LogChange =
  | { readonly kind: 'insert'; readonly relation: LogRelation; readonly row: LogTuple }
  /** `old`: undefined unless the replica identity is full, or a column of the key has changed. */
  | {
      readonly kind: 'update'
      readonly relation: LogRelation
      readonly row: LogTuple
      readonly old: LogTuple | undefined
    }
  /** `old` has values for the columns of the replica identity only, unless that is full. */
  | { readonly kind: 'delete'; readonly relation: LogRelation; readonly old: LogTuple }

/** A committed transaction, with its changes of published tables in their order. */
export type LogTransaction = {
  /** The 32 lower bits of the transaction's number. */
  readonly xid: number
  /** Position of its commit in the log, which orders transactions. */
  readonly commit: bigint
  /** Position after its commit. */
  readonly end: bigint
  /** Microseconds since 1970. */
  readonly time: bigint
  readonly changes: readonly LogChange[]
  /** The tables that were changed. */
  readonly relations: ReadonlySet<LogRelation>
  /** Bytes of memory that the changes take, estimated. */
  readonly size: number
  /** Whether changes are left out, because there were more bytes than the reader keeps. Then `changes` is empty. */
  readonly isTooLarge: boolean
}
