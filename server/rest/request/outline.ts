// What the shape of a request says: the part of an `ApiRequest` that may be cached, because it is the same for every
// request of the shape, whoever sends it.
import type { ApiRequest } from './api-request.ts'
import type { QueryParams } from './query-params.ts'

/** What a request's caller brings, and an outline cannot hold. */
type OfCaller = 'headers' | 'cookies' | 'payload' | 'ranges' | 'accept'

export type RequestOutline = Omit<ApiRequest, OfCaller | 'queryParams'> & {
  readonly queryParams: Pick<QueryParams, 'columns' | 'onConflict'> & { readonly canonical?: never }
} & Readonly<Partial<Record<OfCaller, never>>>

/** A request as the stages after planning need it. */
export type PlannedRequest = Omit<ApiRequest, 'ranges' | 'accept' | 'queryParams'> & {
  readonly queryParams: Pick<QueryParams, 'columns' | 'onConflict' | 'canonical'>
}

/** A copy of a text that does not keep alive the longer one which it was cut from. */
const copied = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

/** The outline of a request. Preferences that are not known have been rejected, or ignored, by the planner. */
export const outlineOf = (request: ApiRequest): RequestOutline => ({
  action: request.action,
  method: request.method,
  path: copied(request.path),
  topLevelRange: request.topLevelRange,
  columns: request.columns,
  preferences: { ...request.preferences, invalid: [] },
  schema: request.schema,
  negotiatedByProfile: request.negotiatedByProfile,
  contentType: request.contentType,
  queryParams: { columns: request.queryParams.columns, onConflict: request.queryParams.onConflict },
})
