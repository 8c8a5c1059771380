// The paths: relations, functions, and the description itself.
import type { Routine } from '../../catalogue/routine.ts'
import { firstLine, type TitledComment } from './comment.ts'
import { takesArgument, type RelationModel } from './model.ts'
import type { FixedObject, Member, OrderedJson } from './ordered-json.ts'
import { reference } from './reference.ts'
import { bodyArguments, bodyName, filterName, queryArgument } from './parameter.ts'

const json = 'application/json'
const single = 'application/vnd.pgrst.object+json'

/** Media types of relations. */
export const relationMedia = [json, `${single};nulls=stripped`, single, 'text/csv']
/** Media types of responses: PostgREST's, and the one that it does not have. */
export const responseMedia = [...relationMedia, 'application/x-ndjson']
const routineMedia = [json, `${single};nulls=stripped`, single]

type Operation = {
  readonly tag: string
  readonly comment: TitledComment
  readonly parameters: readonly OrderedJson[]
  readonly produces?: readonly string[]
  readonly responses: FixedObject
}

const operation = ({ tag, comment, parameters, produces, responses }: Operation): OrderedJson => ({
  description: comment.description === '' ? undefined : comment.description,
  parameters: parameters.length > 0 ? parameters : undefined,
  produces,
  responses,
  summary: comment.summary,
  tags: [tag],
})

const response = (description: string): OrderedJson => ({ description })

/** Parameters that PostgREST does not have. They stand at the path, so that its operations are described as there. */
const beyondPostgrest = (...names: readonly string[]): readonly OrderedJson[] =>
  names.map((name) => reference('parameters', name))

/** The response to callers whose requests per second are limited. */
export const tooManyRequests: FixedObject = { 429: response('Too Many Requests') }

/**
 * The path of a relation: GET, and POST, DELETE and PATCH if it can be written to.
 *
 * @param failures responses of all operations
 */
export function tablePath({ table, comment, columns, related }: RelationModel, failures: FixedObject = {}): Member {
  const { name } = table
  const filters = columns.map((column) => filterName(name, column.name))
  const method = (parameters: readonly string[], responses: FixedObject): OrderedJson =>
    operation({
      tag: name,
      comment,
      parameters: parameters.map((parameter) => reference('parameters', parameter)),
      responses: { ...responses, ...failures },
    })
  const rows = { items: reference('definitions', name), type: 'array' }
  const get = method([...filters, 'select', 'order', 'range', 'rangeUnit', 'offset', 'limit', 'preferCount'], {
    200: { description: 'OK', schema: rows },
    206: response('Partial Content'),
  })
  // A column of that name is filtered instead.
  const ofReads = ['distinct', 'having', ...(table.columns.has('cursor') ? [] : ['cursor'])]
  if (!(table.insertable || table.updatable || table.deletable)) {
    return [`/${name}`, { get, parameters: beyondPostgrest(...ofReads) }]
  }
  return [
    `/${name}`,
    {
      get,
      post: method([bodyName(name), 'select', 'preferPost'], { 201: response('Created') }),
      delete: method([...filters, 'preferReturn'], { 204: response('No Content') }),
      patch: method([...filters, bodyName(name), 'preferReturn'], { 204: response('No Content') }),
      // The relationships that the body of POST may name, which PostgREST does not have.
      'x-related-rows': related.length > 0 ? related.map((it) => it.name) : undefined,
      parameters: beyondPostgrest('idempotencyKey', 'contentType', 'ifMatch', 'ifNoneMatch', ...ofReads),
    },
  ]
}

/**
 * The path of a function: POST, and GET unless it is volatile.
 *
 * @param failures responses of all operations
 */
export function routinePath(routine: Routine, failures: FixedObject = {}): Member {
  const method = (parameters: readonly OrderedJson[]): OrderedJson =>
    operation({
      tag: `(rpc) ${routine.name}`,
      comment: firstLine(routine.description),
      parameters,
      produces: routineMedia,
      responses: { 200: response('OK'), ...failures },
    })
  const post = method([bodyArguments(routine), reference('parameters', 'preferParams')])
  const get = routine.volatility === 'volatile' ? undefined : method(routine.parameters.map(queryArgument))
  const isPaged = get !== undefined && routine.returns.setOf && !takesArgument([routine], 'cursor')
  return [
    `/rpc/${routine.name}`,
    { get, post, parameters: beyondPostgrest('idempotencyKey', ...(isPaged ? ['cursor'] : [])) },
  ]
}

export const rootPath: Member = [
  '/',
  {
    get: operation({
      tag: 'Introspection',
      comment: firstLine('OpenAPI description (this document)'),
      parameters: [],
      produces: ['application/openapi+json', json],
      responses: { 200: response('OK') },
    }),
  },
]
