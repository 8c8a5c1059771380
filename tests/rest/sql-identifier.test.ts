import t from 'tap'
import { castType, column, identifier, literal, qualified } from '../../server/rest/sql/identifier.ts'
import { arrayParameter, parameter } from '../../server/rest/sql/parameter.ts'
import { createDatabase } from '../support/database.ts'

const hostileNames = [
  'plain',
  'Upper Case',
  'a"b',
  '"',
  '""',
  `'; drop table items; --`,
  '$1',
  '$$',
  'a.b',
  'back\\slash',
  'línea\nnueva\ttab',
  '表/*🐘*/',
  '__proto__',
  '{}()[],;:?&=%',
]

t.test('identifiers are quoted, whatever they contain', async (t) => {
  t.equal(identifier('a"b'), '"a""b"')
  t.equal(identifier('cut\0 off'), '"cut"')
  t.equal(qualified({ schema: 'my schema', name: 'x' }), '"my schema"."x"')
  t.equal(qualified({ schema: '', name: 'x' }), '"x"')
  t.equal(column({ schema: 's', name: 'x' }, '*'), '"s"."x".*')
  t.equal(column({ schema: '', name: 'x' }, 'a"'), '"x"."a"""')
})

t.test('literals are quoted', async (t) => {
  t.equal(literal("it's"), "'it''s'")
  t.equal(literal('a\\b'), "E'a\\\\b'")
  t.equal(literal('cut\0off'), "'cut'")
})

t.test('PostgreSQL parses every quoted name back', async (t) => {
  const database = await createDatabase()
  for (const name of hostileNames) {
    const { rows } = await database.query(`select ${literal(name)} as ${identifier(name)}`)
    t.strictSame(rows[0] && Object.entries(rows[0]), [[name, name]], JSON.stringify(name))
    const array = await database.query('select $1::text[] as array', [
      arrayParameter([name, '', 'NULL']).value?.toString(),
    ])
    t.strictSame(array.rows[0]?.array, [name, '', 'NULL'], `in an array: ${JSON.stringify(name)}`)
  }
  await database.drop()
})

t.test('an invalid cast is rejected, although the parser does not let it through', async (t) => {
  for (const type of ['int', 'character varying', 'my_type', 'año', 'int4$']) t.equal(castType(type), type)
  for (const type of ['int)', 'a"b', "a'", 'a;b', 'a--', 'a/*', 'numeric(1,2)', 'a.b', 'a\0', 'int[]', 'a\\']) {
    t.throws(() => castType(type), { message: /cast/ }, JSON.stringify(type))
  }
})

t.test('values are truncated at NUL', async (t) => {
  t.strictSame(parameter('a\0b'), { value: 'a' })
  t.strictSame(arrayParameter(['a\0b', 'c"d', '\\']), { value: '{"a","c\\"d","\\\\"}' })
})
