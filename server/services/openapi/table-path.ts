// The resources of a relation: all rows, and a single row by its key.
import type { Column, Table } from '../../catalogue/table.ts'
import { anyObject, componentName, pathSegment, type JsonObject, type JsonSchema } from '../../http/json-schema.ts'
import {
  failures,
  headerRef,
  notModified,
  parameterRef,
  preconditionFailed,
  reservedParameters,
  sharedRefs,
  untakenRefs,
  type RestContext,
} from './rest-component.ts'
import type { RelationModel } from '../../rest/openapi/model.ts'
import { typeSchema } from './postgres-type.ts'

export type TableDescription = RelationModel & {
  /** Schemas or references to schemas. */
  readonly row: JsonSchema
  readonly insert: JsonSchema
  readonly update: JsonSchema
  /** Other bodies of POST: rows with related rows. */
  readonly nested: readonly JsonSchema[]
}

const json = 'application/json'
const single = 'application/vnd.pgrst.object+json'

const filterName = (table: Table, column: Column): string => componentName('filter', table.name, column.name)

const filterable = (table: Table): readonly Column[] =>
  [...table.columns.values()].filter(({ name }) => !reservedParameters.has(name))

/** `#/components/parameters` of a relation: one filter per column. */
export const filterParameters = (table: Table): readonly (readonly [string, JsonObject])[] =>
  filterable(table).map((column) => [
    filterName(table, column),
    {
      name: column.name,
      in: 'query',
      description: 'A condition: an operator and a value, such as `eq.1`.',
      schema: { type: 'string' },
    },
  ])

/** The path items of a relation. */
export function tablePaths(
  description: TableDescription,
  { basePath, hasProfiles }: RestContext,
): readonly (readonly [string, JsonObject])[] {
  const { table } = description
  const path = `${basePath}/${pathSegment(table.name)}`
  const context = {
    ...description,
    filters: filterable(table).map((column) => parameterRef(filterName(table, column))),
    acceptProfile: hasProfiles ? sharedRefs('acceptProfile') : [],
    contentProfile: hasProfiles ? sharedRefs('contentProfile') : [],
  }
  const [key, ...more] = table.primaryKey
  const column = key === undefined || more.length > 0 ? undefined : table.columns.get(key)
  return [[path, rowsItem(context)], ...(column ? [[`${path}/{id}`, rowItem(context, column)] as const] : [])]
}

type ItemContext = TableDescription & {
  readonly filters: readonly JsonObject[]
  readonly acceptProfile: readonly JsonObject[]
  readonly contentProfile: readonly JsonObject[]
}

const operationOf =
  ({ table, comment: { description } }: ItemContext) =>
  (name: string, action: string, rest: JsonObject): JsonObject => ({
    operationId: `${table.name}.${name}`,
    tags: [table.name],
    summary: `${action} ${table.name}`,
    ...(description === undefined || description === '' ? {} : { description }),
    ...rest,
  })

