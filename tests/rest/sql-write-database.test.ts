// Writes and calls on a real database.
import t from 'tap'
import type { CallPlan } from '../../server/rest/plan/call-plan.ts'
import type { MutatePlan } from '../../server/rest/plan/mutate-plan.ts'
import type { CrudPlan } from '../../server/rest/plan/plan.ts'
import type { Preferences } from '../../server/rest/request/preferences.ts'
import type { ResultRow } from '../../server/rest/response/result.ts'
import { resultError } from '../../server/rest/response/result-check.ts'
import type { Routine } from '../../server/catalogue/routine.ts'
import { createDatabase } from '../support/database.ts'
import {
  requestShape,
  argument,
  callPlan,
  calling,
  deletePlan,
  equals,
  field,
  fromSource,
  inSchema,
  insertPlan,
  joined,
  readPlan,
  relationship,
  routine,
  selected,
  updatePlan,
  where,
  writing,
} from '../support/plans.ts'
import { hasResult, statementRunner } from '../support/statement-runner.ts'

const database = await createDatabase()
await database.query(`
  create schema api;
  create table api.clients (id int primary key, name text);
  insert into api.clients values (1, 'Microsoft');
  create table api.projects (id int primary key, name text, client_id int references api.clients);
  insert into api.projects values (1, 'Windows', 1), (2, 'Office', 1);
  create sequence api.ids start 100;
  create table api.defaults (id int primary key default nextval('api.ids'), name text default 'unnamed', n numeric);
  create table api."o'dd" ("a'k" text, "b=k" text, v jsonb, primary key ("a'k", "b=k"));
  create table api.plain (a int, b text);
  create table api.keys (k int primary key);
  create function api.add(a int, b int default 2) returns int language sql immutable as 'select a + b';
  create function api.total(variadic v int[]) returns int language sql immutable as 'select sum(x)::int from unnest(v) x';
  create function api.listed(variadic v text[]) returns text[] language sql immutable as 'select v';
  create function api.numbers(n int) returns setof int language sql as 'select generate_series(1, n)';
  create function api.some_projects(m int) returns setof api.projects language sql stable as 'select * from api.projects where id <= m';
  create function api.a_client() returns api.clients language sql stable as 'select * from api.clients limit 1';
  create function api.pairs() returns table (x int, y text) language sql as $$ values (1, 'a'), (2, 'b') $$;
  create function api.nothing() returns void language sql as '';
  create function api.whole(json) returns json language sql as 'select $1';
  create function api.size(bytea) returns int language sql as 'select length($1)';
  create function api.shout(text) returns text language sql as 'select upper($1)';
  create function api.composite(c api.clients) returns text language sql as 'select c.name';
  create function api.answer() returns void language sql as $$
    select set_config('response.status', '418', true), set_config('response.headers', '[{"X-A": "b"}]', true) $$;
`)
const runner = await statementRunner(database, { role: 'postgres', claims: {} })
const { run } = runner
t.teardown(async () => {
  await runner.end()
  await database.drop()
})

const id = field('id', { type: 'integer', default: `nextval('api.ids'::regclass)` })
const name = field('name', { type: 'text', default: `'unnamed'::text` })
const number = field('n', { type: 'numeric' })

type Given = {
  readonly preferences?: Omit<Preferences, 'invalid'>
  readonly more?: Partial<Parameters<typeof writing>[1]>
}
type Row = readonly [title: string, plan: MutatePlan, given: Given, expected: Partial<ResultRow>]

const all = { returning: ['*'] }
const upsert = { resolution: 'merge-duplicates', columns: ['id'] } as const
const merge = { preferences: { resolution: 'merge-duplicates' } } as const

