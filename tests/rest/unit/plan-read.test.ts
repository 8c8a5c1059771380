import t from 'tap'
import type { PlannedField } from '../../../server/rest/plan/field.ts'
import type { PlanSettings } from '../../../server/rest/plan/plan-context.ts'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ReadPlan } from '../../../server/rest/plan/read-plan.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import type { Operation } from '../../../server/rest/request/filter.ts'
import type { RowRange } from '../../../server/rest/request/range.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import {
  aggregated,
  at,
  call,
  embed,
  eq,
  field,
  filter,
  item,
  mutate,
  or,
  orderBy,
  read,
  request,
  settings,
  spread,
} from '../../support/hand-built-request.ts'
import { foreignKey, qi, routine, schemaCache, table } from '../../support/small-schema-cache.ts'

const cache = schemaCache({
  tables: [
    table('projects', 'id integer=1, name text, data jsonb, tags text[], words tsvector, client_id integer', 'id'),
    table('clients', 'id integer, name text, data text', 'id'),
    table('paints', 'id integer, color api.color/integer, label text', 'id'),
    table('__proto__', 'constructor text'),
  ],
  relationships: [foreignKey('projects_client_id_fkey', 'projects', 'client_id', 'clients', 'id')],
  routines: [routine('find', '', 'setof projects!')],
  representations: [
    { sourceType: 'api.color', targetType: 'json', function: 'api.json' },
    { sourceType: 'text', targetType: 'api.color', function: 'api.color' },
    { sourceType: 'json', targetType: 'api.color', function: 'api.color' },
  ],
})

function readPlan(given: ApiRequest, changed: Partial<PlanSettings> = {}): ReadPlan {
  const plan = planRequest(given, cache, { ...settings, ...changed })
  if (!('read' in plan)) throw new Error(`no read plan: ${plan.kind}`)
  return plan.read
}

const plain: PlannedField = {
  name: 'id',
  jsonPath: [],
  toJson: true,
  toTsVector: null,
  type: 'integer',
  baseType: 'integer',
  transform: null,
  default: '1',
  fullRow: false,
}
const untyped = { ...plain, type: '', baseType: '', default: null }

t.test('a plain read', async (t) => {
  t.strictSame(
    planRequest(read('projects', { select: ['id', '*'], filters: [at('', filter('id'))] }), cache, settings),
    {
      kind: 'read',
      read: {
        select: [
          { field: plain, aggregate: null, aggregateCast: null, cast: null, alias: null },
          { field: { ...untyped, name: '*' }, aggregate: null, aggregateCast: null, cast: null, alias: null },
        ],
        from: qi('projects'),
        fromAlias: null,
        where: [{ kind: 'filter', filter: { kind: 'field', field: plain, negated: false, operation: eq('1') } }],
        order: [],
        range: { offset: 0, limit: null },
        relationName: 'projects',
        alias: null,
        aggregateAlias: '',
        joinType: null,
        toParent: null,
        computedArgument: null,
        joinConditions: [],
        spread: null,
        relationSelect: [],
        addressedByLegacyName: false,
        embeds: [],
      },
      readOnly: true,
      headersOnly: false,
      relation: qi('projects'),
      handler: { kind: 'json' },
      mediaType: { kind: 'json' },
      explain: false,
    },
  )
})

t.test('unknown tables are rejected', async (t) => {
  const rows: [relation: string, hint: string | null][] = [
    ['project', "Perhaps you meant the table 'api.projects'"],
    ['constructor', null],
    ['nowhere.projects', null],
  ]
  for (const [relation, hint] of rows) {
    const { schema, name } = qi(relation)
    const message = `Could not find the table '${schema}.${name}' in the schema cache`
    const expected = { code: 'PGRST205', status: 404, message, details: null, hint }
    t.strictSame(
      apiErrorOf(() => planRequest(read(relation), cache, settings)),
      expected,
    )
    t.strictSame(
      apiErrorOf(() => planRequest(mutate('delete', relation), cache, settings)),
      expected,
    )
  }
  t.equal(readPlan(read('__proto__', { select: ['constructor'] })).select[0]?.field.type, 'text')
})

