// The resources of functions: `/rpc/{name}` for all overloads of a name.
import { firstLine } from '../../rest/openapi/comment.ts'
import { takesArgument } from '../../rest/openapi/model.ts'
import { returnsScalar, returnsVoid, type Routine, type RoutineParameter } from '../../catalogue/routine.ts'
import { anyObject, pathSegment, type JsonObject, type JsonSchema } from '../../http/json-schema.ts'
import { failures, headerRef, reservedParameters, sharedRefs, untakenRefs, type RestContext } from './rest-component.ts'
import { catalogTypeSchema, typeSchema } from './postgres-type.ts'

const json = 'application/json'

/** The path item of the functions of one name. Functions that may write have only POST. */
export function routinePath(
  name: string,
  overloads: readonly Routine[],
  { basePath, hasProfiles, rowOf }: RestContext,
): readonly [string, JsonObject] {
  const described = overloads.find(({ description }) => description !== null) ?? overloads[0]
  const { summary, description } = firstLine(described?.description ?? null)
  const returnsRows = overloads.some((routine) => !returnsScalar(routine))
  const operation = (action: string, rest: JsonObject): JsonObject => ({
    operationId: `${name}.${action}`,
    tags: ['functions'],
    summary: summary ?? `Call ${name}`,
    ...(description === undefined || description === '' ? {} : { description }),
    ...rest,
    responses: { ...successes(overloads, rowOf), ...failures() },
  })
  const isArgument = (name: string): boolean => takesArgument(overloads, name)
  const shaping = returnsRows
    ? [...sharedRefs('select', 'order', 'limit', 'offset', 'range'), ...untakenRefs(isArgument, 'distinct', 'having')]
    : []
  const readable = overloads.filter(
    ({ volatility, parameters }) => volatility !== 'volatile' && parameters.every((parameter) => parameter.name !== ''),
  )
  return [
    `${basePath}/rpc/${pathSegment(name)}`,
    {
      ...(readable.length > 0
        ? {
            get: operation('query', {
              parameters: [
                ...queryParameters(readable),
                ...shaping,
                ...sharedRefs('preferQuery'),
                ...(returnsRows ? untakenRefs(isArgument, 'cursor') : []),
                ...(hasProfiles ? sharedRefs('acceptProfile') : []),
              ],
            }),
          }
        : {}),
      post: operation('call', {
        parameters: [
          ...shaping,
          ...sharedRefs('preferCall', 'idempotencyKey'),
          ...(hasProfiles ? sharedRefs('contentProfile') : []),
        ],
        requestBody: { content: bodies(overloads) },
      }),
    },
  ]
}

/** A parameter for each argument, required when every overload requires it. */
function queryParameters(overloads: readonly Routine[]): readonly JsonObject[] {
  const found = new Map<string, RoutineParameter>()
  for (const { parameters } of overloads) {
    for (const parameter of parameters) {
      if (!reservedParameters.has(parameter.name)) found.set(parameter.name, found.get(parameter.name) ?? parameter)
    }
  }
  const isRequired = (name: string): boolean =>
    overloads.every(({ parameters }) => parameters.some((parameter) => parameter.name === name && parameter.required))
  return Array.from(found.values(), ({ name, type, variadic }) => ({
    name,
    in: 'query',
    ...(isRequired(name) ? { required: true } : {}),
    schema: variadic ? { type: 'array', items: { type: 'string' } } : queryValue(type),
  }))
}

/** The schema of an argument in the query string, where arrays, JSON and rows are text. */
function queryValue(type: string): JsonSchema {
  const schema = typeSchema(type)
  return schema.type === undefined || schema.type === 'array' ? { type: 'string', description: `\`${type}\`` } : schema
}

/** Media types of the body for the single unnamed argument of a function, by the argument's type. */
const rawMedia = new Map([
  ['json', json],
  ['jsonb', json],
  ['text', 'text/plain'],
  ['xml', 'text/xml'],
  ['bytea', 'application/octet-stream'],
])

function bodies(overloads: readonly Routine[]): JsonObject {
  const schemas = new Map<string, JsonSchema[]>()
  for (const { parameters } of overloads) {
    const [first] = parameters
    const isRaw = parameters.length === 1 && first?.name === ''
    const media = isRaw ? (rawMedia.get(first.type) ?? json) : json
    const schema = isRaw ? (media === json ? {} : { type: 'string' }) : argumentsSchema(parameters)
    schemas.set(media, [...(schemas.get(media) ?? []), schema])
  }
  return Object.fromEntries(
    Array.from(schemas, ([media, [schema, ...more]]) => [
      media,
      { schema: more.length > 0 ? { anyOf: [schema, ...more] } : schema },
    ]),
  )
}

function argumentsSchema(parameters: readonly RoutineParameter[]): JsonSchema {
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, type }) => [name, typeSchema(type)])),
    ...(required.length > 0 ? { required } : {}),
  }
}

const ofRows: JsonObject = {
  'Content-Range': headerRef('contentRange'),
  Link: headerRef('link'),
  'Rows-Truncated': headerRef('rowsTruncated'),
}

function successes(overloads: readonly Routine[], rowOf: RestContext['rowOf']): JsonObject {
  const results = overloads.filter((routine) => !returnsVoid(routine)).map((routine) => resultSchema(routine, rowOf))
  const [result, ...more] = results
  const returnsSet = overloads.some(({ returns }) => returns.setOf)
  return {
    ...(result === undefined
      ? {}
      : {
          200: {
            description: 'The result of the function.',
            ...(returnsSet ? { headers: ofRows } : {}),
            content: {
              [json]: { schema: more.length > 0 ? { anyOf: results } : result },
              // One row on each line.
              ...(returnsSet ? { 'text/csv': { schema: { type: 'string' } }, 'application/x-ndjson': {} } : {}),
            },
          },
        }),
    ...(results.length < overloads.length ? { 204: { description: 'The function returned nothing.' } } : {}),
  }
}

function resultSchema({ returns }: Routine, rowOf: RestContext['rowOf']): JsonSchema {
  const { type, composite, setOf } = returns
  const item = composite ? (rowOf(type) ?? anyObject) : catalogTypeSchema(type)
  return setOf ? { type: 'array', items: item } : item
}
