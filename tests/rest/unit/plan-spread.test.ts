import t from 'tap'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import type { SelectItem } from '../../../server/rest/request/select.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import { aggregated, at, embed, item, orderBy, read, settings, spread } from '../../support/hand-built-request.ts'
import { computed, foreignKey, schemaCache, table } from '../../support/small-schema-cache.ts'

const cache = schemaCache({
  tables: [
    table('tasks', 'id integer, name text, data jsonb, hours integer, project_id integer', 'id'),
    table('projects', 'id integer, name text, budget integer, client_id integer', 'id'),
    table('clients', 'id integer, name text, city text', 'id'),
  ],
  relationships: [
    foreignKey('tasks_fk', 'tasks', 'project_id', 'projects', 'id'),
    foreignKey('projects_fk', 'projects', 'client_id', 'clients', 'id'),
    computed('unlisted', 'clients', 'ghosts', true),
  ],
})

type Given = Omit<NonNullable<Parameters<typeof read>[1]>, 'select'>

function readPlan(relation: string, select: (SelectItem | string)[], given: Given = {}): ReadPlan {
  const plan = planRequest(read(relation, { select, ...given }), cache, settings)
  if (plan.kind !== 'read') throw new Error(`no read plan: ${plan.kind}`)
  return plan.read
}

const spreadField = (name: string, rest = {}) => ({ name, aggregate: null, aggregateCast: null, alias: null, ...rest })
const names = ({ select }: ReadPlan) => select.map(({ field, alias }) => alias ?? field.name)

t.test('spreads of to-one embeds', async (t) => {
  const plan = readPlan('tasks', [
    'id',
    spread('projects', [
      'name',
      item('id', { alias: 'project' }),
      item('*'),
      spread('clients', ['city']),
      embed('tasks', ['id']),
    ]),
  ])
  t.strictSame(plan.embeds[0]?.spread, { kind: 'to-one' })
  t.strictSame(plan.relationSelect, [
    {
      kind: 'spread',
      fields: ['name', 'project', '*', 'city', 'tasks'].map((name) => spreadField(name)),
      aggregateAlias: 'tasks_projects_1',
    },
  ])
  t.strictSame(plan.embeds[0]?.relationSelect, [
    { kind: 'spread', fields: [spreadField('city')], aggregateAlias: 'projects_clients_2' },
    { kind: 'json', name: 'tasks', aggregateAlias: 'projects_tasks_2', mode: 'array', empty: false },
  ])
  t.match(readPlan('clients', [spread('unlisted', ['id'])]).embeds[0]?.spread, { kind: 'to-one' })
})

t.test('spreads of to-many embeds', async (t) => {
  const plan = readPlan('clients', ['id', spread('projects', ['*', spread('tasks', ['*'])])])
  const [projects] = plan.embeds
  t.strictSame(projects?.spread, { kind: 'to-many', extraSelect: [], order: [] })
  t.strictSame(projects && names(projects), ['id', 'name', 'budget', 'client_id'], 'the star is expanded')
  t.strictSame(projects?.embeds.map(names), [['id', 'name', 'data', 'hours', 'project_id']])
  t.match(plan.relationSelect, [{ fields: { length: 9 } }])
})

t.test('stars are expanded if rows are grouped', async (t) => {
  const grouped = readPlan('tasks', [aggregated('count'), embed('projects', ['*', embed('clients', ['*'])])])
  t.strictSame(grouped.embeds.map(names), [['id', 'name', 'budget', 'client_id']])
  t.strictSame(grouped.embeds[0]?.embeds.map(names), [['id', 'name', 'city']])
  const ungrouped = readPlan('tasks', ['*', embed('projects', ['*', embed('clients', ['*', aggregated('count')])])])
  t.strictSame([names(ungrouped), ...ungrouped.embeds.map(names)], [['*'], ['*']])
  const unknown = readPlan('clients', [aggregated('count'), embed('unlisted', ['*'])])
  t.strictSame(unknown.embeds.map(names), [[]], 'unknown columns cannot be expanded')
  const cast = readPlan('clients', [item('*', { cast: 'text' }), aggregated('max', 'id')])
  t.match(cast.select, [{ cast: 'text' }, { cast: 'text' }, { cast: 'text' }, { aggregate: 'max' }])
})

