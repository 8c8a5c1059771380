import t from 'tap'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import {
  returnedTableName,
  returnsScalar,
  returnsSetOfScalar,
  returnsSingle,
  returnsSingleComposite,
  returnsVoid,
  type Routine,
} from '../../server/catalogue/routine.ts'
import { createSchemaCacheDatabase, loadFrom } from '../support/schema-cache.ts'

const database = await createSchemaCacheDatabase()
t.teardown(() => database.drop())
const cache = await loadFrom(database)

const overloads = (name: string, schema = 'api', from = cache): readonly Routine[] =>
  from.routines.get(qualifiedKey(schema, name)) ?? []

function routine(name: string): Routine {
  const [only, ...more] = overloads(name)
  if (!only || more.length > 0) throw new Error(`${more.length + 1} routines ${name}`)
  return only
}

/** `name type`, with a question mark after optional parameters and dots before variadic ones. */
const signature = ({ parameters }: Routine): string =>
  parameters
    .map(({ name, type, required, variadic }) => `${variadic ? '...' : ''}${name} ${type}${required ? '' : '?'}`)
    .join(', ')

t.test('functions of the exposed schemas that the API can call', async (t) => {
  const names = [...cache.routines.keys()].map((key) => key.split('\0')[1])
  t.strictSame(names, [...names].sort())
  const others = [
    'a_trigger',
    'a_procedure',
    'an_aggregate',
    'unnamed_integer',
    'unnamed_two',
    'computed_column',
    'hidden',
  ]
  for (const name of others) {
    t.notOk(names.includes(name), name)
  }
})

const signatures: [string, string][] = [
  ['no_arguments', ''],
  ['named', 'a integer, b character varying, c character[]?, d bit?'],
  ['unnamed_text', ' text'],
  ['half_named', ' integer, b json'],
  ['variadic_strings', 'first integer, ...rest text[]?'],
  // As in PostgREST: names are matched by position, including those of earlier output arguments.
  ['with_out', 'a integer, sum integer'],
  ['one_out', ''],
  ['a_table', 'n integer'],
]
for (const [name, expected] of signatures) {
  t.test(`parameters of ${name}`, async (t) => t.equal(signature(routine(name)), expected))
}

t.test('types that truncate long values are cast without a length', async (t) => {
  t.strictSame(
    routine('named').parameters.map(({ castType }) => castType),
    ['integer', 'character varying', 'character varying[]', 'bit varying'],
  )
})

t.test('properties of functions', async (t) => {
  t.match(routine('named'), { volatility: 'immutable', description: 'Named "arguments"', hasVariadic: false })
  t.match(routine('unnamed_text'), { volatility: 'stable', description: null })
  t.match(routine('a_record'), { volatility: 'volatile', description: null })
  t.match(routine('variadic_strings'), { hasVariadic: true })
})

// [function, return type, whether it is a set, composite, composite through a domain]
const returned: [string, string, boolean, boolean, boolean][] = [
  ['no_arguments', 'pg_catalog.void', false, false, false],
  ['named', 'pg_catalog.int4', false, false, false],
  ['set_of_integers', 'pg_catalog.int4', true, false, false],
  ['set_of_books', 'api.books', true, true, false],
  ['a_book', 'api.books', false, true, false],
  ['a_size', 'api.size', false, true, false],
  ['a_box', 'api.size', false, true, true],
  ['a_label', 'pg_catalog.varchar', false, false, false],
  ['with_out', 'pg_catalog.record', false, true, false],
  ['one_out', 'pg_catalog.int4', false, true, false],
  ['a_table', 'pg_catalog.record', true, true, false],
  ['a_record', 'pg_catalog.record', false, false, false],
]
for (const [name, type, setOf, composite, compositeAlias] of returned) {
  t.test(`return type of ${name}`, async (t) => {
    const { typeOid, columns, ...returns } = routine(name).returns
    t.strictSame(
      { ...returns, type: `${returns.type.schema}.${returns.type.name}` },
      { setOf, type, composite, compositeAlias },
    )
    t.ok(typeOid !== undefined && typeOid > 0)
    t.equal(columns === null, !composite || type === 'api.books', 'columns of tables are those of the table')
  })
}

// 23 is integer, 25 is text.
for (const [name, columns] of [
  ['with_out', [['sum', 23], ['b', 23]]], // prettier-ignore
  ['one_out', [['sum', 23]]],
  ['a_table', [['id', 23], ['name', 25]]], // prettier-ignore
] as const) {
  t.test(`columns of the result of ${name}`, async (t) => {
    const found = routine(name).returns.columns?.map((column) => [column.name, column.typeOid])
    t.strictSame(found, columns)
  })
}

t.test('the type of a result that is a domain is the one that it is based on', async (t) => {
  const oids = ['a_label', 'set_of_integers', 'a_box', 'a_size'].map((name) => routine(name).returns.typeOid)
  t.strictSame([oids[0], oids[1]], [1043, 23])
  t.equal(oids[2], oids[3])
})

t.test('predicates on return types', async (t) => {
  const yes = (ask: (routine: Routine) => boolean): string[] =>
    returned.map(([name]) => name).filter((name) => ask(routine(name)))
  t.strictSame(yes(returnsVoid), ['no_arguments'])
  t.strictSame(yes(returnsScalar), ['no_arguments', 'named', 'a_label', 'a_record'])
  t.strictSame(yes(returnsSetOfScalar), ['set_of_integers'])
  t.strictSame(yes(returnsSingleComposite), ['a_book', 'a_size', 'a_box', 'with_out', 'one_out'])
  t.strictSame(
    yes((routine) => !returnsSingle(routine)),
    ['set_of_integers', 'set_of_books', 'a_table'],
  )
  t.equal(returnedTableName(routine('set_of_books')), 'books')
  t.equal(returnedTableName(routine('named')), undefined)
})

t.test('overloads: fewest parameters first, undescribed first, then by name and type', async (t) => {
  t.strictSame(overloads('overloaded').map(signature), [
    '',
    ' json',
    'a text',
    'a integer',
    'a integer, b integer',
    'b text, a text',
  ])
})

t.test('isolation levels are case-insensitive, and hoisted settings keep their order', async (t) => {
  t.strictSame(routine('settled').settings, [
    ['default_transaction_isolation', 'REPEATABLE READ'],
    ['statement_timeout', '5s'],
    ['plan_filter.statement_cost_limit', '10=2'],
  ])
  t.equal(routine('settled').isolationLevel, 'repeatable read')
  t.equal(routine('serial_only').isolationLevel, 'serializable')
  t.equal(routine('committed').isolationLevel, 'read committed')
  t.equal(routine('named').isolationLevel, null)
  t.strictSame(routine('named').settings, [])
})

t.test('hoisted settings are selected by regular expressions; without any, none is hoisted', async (t) => {
  const settings = async (...hoistedSettings: string[]): Promise<unknown> =>
    overloads('settled', 'api', await loadFrom(database, { hoistedSettings }))[0]?.settings
  t.strictSame(await settings(), [])
  t.strictSame(await settings('^work_mem='), [['work_mem', '1MB']])
  t.strictSame(await settings('work', 'timeout'), [
    ['statement_timeout', '5s'],
    ['work_mem', '1MB'],
  ])
})

t.test('hostile names', async (t) => {
  const schema = 'Quoted "Schema".x'
  const hostile = await loadFrom(database, { schemas: [schema] })
  t.strictSame(overloads('hasOwnProperty', schema, hostile).map(signature), [
    '__proto__ integer, a b "Quoted ""Schema"".x"."🙂"',
  ])
})
