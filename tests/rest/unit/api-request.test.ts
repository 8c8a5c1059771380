// HTTP requests -> ApiRequest, or the first error.
import t from 'tap'
import type { HttpRequest } from '../../../server/rest/request/api-request.ts'
import { parseApiRequest } from '../../../server/rest/request/parse-api-request.ts'
import type { RequestSettings } from '../../../server/rest/request/parse-api-request.ts'
import { parseResource } from '../../../server/rest/request/resource.ts'

const settings: RequestSettings = {
  dbSchemas: ['public'],
  dbTxEnd: 'commit',
  openapiMode: 'follow-privileges',
  dbRootSpec: null,
  urlIgnoreTrailingText: false,
}
function parse(http: Partial<HttpRequest>, overrides: Partial<RequestSettings> = {}) {
  const { request } = parseApiRequest(
    { method: 'GET', path: '/t', query: '', headers: [], body: Buffer.alloc(0), ...http },
    { ...settings, ...overrides },
  )
  const { shape, input, ...forPlanner } = request
  return { ...shape, ...input, ...forPlanner }
}

t.test('a plain read', async (t) => {
  t.strictSame(parse({}), {
    action: { kind: 'read', relation: { schema: 'public', name: 't' }, headersOnly: false },
    method: 'GET',
    path: '/t',
    ranges: new Map([['limit', { offset: 0, limit: null }]]),
    topLevelRange: { offset: 0, limit: null },
    payload: undefined,
    columns: [],
    namedColumns: undefined,
    onConflict: undefined,
    canonicalQuery: '',
    conditions: undefined,
    preferences: { invalid: [] },
    queryParams: {
      canonical: '',
      routineArguments: [],
      ranges: new Map(),
      order: [],
      logic: [],
      columns: undefined,
      select: [
        {
          kind: 'field',
          field: { name: '*', jsonPath: [] },
          aggregate: null,
          aggregateCast: null,
          cast: null,
          alias: null,
        },
      ],
      filters: [],
      filterKeys: new Set(),
      onConflict: undefined,
      key: '',
    },
    headers: [],
    cookies: [],
    schema: 'public',
    negotiatedByProfile: false,
    accept: [{ kind: 'any' }],
    contentType: { kind: 'json' },
  })
})

t.test('actions', async (t) => {
  const relation = { schema: 'public', name: 't' }
  const routine = { schema: 'public', name: 'f' }
  const body = Buffer.from('{}')
  const rows: [string, string, object][] = [
    ['GET', '/t', { kind: 'read', relation, headersOnly: false }],
    ['HEAD', '/t', { kind: 'read', relation, headersOnly: true }],
    ['POST', '/t', { kind: 'mutate', relation, mutation: 'create' }],
    ['PUT', '/t', { kind: 'mutate', relation, mutation: 'single-upsert' }],
    ['PATCH', '/t', { kind: 'mutate', relation, mutation: 'update' }],
    ['DELETE', '/t', { kind: 'mutate', relation, mutation: 'delete' }],
    ['OPTIONS', '/t', { kind: 'relation-info', relation }],
    ['GET', '/rpc/f', { kind: 'call', routine, method: 'get' }],
    ['HEAD', '/rpc/f', { kind: 'call', routine, method: 'head' }],
    ['POST', '/rpc/f', { kind: 'call', routine, method: 'post' }],
    ['OPTIONS', '/rpc/f', { kind: 'routine-info', routine }],
    ['GET', '/', { kind: 'inspect', schema: 'public', headersOnly: false }],
    ['HEAD', '', { kind: 'inspect', schema: 'public', headersOnly: true }],
    ['OPTIONS', '/', { kind: 'schema-info' }],
  ]
  for (const [method, path, action] of rows)
    t.strictSame(parse({ method, path, body }).action, action, `${method} ${path}`)

  const refused: [string, string, { code: string; status?: number; message: string }][] = [
    ['TRACE', '/t', { code: 'PGRST117', status: 405, message: 'Unsupported HTTP method: TRACE' }],
    ['get', '/t', { code: 'PGRST117', message: 'Unsupported HTTP method: get' }],
    ['POST', '/', { code: 'PGRST117', message: 'Unsupported HTTP method: POST' }],
    ['PUT', '/rpc/f', { code: 'PGRST101', status: 405, message: 'Cannot use the PUT method on RPC' }],
    ['DELETE', '/rpc/f', { code: 'PGRST101', message: 'Cannot use the DELETE method on RPC' }],
  ]
  for (const [method, path, error] of refused) t.throws(() => parse({ method, path, body }), error, `${method} ${path}`)
})

t.test('paths', async (t) => {
  const rows: [string, object][] = [
    ['/', { kind: 'root' }],
    ['/my%20table', { kind: 'relation', name: 'my table' }],
    ['/a+b', { kind: 'relation', name: 'a+b' }],
    ['/%C3%A9%2F%3f', { kind: 'relation', name: 'é/?' }],
    ['/\xc3\xa9', { kind: 'relation', name: 'é' }],
    ['/%ff', { kind: 'relation', name: '\ufffd' }],
    ['/%zz%4', { kind: 'relation', name: '%zz%4' }],
    ['/a%00b', { kind: 'relation', name: 'a\0b' }],
    ['/rpc', { kind: 'relation', name: 'rpc' }],
    ['/rpc/', { kind: 'routine', name: '' }],
    ['/r%70c/f', { kind: 'routine', name: 'f' }],
    ['/__proto__', { kind: 'relation', name: '__proto__' }],
  ]
  for (const [path, resource] of rows) t.strictSame(parseResource(path), resource, path)
  for (const path of ['//', '/t/', '/t/1', '/rpc/f/', '/rpc/f/x', '/a/rpc/f'])
    t.throws(() => parseResource(path), { code: 'PGRST125', status: 404 }, path)
})