t.test('aggregates move out of to-one spreads', async (t) => {
  const sum = aggregated('sum', 'budget', { aggregateCast: 'text', cast: 'int8', alias: 'total' })
  const plan = readPlan('tasks', ['name', spread('projects', [sum, 'name', aggregated('count')])])
  t.strictSame(plan.relationSelect, [
    {
      kind: 'spread',
      fields: [
        spreadField('total', { aggregate: 'sum', aggregateCast: 'text', alias: 'total' }),
        spreadField('name'),
        spreadField('count', { aggregate: 'count', alias: 'count' }),
      ],
      aggregateAlias: 'tasks_projects_1',
    },
  ])
  const [projects] = plan.embeds
  t.match(projects?.select, [
    { aggregate: null, aggregateCast: null, cast: 'int8', alias: 'total', field: { name: 'budget', fullRow: false } },
    { aggregate: null, alias: null },
    { aggregate: null, alias: 'count', field: { name: '*', fullRow: true } },
  ])
})

t.test('aggregates move up to the nearest relation that is not spread', async (t) => {
  const inner = spread('projects', [spread('clients', [aggregated('max', 'city')])])
  const toRoot = readPlan('tasks', [inner])
  const max = spreadField('max', { aggregate: 'max', alias: 'max' })
  t.strictSame(toRoot.relationSelect, [{ kind: 'spread', fields: [max], aggregateAlias: 'tasks_projects_1' }])
  t.strictSame(toRoot.embeds[0]?.relationSelect, [
    { kind: 'spread', fields: [spreadField('max')], aggregateAlias: 'projects_clients_2' },
  ])
  const toEmbed = readPlan('clients', [embed('projects', [embed('tasks', [inner])])])
  const tasks = toEmbed.embeds[0]?.embeds[0]
  t.strictSame(tasks?.relationSelect, [{ kind: 'spread', fields: [max], aggregateAlias: 'tasks_projects_3' }])
  t.match(toEmbed.embeds[0]?.relationSelect, [{ kind: 'json', name: 'tasks' }])
  const own = readPlan('tasks', [embed('projects', [aggregated('sum', 'budget')])])
  t.match(own.embeds[0]?.select, [{ aggregate: 'sum', alias: null }], 'an embed keeps its aggregates')
})

t.test('aggregates in to-many spreads', async (t) => {
  const expected = {
    code: 'PGRST127',
    status: 400,
    message: 'Feature not implemented',
    details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
    hint: null,
  }
  const rows: [relation: string, item: SelectItem][] = [
    ['clients', spread('projects', [aggregated('count')])],
    ['clients', embed('projects', [spread('tasks', ['id', aggregated('sum', 'hours')])])],
    ['projects', spread('tasks', [spread('projects', [aggregated('count')])])],
  ]
  for (const [relation, item] of rows)
    t.strictSame(
      apiErrorOf(() => readPlan(relation, [item])),
      expected,
    )
})

t.test('the order of a to-many spread orders its arrays', async (t) => {
  const order = [at('tasks', [orderBy('data->a'), orderBy('id'), orderBy('name->b', 'projects')])]
  const plan = readPlan('projects', ['id', spread('tasks', ['id', spread('projects', ['name'])])], { order })
  const [tasks] = plan.embeds
  t.strictSame(tasks?.order, [])
  const aliases = ['projects_tasks_1_data_1', 'projects_tasks_1_id_2', 'projects_tasks_1_name_3']
  const untyped = {
    jsonPath: [],
    toJson: false,
    toTsVector: null,
    type: '',
    baseType: '',
    transform: null,
    default: null,
    fullRow: false,
  }
  t.strictSame(
    tasks?.spread?.kind === 'to-many' && tasks.spread.order,
    aliases.map((name) => ({ kind: 'field', field: { name, ...untyped }, direction: 'desc', nulls: null })),
  )
  const [data, id, name] = aliases
  t.match(tasks?.spread, {
    kind: 'to-many',
    extraSelect: [
      { relation: null, field: { alias: data, field: { name: 'data', jsonPath: { length: 1 } } } },
      { relation: null, field: { alias: id, field: { name: 'id', type: 'integer' } } },
      {
        relation: 'tasks_projects_2',
        field: { alias: name, field: { name: 'name', jsonPath: { length: 1 }, toJson: false } },
      },
    ],
  })
  const toOne = readPlan('tasks', ['id', spread('projects', ['name'])], { order: [at('projects', [orderBy('id')])] })
  t.match(toOne.embeds[0], { spread: { kind: 'to-one' }, order: { length: 1 } })
})
