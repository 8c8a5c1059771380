// The types of a parsed request. Its names are those in the request; the planner looks them up in the schema cache.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { MediaType } from '../media-type.ts'
import type { BodyProblem } from '../validation.ts'
import type { PageInput } from '../extensions/keyset-pages/page-cursor.ts'
import type { Preferences } from './preferences.ts'
import type { QueryParams } from './query-params.ts'
import type { RowRange } from './range.ts'

export type Mutation = 'create' | 'update' | 'single-upsert' | 'delete'
/** How a function is called: with POST, or with GET or HEAD and the arguments in the query string. */
export type InvokeMethod = 'post' | 'get' | 'head'

export type Action =
  | { readonly kind: 'read'; readonly relation: QualifiedIdentifier; readonly headersOnly: boolean }
  | { readonly kind: 'mutate'; readonly relation: QualifiedIdentifier; readonly mutation: Mutation }
  | { readonly kind: 'call'; readonly routine: QualifiedIdentifier; readonly method: InvokeMethod }
  | { readonly kind: 'inspect'; readonly schema: string; readonly headersOnly: boolean }
  | { readonly kind: 'relation-info'; readonly relation: QualifiedIdentifier }
  | { readonly kind: 'routine-info'; readonly routine: QualifiedIdentifier }
  | { readonly kind: 'schema-info' }

/** A parsed body. */
export type ReadPayload = {
  /** Undefined for an action without a body. */
  readonly payload: Payload | undefined
  /** The columns in the body, sorted, without duplicates. */
  readonly columns: readonly string[]
  /**
   * The value of a JSON body; undefined when the text was not parsed. It takes several times the memory of the text, so
   * it is not part of the request, and can be garbage-collected while the request waits for the database.
   */
  readonly value: unknown
  /** What is wrong with the rows by the JSON Schema of the table, if they were checked while they were read. */
  readonly problems?: readonly BodyProblem[]
}

/** An HTTP request, independent of any framework. Strings have one character per byte, as in Node's HTTP parser. */
export type HttpRequest = {
  readonly method: string
  /** Path below the mount path, still percent-encoded, with a leading slash. */
  readonly path: string
  /** Raw query string without the question mark. */
  readonly query: string
  /** Lower-case names and values in the order received. Repeated headers are separate. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
  /** The body, if it was parsed before; see `readLargePayload`. Then `body` may be empty. */
  readonly payload?: ReadPayload
}

/**
 * The part of a request that is equal for all requests of the same shape. It contains no data of callers, so it may be
 * cached.
 */
export type RequestShape = {
  readonly action: Action
  readonly method: string
  /** Raw path below the mount path. */
  readonly path: string
  /** The range of the root: the intersection of `limit` and `offset` with the `Range` header. */
  readonly topLevelRange: RowRange
  /** Columns in the payload: its keys, or the `columns` parameter. Sorted, without duplicates. */
  readonly columns: readonly string[]
  /** The `columns` parameter, sorted and without duplicates; undefined when absent. */
  readonly namedColumns: readonly string[] | undefined
  /** The `on_conflict` parameter. */
  readonly onConflict: readonly string[] | undefined
  readonly preferences: Preferences
  readonly schema: string
  /** Whether to send `Content-Profile`: there was a profile header, or several schemas are exposed. */
  readonly negotiatedByProfile: boolean
  readonly contentType: MediaType
}

/** The headers `If-Match` and `If-None-Match`, as they were sent. */
export type RequestConditions = { readonly ifMatch: string | undefined; readonly ifNoneMatch: string | undefined }

/** The part of a request that belongs to the caller. It is never cached. */
export type RequestInput = {
  /** All headers except cookies: lower-case names, values decoded as UTF-8. */
  readonly headers: readonly (readonly [string, string])[]
  /** The cookies of the first `Cookie` header. */
  readonly cookies: readonly (readonly [string, string])[]
  readonly payload: Payload | undefined
  /** The query string for `Content-Location`: parameters sorted by name and encoded uniformly. */
  readonly canonicalQuery: string
  /** The keyset page that the request asks for. */
  readonly page?: PageInput
  readonly conditions?: RequestConditions | undefined
  /** For a request for a row by key: its shape before the filter by key was added. */
  readonly tableShape?: RequestShape
}

/** The part of a request that the stages after planning need. */
export type PlannedRequest = { readonly shape: RequestShape; readonly input: RequestInput }

/** A parsed request. The fields besides shape and input are for the planner only; they contain values of the caller. */
export type ApiRequest = PlannedRequest & {
  readonly queryParams: Omit<QueryParams, 'canonical' | 'columns' | 'onConflict' | 'key'>
  /** Ranges by parameter name (see `QueryParams.ranges`); the range of the root is named `limit`. */
  readonly ranges: ReadonlyMap<string, RowRange>
  /** Acceptable media types, in order of preference. */
  readonly accept: readonly MediaType[]
}

export type Payload =
  /** Raw JSON text (numbers keep their digits), or JSON made from CSV or a form. All its objects have these keys. */
  | { readonly kind: 'json'; readonly text: string; readonly keys: readonly string[] }
  /** JSON text that is not parsed, because the `columns` parameter has the keys. */
  | { readonly kind: 'raw-json'; readonly text: string }
  /** Arguments of a function, from a form. */
  | { readonly kind: 'form'; readonly pairs: readonly (readonly [string, string])[]; readonly keys: readonly string[] }
  /** The single unnamed argument of a function. */
  | { readonly kind: 'raw'; readonly bytes: Buffer }