t.test('fields of filters', async (t) => {
  const fts = (language: string | null): Operation => ({ kind: 'fts', operator: 'wfts', language, value: 'a' })
  const rows: [name: string, operation: Operation, field: PlannedField][] = [
    ['missing', eq('1'), { ...untyped, name: 'missing' }],
    ['name->a', eq('1'), { ...untyped, ...field('name->a'), type: 'text', baseType: 'text' }],
    ['data->a->>0', eq('1'), { ...untyped, ...field('data->a->>0'), toJson: false, type: 'jsonb', baseType: 'jsonb' }],
    ['name', fts(null), { ...untyped, name: 'name', type: 'text', baseType: 'text', toTsVector: { language: null } }],
    [
      'data',
      fts('english'),
      {
        ...untyped,
        name: 'data',
        toJson: false,
        type: 'jsonb',
        baseType: 'jsonb',
        toTsVector: { language: 'english' },
      },
    ],
    ['words', fts('english'), { ...untyped, name: 'words', type: 'tsvector', baseType: 'tsvector' }],
    ['missing', fts('english'), { ...untyped, name: 'missing' }],
  ]
  for (const [name, operation, expected] of rows) {
    const { where } = readPlan(read('projects', { filters: [at('', filter(name, operation, true))] }))
    t.strictSame(
      where,
      [{ kind: 'filter', filter: { kind: 'field', field: expected, negated: true, operation } }],
      name,
    )
  }
})

t.test('fields with domain representations', async (t) => {
  const color = { ...untyped, name: 'color', baseType: 'integer' }
  const plan = readPlan(
    read('paints', { select: ['color'], filters: [at('', filter('color'))], order: [at('', [orderBy('color')])] }),
  )
  t.strictSame(plan.select[0]?.field, { ...color, type: 'api.color', transform: 'api.json' })
  t.equal(plan.select[0]?.alias, 'color')
  t.strictSame(plan.where[0], {
    kind: 'filter',
    filter: {
      kind: 'field',
      field: { ...color, type: 'text', transform: 'api.color' },
      negated: false,
      operation: eq('1'),
    },
  })
  t.strictSame(plan.order[0]?.field, { ...color, type: 'api.color' }, 'orders use the values themselves')
})

t.test('a star is expanded if a column has a representation', async (t) => {
  const rows: [relation: string, select: Parameters<typeof item>[0][], names: string[]][] = [
    ['paints', ['*'], ['id', 'color', 'label']],
    ['paints', ['label', '*'], ['label', 'id', 'color', 'label']],
    ['projects', ['*'], ['*']],
  ]
  for (const [relation, select, names] of rows) {
    const plan = readPlan(read(relation, { select }))
    t.strictSame(
      plan.select.map(({ field }) => field.name),
      names,
    )
  }
  const [id, color] = readPlan(read('paints')).select
  t.match(id, { alias: null, field: { transform: null } })
  t.match(color, { alias: 'color', field: { transform: 'api.json', type: 'api.color', toJson: false } })
  t.strictSame(
    readPlan(read('paints', { select: [aggregated('count')] })).select.map(({ field }) => field.name),
    ['*'],
  )
  t.strictSame(
    readPlan(read('paints', { select: ['*', aggregated('count')] })).select.map(({ field }) => field.name),
    ['id', 'color', 'label', '*'],
  )
})

t.test('default aliases', async (t) => {
  const rows: [selected: ReturnType<typeof item>, alias: string | null][] = [
    [item('name'), null],
    [item('name', { alias: 'title' }), 'title'],
    [item('data->a'), 'a'],
    [item('data->a->>0'), 'a'],
    [item('data->1->a->>2->3'), 'a'],
    [item('data->0'), 'data'],
    [item('data->a', { alias: 'b' }), 'b'],
    [aggregated('sum', 'id'), null],
    [aggregated('sum', 'data->a'), null],
    [aggregated('sum', 'id', { alias: 'total' }), 'total'],
  ]
  for (const [selected, alias] of rows) {
    t.equal(readPlan(read('projects', { select: [selected] })).select[0]?.alias, alias, JSON.stringify(selected.field))
  }
})