t.test('the root', async (t) => {
  const dbRootSpec = { schema: 'other', name: 'root' }
  t.strictSame(
    parse({ path: '/', query: 'a=1' }, { dbRootSpec }).action,
    { kind: 'call', routine: { schema: 'public', name: 'root' }, method: 'get' },
    'may be a function',
  )
  t.throws(() => parse({ path: '/' }, { dbRootSpec, openapiMode: 'disabled' }), { code: 'PGRST126', status: 404 })
  t.equal(parse({}, { openapiMode: 'disabled' }).action.kind, 'read')
})

t.test('schemas', async (t) => {
  const dbSchemas = ['v1', 'é']
  const accept = (value: string): [string, string] => ['accept-profile', value]
  const content = (value: string): [string, string] => ['content-profile', value]
  const body = Buffer.from('{}')
  const rows: [string, [string, string][], string, boolean][] = [
    ['GET', [], 'v1', true],
    ['GET', [accept('\xc3\xa9')], 'é', true],
    ['GET', [accept('v1'), accept('x')], 'v1', true],
    ['GET', [content('x')], 'v1', true],
    ['OPTIONS', [accept('\xc3\xa9')], 'é', true],
    ['POST', [accept('x'), content('\xc3\xa9')], 'é', true],
    ['PATCH', [content('v1')], 'v1', true],
    ['PUT', [content('v1')], 'v1', true],
    ['DELETE', [content('v1')], 'v1', true],
  ]
  for (const [method, headers, schema, negotiatedByProfile] of rows) {
    const request = parse({ method, headers, body }, { dbSchemas })
    t.strictSame([request.schema, request.negotiatedByProfile], [schema, negotiatedByProfile], `${method} ${schema}`)
  }
  t.throws(() => parse({ headers: [accept('x')] }, { dbSchemas }), {
    code: 'PGRST106',
    status: 406,
    message: 'Invalid schema: x',
    hint: 'Only the following schemas are exposed: v1, é',
  })
  t.throws(() => parse({ headers: [accept('\xff')] }, { dbSchemas }), { code: 'PGRST106' })
  t.equal(parse({ headers: [accept('public')] }).negotiatedByProfile, true)
})

t.test('headers and cookies', async (t) => {
  const { headers, cookies, accept, contentType } = parse({
    headers: [
      ['x-a', '1'],
      ['accept', 'text/csv'],
      ['accept', 'application/json'],
      ['cookie', 'a=b; c="d"; e; =f; g==h;; i="; \xc3\xa9=%20;'],
      ['x-a', '\xc3\xa9\xff'],
      ['cookie', 'z=1'],
      ['content-type', 'text/csv; charset=utf-8'],
      ['__proto__', 'x'],
    ],
  })
  t.strictSame(headers, [
    ['x-a', '1'],
    ['accept', 'text/csv'],
    ['accept', 'application/json'],
    ['x-a', 'é\ufffd'],
    ['content-type', 'text/csv; charset=utf-8'],
    ['__proto__', 'x'],
  ])
  t.strictSame(cookies, [
    ['a', 'b'],
    ['c', 'd'],
    ['e', ''],
    ['', 'f'],
    ['g', '=h'],
    ['', ''],
    ['i', '"'],
    ['é', '%20'],
  ])
  t.strictSame([accept, contentType], [[{ kind: 'csv' }], { kind: 'csv' }])
})

t.test('preferences', async (t) => {
  const headers: [string, string][] = [['prefer', 'tx=rollback']]
  for (const [dbTxEnd, transaction] of [
    ['commit', undefined],
    ['rollback', undefined],
    ['commit-allow-override', 'rollback'],
    ['rollback-allow-override', 'rollback'],
  ] as const)
    t.equal(parse({ headers }, { dbTxEnd }).preferences.transaction, transaction, dbTxEnd)
})

t.test('ranges', async (t) => {
  const { ranges, topLevelRange, queryParams } = parse({
    query: 'c.limit=3&limit=50&offset=2',
    headers: [['range', '0-9']],
  })
  t.strictSame(Object.fromEntries(ranges), { 'c.limit': { offset: 0, limit: 3 }, limit: { offset: 2, limit: 8 } })
  t.strictSame(topLevelRange, { offset: 2, limit: 8 })
  t.strictSame(queryParams.ranges.get('limit'), { offset: 2, limit: 50 })
})

t.test('of several errors, the first is reported', async (t) => {
  const everything = {
    method: 'TRACE',
    path: '/a/b',
    query: 'a=noop.1&limit=-1',
    headers: [['content-profile', 'x']] as [string, string][],
    body: Buffer.from('nonsense'),
  }
  // Fixing one error after the other reveals the next.
  const mends: [Partial<HttpRequest>, string][] = [
    [{}, 'PGRST125'],
    [
      {
        path: '/t',
        headers: [
          ['accept-profile', 'x'],
          ['content-profile', 'x'],
        ],
      },
      'PGRST106',
    ],
    [{ headers: [] }, 'PGRST117'],
    [{ method: 'PUT' }, 'PGRST100'],
    [{ query: 'limit=-1' }, 'PGRST103'],
    [{ query: 'limit=1' }, 'PGRST114'],
    [{ query: '' }, 'PGRST102'],
  ]
  let http: Partial<HttpRequest> = everything
  for (const [mend, code] of mends) {
    http = { ...http, ...mend }
    t.throws(() => parse(http), { code }, code)
  }
  t.equal(parse({ ...http, body: Buffer.from('{}') }).action.kind, 'mutate')
})
