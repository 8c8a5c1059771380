// `/console/api/schema` and `/console/api/types`: what the pages about tables and about the API show.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access, type QueryParameters } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { dto, failure, success } from '../../http/service-response.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import { readRelation, readSchema, type SchemaSource } from './schema.ts'

type SchemaQuery = { readonly schemas?: string }
type RelationQuery = { readonly schema: string; readonly name: string }

const schemaQuery: QueryParameters<SchemaQuery> = {
  schema: dto('ConsoleSchemaQuery'),
  parameters: { schemas: 'Names of schemas, separated by commas; by default those that the REST API exposes.' },
  required: false,
  numeric: [],
}

const relationQuery: QueryParameters<RelationQuery> = {
  schema: dto('ConsoleRelationQuery'),
  parameters: { schema: 'Name of its schema.', name: 'Name of the table or view.' },
  required: true,
  numeric: [],
}

const listed = ({ schemas }: SchemaQuery): readonly string[] | undefined => schemas?.split(',')

export function schemaRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const read = <T>(use: (source: SchemaSource) => Promise<T>): Promise<T> => {
    const { schemaCache, config } = parts.snapshot()
    return parts.database.read((query: RunQuery) => use({ query, cache: schemaCache, exposed: config.dbSchemas }))
  }
  return [
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/schema',
      id: 'consoleSchema',
      tag: 'console',
      summary: 'Tables, views and functions',
      access,
      query: schemaQuery,
      success: success(200, 'What the schemas have.', { type: 'object' }),
      handler: async ({ query }) => ({ details: await read((source) => readSchema(source, listed(query))) }),
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/schema/relation',
      id: 'consoleRelation',
      tag: 'console',
      summary: 'A table or view with its columns, keys and policies',
      access,
      query: relationQuery,
      success: success(200, 'The table or view.', { type: 'object' }),
      errors: { 404: failure('There is no such table or view.') },
      handler: async ({ query: { schema, name } }) => {
        const details = await read((source) => readRelation(source, schema, name))
        if (!details) throw new Failure(404, `There is no table or view ${schema}.${name}`)
        return { details }
      },
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/types',
      id: 'consoleTypes',
      tag: 'console',
      summary: 'TypeScript types, as the command line prints them',
      access,
      query: schemaQuery,
      success: success(200, 'The types.', { type: 'object' }),
      errors: { 404: failure('There is no such schema.') },
      handler: async ({ query }) => {
        const { config } = parts.snapshot()
        const { types } = await parts.tools()
        const text = await types(parts.database, config, listed(query) ?? config.dbSchemas).catch((error: unknown) => {
          throw sqlState(error) === '3F000' ? new Failure(404, 'There is no such schema', { cause: error }) : error
        })
        return { details: { types: text } }
      },
    }),
  ]
}
