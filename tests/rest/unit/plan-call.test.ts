import t from 'tap'
import type { CallPlan } from '../../../server/rest/plan/call-plan.ts'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import { planRequest } from '../../../server/rest/plan/planner.ts'
import type { MediaType } from '../../../server/rest/media-type.ts'
import type { ApiRequest, InvokeMethod } from '../../../server/rest/request/api-request.ts'
import type { Volatility } from '../../../server/catalogue/routine.ts'
import { apiErrorOf } from '../../support/api-error.ts'
import { at, call, embed, filter, isNull, or, settings } from '../../support/hand-built-request.ts'
import { computed, foreignKey, manyToMany, qi, routine, schemaCache, table } from '../../support/small-schema-cache.ts'

const link = { constraint: 'fk', columns: [['code', 'project_id']] } as const

const cache = schemaCache({
  tables: [table('projects', 'id integer, name text, client_id integer'), table('clients', 'id integer')],
  relationships: [
    foreignKey('projects_client_fk', 'projects', 'client_id', 'clients', 'id'),
    manyToMany('projects', 'tags', 'projects_tags', link, link),
    computed('owner', 'projects', 'people', true),
  ],
  routines: [
    routine('plus', 'a integer, b integer'),
    routine('plus', 'a integer, b integer, c integer?'),
    routine('plus', 'a integer, d integer?, e integer?'),
    routine('ping', ''),
    routine('options', 'a integer?, b integer?'),
    routine('sum', 'label text, numbers integer[]...'),
    routine('same', 'v integer'),
    routine('same', 'v xml'),
    routine('same', 'v text, n integer?'),
    routine('echo_json', ' json'),
    routine('echo_text', ' text'),
    routine('echo_xml', ' xml'),
    routine('echo_bytes', ' bytea'),
    routine('echo_both', ' json'),
    routine('echo_both', ' jsonb'),
    routine('mixed', ''),
    routine('mixed', ' json'),
    routine('mixed', ' bytea'),
    routine('mixed', 'x integer, y integer'),
    routine('unnamed_number', ' integer'),
    routine('all_projects', '', 'setof projects!'),
    routine('a_project', '', 'projects!'),
    routine('numbers', '', 'setof pg_catalog.int4'),
    routine('hidden', '', 'setof private.projects!'),
    routine('__proto__', 'constructor text'),
  ],
})

type CallOf = Extract<CrudPlan, { kind: 'call' }>

function planned(given: ApiRequest): CallOf {
  const plan = planRequest(given, cache, settings)
  if (plan.kind !== 'call') throw new Error(`no call: ${plan.kind}`)
  return plan
}

/** A call with arguments in the query (GET, HEAD) or in the body (POST). */
function calling(
  method: InvokeMethod,
  name: string,
  names: readonly string[],
  contentType: MediaType = { kind: 'json' },
) {
  const given = method === 'post' ? { columns: names } : { routineArguments: names.map((key) => [key, '1'] as const) }
  return call(method, name, { ...given, contentType })
}

const signature = ({ routine }: CallOf): string =>
  `${routine.name}(${routine.parameters.map(({ name, type }) => (name === '' ? type : name)).join(', ')})`