const rows: readonly Row[] = [
  [
    'insert of one row',
    insertPlan(
      'plain',
      [field('a', { type: 'integer' }), field('b', { type: 'text' })],
      `{"a":1,"b":"o'x\\"\\u0041"}`,
      all,
    ),
    {},
    { queryTotal: 1, body: `[{"a":1,"b":"o'x\\"A"}]`, inserted: 0, location: [] },
  ],
  [
    'insert of many rows, digit for digit',
    insertPlan('defaults', [id, number], '[{"id":1,"n":9007199254740993.000000000000000000001},{"id":2,"n":1e2}]', all),
    {},
    {
      queryTotal: 2,
      body: '[{"id":1,"name":"unnamed","n":9007199254740993.000000000000000000001}, \n {"id":2,"name":"unnamed","n":100}]',
    },
  ],
  [
    'missing keys take the default',
    insertPlan('defaults', [id, name], '[{"name":"x"},{"id":5}]', { ...all, applyDefaults: true }),
    {},
    { body: '[{"id":100,"name":"x","n":null}, \n {"id":5,"name":"unnamed","n":null}]' },
  ],
  [
    'missing keys of one object take the default',
    insertPlan('defaults', [id, name], '{"id":7}', { ...all, applyDefaults: true }),
    {},
    { body: '[{"id":7,"name":"unnamed","n":null}]' },
  ],
  ['insert of nothing', insertPlan('defaults', [], '[]', all), {}, { queryTotal: 0, body: '[]' }],
  ['insert of two empty rows', insertPlan('plain', [], '[{},{}]', all), {}, { queryTotal: 2 }],
  ['insert of an empty row', insertPlan('plain', [], '{}', all), {}, { body: '[{"a":null,"b":null}]' }],
  [
    'location of a row with a hostile composite key',
    insertPlan(
      "o'dd",
      [field("a'k", { type: 'text' }), field('b=k', { type: 'text' })],
      JSON.stringify({ "a'k": 'x=y&z', 'b=k': '' }),
      { returning: ["a'k", 'b=k'], primaryKey: ["a'k", 'b=k'] },
    ),
    { preferences: { representation: 'headers-only' }, more: { handler: { kind: 'none' } } },
    {
      queryTotal: 1,
      body: '',
      location: [
        ["a'k", 'eq.x=y&z'],
        ['b', 'k=eq.'],
      ],
    },
  ],
  [
    'no location of two rows',
    insertPlan('defaults', [id], '[{"id":1},{"id":2}]', { returning: ['id'], primaryKey: ['id'] }),
    { preferences: { representation: 'headers-only' }, more: { handler: { kind: 'none' } } },
    { queryTotal: 2, location: [] },
  ],
  [
    'a null in the key',
    insertPlan('plain', [field('a', { type: 'integer' })], '{"a":null}', { returning: ['a'], primaryKey: ['a'] }),
    { preferences: { representation: 'headers-only' }, more: { handler: { kind: 'none' } } },
    { location: [['a', 'is.null']] },
  ],
  [
    'upsert of an old and two new rows',
    insertPlan('projects', [id, name], '[{"id":1,"name":"W"},{"id":8,"name":"H"},{"id":9,"name":"N"}]', {
      returning: ['id', 'name'],
      onConflict: upsert,
    }),
    { ...merge, more: { read: fromSource('projects', { select: [selected('name')] }) } },
    { queryTotal: 3, inserted: 2, body: '[{"name":"W"}, \n {"name":"H"}, \n {"name":"N"}]' },
  ],
  [
    'upsert of old rows only',
    insertPlan('projects', [id, name], '[{"id":1,"name":"W"}]', { onConflict: upsert }),
    { ...merge, more: { handler: { kind: 'none' } } },
    { queryTotal: 1, inserted: 0 },
  ],
  [
    'upsert of no rows',
    insertPlan('projects', [id], '[]', { onConflict: upsert }),
    { ...merge, more: { handler: { kind: 'none' } } },
    { queryTotal: 0, inserted: null },
  ],
  [
    'upsert where every column is a key',
    insertPlan('keys', [field('k', { type: 'integer' })], '[{"k":1},{"k":2}]', {
      ...all,
      onConflict: { resolution: 'merge-duplicates', columns: ['k'] },
    }),
    merge,
    { queryTotal: 2, inserted: 2 },
  ],
  [
    'duplicates ignored',
    insertPlan('projects', [id, name], '[{"id":1,"name":"W"},{"id":8,"name":"H"}]', {
      ...all,
      onConflict: { resolution: 'ignore-duplicates', columns: ['id'] },
    }),
    { preferences: { resolution: 'ignore-duplicates' } },
    { queryTotal: 1, inserted: 0, body: '[{"id":8,"name":"H","client_id":null}]' },
  ],
  [
    'PUT of a new row',
    insertPlan('projects', [id, name], '{"id":8,"name":"H"}', {
      ...all,
      onConflict: upsert,
      where: [where('id', equals('8'))],
    }),
    { more: { mutation: 'single-upsert' } },
    { queryTotal: 1, inserted: 1 },
  ],
  [
    'PUT of an old row',
    insertPlan('projects', [id, name], '{"id":1,"name":"H"}', {
      ...all,
      onConflict: upsert,
      where: [where('id', equals('1'))],
    }),
    { more: { mutation: 'single-upsert' } },
    { queryTotal: 1, inserted: 0, body: '[{"id":1,"name":"H","client_id":1}]' },
  ],
  [
    'update',
    updatePlan('projects', [name], '{"name":"X","extra":1}', { ...all, where: [where('id', equals('1'))] }),
    {},
    { queryTotal: 1, body: '[{"id":1,"name":"X","client_id":1}]' },
  ],
  [
    'update with the default for a missing key',
    updatePlan('projects', [name], '{}', { ...all, where: [where('id', equals('1'))], applyDefaults: true }),
    {},
    { body: '[{"id":1,"name":"unnamed","client_id":1}]' },
  ],
  [
    'update of nothing',
    updatePlan('projects', [], '{}', { returning: ['id'] }),
    { more: { read: fromSource('projects', { select: [selected('id')] }) } },
    { queryTotal: 0, body: '[]' },
  ],
  [
    'delete with what was embedded in the rows',
    deletePlan('projects', { returning: ['id', 'client_id'], where: [where('id', equals('2'))] }),
    {
      more: {
        read: fromSource('projects', {
          select: [selected('id')],
          relationSelect: [
            { kind: 'json', mode: 'object', name: 'client', aggregateAlias: 'projects_client_1', empty: false },
          ],
          embeds: [
            readPlan('clients', {
              fromAlias: 'clients_1',
              aggregateAlias: 'projects_client_1',
              toParent: relationship('projects', 'clients', {
                kind: 'many-to-one',
                constraint: 'c',
                columns: [['client_id', 'id']],
              }),
              joinConditions: [joined(['clients_1', 'id', ''], ['projects', 'client_id', ''])],
            }),
          ],
        }),
      },
    },
    { queryTotal: 1, body: '[{"id":2,"client":{"id": 1, "name": "Microsoft"}}]' },
  ],
]

