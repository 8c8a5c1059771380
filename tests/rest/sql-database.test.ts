// The generated statements on a real database: reads, counts, bodies, settings.
import t from 'tap'
import type { EmbedPlan, ReadPlan } from '../../server/rest/plan/read-plan.ts'
import { plannedRows } from '../../server/rest/response/total.ts'
import { explainCountStatement } from '../../server/rest/sql/statement.ts'
import { createDatabase } from '../support/database.ts'
import {
  plannedRequest,
  equals,
  field,
  inSchema,
  joined,
  readPlan,
  reading,
  relationship,
  selected,
  where,
} from '../support/plans.ts'
import { hasResult, statementRunner, textOf } from '../support/statement-runner.ts'

const database = await createDatabase()
await database.query(`
  create role sql_reader_${database.name};
  create schema api;
  grant usage on schema api to sql_reader_${database.name};
  create table api.clients (id int primary key, name text not null);
  create table api.projects (id int primary key, name text, client_id int references api.clients, data jsonb);
  create table api.users (id int primary key, name text);
  create table api.tasks (id int primary key, name text);
  create table api.users_tasks (user_id int references api.users, task_id int references api.tasks);
  create table api."we""ird; table" ("na'me\\" text, "línea\n" text, "表" int);
  insert into api.clients values (1, 'Microsoft'), (2, 'Apple'), (3, 'Nobody');
  insert into api.projects values (1, 'Windows', 1, '{"tags":["a","b"],"k":"v"}'), (2, 'Office', 1, '{"tags":[]}'),
    (3, 'IOS', 2, null), (4, 'Orphan', null, '{"k":null}');
  insert into api.users values (1, 'Ann'), (2, 'Bob');
  insert into api.tasks values (1, 'Design'), (2, 'Code');
  insert into api.users_tasks values (1, 1), (1, 2), (2, 2);
  insert into api."we""ird; table" values ('it''s', 'a"b', 1), ('a,b', E'\\\\', 2), (null, '', 3);
  create function api.computed_client(api.projects) returns setof api.clients rows 1 language sql stable
    as 'select * from api.clients where id = $1.client_id';
  create domain api.color as int;
  create function api.color_json(api.color) returns json language sql immutable as $$ select to_json('#' || lpad(to_hex($1), 6, '0')) $$;
  create function api.color_text(text) returns api.color language sql immutable as $$ select (('x' || lpad(ltrim($1, '#'), 8, '0'))::bit(32)::int)::api.color $$;
  create table api.paints (id int, c api.color);
  insert into api.paints values (1, 255), (2, 65280);
  create function api.bytes_step(bytea, api.clients) returns bytea language sql as $$ select coalesce($1, '') || convert_to($2.name, 'UTF8') || '\\x00ff' $$;
  create aggregate api.bytes_of(api.clients) (sfunc = api.bytes_step, stype = bytea);
  create function api.lines_step(text, anyelement) returns text language sql as $$ select coalesce($1, '') || $2::text || E'\\n' $$;
  create aggregate api.lines_of(anyelement) (sfunc = api.lines_step, stype = text);
  grant select on all tables in schema api to sql_reader_${database.name};
`)
const runner = await statementRunner(database, { role: `sql_reader_${database.name}`, claims: { sub: 'x' } })
const { json, run, statements } = runner
t.teardown(async () => {
  await runner.end()
  await database.drop()
})

const clientOf = (more: Partial<EmbedPlan> = {}): EmbedPlan =>
  readPlan('clients', {
    fromAlias: 'clients_1',
    aggregateAlias: 'projects_clients_1',
    toParent: relationship('projects', 'clients', {
      kind: 'many-to-one',
      constraint: 'c',
      columns: [['client_id', 'id']],
    }),
    joinConditions: [joined(['clients_1', 'id', ''], ['projects', 'client_id'])],
    ...more,
  })
