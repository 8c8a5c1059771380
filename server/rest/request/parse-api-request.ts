// Parses an HTTP request into an ApiRequest.
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { RestSettings } from '../settings.ts'
import { errors } from '../errors.ts'
import { decodeMediaType, parseAccept } from '../media-type.ts'
import type { MediaType } from '../media-type.ts'
import type { ApiRequest, HttpRequest, ReadPayload } from './api-request.ts'
import type { FurtherParameter } from './further-parameters.ts'
import { conditionsOf, readHeaders } from './headers.ts'
import type { RequestHeaders } from './headers.ts'
import { namedKeys, parsePayload } from './payload.ts'
import { trailingText } from './parser.ts'
import { parsePreferences } from './preferences.ts'
import { parseQueryParams } from './query-params.ts'
import { topLevelRange } from './range.ts'
import { chooseAction, parseResource } from './resource.ts'
import type { Resource } from './resource.ts'

export type RequestSettings = Pick<
  RestSettings,
  'dbSchemas' | 'dbTxEnd' | 'openapiMode' | 'dbRootSpec' | 'urlIgnoreTrailingText'
>

const anyMediaType: readonly MediaType[] = [{ kind: 'any' }]
const json: MediaType = { kind: 'json' }

/** Replaces the root by the function in `db-root-spec`, if there is one. */
function resolveRoot(resource: Resource, settings: RequestSettings): Resource {
  if (resource.kind !== 'root') return resource
  if (settings.openapiMode === 'disabled') throw errors.openapiDisabled()
  return settings.dbRootSpec ? { kind: 'routine', name: settings.dbRootSpec.name } : resource
}

/** The schema in the profile header, or the first one: `Content-Profile` for writes, otherwise `Accept-Profile`. */
function chooseSchema(
  method: string,
  headers: RequestHeaders,
  schemas: readonly string[],
): { readonly schema: string; readonly negotiatedByProfile: boolean } {
  const writes = method === 'POST' || method === 'PATCH' || method === 'PUT' || method === 'DELETE'
  const profile = writes ? headers.contentProfile : headers.acceptProfile
  if (profile === undefined) return { schema: schemas[0] ?? '', negotiatedByProfile: schemas.length !== 1 }
  if (!schemas.includes(profile)) throw errors.unacceptableSchema(profile, schemas)
  return { schema: profile, negotiatedByProfile: true }
}

/** A request, and the value of its body if it was parsed (see `ReadPayload`). */
export type ParsedRequest = { readonly request: ApiRequest } & Pick<ReadPayload, 'value' | 'problems'>

/** A request without its body. */
export type RequestHead = ReturnType<typeof parseRequestHead>

/**
 * Parses a request without its body.
 *
 * @param further the parameters of extensions
 * @throws ApiError as `parseApiRequest` does
 */
export function parseRequestHead(
  http: HttpRequest,
  settings: RequestSettings,
  further: readonly FurtherParameter[] = [],
) {
  const { method, path } = http
  const resource = resolveRoot(parseResource(path), settings)
  const headers = readHeaders(http.headers)
  const { schema, negotiatedByProfile } = chooseSchema(method, headers, settings.dbSchemas)
  const action = chooseAction(resource, schema, method)
  const queryParams = parseQueryParams(
    http.query,
    action.kind === 'call' && action.method !== 'post',
    action.kind === 'read',
    trailingText(settings),
    further,
  )
  const range = topLevelRange(method, queryParams.ranges, headers.range)
  const contentType = headers.contentType === undefined ? json : decodeMediaType(headers.contentType)
  const namedColumns = namedKeys(action, queryParams.columns)
  return { headers, schema, negotiatedByProfile, action, queryParams, range, contentType, namedColumns }
}

/**
 * Parses a request without looking up names.
 *
 * @param head the request without its body
 * @param cache see `parsePayload`
 * @throws ApiError for the first error in this order: resource, schema, method, query string, range, body
 */
export function parseApiRequest(
  http: HttpRequest,
  settings: RequestSettings,
  head = parseRequestHead(http, settings),
  cache?: SchemaCache,
): ParsedRequest {
  const { method, path } = http
  const { headers, schema, negotiatedByProfile, action, queryParams, range, contentType } = head
  const { payload, columns, value, problems } =
    http.payload ?? parsePayload(http.body, contentType, queryParams.columns, action, cache)
  const request: ApiRequest = {
    shape: {
      action,
      method,
      path,
      topLevelRange: range,
      columns,
      namedColumns: queryParams.columns,
      onConflict: queryParams.onConflict,
      preferences: parsePreferences(headers.prefer, settings.dbTxEnd.endsWith('-allow-override')),
      schema,
      negotiatedByProfile,
      contentType,
    },
    input: {
      headers: headers.others,
      cookies: headers.cookies,
      payload,
      canonicalQuery: queryParams.canonical,
      conditions: conditionsOf(headers),
    },
    queryParams,
    ranges: new Map(queryParams.ranges).set('limit', range),
    accept: headers.accept === undefined ? anyMediaType : parseAccept(headers.accept),
  }
  return { request, value, ...(problems && { problems }) }
}