t.test('the overload that matches the arguments is chosen', async (t) => {
  const rows: [method: InvokeMethod, name: string, names: string[], chosen: string, contentType?: MediaType][] = [
    ['get', 'ping', [], 'ping()'],
    ['post', 'ping', [], 'ping()'],
    ['get', 'plus', ['a', 'b', 'c'], 'plus(a, b, c)'],
    ['get', 'plus', ['c', 'b', 'a'], 'plus(a, b, c)'],
    ['get', 'plus', ['a'], 'plus(a, d, e)'],
    ['post', 'plus', ['a', 'e'], 'plus(a, d, e)'],
    ['get', 'options', [], 'options(a, b)'],
    ['get', 'options', ['b'], 'options(a, b)'],
    ['get', 'sum', ['label', 'numbers', 'numbers'], 'sum(label, numbers)'],
    ['get', '__proto__', ['constructor'], '__proto__(constructor)'],
    ['post', 'echo_json', ['x'], 'echo_json(json)'],
    ['post', 'echo_text', [], 'echo_text(text)', { kind: 'text' }],
    ['post', 'echo_xml', [], 'echo_xml(xml)', { kind: 'xml' }],
    ['post', 'echo_bytes', [], 'echo_bytes(bytea)', { kind: 'octet-stream' }],
    ['post', 'mixed', [], 'mixed()'],
    ['post', 'mixed', ['x', 'y'], 'mixed(x, y)'],
    ['post', 'mixed', ['z'], 'mixed(json)'],
    ['post', 'mixed', [], 'mixed(bytea)', { kind: 'octet-stream' }],
    ['get', 'mixed', [], 'mixed()', { kind: 'octet-stream' }],
    ['head', 'mixed', [], 'mixed()'],
  ]
  for (const [method, name, names, chosen, contentType] of rows) {
    t.equal(signature(planned(calling(method, name, names, contentType))), chosen, `${method} ${name} ${names.join()}`)
  }
})

t.test('unknown functions are rejected', async (t) => {
  type Row = [
    method: InvokeMethod,
    name: string,
    names: string[],
    call: string,
    searched: string,
    hint: string | null,
    contentType?: MediaType,
  ]
  const none = ' without parameters'
  const orBody = ' or with a single unnamed json/jsonb parameter'
  const rows: Row[] = [
    ['get', 'pin', [], 'pin without parameters', `pin${none}`, 'ping'],
    ['get', 'plus', ['b'], 'plus(b)', 'plus with parameter b', 'plus(a, b)'],
    ['get', 'plus', ['x', 'b', 'a'], 'plus(a, b, x)', 'plus with parameters a, b, x', 'plus(a, b, c)'],
    ['post', 'plus', ['b'], 'plus(b)', `plus with parameter b${orBody}`, 'plus(a, b)'],
    ['post', 'nothing_like_it', [], 'nothing_like_it without parameters', `nothing_like_it${none}${orBody}`, null],
    ['post', 'plus', ['b'], 'plus(b)', 'plus with parameter b', 'plus(a, b)', { kind: 'urlencoded' }],
    ['post', 'plus', ['b'], 'plus(b)', 'plus with parameter b', 'plus(a, b)', { kind: 'csv' }],
    ['post', 'ping', [], 'ping', 'ping with a single unnamed text parameter', null, { kind: 'text' }],
    ['post', 'ping', [], 'ping', 'ping with a single unnamed xml parameter', null, { kind: 'xml' }],
    ['post', 'ping', [], 'ping', 'ping with a single unnamed bytea parameter', null, { kind: 'octet-stream' }],
    [
      'post',
      'unnamed_number',
      [],
      'unnamed_number without parameters',
      `unnamed_number${none}${orBody}`,
      'unnamed_number()',
    ],
    ['get', 'ping', ['\u{1f600}', '\uff5e'], 'ping(\uff5e, \u{1f600})', 'ping with parameters \uff5e, \u{1f600}', null],
  ]
  for (const [method, name, names, called, searched, suggestion, contentType] of rows) {
    t.strictSame(
      apiErrorOf(() => planned(calling(method, name, names, contentType))),
      {
        code: 'PGRST202',
        status: 404,
        message: `Could not find the function api.${called} in the schema cache`,
        details: `Searched for the function api.${searched}, but no matches were found in the schema cache.`,
        hint: suggestion === null ? null : `Perhaps you meant to call the function api.${suggestion}`,
      },
    )
  }
})

