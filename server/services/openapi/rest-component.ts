// Components that all REST resources share: parameters, headers, error responses.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { JsonObject, JsonSchema } from '../../http/json-schema.ts'

/** What the descriptions of all REST operations need. */
export type RestContext = {
  /** Mount path of the resources, without a slash at its end. */
  readonly basePath: string
  /** Whether the profile headers can select one of several schemas. */
  readonly hasProfiles: boolean
  /** The schema of a relation's rows; undefined when the document leaves the relation out. */
  readonly rowOf: (relation: QualifiedIdentifier) => JsonSchema | undefined
}

const text: JsonSchema = { type: 'string' }
const count: JsonSchema = { type: 'integer', minimum: 0 }

const query = (name: string, schema: JsonSchema, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  schema,
})

const header = (name: string, description: string, schema: JsonSchema = text): JsonObject => ({
  name,
  in: 'header',
  description,
  schema,
})

/** The header `Prefer` with these preferences. RFC 7240 */
const prefer = (...preferences: readonly string[]): JsonObject =>
  header('Prefer', `Preferences, separated by commas: ${preferences.map((it) => `\`${it}\``).join(', ')}.`)

const counts = 'count=exact|planned|estimated'
const returns = 'return=representation|headers-only|minimal'
const anyRequest = ['handling=strict|lenient', 'timezone=…', 'tx=commit|rollback']

/** Parameters of the query string that are never the name of a column or an argument. */
export const reservedParameters: ReadonlySet<string> = new Set([
  'select',
  'order',
  'limit',
  'offset',
  'columns',
  'on_conflict',
  'and',
  'or',
  'not.and',
  'not.or',
])

const sharedParameters = {
  select: query('select', text, 'Columns and related rows to return: `id,name,owner(*)`.'),
  order: query('order', text, 'Columns to sort by: `year.desc,id`.'),
  distinct: query(
    'distinct',
    text,
    'Which rows to leave out: `on.*` those equal to an earlier one, `on.(customer_id)` all but the first of each combination of the values, in the requested order.',
  ),
  having: query(
    'having',
    text,
    'A condition on groups, if aggregates are enabled: `amount.sum().gt.100`, `or.(count().gte.2,amount.max().lt.5)`.',
  ),
  // The page fills in the example, so that trying a list out does not return a million rows.
  limit: { ...query('limit', count, 'Maximum number of rows; by default all.'), example: 20 },
  offset: query('offset', count, 'Number of rows to skip.'),
  and: query('and', text, 'Conditions that must all be true: `(a.eq.1,b.gt.2)`.'),
  or: query('or', text, 'Conditions of which at least one must be true: `(a.eq.1,b.gt.2)`.'),
  columns: query('columns', text, 'Keys of the body to use; the others are ignored.'),
  onConflict: query('on_conflict', text, 'Columns of the unique constraint that identifies existing rows.'),
  range: header('Range', 'First and last row, counted from 0: `0-9`.'),
  ifMatch: header('If-Match', 'Entity tags of the row, or `*`: otherwise the response is 412.'),
  ifNoneMatch: header('If-None-Match', 'Entity tags that the client has: the response is 304 if one is current.'),
  ifAbsent: header('If-None-Match', '`*`: creates the row only if it does not exist; otherwise the response is 412.'),
  preferRead: prefer(counts, 'pagination=keyset', 'stream=rows', ...anyRequest),
  preferInsert: prefer(
    returns,
    'resolution=merge-duplicates|ignore-duplicates',
    'missing=default|null',
    counts,
    ...anyRequest,
  ),
  preferWrite: prefer(returns, 'max-affected=…', counts, ...anyRequest),
  preferCall: prefer('max-affected=…', counts, 'stream=rows', ...anyRequest),
  preferQuery: prefer('max-affected=…', counts, 'pagination=keyset', 'stream=rows', ...anyRequest),
  cursor: query('cursor', text, 'Where a keyset page begins: from the links of a response.'),
  idempotencyKey: header(
    'Idempotency-Key',
    'Identifies this request of the caller for 24 hours: repeating it returns the first response again (`Idempotency-Replayed: true`) without a further effect. 422 for another request with the same key, 409 while the first one is running.',
    { type: 'string', maxLength: 257 },
  ),
} satisfies Record<string, JsonObject>

export type SharedParameter = keyof typeof sharedParameters | 'acceptProfile' | 'contentProfile'

export const parameterRef = (name: string): JsonObject => ({ $ref: `#/components/parameters/${name}` })
/** References to shared parameters. */
export const sharedRefs = (...names: readonly SharedParameter[]): readonly JsonObject[] => names.map(parameterRef)