const projectsOf = (more: Partial<EmbedPlan> = {}): EmbedPlan =>
  readPlan('projects', {
    select: [selected('id')],
    fromAlias: 'projects_1',
    aggregateAlias: 'clients_projects_1',
    toParent: relationship('clients', 'projects', {
      kind: 'one-to-many',
      constraint: 'c',
      columns: [['id', 'client_id']],
    }),
    joinConditions: [joined(['projects_1', 'client_id', ''], ['clients', 'id'])],
    ...more,
  })
const asObject = {
  kind: 'json',
  mode: 'object',
  name: 'clients',
  aggregateAlias: 'projects_clients_1',
  empty: false,
} as const
const asArray = {
  kind: 'json',
  mode: 'array',
  name: 'projects',
  aggregateAlias: 'clients_projects_1',
  empty: false,
} as const
const byId = [{ kind: 'field', field: field('id'), direction: 'asc', nulls: null }] as const
const spreadField = (name: string, more = {}) => ({ name, aggregate: null, aggregateCast: null, alias: null, ...more })

const reads: readonly (readonly [string, ReadPlan, unknown])[] = [
  [
    'filters, order, range',
    readPlan('projects', {
      select: [selected('id'), selected('name', { alias: 'n' })],
      where: [
        where('id', { kind: 'in', values: ['1', '2', '3'] }),
        where('name', { kind: 'quantifiable', operator: 'like', quantifier: null, value: '*i*' }),
      ],
      order: [{ kind: 'field', field: field('id'), direction: 'desc', nulls: 'nullslast' }],
      range: { offset: 0, limit: 1 },
    }),
    [{ id: 2, n: 'Office' }],
  ],
  ['in nothing', readPlan('projects', { where: [where('id', { kind: 'in', values: [''] })] }), []],
  [
    'patterns of any and all',
    readPlan('projects', {
      select: [selected('name')],
      where: [where('name', { kind: 'quantifiable', operator: 'ilike', quantifier: 'any', value: '{*WIN*,ios}' })],
      order: byId,
    }),
    [{ name: 'Windows' }, { name: 'IOS' }],
  ],
  [
    'JSON paths',
    readPlan('projects', {
      select: [
        selected('id'),
        selected('data', {
          field: field('data', {
            jsonPath: [
              { arrow: '->', operand: { kind: 'key', text: 'tags' } },
              { arrow: '->>', operand: { kind: 'index', text: '-1' } },
            ],
          }),
          alias: 'last',
        }),
      ],
      where: [where(field('data', { jsonPath: [{ arrow: '->>', operand: { kind: 'key', text: 'k' } }] }), equals('v'))],
    }),
    [{ id: 1, last: 'b' }],
  ],
  [
    'full-text search',
    readPlan('projects', {
      select: [selected('id')],
      where: [
        where(field('name', { toTsVector: { language: 'english' } }), {
          kind: 'fts',
          operator: 'wfts',
          language: 'english',
          value: 'window',
        }),
      ],
    }),
    [{ id: 1 }],
  ],
  [
    'hostile names and values',
    readPlan('we"ird; table', {
      select: [selected("na'me\\"), selected('表', { alias: '";--' })],
      where: [where('línea\n', equals('a"b'))],
    }),
    [{ "na'me\\": "it's", '";--': 1 }],
  ],
  [
    'embeds to one and, within them, to many',
    readPlan('projects', {
      select: [selected('id')],
      where: [where('id', { kind: 'quantifiable', operator: 'gte', quantifier: null, value: '3' })],
      order: byId,
      relationSelect: [asObject],
      embeds: [
        clientOf({
          relationSelect: [{ ...asArray, aggregateAlias: 'clients_projects_2' }],
          embeds: [
            projectsOf({
              fromAlias: 'projects_2',
              aggregateAlias: 'clients_projects_2',
              joinConditions: [joined(['projects_2', 'client_id', ''], ['clients_1', 'id', ''])],
            }),
          ],
        }),
      ],
    }),
    [
      { id: 3, clients: { id: 2, name: 'Apple', projects: [{ id: 3 }] } },
      { id: 4, clients: null },
    ],
  ],
  [
    'embeds to many',
    readPlan('clients', {
      select: [selected('name')],
      order: byId,
      relationSelect: [asArray],
      embeds: [projectsOf({ order: [{ kind: 'field', field: field('id'), direction: 'desc', nulls: null }] })],
    }),
    [
      { name: 'Microsoft', projects: [{ id: 2 }, { id: 1 }] },
      { name: 'Apple', projects: [{ id: 3 }] },
      { name: 'Nobody', projects: [] },
    ],
  ],
  [
    'inner embeds',
    readPlan('clients', {
      select: [selected('id')],
      relationSelect: [asArray],
      embeds: [projectsOf({ joinType: 'inner', where: [where('name', equals('IOS'))] })],
    }),
    [{ id: 2, projects: [{ id: 3 }] }],
  ],
  [
    'anti-join by a null filter on an embed',
    readPlan('clients', {
      select: [selected('id')],
      where: [{ kind: 'filter', filter: { kind: 'null-embed', negated: false, aggregateAlias: 'clients_projects_1' } }],
      relationSelect: [{ ...asArray }],
      embeds: [projectsOf()],
    }),
    [{ id: 3, projects: [] }],
  ],
  [
    'many to many',
    readPlan('users', {
      select: [selected('name')],
      order: byId,
      relationSelect: [{ ...asArray, name: 'tasks', aggregateAlias: 'users_tasks_1' }],
      embeds: [
        readPlan('tasks', {
          select: [selected('name')],
          order: byId,
          aggregateAlias: 'users_tasks_1',
          toParent: relationship('users', 'tasks', {
            kind: 'many-to-many',
            junction: {
              table: inSchema('users_tasks'),
              sourceConstraint: 'a',
              targetConstraint: 'b',
              sourceColumns: [['id', 'user_id']],
              targetColumns: [['id', 'task_id']],
            },
          }),
          joinConditions: [
            joined(['tasks', 'id'], ['users_tasks', 'task_id']),
            joined(['users', 'id'], ['users_tasks', 'user_id']),
          ],
        }),
      ],
    }),
    [
      { name: 'Ann', tasks: [{ name: 'Design' }, { name: 'Code' }] },
      { name: 'Bob', tasks: [{ name: 'Code' }] },
    ],
  ],
  [
    'computed relationships',
    readPlan('projects', {
      select: [selected('id')],
      where: [where('id', equals('1'))],
      relationSelect: [{ ...asObject, name: 'client' }],
      embeds: [
        readPlan('clients', {
          fromAlias: 'clients_1',
          aggregateAlias: 'projects_clients_1',
          toParent: {
            kind: 'computed',
            function: inSchema('computed_client'),
            table: inSchema('projects'),
            foreignTable: inSchema('clients'),
            isToOne: true,
            isSelf: false,
          },
          computedArgument: inSchema('projects'),
        }),
      ],
    }),
    [{ id: 1, client: { id: 1, name: 'Microsoft' } }],
  ],
  [
    'to-one spreads with hoisted aggregates',
    readPlan('projects', {
      select: [selected('id', { aggregate: 'count', alias: 'projects' })],
      where: [where('client_id', { kind: 'is', value: 'not_null' })],
      relationSelect: [
        {
          kind: 'spread',
          aggregateAlias: 'projects_clients_1',
          fields: [spreadField('name'), spreadField('id', { aggregate: 'max', aggregateCast: 'text', alias: 'max' })],
        },
      ],
      embeds: [clientOf({ spread: { kind: 'to-one' } })],
      order: [
        {
          kind: 'relation',
          relation: 'projects_clients_1',
          field: { name: 'name', jsonPath: [] },
          direction: null,
          nulls: null,
        },
      ],
    }),
    [
      { projects: 1, name: 'Apple', max: '2' },
      { projects: 2, name: 'Microsoft', max: '1' },
    ],
  ],
  [
    'to-many spreads',
    readPlan('clients', {
      select: [selected('name')],
      order: byId,
      relationSelect: [
        { kind: 'spread', aggregateAlias: 'clients_projects_1', fields: [spreadField('title'), spreadField('id')] },
      ],
      embeds: [
        projectsOf({
          select: [selected('name', { alias: 'title' }), selected('id')],
          spread: {
            kind: 'to-many',
            extraSelect: [{ relation: null, field: selected('name', { alias: 'clients_projects_1_name_1' }) }],
            order: [{ kind: 'field', field: field('clients_projects_1_name_1'), direction: 'asc', nulls: null }],
          },
        }),
      ],
    }),
    [
      { name: 'Microsoft', title: ['Office', 'Windows'], id: [2, 1] },
      { name: 'Apple', title: ['IOS'], id: [3] },
      { name: 'Nobody', title: [], id: [] },
    ],
  ],
  [
    'aggregates with groups',
    readPlan('projects', {
      select: [
        selected('client_id', { alias: 'client' }),
        selected('id', { aggregate: 'avg', aggregateCast: 'int', cast: 'numeric', alias: 'average' }),
        selected('*', { aggregate: 'count' }),
      ],
      where: [where('client_id', { kind: 'is', value: 'not_null' })],
      order: [{ kind: 'field', field: field('client_id'), direction: 'asc', nulls: null }],
    }),
    [
      { client: 1, average: 2, count: 2 },
      { client: 2, average: 3, count: 1 },
    ],
  ],
  [
    'representations of domains',
    readPlan('paints', {
      select: [selected('c', { field: field('c', { transform: 'api.color_json' }), alias: 'c' })],
      where: [
        where(field('c', { transform: 'api.color_text' }), { kind: 'in', values: ['#0000ff', '#ffffff'] }),
        where(field('c', { transform: 'api.color_text' }), equals('#0000ff')),
      ],
    }),
    [{ c: '#0000ff' }],
  ],
]

