// Filters match the rows that the database matches: generated conditions on all kinds of columns, compared with its own answer.
import t from 'tap'
import { operators } from '../../server/services/realtime/changes/filter-text.ts'
import { asRole, startRowChanges } from '../support/row-changes.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

/** Values of each type, as SQL; NULL is added. */
const values: Readonly<Record<string, readonly string[]>> = {
  int4: ['-2147483648', '-5', '0', '7', '10', '2147483647'],
  int8: ['-9223372036854775808', '9007199254740993', '9007199254740992', '3', '9223372036854775807'],
  int2: ['-3', '0', '12'],
  numeric: ['1.0', '1.00', '-2.5', 'NaN', '1e30', '10', '9'],
  float8: ['0', '-0', '1.5', 'Infinity', 'NaN', '1e-7'],
  bool: ['true', 'false'],
  text: ['', 'a', 'B', 'ä', 'Ab', 'a%b', 'a_b', 'a\\b', 'null', 'a,b', '(x)', '"q"', ' ', '10', '9', 'ｚ'],
  varchar: ['a', 'A', 'zz', 'a '],
  bpchar: ['a', 'a ', 'b'],
  uuid: ['00000000-0000-0000-0000-000000000001', 'ffffffff-ffff-4fff-8fff-ffffffffffff'],
  date: ['2024-02-29', '0044-03-15 BC', 'infinity', '2024-03-01'],
  timestamp: ['2024-02-29 10:00:00', '2024-02-29 10:00:00.5', '-infinity'],
  timestamptz: ['2024-02-29 10:00:00+00', '2024-02-29 12:00:00+02', '2024-02-29 11:59:59+02'],
  interval: ['1 day', '24:00:00', '-1 mon'],
  jsonb: ['{"a": 1}', '{"a":1.0}', 'null', '[1]', '"x"'],
  'public.mood': ['sad', 'ok', 'happy'],
  inet: ['10.0.0.1', '10.0.0.0/8', '::1'],
  _int4: ['{1,2}', '{}', '{NULL,3}'],
  _text: ['{a,"b c"}', '{"NULL",NULL}'],
}

const patterns = ['a%', '%B', 'a\\%b', 'a_b', '^a', 'b$', '[[:alpha:]]', 'a|b', '.', '']

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const random = seededRandom(testSeed())
/** Of each type. */
const conditions = Number(process.env.CONDITIONS ?? 30)
const pick = <T>(list: readonly T[]): T => list[random.integer(0, list.length - 1)] as T

const types = Object.keys(values)
const { database, listen, settled, changes, errors } = await startRowChanges(
  t,
  `create type public.mood as enum ('sad', 'ok', 'happy');
  ${types.map((type, index) => `create table public.t${index} (id int primary key, v ${type});`).join('\n')}
  grant select on all tables in schema public to anon;
  alter publication supabase_realtime add table ${types.map((_, index) => `public.t${index}`).join(', ')};`,
)

/** The condition as SQL, as Supabase's realtime writes it. */
function condition(type: string, operator: string, isNegated: boolean, value: string): string {
  const symbols: Readonly<Record<string, string>> = {
    eq: '=',
    neq: '!=',
    lt: '<',
    lte: '<=',
    gt: '>',
    gte: '>=',
    in: '= any',
    like: 'like',
    ilike: 'ilike',
    match: '~',
    imatch: '~*',
  }
  const not = isNegated ? 'not ' : ''
  if (operator === 'is') return `v is ${not}${value}`
  if (operator === 'isdistinct') return `v is ${isNegated ? 'not ' : ''}distinct from ${quoted(value)}::${type}`
  return `${not}(v ${symbols[operator] ?? ''} (${quoted(value)}::${type}${operator === 'in' ? '[]' : ''}))`
}

