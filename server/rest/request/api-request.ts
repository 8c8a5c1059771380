// What the client asks for: a readonly record of intent. Nothing in it has been looked up in the database.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { MediaType } from '../media-type.ts'
import type { Payload } from './payload.ts'
import type { Preferences } from './preferences.ts'
import type { QueryParams } from './query-params.ts'
import type { RowRange } from './range.ts'

export type Mutation = 'create' | 'update' | 'single-upsert' | 'delete'
/** How a function is called: POST, or GET and HEAD, whose arguments stand in the query string. */
export type InvokeMethod = 'post' | 'get' | 'head'

export type Action =
  | { readonly kind: 'read'; readonly relation: QualifiedIdentifier; readonly headersOnly: boolean }
  | { readonly kind: 'mutate'; readonly relation: QualifiedIdentifier; readonly mutation: Mutation }
  | { readonly kind: 'call'; readonly routine: QualifiedIdentifier; readonly method: InvokeMethod }
  | { readonly kind: 'inspect'; readonly schema: string; readonly headersOnly: boolean }
  | { readonly kind: 'relation-info'; readonly relation: QualifiedIdentifier }
  | { readonly kind: 'routine-info'; readonly routine: QualifiedIdentifier }
  | { readonly kind: 'schema-info' }

/** An HTTP request, free of any framework. Its texts have one character per byte, as Node's HTTP parser yields them. */
export type HttpRequest = {
  readonly method: string
  /** Path below the mount path, still percent-encoded, with a leading slash. */
  readonly path: string
  /** Query string as it came, without the question mark. */
  readonly query: string
  /** Header names in lower case, in the order they came; repeated headers stay apart. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

/**
 * What the shape of a request says to the stages after planning. It is the same for all requests of the shape, whoever
 * sends them, so this is what a cache may keep of a request.
 */
export type RequestShape = {
  readonly action: Action
  readonly method: string
  /** Path below the mount path, as it came. */
  readonly path: string
  /** The range of the root: `limit` and `offset` merged with the `Range` header. */
  readonly topLevelRange: RowRange
  /** Columns that the payload is read into: its keys, or those of the `columns` parameter. Sorted, no duplicates. */
  readonly columns: readonly string[]
  /** The `columns` parameter, sorted and without duplicates; undefined when absent. */
  readonly namedColumns: readonly string[] | undefined
  /** The `on_conflict` parameter. */
  readonly onConflict: readonly string[] | undefined
  readonly preferences: Preferences
  readonly schema: string
  /** Whether the schema was chosen by a profile header, or by default among several: then `Content-Profile` is sent. */
  readonly negotiatedByProfile: boolean
  readonly contentType: MediaType
}

/** What a caller brings with one request. No cache keeps it. */
export type RequestInput = {
  /** All headers but cookies, names in lower case, values read as UTF-8. */
  readonly headers: readonly (readonly [string, string])[]
  /** Those of the first `Cookie` header. */
  readonly cookies: readonly (readonly [string, string])[]
  readonly payload: Payload | undefined
  /** The query string with its parameters sorted by name and encoded again: the form that `Content-Location` shows. */
  readonly canonicalQuery: string
}

/** A request as the stages after planning need it. */
export type PlannedRequest = { readonly shape: RequestShape; readonly input: RequestInput }

/** A parsed request. What only the planner needs stands beside shape and input; it contains values of the caller. */
export type ApiRequest = PlannedRequest & {
  readonly queryParams: Omit<QueryParams, 'canonical' | 'columns' | 'onConflict'>
  /** Ranges of embeds by parameter name (see `QueryParams.ranges`), and that of the root as `limit`. */
  readonly ranges: ReadonlyMap<string, RowRange>
  /** Acceptable media types, the most wanted first. */
  readonly accept: readonly MediaType[]
}