for (const [title, plan, expected] of reads) {
  t.test(title, async (t) => {
    t.strictSame(await json(reading(plan)), expected)
  })
}

const paints = (more: Partial<ReadPlan> = {}) => readPlan('paints', more)

t.test('counts', async (t) => {
  const all = await run(reading(readPlan('projects')), { preferences: { count: 'exact', invalid: [] } })
  hasResult(t, all, { tableTotal: 4, queryTotal: 4 })
  const range = { offset: 1, limit: 2 }
  const page = await run(reading(readPlan('projects', { range })), {
    preferences: { count: 'exact', invalid: [] },
    topLevelRange: range,
  })
  hasResult(t, page, { tableTotal: 4, queryTotal: 2 })
  const uncounted = await run(reading(readPlan('projects', { range })), { topLevelRange: range })
  hasResult(t, uncounted, { tableTotal: null, queryTotal: 2 })
  const estimated = await run(reading(readPlan('projects')), { preferences: { count: 'estimated', invalid: [] } }, 2)
  hasResult(t, estimated, { tableTotal: 3 }, 'no more are counted than needed')
  const inner = reading(
    readPlan('clients', {
      relationSelect: [asArray],
      embeds: [projectsOf({ joinType: 'inner' })],
      range: { offset: 0, limit: 1 },
    }),
  )
  const counted = await run(inner, {
    preferences: { count: 'exact', invalid: [] },
    topLevelRange: { offset: 0, limit: 1 },
  })
  hasResult(t, counted, { tableTotal: 2, queryTotal: 1 })
  const explained = await statements(inner, plannedRequest(), explainCountStatement(readPlan('projects')))
  t.type(plannedRows(explained[0]?.[0]?.[0]?.toString() ?? ''), 'number')
})

