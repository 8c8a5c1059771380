// The types of a main statement's result and of the response.
import type { StreamedBody } from '../row-transfer.ts'

/** A response body. A large one is streamed from the database. */
export type Body = string | Buffer | StreamedBody

/** Whether a body is streamed. */
export const isStreamed = (body: Body): body is StreamedBody => typeof body !== 'string' && !Buffer.isBuffer(body)

/**
 * The bytes of a body that is kept as a whole: that of a write, or of a request of a batch.
 *
 * @throws Error for a streamed body
 */
export function unstreamedBytes(body: Body): Buffer {
  if (isStreamed(body)) throw new Error('the body is streamed, but must be kept as a whole')
  return typeof body === 'string' ? Buffer.from(body) : body
}

/** The single row that every read, write and call statement returns. */
export type ResultRow = {
  /** Number of rows in the whole table; null when they were not counted. */
  readonly tableTotal: number | null
  /** Number of rows in this result. */
  readonly queryTotal: number
  /** `[column, "eq.value"]` pairs that identify a created row; empty if there is none. */
  readonly location: readonly (readonly [string, string])[]
  readonly body: Body
  /** The setting `response.headers`, JSON text. */
  readonly headersSetting: string | null
  /** The setting `response.status`. */
  readonly statusSetting: string | null
  /** Number of rows created by an upsert with `merge-duplicates`, null when its body had no rows; otherwise 0. */
  readonly inserted: number | null
  /** The version of the row, if the plan returns one and there is a single row. */
  readonly version: string | null | undefined
}

/** A response. Header names are in the case they are sent in; values and reason have one byte per character. */
export type RestResponse = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Body
  /** Whether it depends on `Accept-Encoding`. */
  readonly variesByEncoding?: boolean
  /** Reason phrase of the status line. Defaults to the standard phrase of the status. */
  readonly statusText?: string | undefined
  /** Describes what was ignored, for the log. */
  readonly warning?: string | undefined
}
