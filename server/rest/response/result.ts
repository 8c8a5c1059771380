// What the database answered to the main statement of a request.

/** The one row that every read, write and call statement yields. */
export type ResultRow = {
  /** Rows in the whole table, when they were counted. */
  readonly tableTotal: number | null
  /** Rows in this result. */
  readonly queryTotal: number
  /** `[column, "eq.value"]` pairs that address a created row; empty when there is none. */
  readonly location: readonly (readonly [string, string])[]
  readonly body: string | Buffer
  /** Setting `response.headers`, JSON text. */
  readonly headersSetting: string | null
  /** Setting `response.status`. */
  readonly statusSetting: string | null
  /** Rows created by an upsert, when that is known. */
  readonly inserted: number | null
}

/** A finished answer. Header names in the case they are sent. */
export type RestResponse = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | Buffer
}