t.test('bodies', async (t) => {
  const one = readPlan('projects', { select: [selected('id'), selected('data')], where: [where('id', equals('3'))] })
  t.equal((await run(reading(one, { handler: { kind: 'json' } }))).body, '[{"id":3,"data":null}]')
  t.equal((await run(reading(one, { handler: { kind: 'array-json-strip' } }))).body, '[{"id":3}]')
  const stripped = { kind: 'single-json', stripNulls: true } as const
  t.equal((await run(reading(one, { handler: stripped }))).body, '{"id":3}')
  const nothing = readPlan('projects', { where: [where('id', equals('99'))] })
  const noObject = await run(reading(nothing, { handler: { kind: 'single-json', stripNulls: false } }))
  hasResult(t, noObject, {
    body: 'null',
    queryTotal: 0,
  })
  hasResult(t, await run(reading(nothing, { handler: { kind: 'none' } })), { body: '', queryTotal: 0 })
  const weird = readPlan('we"ird; table', {
    order: [{ kind: 'field', field: field('表'), direction: 'asc', nulls: null }],
  })
  t.equal(
    (await run(reading(weird, { handler: { kind: 'csv' } }))).body,
    'na\'me\\,línea\n,表\nit\'s,"a""b",1\n"a,b","\\\\",2\n,"",3',
  )
})

