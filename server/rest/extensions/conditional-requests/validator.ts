// The header `ETag` of reads and of writes of one row, and the conditions of reads. RFC 9110, sections 8.8.3 and 13.1.
import {
  digest,
  isKnown,
  opaqueTag,
  parseTagCondition,
  strongVersions,
  uniqueDigest,
  type TagCondition,
} from './entity-tag.ts'
import { errors } from '../../errors.ts'
import { contentTypeOf } from '../../media-type.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import { parseIfMatch } from './row-version.ts'
import type { PlannedRequest } from '../../request/api-request.ts'
import { rollsBack } from '../../request/preferences.ts'
import type { RestSettings } from '../../settings.ts'
import type { Headers } from '../../response/header.ts'
import { isStreamed, type RestResponse, type ResultRow } from '../../response/result.ts'

type ValidatorSettings = Pick<RestSettings, 'dbTxEnd'>

/** Headers of a 200 that a 304 does not have. RFC 9110, section 15.4.5 */
const representationHeaders = new Set(['content-length', 'content-profile', 'content-range', 'content-type'])

/**
 * Adds the entity tag to the response of a read or a write of one row, and evaluates the conditions of a read. A tag that
 * the database has set (`response.headers`) is kept.
 *
 * @throws ApiError PGRSTX50 when `If-Match` of a read is false, PGRSTX51 when it is malformed
 */
export function addValidator(
  response: RestResponse,
  plan: CrudPlan,
  row: ResultRow,
  request: PlannedRequest,
  settings: ValidatorSettings,
): RestResponse {
  if (plan.explain) return response
  const { method } = request.shape
  if (plan.kind !== 'mutate' && (method === 'GET' || method === 'HEAD')) return addToRead(response, plan, row, request)
  // A read with PATCH: an update without columns, of a row addressed by its key.
  if (plan.kind === 'read') requireMatch(request.input.conditions?.ifMatch, row.version ?? null, undefined)
  if (plan.kind === 'call' || rollsBack(request.shape.preferences, settings.dbTxEnd)) return response
  const { version = null } = row
  if (version === null || response.status > 204 || givenTag(response.headers) !== undefined) return response
  const { body } = response
  const hasBody = !isStreamed(body) && body.length > 0
  return withTag(response, opaqueTag(version, hasBody ? digestOf(plan, body, '') : null))
}

/** Adds the entity tag to the response with the description of a schema. */
export function addDocumentValidator(response: RestResponse, request: PlannedRequest): RestResponse {
  const { body } = response
  if (isStreamed(body) || body.length === 0) return response
  return conditional(response, opaqueTag(null, digest(body)), null, request)
}

function addToRead(response: RestResponse, plan: CrudPlan, row: ResultRow, request: PlannedRequest): RestResponse {
  if (response.status !== 200 && response.status !== 206) return response
  const version = row.version ?? null
  const given = givenTag(response.headers)
  return conditional(
    response,
    given === undefined ? computedTag(plan, row, version) : undefined,
    version,
    request,
    given,
  )
}

/**
 * Adds a tag to the response of a read, and evaluates the conditions of the request.
 *
 * @param computed opaque tag; undefined when there is none, or the database has set one
 * @param given the tag that the database has set
 */
function conditional(
  response: RestResponse,
  computed: string | undefined,
  version: string | null,
  { input: { conditions } }: PlannedRequest,
  given?: string,
): RestResponse {
  const opaque = given === undefined ? computed : /^(?:W\/)?"(.*)"$/.exec(given)?.[1]
  const tagged = computed === undefined ? response : withTag(response, computed)
  if (conditions === undefined) return tagged
  requireMatch(conditions.ifMatch, version, given?.startsWith('W/') === true ? undefined : opaque)
  const condition = conditions.ifNoneMatch === undefined ? undefined : parseTagCondition(conditions.ifNoneMatch)
  if (condition === undefined || opaque === undefined || !isKnown(condition, opaque)) return tagged
  const headers = tagged.headers.filter(([name]) => !representationHeaders.has(name.toLowerCase()))
  return { ...tagged, status: 304, statusText: undefined, headers, body: '' }
}

/**
 * The tag of a read. Streamed bodies have no digest, and HEAD requests for many rows have no body. The digest includes
 * what headers say: the media type, which may be the only difference of two representations, the total, and the links to
 * other pages.
 */
function computedTag(
  plan: CrudPlan,
  { body, tableTotal, location }: ResultRow,
  version: string | null,
): string | undefined {
  if (plan.handler.kind === 'none') return undefined
  if (isStreamed(body)) return version === null ? undefined : opaqueTag(version, uniqueDigest())
  const links = location.length === 0 ? '' : JSON.stringify(location)
  return opaqueTag(version, digestOf(plan, body, `${tableTotal ?? ''}${links}`))
}

/** @param inHeaders what is only in headers: the total and the links to other pages */
function digestOf({ mediaType }: CrudPlan, body: Buffer | string, inHeaders: string): string {
  const isJson = mediaType.kind === 'json' || mediaType.kind === 'any'
  if (isJson && inHeaders === '') return digest(body)
  const type = isJson ? '' : contentTypeOf(mediaType)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return digest(`${inHeaders}${type} ${bytes.toString('latin1')}`)
}

const givenTag = (headers: Headers): string | undefined =>
  headers.find(([name]) => name.length === 4 && name.toLowerCase() === 'etag')?.[1]

/** Adds a tag. Lists the fields, as `finish` does, because it runs for every read. */
const withTag = ({ status, headers, body, statusText, warning }: RestResponse, opaque: string): RestResponse => ({
  status,
  headers: [...headers, ['ETag', `"${opaque}"`]],
  body,
  statusText,
  warning,
})

/**
 * Checks `If-Match` of a read.
 *
 * @param version of the row, if it has one
 * @param opaque strong tag of the response, if it has one
 */
function requireMatch(ifMatch: string | undefined, version: string | null, opaque: string | undefined): void {
  if (ifMatch === undefined) return
  const condition: TagCondition = parseIfMatch(ifMatch)
  if (condition === '*') return
  if (version !== null && strongVersions(condition).includes(version)) return
  if (opaque !== undefined && condition.some((tag) => !tag.isWeak && tag.opaque === opaque)) return
  throw errors.preconditionFailed('version')
}