for (const [title, plan, { preferences, more }, expected] of rows) {
  t.test(title, async (t) => {
    await database.query(`alter sequence api.ids restart`)
    const row = await run(writing(plan, more), { preferences: { ...preferences, invalid: [] } })
    hasResult(t, row, expected)
  })
}

t.test('PUT with another key than in the URL', async (t) => {
  const put = insertPlan('projects', [id], '{"id":8}', { onConflict: upsert, where: [where('id', equals('9'))] })
  const plan = writing(put, { mutation: 'single-upsert', handler: { kind: 'none' } })
  t.match(resultError(plan, await run(plan), requestShape()), { code: 'PGRST115' })
})

const returns = (setOf: boolean, composite: string | null): Partial<Routine> => ({
  returns: {
    setOf,
    composite: composite !== null,
    compositeAlias: false,
    type: composite === null ? { schema: 'pg_catalog', name: 'int4' } : inSchema(composite),
  },
})
const scalar = { returnsScalar: true }
const named = (...parameters: ReturnType<typeof argument>[]) => ({ parameters: { kind: 'named', parameters } }) as const
const positional = (type: string) => ({ parameters: { kind: 'positional', parameter: argument('', type) } }) as const
const body = (text: string | Buffer | null) => ({ arguments: { kind: 'body', body: text } }) as const
const direct = (values: Record<string, string | readonly string[]>) =>
  ({ arguments: { kind: 'direct', values: new Map(Object.entries(values)) } }) as const

type Call = readonly [
  title: string,
  call: CallPlan,
  returned: Partial<Routine>,
  expected: Partial<ResultRow>,
  more?: Partial<CrudPlan & { kind: 'call' }>,
]

const [a, b] = [argument('a', 'integer'), argument('b', 'integer', { required: false })]
const variadic = argument('v', 'integer[]', { variadic: true })

