import t from 'tap'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import type { SelectItem } from '../../../server/rest/request/select.ts'
import type { Relationship } from '../../../server/catalogue/relationship.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import { call, embed, mutate, read, settings } from '../../support/hand-built-request.ts'
import {
  computed,
  foreignKey,
  manyToMany,
  oneToOne,
  qi,
  routine,
  schemaCache,
  table,
} from '../../support/small-schema-cache.ts'

const tasksOfUsers = { constraint: 'ut_user', columns: [['id', 'user_id']] } as const
const usersOfTasks = { constraint: 'ut_task', columns: [['id', 'task_id']] } as const

const cache = schemaCache({
  tables: [
    'projects',
    'clients',
    'clients_view',
    'parts',
    'capitals',
    'countries',
    'users',
    'tasks',
    'staff',
    'shifts',
    'days',
    'sites',
    'plans',
    'lonely',
    'people',
  ].map((name) => table(name, 'id integer, name text', 'id')),
  relationships: [
    foreignKey('projects_client_fk', 'projects', 'client_id', 'clients', 'id'),
    foreignKey('projects_client_fk', 'projects', 'client_id', 'clients_view', 'id', { foreignTableIsView: true }),
    foreignKey('tasks_project_fk', 'tasks', 'project_id', 'projects', 'id'),
    oneToOne('country_capital_fk', 'countries', 'capital_id', 'capitals', 'id'),
    manyToMany('users', 'tasks', 'users_tasks', tasksOfUsers, usersOfTasks),
    manyToMany('tasks', 'users', 'users_tasks', usersOfTasks, tasksOfUsers),
    foreignKey('boss_fk', 'staff', 'boss_id', 'staff', 'id'),
    foreignKey('deputy_fk', 'staff', 'deputy_id', 'staff', 'code'),
    foreignKey('whole_fk', 'parts', 'whole_id', 'parts', 'id'),
    foreignKey('day_fk', 'shifts', 'day_unit,day_no', 'days', 'unit,no'),
    foreignKey('main_plan', 'sites', 'plan_id', 'plans', 'id'),
    foreignKey('old_plan', 'sites', 'old_id', 'plans', 'id'),
    manyToMany(
      'sites',
      'plans',
      'jobs',
      {
        constraint: 'job_site',
        columns: [
          ['id', 'site_id'],
          ['no', 'site_no'],
        ],
      },
      { constraint: 'job_plan', columns: [['id', 'plan_id']] },
    ),
    computed('owner', 'projects', 'people', true),
    computed('friends', 'people', 'people'),
    computed('twins', 'people', 'people'),
    computed('twins', 'people', 'people'),
  ],
  routines: [routine('find', '', 'setof projects!'), routine('give', '', 'projects!')],
})

function readPlan(given: ApiRequest): ReadPlan {
  const plan = planRequest(given, cache, settings)
  if (!('read' in plan)) throw new Error(`no read plan: ${plan.kind}`)
  return plan.read
}

const embedded = (relation: string, item: SelectItem): ReadPlan => {
  const [first] = readPlan(read(relation, { select: [item] })).embeds
  if (!first) throw new Error('nothing embedded')
  return first
}

/** Join conditions as text; names of relations are qualified if the plan qualifies them. */
const joins = ({ joinConditions }: ReadPlan): string =>
  joinConditions
    .map(({ left, right }) =>
      [left, right].map(({ relation, column }) => [relation.schema, relation.name, column].filter(Boolean).join('.')),
    )
    .map((sides) => sides.join(' = '))
    .join(' and ')

t.test('join conditions of every kind of relationship', async (t) => {
  const rows: [relation: string, target: string, alias: string | null, joins: string, mode: 'object' | 'array'][] = [
    ['projects', 'clients', 'clients_1', 'clients_1.id = api.projects.client_id', 'object'],
    ['clients', 'projects', 'projects_1', 'projects_1.client_id = api.clients.id', 'array'],
    ['countries', 'capitals', 'capitals_1', 'capitals_1.id = api.countries.capital_id', 'object'],
    ['capitals', 'countries', 'countries_1', 'countries_1.capital_id = api.capitals.id', 'object'],
    [
      'users',
      'tasks',
      null,
      'api.users_tasks.task_id = api.tasks.id and api.users_tasks.user_id = api.users.id',
      'array',
    ],
    ['parts', 'parts', 'parts_1', 'parts_1.whole_id = api.parts.id', 'array'],
    ['parts', 'whole_id', 'parts_1', 'parts_1.id = api.parts.whole_id', 'object'],
    ['shifts', 'days', 'days_1', 'days_1.unit = api.shifts.day_unit and days_1.no = api.shifts.day_no', 'object'],
    ['projects', 'owner', 'people_1', '', 'object'],
    ['people', 'friends', 'people_1', '', 'array'],
  ]
  for (const [relation, target, alias, conditions, mode] of rows) {
    const select = [embed(target, ['id'])]
    const plan = embedded(relation, embed(target, ['id']))
    t.equal(plan.fromAlias, alias)
    t.equal(joins(plan), conditions)
    t.strictSame(plan.computedArgument, plan.toParent?.kind === 'computed' ? qi(relation) : null)
    t.strictSame(plan.from, plan.toParent?.foreignTable)
    t.strictSame(readPlan(read(relation, { select })).relationSelect, [
      { kind: 'json', name: target, aggregateAlias: `${relation}_${target}_1`, mode, empty: false },
    ])
    t.equal(plan.aggregateAlias, `${relation}_${target}_1`)
  }
})

