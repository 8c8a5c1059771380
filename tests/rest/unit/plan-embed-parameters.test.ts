import t from 'tap'
import type { PlanSettings } from '../../../server/rest/plan/plan-context.ts'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import {
  at,
  embed,
  field,
  filter,
  isNull,
  mutate,
  or,
  orderBy,
  read,
  settings,
} from '../../support/hand-built-request.ts'
import { foreignKey, schemaCache, table } from '../../support/small-schema-cache.ts'

const cache = schemaCache({
  tables: [
    table('projects', 'id integer, name text, data jsonb, client_id integer', 'id'),
    table('clients', 'id integer, name text, data text', 'id'),
  ],
  relationships: [foreignKey('projects_client_id_fkey', 'projects', 'client_id', 'clients', 'id')],
})

function readPlan(given: ApiRequest, changed: Partial<PlanSettings> = {}): ReadPlan {
  const plan = planRequest(given, cache, { ...settings, ...changed })
  if (!('read' in plan)) throw new Error(`no read plan: ${plan.kind}`)
  return plan.read
}

t.test('filters, orders, limits and logic apply to embeds', async (t) => {
  const given = {
    select: ['id', embed('projects', ['id', embed('clients', ['id'])])],
    filters: [at('projects', filter('data->a')), at('projects.clients', filter('name'))],
    order: [at('projects', [orderBy('data->a')])],
    logic: [at('projects', or(filter('id')))],
    ranges: new Map([
      ['projects.limit', { offset: 1, limit: 5 }],
      ['"projects"."clie\\nts".limit', { offset: 2, limit: 6 }],
      ['limit', { offset: 3, limit: 7 }],
    ]),
  }
  const plan = readPlan(read('clients', given), { dbMaxRows: 6 })
  const [projects] = plan.embeds
  t.strictSame(plan.where, [])
  t.strictSame(
    [plan.range, projects?.range, projects?.embeds[0]?.range],
    [
      { offset: 3, limit: 6 },
      { offset: 1, limit: 5 },
      { offset: 2, limit: 6 },
    ],
  )
  t.match(projects?.where, [{ kind: 'logic' }, { kind: 'filter', filter: { field: { type: 'jsonb' } } }])
  t.match(projects?.order, [{ field: { type: 'text', toJson: true } }], 'types in orders are those of the root')
  t.match(projects?.embeds[0]?.where, [{ kind: 'filter', filter: { field: { name: 'name' } } }])

  const written = readPlan(mutate('create', 'clients', given), { dbMaxRows: 2 })
  t.equal(written.embeds[0]?.where.length, 2)
  t.equal(written.embeds[0]?.order.length, 1)
  t.strictSame(written.embeds[0]?.range, { offset: 0, limit: null })
})

t.test('parameters for relations that are not embedded are rejected', async (t) => {
  const notEmbedded = (name: string) => ({
    code: 'PGRST108',
    status: 400,
    message: `'${name}' is not an embedded resource in this request`,
    details: null,
    hint: `Verify that '${name}' is included in the 'select' query parameter.`,
  })
  const select = ['*', embed('clients', ['*'])]
  const rows: [given: Parameters<typeof read>[1], name: string][] = [
    [{ filters: [at('a', filter('id'))] }, 'a'],
    [{ filters: [at('a', filter('id')), at('clients.b', filter('id'))] }, 'b'],
    [{ order: [at('a', [orderBy('id')])] }, 'a'],
    [{ logic: [at('a', or(filter('id')))] }, 'a'],
    [{ ranges: new Map([['a.limit', { offset: 0, limit: 1 }]]) }, 'a'],
    [{ ranges: new Map([['"a.b".limit', { offset: 0, limit: 1 }]]) }, 'a.b'],
    [{ filters: [at('__proto__', filter('id'))] }, '__proto__'],
    [
      {
        logic: [at('a', or())],
        ranges: new Map([['b.limit', { offset: 0, limit: 1 }]]),
        order: [at('c', [])],
        filters: [at('d', filter('id'))],
      },
      'd',
    ],
  ]
  for (const [given, name] of rows) {
    t.strictSame(
      apiErrorOf(() => readPlan(read('projects', { select, ...given }))),
      notEmbedded(name),
    )
  }
  t.strictSame(
    apiErrorOf(() => readPlan(mutate('delete', 'projects', { filters: [at('a', filter('id'))] }))),
    notEmbedded('a'),
  )
  t.strictSame(
    apiErrorOf(() => readPlan(mutate('delete', 'projects', { filters: [at('', filter('a'))] }))),
    undefined,
  )
})

