import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import type { IntrospectionQuery, CatalogRow } from '../../server/catalogue/introspection.ts'
import {
  accessibleRoutinesQuery,
  accessibleTablesQuery,
  decodeAccessibleRoutines,
  decodeAccessibleTables,
  decodeSchemaDescription,
  schemaDescriptionQuery,
} from '../../server/catalogue/privileges.ts'
import { createSchemaCacheDatabase } from '../support/schema-cache.ts'

const database = await createSchemaCacheDatabase()
const role = `reader_${randomBytes(6).toString('hex')}`
const client = new pg.Client({ connectionString: database.adminUri })
await client.connect()
t.teardown(async () => {
  await client.query(`reset role; drop owned by ${role}; drop role ${role}`)
  await client.end()
  await database.drop()
})
await client.query(`
  create role ${role};
  grant select on api.books to ${role};
  grant truncate on api.tags to ${role};
  grant update (note) on api.shelves to ${role};
  grant usage on sequence api.column_kinds_by_default_seq to ${role};
  grant select on api.loans_2024, api.loans to ${role};
  alter view api.self_view owner to ${role};
  set role ${role};
  set search_path to api`)

const run = async ({ text, values }: IntrospectionQuery): Promise<CatalogRow[]> =>
  (await client.query<CatalogRow>(text, [...values])).rows

t.test('relations on which the role has any privilege', async (t) => {
  const keys = decodeAccessibleTables(await run(accessibleTablesQuery('api')))
  t.strictSame(
    keys,
    new Set(['books', 'loans', 'self_view', 'shelves', 'tags'].map((name) => qualifiedKey('api', name))),
  )
  t.strictSame(decodeAccessibleTables(await run(accessibleTablesQuery('Quoted "Schema".x'))), new Set())
  t.strictSame(decodeAccessibleTables(await run(accessibleTablesQuery("' or true --"))), new Set())
})

t.test('functions that the role may execute, with types qualified by its search_path', async (t) => {
  const routines = decodeAccessibleRoutines(await run(accessibleRoutinesQuery('api')))
  t.notOk(routines.has(qualifiedKey('api', 'named')))
  t.ok(routines.has(qualifiedKey('api', 'half_named')))
  t.equal(routines.get(qualifiedKey('api', 'overloaded'))?.length, 6)
  t.strictSame(routines.get(qualifiedKey('api', 'settled'))?.[0]?.settings, [])
  const [hostile] =
    decodeAccessibleRoutines(await run(accessibleRoutinesQuery('Quoted "Schema".x'))).get(
      qualifiedKey('Quoted "Schema".x', 'hasOwnProperty'),
    ) ?? []
  t.equal(hostile?.parameters[1]?.type, '"Quoted ""Schema"".x"."🙂"')
})

t.test('rows are parsed the same way when the driver returns JSON as text', async (t) => {
  const rows = await run(accessibleTablesQuery('api'))
  const asText = rows.map(({ row }) => ({ row: JSON.stringify(row) }))
  t.strictSame(decodeAccessibleTables(asText), decodeAccessibleTables(rows))
})

t.test('the description of a schema', async (t) => {
  t.equal(decodeSchemaDescription(await run(schemaDescriptionQuery('api'))), 'Library\nand its readers')
  t.equal(decodeSchemaDescription(await run(schemaDescriptionQuery('Quoted "Schema".x'))), null)
  t.equal(decodeSchemaDescription(await run(schemaDescriptionQuery('nowhere'))), null)
})