t.test('hints choose the relationship', async (t) => {
  const constraintOf = (relationship: Relationship | null): string | undefined => {
    if (relationship?.kind !== 'foreign-key') return relationship?.function.name
    const { cardinality } = relationship
    return cardinality.kind === 'many-to-many'
      ? cardinality.junction.table.name
      : `${cardinality.kind} ${cardinality.constraint}`
  }
  const rows: [relation: string, target: string, hint: string | null, followed: string][] = [
    ['projects', 'clients', null, 'many-to-one projects_client_fk'],
    ['projects', 'clients', 'projects_client_fk', 'many-to-one projects_client_fk'],
    ['projects', 'clients', 'client_id', 'many-to-one projects_client_fk'],
    ['projects', 'clients', 'id', 'many-to-one projects_client_fk'],
    // Hints by constraint or column find tables only, not the views over them.
    ['projects', 'projects_client_fk', null, 'many-to-one projects_client_fk'],
    ['projects', 'client_id', null, 'many-to-one projects_client_fk'],
    ['projects', 'clients_view', null, 'many-to-one projects_client_fk'],
    ['projects', 'clients_view', 'client_id', 'many-to-one projects_client_fk'],
    ['clients_view', 'projects', null, 'one-to-many projects_client_fk'],
    ['sites', 'plans', 'main_plan', 'many-to-one main_plan'],
    ['sites', 'plans', 'old_id', 'many-to-one old_plan'],
    ['sites', 'plans', 'jobs', 'jobs'],
    ['sites', 'old_plan', null, 'many-to-one old_plan'],
    ['plans', 'sites', 'old_plan', 'one-to-many old_plan'],
    ['staff', 'staff', 'boss_id', 'one-to-many boss_fk'],
    ['staff', 'staff', 'deputy_id', 'one-to-many deputy_fk'],
    ['staff', 'boss_id', null, 'many-to-one boss_fk'],
    ['shifts', 'day_fk', null, 'many-to-one day_fk'],
    ['people', 'friends', 'whatever', 'friends'],
  ]
  for (const [relation, target, hint, followed] of rows) {
    t.equal(
      constraintOf(embedded(relation, embed(target, ['id'], { hint })).toParent),
      followed,
      `${relation} ${target} ${hint}`,
    )
  }
})

t.test('unknown relationships are rejected', async (t) => {
  const rows: [relation: string, target: string, hint: string | null, suggestion: string | null][] = [
    ['projects', 'client', null, "Perhaps you meant 'clients' instead of 'client'."],
    ['projects', 'clients', 'nothing', null],
    ['projects', 'constructor', null, "'projects' is related to 'clients', 'clients_view', 'people', 'tasks'."],
    ['shifts', 'day_unit', null, "Perhaps you meant 'days' instead of 'day_unit'."],
    ['staff', 'staff', 'boss_fk', null],
    ['lonely', 'clients', null, "'clients' is related to 'projects'."],
    ['lonely', 'nothing', null, null],
  ]
  for (const [relation, target, hint, suggestion] of rows) {
    const by = hint === null ? '' : `using the hint '${hint}' `
    t.strictSame(
      apiErrorOf(() => embedded(relation, embed(target, ['id'], { hint }))),
      {
        code: 'PGRST200',
        status: 400,
        message: `Could not find a relationship between '${relation}' and '${target}' in the schema cache`,
        details: `Searched for a foreign key relationship between '${relation}' and '${target}' ${by}in the schema 'api', but no matches were found.`,
        hint: suggestion,
      },
    )
  }
  const nested = embed('projects', ['id', embed('nothing', ['id'])])
  t.match(
    apiErrorOf(() => embedded('clients', nested)),
    { message: /between 'projects' and 'nothing'/ },
  )
  const both = { select: [embed('nowhere', ['id', embed('deeper', [])]), embed('nothing', [])] }
  t.match(
    apiErrorOf(() => readPlan(read('clients', both))),
    { message: /between 'clients' and 'nowhere'/ },
    'the first one is reported',
  )
})