t.test('ambiguous overloads are rejected', async (t) => {
  const rows: [given: ApiRequest, candidates: string][] = [
    [
      calling('get', 'plus', ['a', 'b']),
      'api.plus(a => integer, b => integer), api.plus(a => integer, b => integer, c => integer)',
    ],
    [calling('get', 'same', ['v']), 'api.same(v => integer), api.same(v => xml), api.same(v => text, n => integer)'],
    [calling('post', 'echo_both', ['x']), 'api.echo_both( => json), api.echo_both( => jsonb)'],
  ]
  for (const [given, candidates] of rows) {
    t.strictSame(
      apiErrorOf(() => planned(given)),
      {
        code: 'PGRST203',
        status: 300,
        message: `Could not choose the best candidate function between: ${candidates}`,
        details: null,
        hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
      },
    )
  }
})

t.test('arguments', async (t) => {
  const pairs = [
    ['label', 'a'],
    ['numbers', '1'],
    ['label', 'b'],
    ['numbers', '2'],
    ['numbers', '3'],
  ] as const
  const direct = (...entries: [string, string | string[]][]) => ({ kind: 'direct', values: new Map(entries) })
  const keys = ['label', 'numbers']
  const form = { payload: { kind: 'form', pairs, keys }, columns: keys, contentType: { kind: 'urlencoded' } } as const
  const bytes = Buffer.from([0, 1])
  const rows: [given: ApiRequest, expected: unknown][] = [
    [call('get', 'sum', { routineArguments: pairs }), direct(['label', 'b'], ['numbers', ['1', '2', '3']])],
    [call('post', 'sum', form), direct(['label', 'b'], ['numbers', ['1', '2', '3']])],
    [
      call('get', 'same', {
        routineArguments: [
          ['v', '1'],
          ['n', '2'],
          ['v', '3'],
        ],
      }),
      direct(['v', '3'], ['n', '2']),
    ],
    [call('head', 'ping'), direct()],
    [call('post', 'ping', { payload: { kind: 'json', text: '{}', keys: [] } }), { kind: 'body', body: '{}' }],
    [call('post', 'ping', { payload: { kind: 'raw-json', text: 'anything' } }), { kind: 'body', body: 'anything' }],
    [
      call('post', 'echo_bytes', { payload: { kind: 'raw', bytes }, contentType: { kind: 'octet-stream' } }),
      { kind: 'body', body: bytes },
    ],
    [call('post', 'ping'), { kind: 'body', body: null }],
  ]
  for (const [given, expected] of rows) t.strictSame(planned(given).call.arguments, expected)
})

t.test('parameters', async (t) => {
  const names = ({ parameters }: CallPlan) =>
    parameters.kind === 'named' ? parameters.parameters.map(({ name }) => name) : parameters.parameter.type
  const rows: [given: ApiRequest, expected: string | string[]][] = [
    [calling('get', 'plus', ['b', 'a', 'c']), ['a', 'b', 'c']],
    [calling('get', 'plus', ['e', 'a']), ['a', 'e']],
    [calling('get', 'options', []), []],
    [calling('post', 'ping', []), []],
    [calling('post', 'echo_json', ['a']), 'json'],
  ]
  for (const [given, expected] of rows) t.strictSame(names(planned(given).call), expected)
})