t.test('embeds with an alias can be addressed by alias or name', async (t) => {
  const select = ['id', embed('clients', ['id'], { alias: 'buyer' }), embed('clients', ['id'], { alias: 'payer' })]
  const filters = [at('clients', filter('id')), at('payer', filter('name'))]
  const legacy = readPlan(read('projects', { select, filters }))
  const summary = ({ embeds }: ReadPlan) =>
    embeds.map(({ alias, where, addressedByLegacyName }) => [alias, where.length, addressedByLegacyName])
  // The last filter is placed first, and moves its embed to the front, where the other one finds it.
  t.strictSame(summary(legacy), [
    ['payer', 2, true],
    ['buyer', 0, false],
  ])

  const strict = { urlUseLegacyTargetNames: false }
  t.strictSame(
    apiErrorOf(() => readPlan(read('projects', { select, filters }), strict)),
    {
      code: 'PGRST108',
      status: 400,
      message: "'clients' is not an embedded resource in this request",
      details: 'Target names are not allowed in filters if they have an alias',
      hint: "Change 'clients' to 'payer' in filters, orders or limits.",
    },
  )
  const twice = { select: [embed('clients', ['id']), embed('clients', ['id'], { alias: 'payer' })], filters }
  t.strictSame(summary(readPlan(read('projects', twice), strict)), [
    [null, 1, false],
    ['payer', 1, false],
  ])
})

t.test('rows can be filtered by embeds', async (t) => {
  const byEmbed = (negated: boolean, aggregateAlias: string) => ({
    kind: 'filter',
    filter: { kind: 'null-embed', negated, aggregateAlias },
  })
  const select = ['id', embed('clients', [], { alias: 'buyer' }), embed('clients', ['id'], { alias: 'name' })]
  const plan = readPlan(
    read('projects', {
      select,
      filters: [
        at('', filter('buyer', isNull)),
        at('', filter('name', isNull, true)),
        at('', filter('clients', isNull)),
        at('', filter('buyer->a', isNull)),
        at('', filter('buyer', { kind: 'is', value: 'not_null' })),
        at('', filter('buyer')),
      ],
      logic: [at('', or(filter('id', isNull), or(filter('buyer', isNull, true))))],
    }),
  )
  t.match(plan.where[0], {
    operands: [{ filter: { kind: 'field' } }, { operands: [byEmbed(true, 'projects_buyer_1')] }],
  })
  t.strictSame(plan.where.slice(1, 3), [byEmbed(false, 'projects_buyer_1'), byEmbed(true, 'projects_name_1')])
  t.match(
    plan.where.slice(3),
    Array.from({ length: 4 }, () => ({ filter: { kind: 'field' } })),
  )
  t.match(readPlan(read('projects', { filters: [at('', filter('name', isNull))] })).where, [
    { filter: { kind: 'field' } },
  ])
})

t.test('rows can be ordered by a related column', async (t) => {
  const select = ['id', embed('clients', ['id'], { alias: 'buyer' }), embed('projects', ['id'])]
  const order = (relation: string) => [at('', [orderBy('data->a', relation)])]
  t.strictSame(
    readPlan(read('projects', { select: ['id', embed('clients', ['id'], { alias: 'buyer' })], order: order('buyer') }))
      .order,
    [{ kind: 'relation', relation: 'projects_buyer_1', field: field('data->a'), direction: 'desc', nulls: null }],
  )
  t.match(
    apiErrorOf(() => readPlan(read('projects', { select: select.slice(0, 2), order: order('clients') }))),
    {
      code: 'PGRST108',
      message: "'clients' is not an embedded resource in this request",
      hint: "Verify that 'clients' is included in the 'select' query parameter.",
    },
  )
  const toMany = { select: ['id', embed('projects', ['id'])], order: order('projects') }
  const notToOne = (origin: string) => ({
    code: 'PGRST118',
    status: 400,
    message: "A related order on 'projects' is not possible",
    details: `'${origin}' and 'projects' do not form a many-to-one or one-to-one relationship`,
    hint: null,
  })
  t.strictSame(
    apiErrorOf(() => readPlan(read('clients', toMany))),
    notToOne('clients'),
  )
  t.strictSame(
    apiErrorOf(() => readPlan(mutate('create', 'clients', toMany))),
    notToOne('pgrst_source'),
  )
  const nested = {
    select: [embed('projects', ['id', embed('clients', ['id'])])],
    order: [at('projects', [orderBy('id', 'clients')])],
  }
  t.match(readPlan(read('clients', nested)).embeds[0]?.order, [{ kind: 'relation', relation: 'projects_clients_2' }])
})