t.test('ambiguous relationships are rejected', async (t) => {
  const toMany = (relationship: string) => ({
    cardinality: 'many-to-many',
    embedding: 'sites with plans',
    relationship,
  })
  const toOne = (relationship: string) => ({ cardinality: 'many-to-one', embedding: 'sites with plans', relationship })
  t.strictSame(
    apiErrorOf(() => embedded('sites', embed('plans', ['id']))),
    {
      code: 'PGRST201',
      status: 300,
      message: "Could not embed because more than one relationship was found for 'sites' and 'plans'",
      details: [
        toOne('main_plan using sites(plan_id) and plans(id)'),
        toOne('old_plan using sites(old_id) and plans(id)'),
        toMany('jobs using job_site(site_id, site_no) and job_plan(plan_id)'),
      ],
      hint: "Try changing 'plans' to one of the following: 'plans!main_plan', 'plans!old_plan', 'plans!jobs'. Find the desired relationship in the 'details' key.",
    },
  )
  t.match(
    apiErrorOf(() => embedded('sites', embed('plans', ['id'], { hint: 'id' }))),
    { code: 'PGRST201', details: { length: 2 } },
  )
  t.match(
    apiErrorOf(() => embedded('plans', embed('sites', ['id']))),
    {
      details: [{ cardinality: 'one-to-many', relationship: 'main_plan using plans(id) and sites(plan_id)' }, {}],
      hint: /'sites!main_plan', 'sites!old_plan'/,
    },
  )
  t.match(
    apiErrorOf(() => embedded('staff', embed('staff', ['id']))),
    { code: 'PGRST201', details: { length: 2 } },
  )
  t.strictSame(apiErrorOf(() => embedded('people', embed('twins', ['id'])))?.details, [{}, {}])
})

t.test('aliases and join types are passed on', async (t) => {
  const plan = embedded('projects', embed('clients', ['id'], { alias: 'a"b', joinType: 'inner', hint: 'client_id' }))
  t.match(plan, {
    alias: 'a"b',
    relationName: 'clients',
    joinType: 'inner',
    aggregateAlias: 'projects_a"b_1',
  })
})

t.test('nested embeds join their parents by alias', async (t) => {
  const item = embed('tasks', ['id', embed('users', ['id', embed('tasks', ['id', embed('projects', ['id'])])])])
  const plan = embedded('projects', item)
  const levels: unknown[] = []
  for (let at: ReadPlan | undefined = plan; at; at = at.embeds[0]) {
    levels.push([at.fromAlias, at.aggregateAlias, joins(at)])
  }
  t.strictSame(levels, [
    ['tasks_1', 'projects_tasks_1', 'tasks_1.project_id = api.projects.id'],
    [null, 'tasks_users_2', 'api.users_tasks.user_id = api.users.id and api.users_tasks.task_id = tasks_1.id'],
    [null, 'users_tasks_3', 'api.users_tasks.task_id = api.tasks.id and api.users_tasks.user_id = api.users.id'],
    ['projects_4', 'tasks_projects_4', 'projects_4.id = api.tasks.project_id'],
  ])
  const people = embedded('projects', embed('owner', ['id', embed('friends', ['id'])]))
  t.strictSame(people.embeds[0]?.computedArgument, { schema: '', name: 'people_1' })
})

t.test('embeds in the results of mutations and functions', async (t) => {
  const select = ['id', embed('clients', ['id']), embed('owner', ['id'])]
  const rows: [given: ApiRequest, name: string][] = [
    [mutate('create', 'projects', { select }), 'create'],
    [mutate('delete', 'projects', { select }), 'delete'],
    [call('get', 'find', { select }), 'setof'],
    [call('post', 'give', { select }), 'single'],
  ]
  for (const [given, name] of rows) {
    const plan = readPlan(given)
    t.match(plan, { from: { schema: '', name: 'pgrst_source' }, fromAlias: 'projects', relationName: 'projects' }, name)
    const source = { schema: '', name: 'projects' }
    t.strictSame(
      plan.embeds.map((item) => item.computedArgument),
      [null, source],
      name,
    )
    t.match(
      plan.embeds[0]?.joinConditions,
      [{ left: { relation: { name: 'clients_1' } }, right: { relation: source } }],
      name,
    )
  }
})

t.test('embeds that select nothing', async (t) => {
  const rows: [item: SelectItem, empty: boolean][] = [
    [embed('clients', []), true],
    [embed('clients', [embed('projects', [])]), true],
    [embed('clients', [embed('projects', []), embed('projects', ['id'])]), false],
    [embed('clients', [embed('projects', [embed('tasks', [embed('users', ['id'])])])]), false],
  ]
  for (const [item, empty] of rows) {
    const { relationSelect } = readPlan(read('projects', { select: ['id', item] }))
    t.match(relationSelect, [{ kind: 'json', name: 'clients', empty }])
  }
})

t.test('a deeply nested tree of embeds is planned', async (t) => {
  let item: SelectItem = embed('staff', ['id'], { hint: 'boss_id' })
  for (let depth = 1; depth < 100; depth++) item = embed('staff', ['id', item], { hint: 'boss_id' })
  let plan: ReadPlan | undefined = readPlan(read('staff', { select: [item] }))
  let depth = -1
  for (; plan; plan = plan.embeds[0]) depth++
  t.equal(depth, 100)
})