t.test('returned columns', async (t) => {
  type Given = Parameters<typeof call>[2]
  const rows: [name: string, given: Given, returning: string[], filterFields: string[]][] = [
    ['all_projects', {}, ['*'], []],
    [
      'all_projects',
      { select: ['name', 'id', 'name'], filters: [at('', filter('z')), at('', filter('a->b'))] },
      ['id', 'name'],
      ['a', 'z'],
    ],
    ['all_projects', { select: ['name', embed('clients', ['id'])] }, ['client_id', 'name'], []],
    ['all_projects', { select: ['name', embed('tags', ['id'])] }, ['code', 'name'], []],
    ['all_projects', { select: ['name', embed('owner', ['id'])] }, ['*'], []],
    ['all_projects', { select: [embed('clients', ['id']), '*'] }, ['*'], []],
    ['all_projects', { logic: [at('', or(filter('b'), or(filter('a'), filter('b'))))] }, ['*'], ['a', 'b']],
    // Filters on embeds, and by embeds, do not apply to the function's result.
    [
      'all_projects',
      {
        select: ['id', embed('clients', ['id'])],
        filters: [at('clients', filter('name')), at('', filter('clients', isNull))],
      },
      ['client_id', 'id'],
      [],
    ],
  ]
  for (const [name, given, returning, filterFields] of rows) {
    const { call: plan } = planned(call('get', name, given))
    t.strictSame([plan.returning, plan.filterFields], [returning, filterFields], JSON.stringify(given))
  }
  const kinds = ['ping', 'numbers', 'a_project', 'all_projects'].map((name) => {
    const { returnsScalar, returnsSetOfScalar } = planned(call('get', name)).call
    return [returnsScalar, returnsSetOfScalar]
  })
  t.strictSame(kinds, [
    [true, false],
    [false, true],
    [false, false],
    [false, false],
  ])
})

t.test('the relation of the returned rows', async (t) => {
  const rows: [name: string, relation: string][] = [
    ['all_projects', 'projects'],
    ['a_project', 'projects'],
    ['numbers', 'int4'],
    ['ping', 'ping'],
    // A row type of another schema is looked up among the relations of the function's schema.
    ['hidden', 'projects'],
  ]
  for (const [name, relation] of rows) {
    const plan = planned(call('get', name))
    t.equal(plan.read.fromAlias, name === 'numbers' ? 'numbers' : relation)
    t.strictSame(plan.relation, qi(name), 'the plan concerns the function')
    t.strictSame(plan.call.routine, qi(name))
  }
  const field = planned(call('get', 'all_projects', { filters: [at('', filter('id'))] })).read.where[0]
  t.match(field, { filter: { field: { type: 'integer' } } })
})

t.test('access mode', async (t) => {
  const rows: [volatility: Volatility, method: InvokeMethod, readOnly: boolean][] = [
    ['volatile', 'post', false],
    ['stable', 'post', true],
    ['immutable', 'post', true],
    ['volatile', 'get', true],
    ['volatile', 'head', true],
  ]
  for (const [volatility, method, readOnly] of rows) {
    const routines = schemaCache({ routines: [routine('f', '', 'pg_catalog.int4', volatility)] })
    t.match(
      planRequest(call(method, 'f'), routines, settings),
      { kind: 'call', method, readOnly },
      `${volatility} ${method}`,
    )
  }
})

t.test('preferences that cannot be applied', async (t) => {
  const strict = { handling: 'strict', maxAffected: 1, invalid: [] } as const
  const single = {
    code: 'PGRST128',
    status: 400,
    message: 'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
    details: null,
    hint: null,
  }
  const invalid = {
    code: 'PGRST122',
    status: 400,
    message: 'Invalid preferences given with handling=strict',
    details: 'Invalid preferences: a, b=c',
    hint: null,
  }
  t.strictSame(
    apiErrorOf(() => planned(call('post', 'ping', { preferences: strict }))),
    single,
  )
  t.strictSame(
    apiErrorOf(() => planned(call('get', 'a_project', { preferences: strict }))),
    single,
  )
  t.strictSame(
    apiErrorOf(() => planned(call('post', 'all_projects', { preferences: strict }))),
    undefined,
  )
  t.strictSame(
    apiErrorOf(() => planned(call('post', 'ping', { preferences: { maxAffected: 1, invalid: ['a'] } }))),
    undefined,
  )
  const both = { ...strict, invalid: ['a', 'b=c'] }
  t.strictSame(
    apiErrorOf(() => planned(call('post', 'ping', { preferences: both }))),
    invalid,
  )
  const unacceptable = { preferences: both, accept: [{ kind: 'xml' }] as const }
  t.match(
    apiErrorOf(() => planned(call('post', 'ping', unacceptable))),
    { code: 'PGRST107' },
  )
})
