import t from 'tap'
import type { EmbedPlan, ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import { countStatement } from '../../../server/rest/sql/count.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import { readStatement } from '../../../server/rest/sql/read.ts'
import { equals, field, inSchema, joined, readPlan, relationship, selected, where } from '../../support/plans.ts'

const projectClient = relationship('projects', 'clients', {
  kind: 'many-to-one',
  constraint: 'projects_client_id_fkey',
  columns: [['client_id', 'id']],
})
const clientProjects = relationship('clients', 'projects', {
  kind: 'one-to-many',
  constraint: 'projects_client_id_fkey',
  columns: [['id', 'client_id']],
})

/** `clients(…)` embedded in projects. */
const client = (more: Partial<EmbedPlan> = {}): EmbedPlan =>
  readPlan('clients', {
    fromAlias: 'clients_1',
    aggregateAlias: 'projects_clients_1',
    toParent: projectClient,
    joinConditions: [joined(['clients_1', 'id', ''], ['projects', 'client_id'])],
    ...more,
  })

/** `projects(…)` embedded in clients. */
const projects = (more: Partial<EmbedPlan> = {}): EmbedPlan =>
  readPlan('projects', {
    fromAlias: 'projects_1',
    aggregateAlias: 'clients_projects_1',
    toParent: clientProjects,
    joinConditions: [joined(['projects_1', 'client_id', ''], ['clients', 'id'])],
    ...more,
  })

const one = (name: string, aggregateAlias: string, empty = false) =>
  ({ kind: 'json', mode: 'object', name, aggregateAlias, empty }) as const
const many = (name: string, aggregateAlias: string) =>
  ({ kind: 'json', mode: 'array', name, aggregateAlias, empty: false }) as const
const spread = (name: string, more: object = {}) => ({
  name,
  aggregate: null,
  aggregateCast: null,
  alias: null,
  ...more,
})

const clientRows =
  'SELECT "clients_1".* FROM "api"."clients" AS "clients_1" WHERE "clients_1"."id" = "api"."projects"."client_id"'
const projectRows =
  'SELECT "projects_1".* FROM "api"."projects" AS "projects_1" WHERE "projects_1"."client_id" = "api"."clients"."id"'

type Row = readonly [title: string, plan: ReadPlan, text: string, values?: readonly string[]]

const rows: readonly Row[] = [
  ['everything', readPlan('items'), 'SELECT "api"."items".* FROM "api"."items"'],
  [
    'rows kept apart from what is made of them, for Citus',
    readPlan('items', { isFenced: true }),
    'SELECT "api"."items".* FROM "api"."items" OFFSET 0',
  ],
  ['nothing selected is everything', readPlan('items', { select: [] }), 'SELECT "api"."items".* FROM "api"."items"'],
  [
    'columns, aliases, casts, JSON paths, representations',
    readPlan('items', {
      select: [
        selected('a'),
        selected('b', { alias: 'x"y', cast: 'text' }),
        selected('c', {
          field: field('c', { toJson: true, jsonPath: [{ arrow: '->', operand: { kind: 'key', text: 'k' } }] }),
          alias: 'k',
        }),
        selected('d', { field: field('d', { transform: '"api"."to_json"' }), alias: 'd' }),
      ],
    }),
    'SELECT "api"."items"."a", CAST( "api"."items"."b" AS text ) AS "x""y", to_jsonb("api"."items"."c")->$1 AS "k",' +
      ' "api"."to_json"("api"."items"."d") AS "d" FROM "api"."items"',
    ['k'],
  ],
  [
    'filters, order and range',
    readPlan('items', {
      where: [where('a', equals('1')), where('b', equals('2'))],
      order: [
        { kind: 'field', field: field('a'), direction: 'desc', nulls: 'nullslast' },
        { kind: 'field', field: field('b'), direction: null, nulls: null },
      ],
      range: { offset: 5, limit: 10 },
    }),
    'SELECT "api"."items".* FROM "api"."items" WHERE "api"."items"."a" = $1 AND "api"."items"."b" = $2' +
      ' ORDER BY "api"."items"."a" DESC NULLS LAST, "api"."items"."b" LIMIT 10 OFFSET $3',
    ['1', '2', '5'],
  ],
  [
    'offset without limit',
    readPlan('items', { range: { offset: 5, limit: null } }),
    'SELECT "api"."items".* FROM "api"."items" OFFSET $1',
    ['5'],
  ],
  [
    'limit zero',
    readPlan('items', { range: { offset: 0, limit: 0 } }),
    'SELECT "api"."items".* FROM "api"."items" LIMIT 0',
    [],
  ],
  [
    'a limit that Postgres refuses',
    readPlan('items', { range: { offset: 0, limit: -1 } }),
    'SELECT "api"."items".* FROM "api"."items" LIMIT $1',
    ['-1'],
  ],
  [
    'a limit beyond the integers of JavaScript',
    readPlan('items', { range: { offset: 0, limit: 2n ** 63n } }),
    'SELECT "api"."items".* FROM "api"."items" LIMIT $1',
    ['9223372036854775808'],
  ],
  [
    'aggregates group by everything else',
    readPlan('items', {
      select: [
        selected('a'),
        selected('b', { alias: 'x' }),
        selected('c', { aggregate: 'sum', aggregateCast: 'float8', cast: 'int', alias: 'total' }),
        selected('*', { aggregate: 'count' }),
      ],
    }),
    'SELECT "api"."items"."a", "api"."items"."b" AS "x", CAST( SUM(CAST( "api"."items"."c" AS int )) AS float8 ) AS "total",' +
      ' COUNT("api"."items".*) FROM "api"."items" GROUP BY "api"."items"."a", "x"',
  ],
  [
    'only aggregates: no GROUP BY',
    readPlan('items', { select: [selected('*', { aggregate: 'count' })] }),
    'SELECT COUNT("api"."items".*) FROM "api"."items"',
  ],
  [
    'to-one embed',
    readPlan('projects', {
      select: [selected('name')],
      relationSelect: [one('clients', 'projects_clients_1')],
      embeds: [client()],
    }),
    'SELECT "api"."projects"."name", row_to_json("projects_clients_1".*)::jsonb AS "clients" FROM "api"."projects"' +
      ` LEFT JOIN LATERAL ( ${clientRows} ) AS "projects_clients_1" ON TRUE`,
  ],
  [
    'ordered by a column of a to-one embed',
    readPlan('projects', {
      order: [
        {
          kind: 'relation',
          relation: 'projects_clients_1',
          field: { name: 'data', jsonPath: [{ arrow: '->>', operand: { kind: 'key', text: 'k' } }] },
          direction: 'asc',
          nulls: 'nullsfirst',
        },
      ],
      relationSelect: [one('clients', 'projects_clients_1')],
      embeds: [client()],
    }),
    'SELECT "api"."projects".*, row_to_json("projects_clients_1".*)::jsonb AS "clients" FROM "api"."projects"' +
      ` LEFT JOIN LATERAL ( ${clientRows} ) AS "projects_clients_1" ON TRUE` +
      ' ORDER BY "projects_clients_1"."data"->>$1 ASC NULLS FIRST',
    ['k'],
  ],
  [
    'empty embed, inner: joined, not shown',
    readPlan('projects', {
      relationSelect: [one('clients', 'projects_clients_1', true)],
      embeds: [client({ joinType: 'inner' })],
    }),
    'SELECT "api"."projects".* FROM "api"."projects"' +
      ` INNER JOIN LATERAL ( ${clientRows} ) AS "projects_clients_1" ON TRUE`,
  ],
  [
    'to-many embed',
    readPlan('clients', { relationSelect: [many('projects', 'clients_projects_1')], embeds: [projects()] }),
    'SELECT "api"."clients".*, COALESCE( "clients_projects_1"."clients_projects_1", \'[]\') AS "projects" FROM "api"."clients"' +
      ' LEFT JOIN LATERAL ( SELECT json_agg("clients_projects_1")::jsonb AS "clients_projects_1"' +
      ` FROM (${projectRows} ) AS "clients_projects_1" ) AS "clients_projects_1" ON TRUE`,
  ],
  [
    'to-many embed, inner',
    readPlan('clients', {
      relationSelect: [many('projects', 'clients_projects_1')],
      embeds: [projects({ joinType: 'inner', where: [where('name', equals('x'))] })],
    }),
    'SELECT "api"."clients".*, COALESCE( "clients_projects_1"."clients_projects_1", \'[]\') AS "projects" FROM "api"."clients"' +
      ' INNER JOIN LATERAL ( SELECT json_agg("clients_projects_1")::jsonb AS "clients_projects_1"' +
      ' FROM (SELECT "projects_1".* FROM "api"."projects" AS "projects_1" WHERE "projects_1"."name" = $1' +
      ' AND "projects_1"."client_id" = "api"."clients"."id" ) AS "clients_projects_1" )' +
      ' AS "clients_projects_1" ON "clients_projects_1" IS NOT NULL',
    ['x'],
  ],
  [
    'many-to-many embed through a junction',
    readPlan('users', {
      relationSelect: [many('tasks', 'users_tasks_1')],
      embeds: [
        readPlan('tasks', {
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
    'SELECT "api"."users".*, COALESCE( "users_tasks_1"."users_tasks_1", \'[]\') AS "tasks" FROM "api"."users"' +
      ' LEFT JOIN LATERAL ( SELECT json_agg("users_tasks_1")::jsonb AS "users_tasks_1" FROM (SELECT "api"."tasks".*' +
      ' FROM "api"."tasks", "api"."users_tasks" WHERE "api"."tasks"."id" = "api"."users_tasks"."task_id"' +
      ' AND "api"."users"."id" = "api"."users_tasks"."user_id" ) AS "users_tasks_1" ) AS "users_tasks_1" ON TRUE',
  ],
  [
    'inner embed with a condition on its shard, its rows kept apart',
    readPlan('projects', {
      relationSelect: [one('clients', 'projects_clients_1')],
      embeds: [
        client({
          joinType: 'inner',
          isFenced: true,
          shardFilters: [
            {
              relation: { schema: '', name: 'clients_1' },
              filter: { kind: 'field', field: field('id'), negated: false, operation: equals('1') },
            },
          ],
        }),
      ],
    }),
    'SELECT "api"."projects".*, row_to_json("projects_clients_1".*)::jsonb AS "clients" FROM "api"."projects"' +
      ` INNER JOIN LATERAL ( ${clientRows} AND "clients_1"."id" = $1 OFFSET 0 ) AS "projects_clients_1" ON TRUE`,
    ['1'],
  ],
  [
    'computed relationship',
    readPlan('projects', {
      relationSelect: [one('computed_client', 'projects_computed_client_1')],
      embeds: [
        readPlan('clients', {
          fromAlias: 'clients_1',
          aggregateAlias: 'projects_computed_client_1',
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
    'SELECT "api"."projects".*, row_to_json("projects_computed_client_1".*)::jsonb AS "computed_client" FROM "api"."projects"' +
      ' LEFT JOIN LATERAL ( SELECT "clients_1".* FROM "api"."computed_client"("projects"::"api"."projects") AS "clients_1" )' +
      ' AS "projects_computed_client_1" ON TRUE',
  ],
  [
    'to-one spread with an aggregate',
    readPlan('projects', {
      select: [selected('id')],
      relationSelect: [
        {
          kind: 'spread',
          aggregateAlias: 'projects_clients_1',
          fields: [
            spread('name'),
            spread('age', { alias: 'years' }),
            spread('id', { aggregate: 'max', aggregateCast: 'text', alias: 'last' }),
          ],
        },
      ],
      embeds: [client({ spread: { kind: 'to-one' } })],
    }),
    'SELECT "api"."projects"."id", "projects_clients_1"."name", "projects_clients_1"."age" AS "years",' +
      ' CAST( MAX("projects_clients_1"."id") AS text ) AS "last" FROM "api"."projects"' +
      ` LEFT JOIN LATERAL ( ${clientRows} ) AS "projects_clients_1" ON TRUE` +
      ' GROUP BY "api"."projects"."id", "projects_clients_1"."name", "projects_clients_1"."years"',
  ],
  [
    'to-many spread, ordered',
    readPlan('clients', {
      select: [selected('id')],
      relationSelect: [
        {
          kind: 'spread',
          aggregateAlias: 'clients_projects_1',
          fields: [spread('name'), spread('id', { alias: 'ids' })],
        },
      ],
      embeds: [
        projects({
          select: [selected('name'), selected('id')],
          spread: {
            kind: 'to-many',
            extraSelect: [
              { relation: null, field: selected('name', { alias: 'clients_projects_1_name_1' }) },
              { relation: 'other', field: selected('x', { alias: 'clients_projects_1_x_2' }) },
            ],
            order: [
              { kind: 'field', field: field('clients_projects_1_name_1'), direction: 'desc', nulls: null },
              { kind: 'field', field: field('clients_projects_1_x_2'), direction: null, nulls: null },
            ],
          },
        }),
      ],
    }),
    'SELECT "api"."clients"."id", "clients_projects_1"."name", "clients_projects_1"."id" AS "ids" FROM "api"."clients"' +
      ' LEFT JOIN LATERAL ( SELECT json_agg("clients_projects_1")::jsonb AS "clients_projects_1",' +
      ' COALESCE(json_agg("clients_projects_1"."name" ORDER BY "clients_projects_1"."clients_projects_1_name_1" DESC,' +
      ' "clients_projects_1"."clients_projects_1_x_2"),\'[]\')::jsonb AS "name",' +
      ' COALESCE(json_agg("clients_projects_1"."id" ORDER BY "clients_projects_1"."clients_projects_1_name_1" DESC,' +
      ' "clients_projects_1"."clients_projects_1_x_2"),\'[]\')::jsonb AS "ids"' +
      ' FROM (SELECT "projects_1"."name", "projects_1"."id", "projects_1"."name" AS "clients_projects_1_name_1",' +
      ' "other"."x" AS "clients_projects_1_x_2" FROM "api"."projects" AS "projects_1"' +
      ' WHERE "projects_1"."client_id" = "api"."clients"."id" ) AS "clients_projects_1" ) AS "clients_projects_1" ON TRUE',
  ],
  [
    'the whole row counted in a spread',
    client({ select: [selected('*', { field: field('*', { fullRow: true }), alias: 'count' })] }),
    'SELECT "clients_1" AS "count" FROM "api"."clients" AS "clients_1" WHERE "clients_1"."id" = "api"."projects"."client_id"',
  ],
]

for (const [title, plan, text, values = []] of rows) {
  t.test(title, async (t) => {
    t.strictSame(render(readStatement(plan)), { text, values })
  })
}

t.test('an inconsistent plan is an internal error', async (t) => {
  t.throws(() => readStatement(readPlan('clients', { relationSelect: [many('projects', 'missing')] })), /missing/)
})

const clientExists =
  'EXISTS (SELECT 1 FROM "api"."clients" AS "clients_1" WHERE "clients_1"."id" = "api"."projects"."client_id"'

const counts: readonly Row[] = [
  [
    'the range and the select list do not matter',
    readPlan('items', { range: { offset: 1, limit: 2 }, where: [where('a', equals('1'))] }),
    'SELECT 1 FROM "api"."items" WHERE "api"."items"."a" = $1',
    ['1'],
  ],
  ['everything', readPlan('items'), 'SELECT 1 FROM "api"."items"'],
  [
    'inner embeds decide',
    readPlan('projects', { embeds: [client({ joinType: 'inner' }), client({ joinType: 'left' })] }),
    `SELECT 1 FROM "api"."projects" WHERE ${clientExists})`,
  ],
  [
    'null filters on embeds decide, also within logic',
    readPlan('projects', {
      embeds: [client()],
      where: [
        {
          kind: 'logic',
          negated: true,
          operator: 'or',
          operands: [
            { kind: 'filter', filter: { kind: 'null-embed', negated: false, aggregateAlias: 'projects_clients_1' } },
            { kind: 'filter', filter: { kind: 'null-embed', negated: true, aggregateAlias: 'projects_clients_1' } },
            where('id', equals('1')),
          ],
        },
      ],
    }),
    `SELECT 1 FROM "api"."projects", LATERAL (SELECT ${clientExists}) AS pgrst_exists) AS "projects_clients_1" ` +
      'WHERE NOT (NOT "projects_clients_1"."pgrst_exists" OR "projects_clients_1"."pgrst_exists" OR "api"."projects"."id" = $1)',
    ['1'],
  ],
]

for (const [title, plan, text, values = []] of counts) {
  t.test(`count: ${title}`, async (t) => {
    t.strictSame(render(countStatement(plan)), { text, values })
  })
}
