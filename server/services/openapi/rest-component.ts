// Components that all REST resources share: parameters, headers, error responses.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
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
  ...['select', 'order', 'limit', 'offset', 'columns', 'on_conflict', 'and', 'or', 'not.and', 'not.or'],
])

const sharedParameters = {
  select: query('select', text, 'Columns and related rows to return: `id,name,owner(*)`.'),
  order: query('order', text, 'Columns to sort by: `year.desc,id`.'),
  limit: query('limit', count, 'Maximum number of rows.'),
  offset: query('offset', count, 'Number of rows to skip.'),
  and: query('and', text, 'Conditions that must all be true: `(a.eq.1,b.gt.2)`.'),
  or: query('or', text, 'Conditions of which at least one must be true: `(a.eq.1,b.gt.2)`.'),
  columns: query('columns', text, 'Keys of the body to use; the others are ignored.'),
  onConflict: query('on_conflict', text, 'Columns of the unique constraint that identifies existing rows.'),
  range: header('Range', 'First and last row, counted from 0: `0-9`.'),
  preferRead: prefer(counts, ...anyRequest),
  preferInsert: prefer(
    returns,
    'resolution=merge-duplicates|ignore-duplicates',
    'missing=default|null',
    counts,
    ...anyRequest,
  ),
  preferWrite: prefer(returns, 'max-affected=…', counts, ...anyRequest),
  preferCall: prefer('max-affected=…', counts, ...anyRequest),
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
    request: { description: 'Only for a batch: the id of the request that failed.', type: 'string' },
    line: { description: 'Line of an imported body that caused the error, if it was found.', type: 'integer' },
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
  error: error('Any other error.'),
} satisfies JsonObject

const responseRef = (name: keyof typeof restResponses): JsonObject => ({ $ref: `#/components/responses/${name}` })

/** Error responses of a REST operation on `rows`, or on a single `row`. */
export const failures = (about: 'row' | 'rows' = 'rows'): JsonObject => ({
  400: responseRef('badRequest'),
  401: responseRef('unauthorized'),
  403: responseRef('forbidden'),
  ...(about === 'row' ? { 404: responseRef('notFound') } : {}),
  default: responseRef('error'),
})