t.test('custom media types', async (t) => {
  const clients = readPlan('clients', { order: byId })
  const bytes = { kind: 'custom', function: inSchema('bytes_of'), target: inSchema('clients') } as const
  t.strictSame(
    (await run(reading(clients, { handler: bytes }))).body,
    Buffer.concat(
      [...'Microsoft,Apple,Nobody'.split(',')].flatMap((name) => [Buffer.from(name), Buffer.from([0, 255])]),
    ),
  )
  const lines = { kind: 'custom', function: inSchema('lines_of'), target: null } as const
  t.equal((await run(reading(paints(), { handler: lines }))).body, '(1,255)\n(2,65280)\n')
  const none = readPlan('clients', { where: [where('id', equals('99'))] })
  t.equal((await run(reading(none, { handler: bytes }))).body, '')
})

t.test('execution plans', async (t) => {
  const explained = (format: 'json' | 'text', options: readonly ('analyze' | 'verbose')[] = []) =>
    run(reading(paints(), { mediaType: { kind: 'plan', for: { kind: 'json' }, format, options }, explain: true }))
  t.match((await explained('text')).body, /^Aggregate .*\n.*\n/)
  const { body } = await explained('json', ['verbose'])
  t.match(JSON.parse(textOf(body)), [
    { Plan: { Output: [String, String, "COALESCE(json_agg(ROW(paints.id, paints.c)), '[]'::json)"] } },
  ])
})

t.test('SQL can read the request', async (t) => {
  const request = plannedRequest({
    path: '/projects',
    headers: [
      ['x-a', 'it\'s "1"'],
      ['accept', '*/*'],
    ],
    cookies: [['a', 'b']],
    preferences: { timezone: 'America/Lima', invalid: [] },
  })
  const shown = [
    'current_user',
    "current_setting('search_path')",
    "current_setting('request.jwt.claims')",
    "current_setting('request.headers')::json->>'x-a'",
    "current_setting('request.cookies')::json->>'a'",
    "current_setting('request.method')",
    "current_setting('request.path')",
    "current_setting('timezone')",
    "current_setting('transaction_read_only')",
  ]
  const role = `sql_reader_${database.name}`
  const [rows = []] = await statements(reading(paints()), request, `select ${shown.join(', ')}`)
  t.strictSame(
    rows.map((row) => row.map(String)),
    [
      [
        role,
        '"api", "public"',
        `{"role":"${role}","sub":"x"}`,
        'it\'s "1"',
        'b',
        'GET',
        '/projects',
        'America/Lima',
        'on',
      ],
    ],
  )
  await t.rejects(statements(reading(paints()), request, 'create temp table t ()'), {
    message: 'cannot execute CREATE TABLE in a read-only transaction',
  })
})
