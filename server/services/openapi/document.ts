// The description of the whole service in OpenAPI 3.1: the REST resources, and the service's own routes.
// https://spec.openapis.org/oas/v3.1.1.html
import type { Routine } from '../../catalogue/routine.ts'
import type { Table } from '../../catalogue/table.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { anyObject, componentName, schemaRef, type JsonObject, type JsonSchema } from '../../http/json-schema.ts'
import { relationModel, type RelationModel, type VisibleSchema } from '../../rest/openapi/model.ts'
import { batchPath } from './batch-path.ts'
import {
  failures,
  restErrorSchema,
  restHeaders,
  restParameters,
  restResponses,
  type RestContext,
} from './rest-component.ts'
import { routinePath } from './routine-path.ts'
import { nestedBodies } from './related-rows.ts'
import { rowSchemas } from './row-schema.ts'
import { anySubset, bodySchemas, schemaComponents, type SchemaComponents } from './schema-component.ts'
import { operationOf, securitySchemes, type ServiceRoute } from '../../http/service-route.ts'
import { usedComponents } from './used-components.ts'
import { filterParameters, tablePaths, type TableDescription } from './table-path.ts'

/** With what the caller may see of one exposed schema. */
export type DescribedService = VisibleSchema & {
  /** JSON Schemas of request bodies, each with its `$id`, and `x-table` when it is for a table's rows. */
  readonly schemas: readonly JsonSchema[]
  /** All exposed schemas of the database, the default first. */
  readonly exposedSchemas: readonly string[]
  /** Mount path of the REST resources. */
  readonly restBasePath: string
  /** Whether requests to the REST resources need no credentials. */
  readonly anonymous: boolean
  readonly version: string
  /** URL of the service; by default the origin of the document. */
  readonly serverUrl?: string
  readonly operations: readonly ServiceRoute[]
}

const description = `Tables, views and functions of the database as REST resources with PostgREST's semantics, and the
service's own routes. The privileges and policies of the database decide what each caller may see and do.`

/**
 * The document, as plain data for `JSON.stringify`.
 *
 * @throws Error when two JSON Schemas have the same name, or a reference cannot be resolved
 */
export function serviceDocument(input: DescribedService): JsonObject {
  const { tables, routines, relationships, operations } = input
  const checked = schemaComponents(input.schemas)
  const described = tables.map((table) => describeTable(relationModel(table, relationships), checked))
  const rows = new Map(tables.map((table) => [qualifiedKey(table.schema, table.name), rowName(table)]))
  const context: RestContext = {
    basePath: input.restBasePath.replace(/\/+$/, ''),
    hasProfiles: input.exposedSchemas.length > 1,
    rowOf: ({ schema, name }) => {
      const row = rows.get(qualifiedKey(schema, name))
      return row === undefined ? undefined : schemaRef(row)
    },
  }
  const restPaths = [
    rootPath(context),
    batchPath(context),
    ...described.flatMap(({ description }) => tablePaths(description, context)),
    ...Array.from(byName(routines), ([name, overloads]) => routinePath(name, overloads, context)),
  ]
  const paths = withRoutes(restPaths, operations, checked.resolve)
  return {
    openapi: '3.1.1',
    info: { title: 'rowhouse', description, version: input.version },
    servers: [{ url: input.serverUrl ?? '/' }],
    // The default is for the REST resources; all other operations override it.
    security: [{ apiKey: [] }, { bearer: [] }, ...(input.anonymous ? [{}] : [])],
    tags: tagsOf(input),
    paths,
    components: {
      ...usedComponents(paths, {
        schemas: {
          RestError: restErrorSchema,
          ...checked.schemas,
          ...Object.fromEntries(described.flatMap(({ schemas }) => schemas)),
        },
        parameters: {
          ...restParameters(input.exposedSchemas),
          ...Object.fromEntries(tables.flatMap(filterParameters)),
        },
        headers: restHeaders,
        responses: restResponses,
      }),
      securitySchemes,
    },
  }
}

const rowName = ({ name }: Table): string => componentName('tables', name)

/** The schemas of a relation as components, and references to them. A JSON Schema for its bodies takes precedence. */
function describeTable(
  relation: RelationModel,
  checked: SchemaComponents,
): { readonly description: TableDescription; readonly schemas: readonly (readonly [string, JsonSchema])[] } {
  const { table } = relation
  const { row, insert } = rowSchemas(relation)
  const name = rowName(table)
  const bodies = bodySchemas(checked, table)
  const description = { ...relation, row: schemaRef(name), nested: nestedBodies(relation) }
  if (bodies) return { description: { ...description, ...bodies }, schemas: [[name, row]] }
  const [insertName, updateName] = [`${name}.insert`, `${name}.update`]
  return {
    description: { ...description, insert: schemaRef(insertName), update: schemaRef(updateName) },
    schemas: [
      [name, row],
      [insertName, insert],
      [updateName, anySubset(insert, table.name)],
    ],
  }
}

function byName(routines: readonly Routine[]): ReadonlyMap<string, readonly Routine[]> {
  const overloads = new Map<string, Routine[]>()
  for (const routine of routines) {
    const others = overloads.get(routine.name)
    if (others) others.push(routine)
    else overloads.set(routine.name, [routine])
  }
  return overloads
}

function rootPath({ basePath }: RestContext): readonly [string, JsonObject] {
  return [
    `${basePath}/`,
    {
      get: {
        operationId: 'describeRest',
        tags: ['operations'],
        summary: 'The REST resources in OpenAPI 2.0, as PostgREST describes them',
        responses: {
          200: { description: 'OpenAPI 2.0.', content: { 'application/openapi+json': { schema: anyObject } } },
          ...failures(),
        },
      },
    },
  ]
}

/** The paths of REST resources and of other routes. For the same path and method, the other route takes precedence. */
function withRoutes(
  restPaths: readonly (readonly [string, JsonObject])[],
  routes: readonly ServiceRoute[],
  resolve: SchemaComponents['resolve'],
): JsonObject {
  const paths = new Map<string, Record<string, unknown>>()
  for (const route of routes) {
    const path = route.path.replaceAll('{*', '{')
    paths.set(path, { ...paths.get(path), [route.method]: operationOf(route, resolve) })
  }
  for (const [path, item] of restPaths) paths.set(path, { ...item, ...paths.get(path) })
  return Object.fromEntries(paths)
}

/** First how to sign in, then what one does as a user; the database; operations last. */
const serviceOrder: readonly string[] = [
  'sign-in',
  'accounts',
  'storage',
  'realtime',
  'edge functions',
  'reports',
  'image analysis',
]
const lastTag = 'operations'

const placeOf = (tag: string): number => {
  const index = serviceOrder.indexOf(tag)
  return index < 0 ? serviceOrder.length : index
}

function tagsOf({ tables, routines, operations }: DescribedService): readonly JsonObject[] {
  const services = [...new Set(operations.map(({ tag }) => tag))].sort((a, b) => placeOf(a) - placeOf(b))
  const descriptions = new Map<string, string | null>()
  for (const tag of services) if (tag !== lastTag) descriptions.set(tag, null)
  for (const { name, description } of tables) descriptions.set(name, description)
  if (routines.length > 0) descriptions.set('functions', 'Functions of the database.')
  if (services.includes(lastTag) && !descriptions.has(lastTag)) descriptions.set(lastTag, null)
  return Array.from(descriptions, ([name, text]) => ({ name, ...(text === null ? {} : { description: text }) }))
}
