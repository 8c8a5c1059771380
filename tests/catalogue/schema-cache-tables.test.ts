import t from 'tap'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import type { SchemaCache } from '../../server/catalogue/schema-cache.ts'
import type { Column, Table } from '../../server/catalogue/table.ts'
import { createSchemaCacheDatabase, loadFrom } from '../support/schema-cache.ts'

const database = await createSchemaCacheDatabase()
t.teardown(() => database.drop())
const cache = await loadFrom(database)

function tableOf(name: string, schema = 'api', from = cache): Table {
  const table = from.tables.get(qualifiedKey(schema, name))
  if (!table) throw new Error(`no relation ${schema}.${name}`)
  return table
}

/** All tables with their columns, which comparisons do not see because they are decoded at their first use. */
const withColumns = ({ tables }: SchemaCache): unknown =>
  [...tables].map(([key, table]) => [key, { ...table }, [...table.columns]])

t.test('tables of the exposed schemas only, without partitions', async (t) => {
  const keys = [...cache.tables.values()].map(({ schema }) => schema)
  t.strictSame(new Set(keys), new Set(['api']))
  t.notOk(cache.tables.has(qualifiedKey('api', 'loans_2024')))
  const all = await loadFrom(database, { schemas: ['internal', 'api', 'api', 'extra'] })
  t.ok(all.tables.has(qualifiedKey('internal', 'secrets')))
  t.equal(all.tables.size, cache.tables.size + 4)
})

t.test('a cache that is built in slices is the same as one built in one piece', async (t) => {
  const options = { schemas: ['internal', 'api', 'extra'] }
  const [whole, sliced] = [
    await loadFrom(database, options, { slice: Infinity, batch: 1e6 }),
    await loadFrom(database, options, { slice: 0, batch: 3 }),
  ]
  // In this order, because requests depend on it.
  t.strictSame(withColumns(sliced), withColumns(whole))
  t.strictSame([...sliced.relationships], [...whole.relationships])
  t.strictSame([...sliced.routines], [...whole.routines])
  t.strictSame(sliced.representations, whole.representations)
  t.strictSame(sliced.mediaHandlers, whole.mediaHandlers)
  t.strictSame(sliced.stableRelations, whole.stableRelations)
  t.ok(whole.tables.size > 30 && whole.relationships.size > 30)
})

t.test('an unknown schema is an error', async (t) => {
  await t.rejects(loadFrom(database, { schemas: ['api', 'Api'] }), {
    code: '3F000',
    message: 'schema "Api" does not exist',
  })
  await t.rejects(loadFrom(database, { schemas: ['api', '"api"; drop schema api; --'] }), { code: '3F000' })
  await t.rejects(loadFrom(database, { extraSearchPath: ['nowhere'] }), { code: '3F000' })
  await t.rejects(loadFrom(database, { schemas: ['-'] }), { code: '3F000' })
})

// [relation, whether it is a view, inserts, updates, deletes, primary key]
const relations: [string, boolean, boolean, boolean, boolean, string[]][] = [
  ['books', false, true, true, true, ['id']],
  ['no_columns', false, true, true, true, []],
  ['same_a', false, true, true, true, []],
  // Sorted by name
  ['shelves', false, true, true, true, ['hall', 'number']],
  ['shelf_tags', false, true, true, true, ['hall', 'number', 'since', 'tag_id']],
  ['loans', false, true, true, true, ['day', 'id']],
  ['foreign_file', false, false, false, false, []],
  // Views have the primary key of their table, in its order.
  ['authors_view', true, true, true, true, ['author']],
  ['authors_view_2', true, true, true, true, ['writer']],
  ['authors_materialised', true, false, false, false, ['id']],
  ['shelves_view', true, true, true, true, ['nr.', 'the hall']],
  ['half_shelves', true, true, true, true, []],
  ['books_view', true, false, false, false, ['book']],
  ['books_twice', true, true, true, true, ['id_b']],
  ['books_and_tags', true, false, false, false, ['tag_id', 'book_id']],
  ['loans_view', true, true, true, true, ['id', 'day']],
  ['partition_view', true, true, true, true, ['id', 'day']],
  ['union_view', true, false, false, false, []],
  ['via_extra', true, true, true, true, ['id']],
  ['via_internal', true, true, true, true, []],
  ['cycle_a', true, false, false, false, []],
  ['counted', true, false, false, false, []],
  ['triggered', true, true, true, false, []],
  ['ruled', true, true, false, true, []],
]

for (const [name, isView, insertable, updatable, deletable, primaryKey] of relations) {
  t.test(`relation ${name}`, async (t) => {
    t.match(tableOf(name), { schema: 'api', name, isView, insertable, updatable, deletable })
    t.strictSame(tableOf(name).primaryKey, primaryKey)
  })
}

t.test('descriptions', async (t) => {
  t.equal(tableOf('column_kinds').description, 'One column of each kind')
  t.equal(tableOf('column_kinds').columns.get('title')?.description, `What it's "called"`)
  t.equal(tableOf('books').description, null)
})

