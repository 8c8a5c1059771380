// The paths: relations, functions, and the description itself.
import { firstLine } from './comment.ts'
import type { Routine } from '../../catalogue/routine.ts'
import { relatedNames } from '../../catalogue/related-names.ts'
import type { Relationships } from '../../catalogue/relationship.ts'
import type { Table } from '../../catalogue/table.ts'
import { object, type Member, type OrderedJson } from './ordered-json.ts'
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
  readonly comment: string | null
  readonly parameters: readonly OrderedJson[]
  readonly produces?: readonly string[]
  readonly responses: readonly Member[]
}

function operation({ tag, comment, parameters, produces, responses }: Operation): OrderedJson {
  const { summary, description } = firstLine(comment)
  return object(
    ['description', description === '' ? undefined : description],
    ['parameters', parameters.length > 0 ? parameters : undefined],
    ['produces', produces],
    ['responses', object(...responses)],
    ['summary', summary],
    ['tags', [tag]],
  )
}

const response = (description: string): OrderedJson => object(['description', description])

/** Parameters that PostgREST does not have. They stand at the path, so that its operations are described as there. */
const beyondPostgrest = (...names: readonly string[]): readonly OrderedJson[] =>
  names.map((name) => reference('parameters', name))

/** The response to callers whose requests per second are limited. */
export const tooManyRequests: Member = ['429', response('Too Many Requests')]

/**
 * The path of a relation: GET, and POST, DELETE and PATCH if it can be written to.
 *
 * @param failures responses of all operations
 */
export function tablePath(table: Table, relationships: Relationships, failures: readonly Member[] = []): Member {
  const { name } = table
  const filters = Array.from(table.columns.keys(), (column) => filterName(name, column))
  const method = (parameters: readonly string[], ...responses: readonly Member[]): OrderedJson =>
    operation({
      tag: name,
      comment: table.description,
      parameters: parameters.map((parameter) => reference('parameters', parameter)),
      responses: [...responses, ...failures],
    })
  const rows = object(['items', reference('definitions', name)], ['type', 'array'])
  const get = method(
    [...filters, 'select', 'order', 'range', 'rangeUnit', 'offset', 'limit', 'preferCount'],
    ['200', object(['description', 'OK'], ['schema', rows])],
    ['206', response('Partial Content')],
  )
  // A column of that name is filtered instead.
  const ofReads = ['distinct', 'having', ...(table.columns.has('cursor') ? [] : ['cursor'])]
  if (!(table.insertable || table.updatable || table.deletable)) {
    return [`/${name}`, object(['get', get], ['parameters', beyondPostgrest(...ofReads)])]
  }
  // The relationships that the body of POST may name, which PostgREST does not have.
  const related = table.insertable ? relatedNames(table, relationships).map((it) => it.name) : []
  return [
    `/${name}`,
    object(
      ['get', get],
      ['post', method([bodyName(name), 'select', 'preferPost'], ['201', response('Created')])],
      ['delete', method([...filters, 'preferReturn'], ['204', response('No Content')])],
      ['patch', method([...filters, bodyName(name), 'preferReturn'], ['204', response('No Content')])],
      ['x-related-rows', related.length > 0 ? related : undefined],
      ['parameters', beyondPostgrest('idempotencyKey', 'contentType', 'ifMatch', 'ifNoneMatch', ...ofReads)],
    ),
  ]
}

/**
 * The path of a function: POST, and GET unless it is volatile.
 *
 * @param failures responses of all operations
 */
export function routinePath(routine: Routine, failures: readonly Member[] = []): Member {
  const method = (parameters: readonly OrderedJson[]): OrderedJson =>
    operation({
      tag: `(rpc) ${routine.name}`,
      comment: routine.description,
      parameters,
      produces: routineMedia,
      responses: [['200', response('OK')], ...failures],
    })
  const post = method([bodyArguments(routine), reference('parameters', 'preferParams')])
  const get = routine.volatility === 'volatile' ? undefined : method(routine.parameters.map(queryArgument))
  const isPaged = get && routine.returns.setOf && !routine.parameters.some(({ name }) => name === 'cursor')
  return [
    `/rpc/${routine.name}`,
    object(
      ['get', get],
      ['post', post],
      ['parameters', beyondPostgrest('idempotencyKey', ...(isPaged ? ['cursor'] : []))],
    ),
  ]
}

export const rootPath: Member = [
  '/',
  object([
    'get',
    operation({
      tag: 'Introspection',
      comment: 'OpenAPI description (this document)',
      parameters: [],
      produces: ['application/openapi+json', json],
      responses: [['200', response('OK')]],
    }),
  ]),
]
