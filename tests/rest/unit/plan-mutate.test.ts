import t from 'tap'
import type { MutatePlan } from '../../../server/rest/plan/mutate-plan.ts'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { ApiRequest } from '../../../server/rest/request/api-request.ts'
import type { Filter } from '../../../server/rest/request/filter.ts'
import type { AtPath } from '../../../server/rest/request/field.ts'
import type { Preferences } from '../../../server/rest/request/preferences.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import { aggregated, at, embed, eq, filter, mutate, or, settings } from '../../support/hand-built-request.ts'
import { computed, foreignKey, manyToMany, qi, schemaCache, table } from '../../support/small-schema-cache.ts'

const link = { constraint: 'fk', columns: [['code', 'project_id']] } as const

const cache = schemaCache({
  tables: [
    table('projects', 'id integer=1, name text, paint api.color/text, client_id integer', 'id'),
    table('clients', 'id integer, name text', 'id'),
    table('seats', 'line text, number integer, note text', 'line,number'),
    table('notes', 'text text'),
    table('__proto__', 'constructor text'),
  ],
  relationships: [
    foreignKey('projects_client_fk', 'projects', 'client_id', 'clients', 'id'),
    manyToMany('projects', 'tags', 'projects_tags', link, link),
    computed('owner', 'projects', 'people', true),
  ],
  representations: [
    { sourceType: 'json', targetType: 'api.color', function: 'api.from_json' },
    { sourceType: 'text', targetType: 'api.color', function: 'api.from_text' },
  ],
})

function planned(given: ApiRequest): MutatePlan {
  const plan = planRequest(given, cache, settings)
  if (plan.kind !== 'mutate') throw new Error(`no mutation: ${plan.kind}`)
  return plan.mutate
}

const prefer = (preferences: Omit<Preferences, 'invalid'>): { preferences: Preferences } => ({
  preferences: { ...preferences, invalid: [] },
})
const full = prefer({ representation: 'representation' })
const payload = { kind: 'json', text: '[{}]', keys: [] } as const
const column = {
  name: 'id',
  jsonPath: [],
  toJson: false,
  toTsVector: null,
  type: 'integer',
  baseType: 'integer',
  transform: null,
  default: '1',
  fullRow: false,
}

t.test('inserts', async (t) => {
  t.strictSame(planned(mutate('create', 'projects', { columns: ['id', 'paint'], payload })), {
    kind: 'insert',
    into: qi('projects'),
    columns: [
      column,
      { ...column, name: 'paint', type: 'json', baseType: 'text', transform: 'api.from_json', default: null },
    ],
    body: '[{}]',
    onConflict: null,
    where: [],
    returning: [],
    primaryKey: ['id'],
    applyDefaults: false,
  })
  t.match(planned(mutate('create', 'projects', { payload: { kind: 'raw-json', text: 'x' } })), {
    body: 'x',
    columns: [],
  })
  t.match(planned(mutate('create', 'projects')), { body: null })
  t.match(planned(mutate('create', 'projects', prefer({ missing: 'default' }))), { applyDefaults: true })
  t.match(planned(mutate('create', 'projects', prefer({ missing: 'null' }))), { applyDefaults: false })
})

t.test('conflicts', async (t) => {
  type Given = Parameters<typeof mutate>[2]
  const rows: [relation: string, given: Given, onConflict: unknown][] = [
    [
      'seats',
      prefer({ resolution: 'merge-duplicates' }),
      { resolution: 'merge-duplicates', columns: ['line', 'number'] },
    ],
    [
      'seats',
      { ...prefer({ resolution: 'ignore-duplicates' }), onConflict: ['note'] },
      { resolution: 'ignore-duplicates', columns: ['note'] },
    ],
    ['seats', { onConflict: ['note'] }, null],
    ['notes', prefer({ resolution: 'merge-duplicates' }), { resolution: 'merge-duplicates', columns: [] }],
  ]
  for (const [relation, given, onConflict] of rows) {
    t.strictSame((planned(mutate('create', relation, given)) as { onConflict?: unknown }).onConflict, onConflict)
  }
})

t.test('unknown columns are rejected', async (t) => {
  const rows: [relation: string, columns: string[], column: string][] = [
    ['projects', ['id', 'nme', 'zzz'], 'nme'],
    ['projects', ['constructor'], 'constructor'],
    ['projects', ['a\0"b'], 'a\0"b'],
  ]
  for (const mutation of ['create', 'update'] as const) {
    for (const [relation, columns, column] of rows) {
      t.strictSame(
        apiErrorOf(() => planned(mutate(mutation, relation, { columns }))),
        {
          code: 'PGRST204',
          status: 400,
          message: `Could not find the '${column}' column of '${relation}' in the schema cache`,
          details: null,
          hint: null,
        },
      )
    }
  }
  t.match(planned(mutate('create', '__proto__', { columns: ['constructor'] })), { columns: [{ name: 'constructor' }] })
})

