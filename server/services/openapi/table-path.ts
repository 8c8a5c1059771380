// The resources of a relation: all rows, and a single row by its key.
import { firstLine } from '../../rest/openapi/comment.ts'
import type { Column, Table } from '../../catalogue/table.ts'
import { componentName, pathSegment, type JsonObject, type JsonSchema } from '../../http/json-schema.ts'
import {
  failures,
  headerRef,
  notModified,
  parameterRef,
  preconditionFailed,
  reservedParameters,
  groupingRefs,
  sharedRefs,
  type RestContext,
} from './rest-component.ts'
import { typeSchema } from './postgres-type.ts'

export type TableDescription = {
  readonly table: Table
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

function operation({ table }: ItemContext, name: string, action: string, rest: JsonObject): JsonObject {
  const { description } = firstLine(table.description)
  return {
    operationId: `${table.name}.${name}`,
    tags: [table.name],
    summary: `${action} ${table.name}`,
    ...(description === undefined || description === '' ? {} : { description }),
    ...rest,
  }
}

const manyRows = (row: JsonSchema): JsonObject => ({
  [json]: { schema: { type: 'array', items: row } },
  [single]: { schema: row },
  'text/csv': { schema: { type: 'string' } },
  // One row on each line.
  'application/x-ndjson': { schema: row },
})

const oneRow = (row: JsonSchema): JsonObject => ({ [json]: { schema: row } })

const noBody = (description: string): JsonObject => ({ description })

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

function rowsItem(context: ItemContext): JsonObject {
  const { table, row, insert, update, nested, filters, acceptProfile, contentProfile } = context
  const headers = {
    'Content-Range': headerRef('contentRange'),
    ETag: headerRef('etag'),
    Link: headerRef('link'),
    'Rows-Truncated': headerRef('rowsTruncated'),
  }
  const conditions = [...filters, ...sharedRefs('and', 'or')]
  return {
    get: operation(context, 'list', 'Read rows of', {
      parameters: [
        ...conditions,
        ...sharedRefs('select', 'order', 'limit', 'offset', 'range', 'ifNoneMatch', 'preferRead'),
        // A parameter has one description: that of the column, if there is one.
        ...(table.columns.has('cursor') ? [] : sharedRefs('cursor')),
        ...groupingRefs((name) => table.columns.has(name)),
        ...acceptProfile,
      ],
      responses: {
        200: { description: 'All matching rows.', headers, content: manyRows(row) },
        206: { description: 'Some of the matching rows.', headers, content: manyRows(row) },
        ...notModified,
        ...failures(),
      },
    }),
    ...(table.insertable
      ? {
          post: operation(context, 'create', 'Add rows to', {
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
                'application/x-www-form-urlencoded': { schema: { type: 'object' } },
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
          }),
        }
      : {}),
    ...(table.insertable && table.updatable && table.primaryKey.length > 0
      ? {
          put: operation(context, 'replace', 'Add or replace one row of', {
            description: `The filters must be exactly one \`eq\` for each column of the primary key: ${table.primaryKey.map((name) => `\`${name}\``).join(', ')}.`,
            parameters: [
              ...filters,
              ...sharedRefs('select', 'columns', 'ifMatch', 'ifAbsent', 'preferWrite'),
              ...contentProfile,
            ],
            requestBody: { required: true, content: { [json]: { schema: insert } } },
            responses: {
              ...written(row),
              201: { description: 'Added.', headers: tag },
              ...preconditionFailed,
              ...failures(),
            },
          }),
        }
      : {}),
    ...(table.updatable
      ? {
          patch: operation(context, 'update', 'Change rows of', {
            parameters: [
              ...conditions,
              ...sharedRefs('select', 'columns', 'ifMatch', 'preferWrite', 'idempotencyKey'),
              ...contentProfile,
            ],
            requestBody: { required: true, content: { [json]: { schema: update } } },
            responses: { ...written(row), ...preconditionFailed, ...failures() },
          }),
        }
      : {}),
    ...(table.deletable
      ? {
          delete: operation(context, 'remove', 'Delete rows of', {
            parameters: [...conditions, ...sharedRefs('select', 'ifMatch', 'preferWrite'), ...contentProfile],
            responses: { ...written(row), ...preconditionFailed, ...failures() },
          }),
        }
      : {}),
  }
}

function rowItem(context: ItemContext, key: Column): JsonObject {
  const { table, row, update, acceptProfile, contentProfile } = context
  const id: JsonObject = {
    name: 'id',
    in: 'path',
    required: true,
    description: `Value of the key \`${key.name}\`.`,
    schema: key.enumValues.length > 0 ? { type: 'string', enum: key.enumValues } : typeSchema(key.type),
  }
  return {
    parameters: [id],
    get: operation(context, 'read', 'Read one row of', {
      parameters: [...sharedRefs('select', 'ifNoneMatch', 'preferRead'), ...acceptProfile],
      responses: {
        200: { description: 'The row.', headers: tag, content: oneRow(row) },
        ...notModified,
        ...failures('row'),
      },
    }),
    ...(table.updatable
      ? {
          patch: operation(context, 'updateOne', 'Change one row of', {
            parameters: [
              ...sharedRefs('select', 'columns', 'ifMatch', 'preferWrite', 'idempotencyKey'),
              ...contentProfile,
            ],
            requestBody: { required: true, content: { [json]: { schema: update } } },
            responses: {
              200: {
                description: 'Changed, with the row for `Prefer: return=representation`.',
                headers: { ...tag, ...replayed },
                content: oneRow(row),
              },
              ...preconditionFailed,
              ...failures('row'),
            },
          }),
        }
      : {}),
    ...(table.deletable
      ? {
          delete: operation(context, 'removeOne', 'Delete one row of', {
            parameters: [...sharedRefs('ifMatch', 'preferWrite'), ...contentProfile],
            responses: { 204: noBody('Deleted.'), ...preconditionFailed, ...failures('row') },
          }),
        }
      : {}),
  }
}
