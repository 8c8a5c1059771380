// What the console shows of the database's schema: from the snapshot that requests are planned against, and from the
// catalogue what the API has no use for, such as privileges and policies.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { decodeRow, introspectionQuery, type RunQuery } from '../../catalogue/introspection.ts'
import { introspectionSettings } from '../../catalogue/load.ts'
import { isToOne, relationshipKey, type Cardinality } from '../../catalogue/relationship.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { Table } from '../../catalogue/table.ts'
import type {
  ConsoleRole,
  ConsoleSchema,
  RelationDetails,
  RelationLink,
  RelationSummary,
  RoutineSummary,
} from './schema-protocol.ts'

/** Maximum number of relations in a list. */
const maxRelations = 3000

export type SchemaSource = {
  /** Runs statements in one transaction. */
  readonly query: RunQuery
  /** Undefined until it is loaded. */
  readonly cache: SchemaCache | undefined
  /** `db-schemas` */
  readonly exposed: readonly string[]
}

type Outline = Pick<ConsoleSchema, 'schemas'> & { readonly roles: readonly ConsoleRole[] }

type RelationRow = {
  readonly summary: RelationSummary
  /** Null in lists. */
  readonly details: Pick<RelationDetails, 'columns' | 'policies'> | null
}

async function readOutline(query: RunQuery): Promise<Outline> {
  await query(introspectionSettings, [])
  const [row] = await query(introspectionQuery('console-roles').text, [])
  return row ? decodeRow<Outline>(row) : { schemas: [], roles: [] }
}

async function readRelations(
  query: RunQuery,
  { roles }: Outline,
  schemas: readonly string[],
  name: string | null,
): Promise<readonly RelationRow[]> {
  const { text } = introspectionQuery('console-relations')
  const values = [JSON.stringify(schemas), JSON.stringify(roles.map((role) => role.name)), name, maxRelations + 1]
  return (await query(text, values)).map(decodeRow<RelationRow>)
}

/** The relations and functions of the schemas. */
export async function readSchema(
  { query, cache, exposed }: SchemaSource,
  schemas: readonly string[] = exposed,
): Promise<ConsoleSchema> {
  const outline = await readOutline(query)
  const rows = await readRelations(query, outline, schemas, null)
  return {
    ...outline,
    exposed,
    relations: rows.slice(0, maxRelations).map(({ summary }) => summary),
    isCut: rows.length > maxRelations,
    routines: [...(cache?.routines.values() ?? [])]
      .flat()
      .filter(({ schema }) => schemas.includes(schema))
      .map(routineSummary),
  }
}

const routineSummary = ({ schema, name, description, volatility, parameters, returns }: Routine): RoutineSummary => ({
  schema,
  name,
  comment: description,
  volatility,
  parameters: parameters.map(({ name, type, required, variadic }) => ({
    name,
    type,
    isRequired: required,
    isVariadic: variadic,
  })),
  returns: { type: typeName(returns.type), isSet: returns.setOf },
})

const typeName = ({ schema, name }: Routine['returns']['type']): string =>
  schema === 'pg_catalog' ? name : `${schema}.${name}`

/** One relation with its columns, keys and policies; undefined if it does not exist. */
export async function readRelation(
  { query, cache, exposed }: SchemaSource,
  schema: string,
  name: string,
): Promise<RelationDetails | undefined> {
  const [row] = await readRelations(query, await readOutline(query), [schema], name)
  if (!row?.details) return undefined
  const table = cache?.tables.get(qualifiedKey(schema, name))
  return {
    ...row.summary,
    isExposed: table !== undefined,
    isInsertable: table?.insertable === true,
    isUpdatable: table?.updatable === true,
    isDeletable: table?.deletable === true,
    isVersioned: table?.hasSystemVersion === true && table.hasColumnGrants !== true,
    primaryKey: table?.primaryKey ?? [],
    links: cache && table ? linksOf(table, cache, exposed) : [],
    ...row.details,
  }
}

/** The foreign keys of one direction each; views repeat those of their tables. */
function linksOf(table: Table, { relationships }: SchemaCache, exposed: readonly string[]): readonly RelationLink[] {
  return exposed
    .flatMap((schema) => relationships.get(relationshipKey(table, schema)) ?? [])
    .flatMap((relationship): RelationLink[] => {
      if (relationship.kind === 'computed' || relationship.cardinality.kind === 'many-to-many') return []
      const { cardinality, foreignTable } = relationship
      return [
        {
          direction: isReferring(cardinality) ? 'to' : 'from',
          isOne: isToOne(relationship),
          constraint: cardinality.constraint,
          schema: foreignTable.schema,
          name: foreignTable.name,
          columns: cardinality.columns,
        },
      ]
    })
}

const isReferring = (cardinality: Cardinality): boolean =>
  cardinality.kind === 'many-to-one' || (cardinality.kind === 'one-to-one' && !cardinality.isParent)
