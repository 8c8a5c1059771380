// What the page of requests and its routes exchange. The page imports these types, too, so this file imports nothing.

/** A request that has ended, as far as the tail shows it. */
export type RequestEntry = {
  /** Its number in this process. */
  readonly number: number
  /** When it ended, in milliseconds since 1970. */
  readonly at: number
  readonly method: string
  /** With the query string for the REST API only; secrets are replaced by `***`. */
  readonly path: string
  /** The path with names of parameters in place of values; null if no route has answered. */
  readonly route: string | null
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  /** Milliseconds of it in the database; null if it is not known. */
  readonly database: number | null
  readonly role: string | null
  readonly requestId: string
  /** Whether the client disconnected before the whole response was sent. */
  readonly aborted: boolean
  /** Rows and bytes of a response of the REST API, if they are known. */
  readonly rows: number | null
  readonly bytes: number | null
}

/** Event `requests` of `GET /console/api/requests`. */
export type RequestEvent = {
  readonly entries: readonly RequestEntry[]
  /** Requests that were left out, because the reader was too slow. */
  readonly lost: number
}

/** Event `start` of `GET /console/api/requests`. */
export type TailStart = {
  /** This process among several, from 0; null if there is only one. */
  readonly worker: number | null
}

/** A step of a request. Times are milliseconds since its begin. */
export type RequestStage = {
  readonly since: number
  readonly duration: number
  /** Texts of statements that were sent together, without values. */
  readonly statements: readonly string[]
  /** SQLSTATE of the error of a statement, or the name of another error. */
  readonly error: string | null
}

/** `GET /console/api/requests/{number}` */
export type RequestDetails = {
  readonly entry: RequestEntry
  /** Milliseconds for which it has waited for connections of the pool. */
  readonly waited: number
  readonly stages: readonly RequestStage[]
  /** The plan of its last statement as EXPLAIN (FORMAT JSON) returns it, with `?` in place of values; null without a plan. */
  readonly plan: unknown
}

export type SlowStatement = {
  readonly text: string
  readonly calls: number
  /** Milliseconds. */
  readonly mean: number
  readonly total: number
  /** Target of a request that has sent it; null if it is not known. */
  readonly example: { readonly method: string; readonly path: string; readonly role: string | null } | null
}

/** `GET /console/api/statements` */
export type SlowStatements = {
  /** `seen`: since the page was opened, by this process. */
  readonly source: 'pg_stat_statements' | 'seen'
  readonly statements: readonly SlowStatement[]
}