/** A value in quotes if the grammar of filters needs them. */
const written = (value: string): string =>
  /[",()\\]|^$|\s$/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value

const element = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`

for (const [index, type] of types.entries()) {
  t.test(type, async (t) => {
    const all = values[type] ?? []
    const isText = ['text', 'varchar', 'bpchar'].includes(type)
    const listening = []
    let refused = 0
    for (let count = 0; count < conditions; count++) {
      const operator = pick(operators)
      const isNegated = random.integer(0, 2) === 0
      const isPattern = ['like', 'ilike', 'match', 'imatch'].includes(operator)
      const value =
        operator === 'is'
          ? pick(type === 'bool' ? ['null', 'true', 'false', 'unknown'] : ['null'])
          : operator === 'in'
            ? `{${Array.from({ length: random.integer(0, 3) }, () => pick([...all.map(element), 'NULL'])).join()}}`
            : isPattern && isText
              ? pick(patterns)
              : pick(all)
      const text = operator === 'in' ? `(${value.slice(1, -1)})` : written(value)
      const filter = `v=${isNegated ? 'not.' : ''}${operator}.${text}`
      const sql = condition(type, operator, isNegated, value)
      const isValid = await database.query(`select from t${index} where ${sql}`).then(
        () => true,
        () => false,
      )
      const attempt = listen([{ event: 'INSERT', schema: 'public', table: `t${index}`, filter }], asRole('anon'))
      if (isValid) listening.push({ filter, sql, listening: await attempt })
      else {
        refused++
        await t.rejects(attempt, { name: 'ChangesRefused' }, filter)
      }
    }
    const rows = [...all.map(quoted), 'null'].map((value, id) => `(${id}, ${value})`)
    await database.query(`insert into t${index} values ${rows.join()}`)
    await settled()
    for (const { filter, sql, listening: one } of listening) {
      const { rows: expected } = await database.query(`select id from t${index} where ${sql} order by id`)
      const ids = one.data().map(({ record }) => record?.id)
      t.strictSame(
        ids,
        expected.map(({ id }) => id),
        filter,
      )
      t.strictSame(one.failures, [])
      one.subscription.end()
    }
    t.comment(`${listening.length} filters, ${refused} refused`)
  })
}

t.test('a pattern that fails for some values refuses its own subscription only', async (t) => {
  const bindingOf = (filter: string) => ({
    event: 'INSERT',
    schema: 'public',
    table: `t${types.indexOf('text')}`,
    filter,
  })
  const good = await listen([bindingOf('v=like.z%')], asRole('anon'))
  // Fails when a value reaches the end of the pattern.
  const bad = await listen([bindingOf('v=like.zz%a\\')], asRole('anon')).catch(() => undefined)
  await database.query(`insert into t${types.indexOf('text')} values (100, 'zzza')`)
  await settled()
  t.equal(good.events.length, 1)
  t.strictSame(good.failures, [])
  if (bad) t.ok(bad.failures.length <= 1)
  good.subscription.end()
  bad?.subscription.end()
  errors.length = 0
})

t.test('filters of several conditions, quotes and spaces', async (t) => {
  const table = `t${types.indexOf('text')}`
  const listening = await listen(
    [' id=gt.200 , v=eq."a,b" ', 'id=in.(201,202),v=neq.x', '', '   ', 'v=eq."say \\"hi\\""', 'v=eq.x"y"'].map(
      (filter) => ({
        event: 'INSERT',
        schema: 'public',
        table,
        filter,
      }),
    ),
    asRole('anon'),
  )
  await database.query(`insert into ${table} values (201, 'a,b'), (202, 'x'), (203, 'say "hi"'), (204, 'x"y"')`)
  await settled()
  t.strictSame(listening.bindings, [
    [0, 1, 2, 3],
    [2, 3],
    [2, 3, 4],
    [2, 3, 5],
  ])
  listening.subscription.end()
})

t.equal(errors.length, 0, String(errors[0]))
t.equal(changes.statistics.subscribers, 0)
