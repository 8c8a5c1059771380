// What the stages of a request use besides the request.
import type { SchemaCache } from '../catalogue/schema-cache.ts'
import type { Database, Caller, Consistency } from './database.ts'
import type { ExportSlots } from './extensions/exports/export-slots.ts'
import type { Snapshot } from './snapshot.ts'
import type { BodyValidator } from './validation.ts'

export type AnswerContext = {
  readonly database: Database
  /** Who waits for the response. */
  readonly caller: Caller
  readonly snapshot: Snapshot
  readonly schemaCache: SchemaCache
  readonly validator: BodyValidator
  /** Mount path without a slash at its end. */
  readonly basePath: string
  /** Duration of the authentication in milliseconds; undefined when stages are not timed. */
  readonly authenticationTime: number | undefined
  /** The header `Idempotency-Key` of a POST or PATCH request. */
  readonly idempotencyKey: string | undefined
  /**
   * Counts further requests against the limits of the caller; undefined without limits.
   *
   * @throws ApiError PGRSTX80, as a rejection
   */
  readonly countRequests?: ((count: number) => Promise<void>) | undefined
  readonly trace: AnswerTrace
  /** Undefined unless the database has replicas. */
  readonly consistency?: Consistency | undefined
  /** Places for responses that are streamed row by row; undefined when no response may be. */
  readonly exports: ExportSlots | undefined
}

/** Collects data for logs and metrics while a request runs. */
export type AnswerTrace = {
  /** Name of the relation or function, once it is known to exist. */
  route: string | undefined
  /** Texts of the statements; undefined when they are not logged. */
  readonly statements: string[] | undefined
  /** Describes deprecated features that the request uses. */
  warning: string | undefined
}