/** An item without the operations that the relation does not offer. */
const offered = (operations: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(Object.entries(operations).filter(([, operation]) => operation !== undefined))

const jsonBody = (schema: JsonSchema): JsonObject => ({ required: true, content: { [json]: { schema } } })

const manyRows = (row: JsonSchema): JsonObject => ({
  [json]: { schema: { type: 'array', items: row } },
  [single]: { schema: row },
  'text/csv': { schema: { type: 'string' } },
  // One row on each line.
  'application/x-ndjson': { schema: row },
})

const oneRow = (row: JsonSchema): JsonObject => ({ [json]: { schema: row } })

/** Responses to a write: with rows if they were requested, without otherwise. */
const written = (row: JsonSchema): JsonObject => ({
  200: {
    description: 'Done, with the rows for `Prefer: return=representation`.',
    headers: tag,
    content: manyRows(row),
  },
  204: { description: 'Done.', headers: tag },
})

/** The tag of the row that was read or written. */
const tag: JsonObject = { ETag: headerRef('etag') }
/** Headers of a write with an Idempotency-Key. */
const replayed: JsonObject = { 'Idempotency-Replayed': headerRef('idempotencyReplayed') }

/** Parameters of PATCH. */
const changes = sharedRefs('select', 'columns', 'ifMatch', 'preferWrite', 'idempotencyKey')

function rowsItem(context: ItemContext): JsonObject {
  const { table, row, insert, update, nested, filters, acceptProfile, contentProfile } = context
  const operation = operationOf(context)
  const headers = {
    'Content-Range': headerRef('contentRange'),
    ...tag,
    Link: headerRef('link'),
    'Rows-Truncated': headerRef('rowsTruncated'),
  }
  const conditions = [...filters, ...sharedRefs('and', 'or')]
  return offered({
    get: operation('list', 'Read rows of', {
      parameters: [
        ...conditions,
        ...sharedRefs('select', 'order', 'limit', 'offset', 'range', 'ifNoneMatch', 'preferRead'),
        // A parameter has one description: that of the column, if there is one.
        ...untakenRefs((name) => table.columns.has(name), 'cursor', 'distinct', 'having'),
        ...acceptProfile,
      ],
      responses: {
        200: { description: 'All matching rows.', headers, content: manyRows(row) },
        206: { description: 'Some of the matching rows.', headers, content: manyRows(row) },
        ...notModified,
        ...failures(),
      },
    }),
    post: table.insertable
      ? operation('create', 'Add rows to', {
          parameters: [
            ...sharedRefs('select', 'columns', 'onConflict', 'preferInsert', 'idempotencyKey'),
            ...contentProfile,
          ],
          requestBody: {
            required: true,
            content: {
              [json]: { schema: { anyOf: [insert, { type: 'array', items: insert }, ...nested] } },
              'text/csv': { schema: { type: 'string' } },
              'application/x-ndjson': {
                schema: { type: 'string', description: 'A row per line. The body is imported as a stream.' },
              },
              'application/x-www-form-urlencoded': { schema: anyObject },
            },
          },
          responses: {
            200: { description: 'Only existing rows were changed; see `resolution`.', content: manyRows(row) },
            201: {
              description: 'Added, with the rows for `Prefer: return=representation`.',
              headers: { Location: headerRef('location'), ...tag, ...replayed },
              content: manyRows(row),
            },
            ...failures(),
          },
        })
      : undefined,
    put:
      table.insertable && table.updatable && table.primaryKey.length > 0
        ? operation('replace', 'Add or replace one row of', {
            description: `The filters must be exactly one \`eq\` for each column of the primary key: ${table.primaryKey.map((name) => `\`${name}\``).join(', ')}.`,
            parameters: [
              ...filters,
              ...sharedRefs('select', 'columns', 'ifMatch', 'ifAbsent', 'preferWrite'),
              ...contentProfile,
            ],
            requestBody: jsonBody(insert),
            responses: {
              ...written(row),
              201: { description: 'Added.', headers: tag },
              ...preconditionFailed,
              ...failures(),
            },
          })
        : undefined,
    patch: table.updatable
      ? operation('update', 'Change rows of', {
          parameters: [...conditions, ...changes, ...contentProfile],
          requestBody: jsonBody(update),
          responses: { ...written(row), ...preconditionFailed, ...failures() },
        })
      : undefined,
    delete: table.deletable
      ? operation('remove', 'Delete rows of', {
          parameters: [...conditions, ...sharedRefs('select', 'ifMatch', 'preferWrite'), ...contentProfile],
          responses: { ...written(row), ...preconditionFailed, ...failures() },
        })
      : undefined,
  })
}

function rowItem(context: ItemContext, key: Column): JsonObject {
  const { table, row, update, acceptProfile, contentProfile } = context
  const operation = operationOf(context)
  const id = {
    name: 'id',
    in: 'path',
    required: true,
    description: `Value of the key \`${key.name}\`.`,
    schema: key.enumValues.length > 0 ? { type: 'string', enum: key.enumValues } : typeSchema(key.type),
  }
  return offered({
    parameters: [id],
    get: operation('read', 'Read one row of', {
      parameters: [...sharedRefs('select', 'ifNoneMatch', 'preferRead'), ...acceptProfile],
      responses: {
        200: { description: 'The row.', headers: tag, content: oneRow(row) },
        ...notModified,
        ...failures('row'),
      },
    }),
    patch: table.updatable
      ? operation('updateOne', 'Change one row of', {
          parameters: [...changes, ...contentProfile],
          requestBody: jsonBody(update),
          responses: {
            200: {
              description: 'Changed, with the row for `Prefer: return=representation`.',
              headers: { ...tag, ...replayed },
              content: oneRow(row),
            },
            ...preconditionFailed,
            ...failures('row'),
          },
        })
      : undefined,
    delete: table.deletable
      ? operation('removeOne', 'Delete one row of', {
          parameters: [...sharedRefs('ifMatch', 'preferWrite'), ...contentProfile],
          responses: { 204: { description: 'Deleted.' }, ...preconditionFailed, ...failures('row') },
        })
      : undefined,
  })
}