const calls: readonly Call[] = [
  [
    'a value, arguments of the URL',
    callPlan('add', { ...scalar, ...named(a, b), ...direct({ a: '1', b: '3' }) }),
    returns(false, null),
    { body: '4', queryTotal: 1 },
  ],
  [
    'a value, arguments of the body',
    callPlan('add', { ...scalar, ...named(a), ...body('{"a":40}') }),
    returns(false, null),
    { body: '42' },
  ],
  [
    'only the first of many bodies',
    callPlan('add', { ...scalar, ...named(a), ...body('[{"a":1},{"a":2}]') }),
    returns(false, null),
    { body: '3' },
  ],
  [
    'variadic arguments of the URL',
    callPlan('total', { ...scalar, ...named(variadic), ...direct({ v: ['1', '2', '39'] }) }),
    returns(false, null),
    { body: '42' },
  ],
  [
    'no variadic arguments',
    callPlan('total', { ...scalar, ...named(variadic), ...direct({ v: [] }) }),
    returns(false, null),
    { body: 'null' },
  ],
  [
    'variadic arguments of the body',
    callPlan('total', { ...scalar, ...named(variadic), ...body('{"v":[1,2]}') }),
    returns(false, null),
    { body: '3' },
  ],
  [
    'hostile variadic arguments',
    callPlan('listed', {
      ...scalar,
      ...named(argument('v', 'text[]', { variadic: true })),
      ...direct({ v: ['a,b', 'c"d', '\\', '{}', 'NULL', ''] }),
    }),
    returns(false, null),
    { body: JSON.stringify(['a,b', 'c"d', '\\', '{}', 'NULL', '']) },
  ],
  [
    'a set of values',
    callPlan('numbers', { returnsSetOfScalar: true, ...named(argument('n', 'integer')), ...direct({ n: '3' }) }),
    returns(true, null),
    { body: '[1, 2, 3]', queryTotal: 3 },
  ],
  [
    'a set of rows, filtered',
    callPlan('some_projects', {
      ...named(argument('m', 'integer')),
      ...direct({ m: '2' }),
      returning: ['name'],
      filterFields: ['id'],
    }),
    returns(true, 'projects'),
    { body: '[{"name":"Office"}]', queryTotal: 1 },
    { read: fromSource('projects', { select: [selected('name')], where: [where('id', equals('2'))] }) },
  ],
  ['a row', callPlan('a_client'), returns(false, 'clients'), { body: '{"id":1,"name":"Microsoft"}', queryTotal: 1 }],
  ['a table', callPlan('pairs'), returns(true, 'record'), { body: '[{"x":1,"y":"a"}, \n {"x":2,"y":"b"}]' }],
  ['nothing', callPlan('nothing', scalar), returns(false, null), { body: 'null', queryTotal: 1 }],
  [
    'the body as JSON',
    callPlan('whole', { ...scalar, ...positional('json'), ...body('{"a": 1.0}') }),
    returns(false, null),
    { body: '{"a": 1.0}' },
  ],
  [
    'the body as bytes',
    callPlan('size', { ...scalar, ...positional('bytea'), ...body(Buffer.from([0, 255, 39])) }),
    returns(false, null),
    { body: '3' },
  ],
  [
    'the body as text',
    callPlan('shout', { ...scalar, ...positional('text'), ...body(Buffer.from("o'hé")) }),
    returns(false, null),
    { body: '"O\'HÉ"' },
  ],
  ['no body', callPlan('shout', { ...scalar, ...positional('text') }), returns(false, null), { body: 'null' }],
  [
    'a row as argument',
    callPlan('composite', { ...scalar, ...named(argument('c', 'api.clients')), ...body('{"c":{"id":1,"name":"N"}}') }),
    returns(false, null),
    { body: '"N"' },
  ],
  [
    'settings of the answer',
    callPlan('answer', scalar),
    returns(false, null),
    { statusSetting: '418', headersSetting: '[{"X-A": "b"}]' },
  ],
  [
    'no row at all: a handler that is no aggregate',
    callPlan('shout', { ...scalar, ...positional('text') }),
    returns(false, null),
    { queryTotal: 0, tableTotal: 0, body: '' },
    {
      read: fromSource('shout', { range: { offset: 0, limit: 0 } }),
      handler: { kind: 'custom', function: inSchema('shout'), target: null },
    },
  ],
]

for (const [title, call, returned, expected, more] of calls) {
  t.test(`call: ${title}`, async (t) => {
    const row = await run(calling(call, routine(call.routine.name, returned), more))
    hasResult(t, row, expected)
  })
}

t.test('PostgreSQL rejects bytes that are not valid text', async (t) => {
  const call = callPlan('shout', { ...scalar, ...positional('text'), ...body(Buffer.from([255])) })
  await t.rejects(run(calling(call, routine('shout'))), { message: /invalid byte sequence/ })
})