/**
 * References to parameters beyond PostgREST's.
 *
 * @param isTaken whether a filter or an argument has the name, which is then described instead
 */
export const untakenRefs = (
  isTaken: (name: string) => boolean,
  ...names: readonly ('distinct' | 'having' | 'cursor')[]
): readonly JsonObject[] => sharedRefs(...names.filter((name) => !isTaken(name)))

/** `#/components/parameters` that all resources share. */
export function restParameters(exposedSchemas: readonly string[]): JsonObject {
  const schema = { type: 'string', enum: exposedSchemas, default: exposedSchemas[0] }
  return {
    ...sharedParameters,
    acceptProfile: header('Accept-Profile', 'The schema of the database to read from.', schema),
    contentProfile: header('Content-Profile', 'The schema of the database to write to.', schema),
  }
}

export const restHeaders = {
  contentRange: {
    description: 'First and last row, counted from 0, and the count if it was requested: `0-9/100`, `*/0`.',
    schema: text,
  },
  link: {
    description: 'The pages after and before a keyset page: `<?limit=10&cursor=…>; rel="next"`. RFC 8288.',
    schema: text,
  },
  rowsTruncated: { description: 'Set if the server limits the number of rows, and there are more.', schema: text },
  rateLimit: {
    description: 'What is left of each limit of requests: `"role";r=9;t=1` (draft-ietf-httpapi-ratelimit-headers).',
    schema: text,
  },
  rateLimitPolicy: {
    description: 'The limits of requests of the role, the user and the API key: `"role";q=10;w=1`.',
    schema: text,
  },
  retryAfter: { description: 'Seconds until a request may succeed.', schema: { type: 'integer', minimum: 1 } },
  etag: { description: 'Entity tag: the version of one row, and a digest of the body.', schema: text },
  idempotencyReplayed: {
    description: '`true` if the response is that of an earlier request with the same `Idempotency-Key`.',
    schema: text,
  },
  location: { description: 'Path of the new row.', schema: { type: 'string', format: 'uri-reference' } },
} satisfies JsonObject

export const headerRef = (name: keyof typeof restHeaders): JsonObject => ({ $ref: `#/components/headers/${name}` })

export const restErrorSchema: JsonSchema = {
  title: 'RestError',
  description: 'Why a request to the REST resources failed.',
  type: 'object',
  properties: {
    code: { description: 'A code of the API (`PGRST…`) or an SQLSTATE of PostgreSQL.', type: 'string' },
    message: { type: 'string' },
    details: { description: 'Text, or a list of what is wrong with the body; null when there are no details.' },
    hint: { type: ['string', 'null'] },
    line: { description: 'Line of an imported body that caused the error, if it was found.', type: 'integer' },
    request: { description: 'Only for a batch: the id of the request that failed.', type: 'string' },
  },
  required: ['code', 'message'],
}

const error = (description: string): JsonObject => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/RestError' } } },
})

export const restResponses = {
  badRequest: error('The request cannot be parsed, or its body violates the schema or a constraint.'),
  unauthorized: {
    ...error('The credentials are missing, invalid or expired.'),
    headers: { 'WWW-Authenticate': { schema: text } },
  },
  forbidden: error('The role of the caller may not do this.'),
  notFound: error('The caller can see no row with this key.'),
  tooManyRequests: {
    ...error('The role, the user or the API key has sent more requests per second than its limit.'),
    headers: {
      'RateLimit-Policy': headerRef('rateLimitPolicy'),
      RateLimit: headerRef('rateLimit'),
      'Retry-After': headerRef('retryAfter'),
    },
  },
  notModified: { description: 'The client has the current representation.', headers: { ETag: { schema: text } } },
  preconditionFailed: error('The row does not have the version in `If-Match`, or exists already.'),
  error: error('Any other error.'),
} satisfies JsonObject

const responseRef = (name: keyof typeof restResponses): JsonObject => ({ $ref: `#/components/responses/${name}` })

/** Error responses of a REST operation on `rows`, or on a single `row`. */
export const failures = (about: 'row' | 'rows' = 'rows'): JsonObject => ({
  400: responseRef('badRequest'),
  401: responseRef('unauthorized'),
  403: responseRef('forbidden'),
  ...(about === 'row' ? { 404: responseRef('notFound') } : {}),
  429: responseRef('tooManyRequests'),
  default: responseRef('error'),
})

/** The response to a read whose `If-None-Match` has the current tag. */
export const notModified: JsonObject = { 304: responseRef('notModified') }
/** The response to a write whose `If-Match` or `If-None-Match` is false. */
export const preconditionFailed: JsonObject = { 412: responseRef('preconditionFailed') }
