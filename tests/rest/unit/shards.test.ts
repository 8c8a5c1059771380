// What the plan of a read has in addition where Citus distributes the tables.
import t from 'tap'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import { at, embed, eq, filter, mutate, read, settings } from '../../support/hand-built-request.ts'
import { foreignKey, manyToMany, schemaCache, table } from '../../support/small-schema-cache.ts'

const byTenant = (name: string, columns = 'tenant uuid, id integer, project_id integer', column = 'tenant') => ({
  ...table(name, columns, 'tenant,id'),
  isDistributed: true,
  distributionColumn: column,
})

const isOfProject = { constraint: 'of_project', columns: [['tenant', 'tenant'], ['id', 'project_id']] } as const // prettier-ignore
const isOfTask = { constraint: 'of_task', columns: [['tenant', 'tenant'], ['id', 'task_id']] } as const // prettier-ignore

const cache = {
  ...schemaCache({
    tables: [
      { ...byTenant('tenants', 'id uuid, name text'), distributionColumn: 'id' },
      byTenant('projects'),
      byTenant('tasks'),
      byTenant('links'),
      byTenant('logs', 'tenant text, project_id integer'),
      { ...table('countries', 'code text', 'code'), isDistributed: true },
    ],
    relationships: [
      foreignKey('project_tenant', 'projects', 'tenant', 'tenants', 'id'),
      foreignKey('task_project', 'tasks', 'tenant,project_id', 'projects', 'tenant,id'),
      foreignKey('log_project', 'logs', 'tenant,project_id', 'projects', 'tenant,id'),
      foreignKey('project_country', 'projects', 'country', 'countries', 'code'),
      manyToMany('projects', 'tasks', 'links', isOfProject, isOfTask),
    ],
  }),
  isDistributed: true,
}

/** The added conditions of all embeds, each with its relation. */
function conditionsOf(request: ApiRequest): readonly string[] {
  const plan = planRequest(request, cache, settings)
  if (plan.kind !== 'read' && plan.kind !== 'mutate') throw new Error(plan.kind)
  const list = ({ shardFilters = [], embeds }: ReadPlan): readonly string[] => [
    ...shardFilters.map(({ relation, filter: { field, operation } }) => {
      const value = operation.kind === 'quantifiable' ? operation.value : operation.kind
      return `${relation.name}.${field.name} = ${value}`
    }),
    ...embeds.flatMap(list),
  ]
  return list(plan.read)
}

const ofTenant = [at('', filter('tenant', eq('a')))]
const tasks = embed('tasks', ['id'], { hint: 'task_project' })

t.test('a condition on the tenant applies to embeds that are joined by it', (t) => {
  const rows: readonly (readonly [title: string, request: ApiRequest, conditions: readonly string[]])[] = [
    ['to many', read('projects', { select: [tasks], filters: ofTenant }), ['tasks_1.tenant = a']],
    ['to one', read('tasks', { select: [embed('projects', ['id'], { hint: 'task_project' })], filters: ofTenant }), ['projects_1.tenant = a']],
    [
      'nested, with another name of the column',
      read('tenants', { select: [embed('projects', ['id', tasks])], filters: [at('', filter('id', eq('a')))] }),
      ['projects_1.tenant = a', 'tasks_2.tenant = a'],
    ],
    [
      'through a junction',
      read('projects', { select: [embed('tasks', ['id'], { hint: 'links' })], filters: ofTenant }),
      ['links.tenant = a', 'tasks.tenant = a'],
    ],
    [
      'of an embed',
      read('tenants', { select: [embed('projects', ['id', tasks])], filters: [at('projects', filter('tenant', eq('a')))] }),
      ['tasks_2.tenant = a'],
    ],
    ['of written rows', mutate('update', 'projects', { select: [tasks], filters: ofTenant }), ['tasks_1.tenant = a']],
    ['of created rows, which parameters do not choose', mutate('create', 'projects', { select: [tasks], filters: ofTenant }), []],
    ['another column of written rows', mutate('update', 'tasks', { select: [embed('projects', ['id'], { hint: 'task_project' })], filters: [at('', filter('project_id', eq('1')))] }), []],
    ['a column of another type', read('projects', { select: [embed('logs', ['project_id'])], filters: ofTenant }), []],
    ['a reference table', read('projects', { select: [embed('countries', ['code'])], filters: ofTenant }), []],
    ['another condition', read('projects', { select: [tasks], filters: [at('', filter('tenant', eq('a'), true))] }), []],
    ['none', read('projects', { select: [tasks] }), []],
  ] // prettier-ignore
  for (const [title, request, conditions] of rows) t.strictSame(conditionsOf(request), conditions, title)
  t.end()
})

t.test('rows of inner joins to one row are kept apart, so that they keep the names of their columns', (t) => {
  const fences = (joinType: 'inner' | null, name: string): unknown => {
    const hint = { hint: 'task_project', joinType }
    const parent = name === 'projects' ? 'tasks' : 'projects'
    const plan = planRequest(read(parent, { select: [embed(name, ['id'], hint)] }), cache, settings)
    return plan.kind === 'read' && [plan.read.isFenced, plan.read.embeds[0]?.isFenced]
  }
  t.strictSame(fences('inner', 'projects'), [true, true])
  t.strictSame(fences(null, 'projects'), [true, undefined])
  t.strictSame(fences('inner', 'tasks'), [true, undefined], 'aggregated rows are apart already')
  t.end()
})

t.test('nothing is added without Citus', (t) => {
  const one = planRequest(read('projects', { select: [tasks], filters: ofTenant }), { ...cache, isDistributed: false }, settings) // prettier-ignore
  t.strictSame(one.kind === 'read' && [one.read.isFenced, one.read.embeds[0]?.shardFilters], [undefined, undefined])
  t.end()
})