t.test('conditions: logic first, each kind in the order of the query', async (t) => {
  const given = {
    filters: [at('', filter('id')), at('', filter('name'))],
    logic: [at('', or(filter('a'), or(filter('b'), filter('data->c')))), at('', or(filter('d')))],
  }
  const names = (plan: ReadPlan) =>
    JSON.stringify(plan.where, (key, value: unknown) => (key === 'field' ? (value as PlannedField).name : value))
  const plan = readPlan(read('projects', given))
  t.strictSame(
    [...names(plan).matchAll(/"field":"(\w+)"/g)].map(([, name]) => name),
    ['a', 'b', 'data', 'd', 'id', 'name'],
  )
  t.match(plan.where[0], {
    kind: 'logic',
    negated: false,
    operator: 'or',
    operands: [{ kind: 'filter' }, { kind: 'logic', operands: [{}, { filter: { field: { type: 'jsonb' } } }] }],
  })
  t.strictSame(readPlan(call('get', 'find', given)).where, plan.where, 'also for results of functions')
  t.strictSame(readPlan(mutate('update', 'projects', given)).where, [], 'not for results of mutations')
})

t.test('orders', async (t) => {
  const order = [at('', [orderBy('data->a'), { ...orderBy('missing'), direction: null, nulls: 'nullsfirst' } as const])]
  t.strictSame(readPlan(read('projects', { order })).order, [
    {
      kind: 'field',
      field: { ...untyped, ...field('data->a'), toJson: false, type: 'jsonb', baseType: 'jsonb' },
      direction: 'desc',
      nulls: null,
    },
    { kind: 'field', field: { ...untyped, name: 'missing' }, direction: null, nulls: 'nullsfirst' },
  ])
})

t.test('ranges and db-max-rows', async (t) => {
  const rows: [range: RowRange | undefined, dbMaxRows: number | null, planned: RowRange][] = [
    [undefined, null, { offset: 0, limit: null }],
    [undefined, 10, { offset: 0, limit: 10 }],
    [{ offset: 5, limit: null }, 10, { offset: 5, limit: 10 }],
    [{ offset: 5, limit: 3 }, 10, { offset: 5, limit: 3 }],
    [{ offset: 5, limit: 30 }, 10, { offset: 5, limit: 10 }],
    [{ offset: 5, limit: 30 }, null, { offset: 5, limit: 30 }],
    [{ offset: 0, limit: 0 }, 10, { offset: 0, limit: 0 }],
  ]
  for (const [range, dbMaxRows, planned] of rows) {
    const ranges = new Map(range ? [['limit', range]] : [])
    t.strictSame(readPlan(read('projects', { ranges }), { dbMaxRows }).range, planned)
    t.strictSame(readPlan(call('post', 'find', { ranges }), { dbMaxRows }).range, planned)
    t.strictSame(readPlan(mutate('delete', 'projects', { ranges }), { dbMaxRows }).range, { offset: 0, limit: null })
  }
})

t.test('aggregates are rejected if disabled', async (t) => {
  const expected = {
    code: 'PGRST123',
    status: 400,
    message: 'Use of aggregate functions is not allowed',
    details: null,
    hint: null,
  }
  const rows = [
    [aggregated('count')],
    ['id', embed('clients', [aggregated('max', 'id')])],
    ['id', spread('clients', [aggregated('max', 'id')])],
  ]
  for (const select of rows) {
    t.strictSame(
      apiErrorOf(() => readPlan(read('projects', { select }), { dbAggregatesEnabled: false })),
      expected,
    )
    t.strictSame(
      apiErrorOf(() => readPlan(read('projects', { select }))),
      undefined,
    )
  }
})

t.test('OPTIONS and the root', async (t) => {
  const info = (action: Parameters<typeof request>[0], given = {}) =>
    planRequest(request(action, given), cache, settings)
  const unknown = qi('nowhere')
  t.strictSame(info({ kind: 'relation-info', relation: unknown }), { kind: 'relation-info', relation: unknown })
  t.strictSame(info({ kind: 'schema-info' }), { kind: 'schema-info' })
  t.match(info({ kind: 'routine-info', routine: qi('find') }), { kind: 'routine-info', routine: { name: 'find' } })
  t.match(
    apiErrorOf(() => info({ kind: 'routine-info', routine: unknown })),
    { code: 'PGRST202' },
  )
  const inspected = { kind: 'inspect', schema: 'api', headersOnly: true, readOnly: true } as const
  for (const kind of ['openapi', 'json', 'any'] as const) {
    t.strictSame(
      info({ kind: 'inspect', schema: 'api', headersOnly: true }, { accept: [{ kind: 'csv' }, { kind }] }),
      inspected,
    )
  }
  t.match(
    apiErrorOf(() => info({ kind: 'inspect', schema: 'api', headersOnly: false }, { accept: [{ kind: 'csv' }] })),
    {
      code: 'PGRST107',
      message: 'None of these media types are available: text/csv',
    },
  )
})