t.test('updates and deletes have conditions', async (t) => {
  const given = {
    filters: [at('', filter('paint')), at('', filter('id->a')), at('clients', filter('name'))],
    logic: [at('', or(filter('name'))), at('clients', or(filter('id')))],
    select: ['id', embed('clients', ['id'])],
    columns: ['name'],
    payload,
  }
  const where = [
    { kind: 'filter', filter: { kind: 'field', field: { name: 'paint', type: 'text', transform: 'api.from_text' } } },
    { kind: 'filter', filter: { field: { name: 'id', type: 'integer', toJson: true } } },
    { kind: 'logic', operands: [{ filter: { field: { name: 'name' } } }] },
    // Only the filters on embeds are omitted.
    { kind: 'logic', operands: [{ filter: { field: { name: 'id' } } }] },
  ]
  const update = planned(mutate('update', 'projects', { ...given, ...prefer({ missing: 'default' }) }))
  t.match(update, {
    kind: 'update',
    into: qi('projects'),
    columns: [{ name: 'name' }],
    body: '[{}]',
    applyDefaults: true,
    where,
  })
  t.equal(update.where.length, where.length)
  const removal = planned(mutate('delete', 'projects', given))
  t.strictSame(removal, { kind: 'delete', into: qi('projects'), where: update.where, returning: [] })
})

t.test('PUT', async (t) => {
  const line = at('', filter('line'))
  const number = at('', filter('number', eq('2')))
  const bySeat = [line, number]
  const plan = planned(
    mutate('single-upsert', 'seats', { ...full, filters: bySeat, columns: ['line', 'note'], payload }),
  )
  t.match(plan, {
    kind: 'insert',
    columns: [{ name: 'line' }, { name: 'note' }],
    onConflict: { resolution: 'merge-duplicates', columns: ['line', 'number'] },
    where: [{ filter: { field: { name: 'line' } } }, { filter: { field: { name: 'number' } } }],
    returning: ['*'],
    applyDefaults: false,
  })
  t.strictSame(plan.kind === 'insert' && plan.primaryKey, [])

  const refused = {
    code: 'PGRST105',
    status: 405,
    message: "Filters must include all and only primary key columns with 'eq' operators",
    details: null,
    hint: null,
  }
  const rows: [name: string, relation: string, filters: AtPath<Filter>[], logic?: boolean][] = [
    ['no filters', 'seats', []],
    ['a part of the key', 'seats', [line]],
    ['more than the key', 'seats', [line, number, at('', filter('note'))]],
    ['a filter of an embed', 'projects', [at('', filter('id')), at('clients', filter('id'))]],
    ['a negated filter', 'seats', [line, at('', filter('number', eq('2'), true))]],
    ['another operator', 'seats', [line, at('', filter('number', { kind: 'in', values: ['1'] }))]],
    [
      'a greater-than',
      'seats',
      [line, at('', filter('number', { kind: 'quantifiable', operator: 'gt', quantifier: null, value: '1' }))],
    ],
    [
      'a quantifier',
      'seats',
      [line, at('', filter('number', { kind: 'quantifiable', operator: 'eq', quantifier: 'any', value: '{1}' }))],
    ],
    ['logic', 'seats', [line, number], true],
    ['no primary key', 'notes', []],
  ]
  for (const [name, relation, filters, logic] of rows) {
    const select = relation === 'projects' ? [embed('clients', ['id'])] : ['*']
    const given = { filters, logic: logic ? [at('', or(filter('note')))] : [], select }
    t.strictSame(
      apiErrorOf(() => planned(mutate('single-upsert', relation, given))),
      refused,
      name,
    )
  }
  const unknown = mutate('single-upsert', 'seats', { filters: bySeat, columns: ['nothing'] })
  t.match(
    apiErrorOf(() => planned(unknown)),
    { code: 'PGRST204' },
  )
  t.match(
    apiErrorOf(() => planned(mutate('single-upsert', 'seats', { columns: ['nothing'] }))),
    { code: 'PGRST105' },
  )
})

t.test('returned columns', async (t) => {
  type Given = Parameters<typeof mutate>[2]
  const rows: [given: Given, returning: string[]][] = [
    [{}, []],
    [prefer({ representation: 'minimal' }), []],
    [full, ['*']],
    [prefer({ representation: 'headers-only' }), ['*']],
    [{ ...full, select: ['name', 'client_id', 'name'] }, ['client_id', 'id', 'name']],
    [{ ...full, select: ['name', embed('clients', ['id'])] }, ['client_id', 'id', 'name']],
    [{ ...full, select: [embed('tags', ['id'])] }, ['code', 'id']],
    [{ ...full, select: ['\u{1f600}', '\uff5e'] }, ['id', '\uff5e', '\u{1f600}']],
    [{ ...full, select: ['name', embed('owner', ['id'])] }, ['*']],
    [{ ...full, select: ['name', '*'] }, ['*']],
    [{ ...full, select: [aggregated('count')] }, ['*']],
    [{ ...full, select: [] }, ['id']],
  ]
  for (const [given, returning] of rows) {
    for (const mutation of ['create', 'update', 'delete'] as const) {
      t.strictSame(planned(mutate(mutation, 'projects', given)).returning, returning)
    }
  }
})

t.test('of several errors, the first is reported', async (t) => {
  const invalid = { preferences: { handling: 'strict', invalid: ['a'] } } as const
  const accept = [{ kind: 'xml' }] as const
  const select = [embed('nothing', [])]
  const columns = ['nothing']
  type Given = Parameters<typeof mutate>[2]
  const rows: [given: Given, code: string][] = [
    [{ ...invalid, accept, select, columns }, 'PGRST200'],
    [{ ...invalid, accept, columns }, 'PGRST204'],
    [{ ...invalid, accept }, 'PGRST122'],
    [{ accept }, 'PGRST107'],
  ]
  for (const [given, code] of rows)
    t.match(
      apiErrorOf(() => planned(mutate('create', 'projects', given))),
      { code },
    )
})
