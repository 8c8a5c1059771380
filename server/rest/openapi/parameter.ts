// Parameters of requests: those of all relations, those of one relation, and the arguments of functions.
import type { Routine, RoutineParameter } from '../../catalogue/routine.ts'
import { argumentsSchema } from './definition.ts'
import type { RelationModel } from './model.ts'
import type { Member, OrderedJson } from './ordered-json.ts'
import { parameterName, reference } from './reference.ts'
import { elementType, swaggerFormat, swaggerType } from './swagger-type.ts'

type Parameter = {
  readonly name: string
  readonly description: string | undefined
  readonly in: 'query' | 'header'
  readonly default?: string
  readonly enum?: readonly string[]
}

const parameter = (it: Parameter): OrderedJson => ({
  name: it.name,
  description: it.description,
  required: false,
  default: it.default,
  enum: it.enum,
  in: it.in,
  type: 'string',
})

const prefer = (...values: readonly string[]): OrderedJson =>
  parameter({
    name: 'Prefer',
    description: 'Preference',
    in: 'header',
    ...(values.length > 0 ? { enum: values } : {}),
  })

const returns = ['return=representation', 'return=minimal', 'return=none']
const pagination = 'Limiting and Pagination'

const shared: readonly Member[] = [
  ['preferParams', prefer()],
  ['preferReturn', prefer(...returns)],
  ['preferCount', prefer('count=none')],
  ['preferPost', prefer(...returns, 'resolution=ignore-duplicates', 'resolution=merge-duplicates')],
  ['select', parameter({ name: 'select', description: 'Filtering Columns', in: 'query' })],
  ['on_conflict', parameter({ name: 'on_conflict', description: 'On Conflict', in: 'query' })],
  ['order', parameter({ name: 'order', description: 'Ordering', in: 'query' })],
  ['range', parameter({ name: 'Range', description: pagination, in: 'header' })],
  ['rangeUnit', parameter({ name: 'Range-Unit', description: pagination, in: 'header', default: 'items' })],
  ['offset', parameter({ name: 'offset', description: pagination, in: 'query' })],
  ['limit', parameter({ name: 'limit', description: pagination, in: 'query' })],
  [
    'contentType',
    parameter({ name: 'Content-Type', description: 'application/x-ndjson: POST imports a row per line', in: 'header' }),
  ],
  ['cursor', parameter({ name: 'cursor', description: 'Position of a keyset page', in: 'query' })],
  ['distinct', parameter({ name: 'distinct', description: 'Distinct rows', in: 'query' })],
  ['having', parameter({ name: 'having', description: 'Filtering groups', in: 'query' })],
  ['idempotencyKey', parameter({ name: 'Idempotency-Key', description: 'Idempotent POST and PATCH', in: 'header' })],
  ['ifMatch', parameter({ name: 'If-Match', description: 'Writes the row unless it has changed', in: 'header' })],
  ['ifNoneMatch', parameter({ name: 'If-None-Match', description: 'Known entity tags', in: 'header' })],
]

/** Names of the parameters of one relation, in `#/parameters/`. */
export const bodyName = (table: string): string => parameterName('body', table)
export const filterName = (table: string, column: string): string => parameterName('rowFilter', table, column)

/** `#/parameters`: the shared parameters, then the body and the filters of each relation. */
export const parameterDefinitions = (relations: readonly RelationModel[]): OrderedJson =>
  new Map([
    ...shared,
    ...relations.flatMap(({ table: { name }, columns }): readonly Member[] => [
      [
        bodyName(name),
        { name, description: name, required: false, in: 'body', schema: reference('definitions', name) },
      ],
      ...columns.map((column): Member => [
        filterName(name, column.name),
        parameter({ name: column.name, description: column.description ?? undefined, in: 'query' }),
      ]),
    ]),
  ])

/** An argument in the query string. An array is one string (`{a,b}`); a variadic argument is repeated. */
export function queryArgument({ name, type, required, variadic }: RoutineParameter): OrderedJson {
  const declared = swaggerType(type)
  if (!variadic) {
    const inText = declared === undefined || declared === 'array' ? 'string' : declared
    return { format: swaggerFormat(type), in: 'query', name, required, type: inText }
  }
  const element = elementType(type)
  return {
    collectionFormat: 'multi',
    in: 'query',
    items: { format: swaggerFormat(element), type: swaggerType(element) },
    name,
    required,
    type: declared ?? 'string',
  }
}

/** The arguments in the body. */
export const bodyArguments = (routine: Routine): OrderedJson => ({
  in: 'body',
  name: 'args',
  required: true,
  schema: argumentsSchema(routine),
})
