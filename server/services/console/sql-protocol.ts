// What the page of SQL exchanges with its routes. The page imports these types, too, so this file imports nothing.

/** As whom statements run, or a request is explained. */
export type SqlCaller =
  | { readonly role: string }
  /** Id of an account, with the claims of its sign-in. */
  | { readonly user: string }
  /** The role that owns the schemas; in development only. */
  | { readonly owner: true }

/** Body of `POST /console/api/sql` */
export type SqlRequest = {
  readonly sql: string
  readonly caller: SqlCaller
  /** Whether the transaction is committed; otherwise it is rolled back. */
  readonly commit?: boolean
  /** Plans instead of results; `analyze` runs the statements for it. */
  readonly explain?: 'plan' | 'analyze'
  /** Milliseconds that all statements may take together. */
  readonly timeout?: number
}

export type SqlColumn = {
  readonly name: string
  /** As SQL names it: `timestamp with time zone`. */
  readonly type: string
}

export type SqlResult = {
  /** The statement, without its semicolon. */
  readonly sql: string
  /** Line of its first word, from 1. */
  readonly line: number
  /** Such as `INSERT 0 1`; null if rows were cut. */
  readonly tag: string | null
  /** Null for a statement without a result. */
  readonly columns: readonly SqlColumn[] | null
  /** Values as PostgreSQL writes them. */
  readonly rows: readonly (readonly (string | null)[])[]
  readonly isCut: boolean
  /** In milliseconds, with the way to the database. */
  readonly time: number
  /** The plan in PostgreSQL's JSON format; null unless it was asked for. */
  readonly plan: unknown
}

export type SqlProblem = {
  readonly message: string
  /** SQLSTATE; null for an error of the console or the connection. */
  readonly code: string | null
  readonly detail: string | null
  readonly hint: string | null
  /** Index in the text of the request, in UTF-16 units; null if the error has no place. */
  readonly position: number | null
}

/** `POST /console/api/sql` */
export type SqlRun = {
  /** The results up to the first error. */
  readonly results: readonly SqlResult[]
  readonly error: SqlProblem | null
  readonly notices: readonly { readonly severity: string; readonly message: string }[]
  /** Whether further notices were left out. */
  readonly noticesCut: boolean
  /** The role as which the statements began. */
  readonly role: string
  readonly outcome: 'committed' | 'rolled back'
}

/** Body of `POST /console/api/migrations` */
export type NewMigration = { readonly name: string; readonly sql: string }
