// What the database answered to the main statement of a request, and the answer made of it.
import type { StreamedBody } from '../database.ts'

/** A body, as a whole or while it arrives from the database. */
export type Body = string | Buffer | StreamedBody

/** Whether a body still arrives. */
export const isStreamed = (body: Body): body is StreamedBody => typeof body !== 'string' && !Buffer.isBuffer(body)

/** The one row that every read, write and call statement yields. */
export type ResultRow = {
  /** Rows in the whole table, when they were counted. */
  readonly tableTotal: number | null
  /** Rows in this result. */
  readonly queryTotal: number
  /** `[column, "eq.value"]` pairs that address a created row; empty when there is none. */
  readonly location: readonly (readonly [string, string])[]
  readonly body: Body
  /** Setting `response.headers`, JSON text. */
  readonly headersSetting: string | null
  /** Setting `response.status`. */
  readonly statusSetting: string | null
  /** Rows created by an upsert that updates what is there (null: it came to no row); 0 for everything else. */
  readonly inserted: number | null
}

/** A finished answer. Header names in the case they are sent, values and reason with one byte per character. */
export type RestResponse = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Body
  /** Reason phrase of the status line; the usual one of the status when undefined. */
  readonly statusText?: string | undefined
  /** What was ignored, for the log. */
  readonly warning?: string | undefined
}