type Kinds = Partial<Omit<Column, 'name'>>
const column = (type: string, more: Kinds = {}): Omit<Column, 'name'> => ({
  description: null,
  nullable: true,
  type,
  nominalType: type,
  maxLength: null,
  default: null,
  enumValues: [],
  ...more,
})
const genres = ['novel', 'essay', 'poetry, drama']

const columns: [string, Omit<Column, 'name'>][] = [
  ['id', column('integer', { nullable: false })],
  ['by_default', column('bigint', { nullable: false, default: `nextval('api.column_kinds_by_default_seq')` })],
  [
    'serial_number',
    column('integer', { nullable: false, default: `nextval('api.column_kinds_serial_number_seq'::regclass)` }),
  ],
  ['doubled', column('integer')],
  [
    'title',
    column('character varying', {
      description: `What it's "called"`,
      nominalType: 'character varying(80)',
      maxLength: 80,
      default: `'untitled'::character varying`,
    }),
  ],
  ['code', column('character', { nominalType: 'character(3)', maxLength: 3 })],
  ['flags', column('bit', { nominalType: 'bit(4)', maxLength: 4 })],
  ['bits', column('bit varying', { nominalType: 'bit varying(6)', maxLength: 6 })],
  ['amount', column('numeric', { nullable: false, nominalType: 'numeric(10,2)' })],
  ['tags', column('text[]', { default: `'{}'::text[]` })],
  ['genre', column('api.genre', { default: `'essay'::api.genre`, enumValues: genres })],
  // Domains: base type, labels and length; the domain's default unless the column has one.
  ['liked', column('api.liked_genre', { enumValues: genres })],
  [
    'label',
    column('character varying', {
      nullable: false,
      nominalType: 'api.short_text',
      maxLength: 20,
      default: `'none'::character varying`,
      hasUncheckedNulls: true,
    }),
  ],
  [
    'labelled',
    column('character varying', {
      nullable: false,
      nominalType: 'api.short_text',
      maxLength: 20,
      default: `'own'::character varying`,
      hasUncheckedNulls: true,
    }),
  ],
  // A domain over a domain inherits its default, but neither its length nor its NOT NULL.
  ['shorter', column('character varying', { nominalType: 'api.shorter_text', default: `'none'::character varying` })],
  ['size', column('api.size')],
  ['box', column('internal.box')],
  ['born', column('timestamp with time zone', { nominalType: 'timestamp(3) with time zone', default: 'now()' })],
  ['late', column('integer')],
]

t.test('columns are in the order of their declaration, without dropped ones', async (t) => {
  const found = tableOf('column_kinds').columns
  t.strictSame(
    [...found],
    columns.map(([name, rest]) => [name, { name, typeOid: found.get(name)?.typeOid, ...rest }]),
  )
})

t.test('columns have the oid of their type, those of a domain that of its base', async (t) => {
  const { rows } = await database.query(
    `with recursive types (name, number, type) as (
      select attname, attnum, atttypid from pg_attribute
      where attrelid = 'api.column_kinds'::regclass and attnum > 0 and not attisdropped
      union all
      select name, number, typbasetype from types join pg_type on oid = type where typtype = 'd'
    )
    select name, type::int from types join pg_type on oid = type where typtype <> 'd' order by number`,
  )
  t.strictSame(
    [...tableOf('column_kinds').columns.values()].map(({ name, typeOid }) => ({ name, type: typeOid })),
    rows,
  )
})

t.test('a virtual generated column has its expression as default', { skip: database.majorVersion < 18 }, async (t) => {
  await database.query('create table internal.computed (a integer, twice integer generated always as (a * 2) virtual)')
  const internal = await loadFrom(database, { schemas: ['internal'] })
  t.equal(tableOf('computed', 'internal', internal).columns.get('twice')?.default, '(a * 2)')
  await database.query('drop table internal.computed')
})

t.test('hostile names', async (t) => {
  const schema = 'Quoted "Schema".x'
  const hostile = await loadFrom(database, { schemas: [schema] })
  t.strictSame(
    [...hostile.tables.values()].map(({ name }) => name),
    ['__proto__', 'tab(le', 'v}iew) :targetList (', '🙂'],
  )
  const table = tableOf('tab(le', schema, hostile)
  t.strictSame(
    [...table.columns.keys()],
    [
      'id {',
      ' :resorigtbl 1 :resorigcol 1 }',
      'a,b',
      'ключ',
      '__proto__',
      'constructor',
      'back\\slash',
      'new\nline',
      "quote'",
    ],
  )
  t.strictSame(table.primaryKey, ['id {'])
  t.equal(table.columns.get('__proto__')?.type, 'integer')
  t.equal(table.columns.get("quote'")?.default, `('it''s "'::text || '\\'::text)`)
  t.strictSame(tableOf('__proto__', schema, hostile).primaryKey, ['\\{'])
  t.strictSame(tableOf('v}iew) :targetList (', schema, hostile).primaryKey, ['({TARGETENTRY :resno 1'])
})

t.test('the server version is a number', async (t) => {
  const { rows } = await database.query('show server_version_num')
  t.equal(cache.postgresVersion, Number(rows[0]?.server_version_num))
})
