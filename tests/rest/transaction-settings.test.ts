// The transaction's settings for SQL, and SQL's settings for the response.
// https://docs.postgrest.org/en/stable/references/transactions.html
import t from 'tap'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { bearer } from '../support/token.ts'
import { startWrites } from '../support/writes-service.ts'

const { call, url } = await startWrites(t, {
  PGRST_DB_SCHEMAS: 'garage, depot',
  PGRST_DB_EXTRA_SEARCH_PATH: 'hidden, public',
  PGRST_APP_SETTINGS_COLOUR: 'red',
  PGRST_APP_SETTINGS_WORD: 'é \'"',
})

const rpc = (method: string, rest: string, body?: unknown): Exchange['send'] => [method, `/rpc/${rest}`, body]
const also = { 'Content-Profile': 'garage' }
const one = { status: 200, range: '0-0/*', also } as const

t.test('settings of the request', async (t) => {
  const clerk = await bearer('garage_clerk', { sub: 'carl', list: [1, { a: null }], é: 'ü' })
  const settings = async (names: readonly string[], headers: Record<string, string> = {}, query = '') => {
    const path = `/rest/v1/rpc/settings${query}`
    const { body, status, text } = await call('POST', path, { body: { names }, headers })
    t.equal(status, 200, text)
    return body as Record<string, string | null>
  }
  t.strictSame(
    await settings(
      [
        'request.method',
        'request.path',
        'role',
        'search_path',
        'app.settings.colour',
        'app.settings.word',
        'nothing.there',
      ],
      {},
      '?limit=5',
    ),
    {
      'request.method': 'POST',
      'request.path': '/rpc/settings',
      role: 'garage_anon',
      search_path: '"garage", "hidden", "public"',
      'app.settings.colour': 'red',
      'app.settings.word': 'é \'"',
      'nothing.there': null,
    },
  )
  const depot = await settings(['search_path'], { 'Content-Profile': 'garage' })
  t.strictSame(depot, { search_path: '"garage", "hidden", "public"' })
  const claims = await settings(['role', 'request.jwt.claims'], { Authorization: clerk })
  t.equal(claims.role, 'garage_clerk')
  t.strictSame(JSON.parse(claims['request.jwt.claims'] ?? ''), {
    role: 'garage_clerk',
    sub: 'carl',
    list: [1, { a: null }],
    é: 'ü',
  })
  const anonymous = await settings(['request.jwt.claims'])
  t.strictSame(JSON.parse(anonymous['request.jwt.claims'] ?? ''), { role: 'garage_anon' }, 'a request without a token')
  const sent = await settings(['request.headers', 'request.cookies'], {
    'X-Mixed-Case': 'Value',
    'X-Quotes': `a "b" 'c' \\`,
    Cookie: 'one=1; two=a%20b; __proto__=x',
  })
  const headers = JSON.parse(sent['request.headers'] ?? '') as Record<string, string>
  t.match(headers, { 'x-mixed-case': 'Value', 'x-quotes': `a "b" 'c' \\`, 'content-type': 'application/json' })
  t.notOk('cookie' in headers)
  t.strictSame(JSON.parse(sent['request.cookies'] ?? ''), JSON.parse('{"one": "1", "two": "a%20b", "__proto__": "x"}'))
  const { body } = await call('GET', '/rest/v1/rpc/who', { headers: { Authorization: clerk } })
  t.strictSame(body, { current_user: 'garage_clerk', session_user: 'garage_server' })
  await exchangeAll(t, url, [
    { send: rpc('GET', 'setting?name=request.method'), ...one, body: '"GET"' },
    {
      name: 'the path below the mount point',
      send: rpc('POST', 'setting', { name: 'request.path' }),
      ...one,
      body: '"/rpc/setting"',
    },
    {
      name: 'settings do not persist between requests',
      send: rpc('GET', 'setting?name=request.jwt.claims'),
      ...one,
      body: '"{\\"role\\":\\"garage_anon\\"}"',
    },
  ])
})

t.test('settings of roles and functions', (t) =>
  exchangeAll(t, url, [
    { send: rpc('GET', 'setting?name=statement_timeout'), ...one, body: '"0"' },
    { send: rpc('GET', 'setting?name=statement_timeout'), as: 'garage_clerk', ...one, body: '"7s"' },
    { send: rpc('GET', 'setting?name=work_mem'), as: 'garage_clerk', ...one, body: '"5MB"' },
    { send: rpc('POST', 'hoisted', {}), ...one, body: '"3s"' },
    {
      name: 'settings of the function precede those of the role',
      send: rpc('POST', 'hoisted', {}),
      as: 'garage_clerk',
      ...one,
      body: '"3s"',
    },
    {
      name: 'a hoisted timeout applies to the call itself',
      send: rpc('POST', 'slow_and_limited', { seconds: 3 }),
      status: 500,
      body: fault('57014', 'canceling statement due to statement timeout'),
    },
    { send: rpc('POST', 'slow', { seconds: 0.2 }), status: 204, range: '0-0/*' },
    { send: rpc('POST', 'isolation', {}), ...one, body: '"read committed"' },
    { send: rpc('POST', 'isolation', {}), as: 'garage_auditor', ...one, body: '"repeatable read"' },
    { send: rpc('POST', 'isolation_serializable', {}), ...one, body: '"serializable"' },
    { send: rpc('POST', 'isolation_serializable', {}), as: 'garage_auditor', ...one, body: '"serializable"' },
    { send: rpc('POST', 'isolation_committed', {}), as: 'garage_auditor', ...one, body: '"read committed"' },
    {
      name: 'reads, too',
      send: rpc('GET', 'setting?name=transaction_isolation'),
      as: 'garage_auditor',
      ...one,
      body: '"repeatable read"',
    },
  ]),
)

const readOnly = (statement: string) => fault('25006', `cannot execute ${statement} in a read-only transaction`)

t.test('access modes', (t) =>
  exchangeAll(t, url, [
    { send: rpc('GET', 'read_only'), ...one, body: '"on"' },
    { send: rpc('POST', 'read_only', {}), ...one, body: '"off"' },
    { send: rpc('GET', 'read_only_stable'), ...one, body: '"on"' },
    { send: rpc('POST', 'read_only_stable', {}), ...one, body: '"on"' },
    { send: rpc('POST', 'read_only_stable', {}), as: 'garage_auditor', ...one, body: '"on"' },
    { send: rpc('GET', 'write_volatile'), status: 405, body: readOnly('nextval()') },
    {
      send: rpc('HEAD', 'write_volatile'),
      status: 405,
      contentType: 'application/json; charset=utf-8',
      also: { 'Proxy-Status': 'PostgREST; error=25006' },
    },
    { send: rpc('GET', 'write_volatile'), as: 'garage_auditor', status: 405, body: readOnly('nextval()') },
    { send: rpc('POST', 'write_volatile', {}), ...one, body: '1' },
    { send: rpc('POST', 'write_stable', {}), status: 405, body: readOnly('nextval()') },
    { send: rpc('GET', 'add_tag?name=x'), status: 405, body: readOnly('INSERT') },
    { send: rpc('GET', 'setting?name=transaction_read_only'), ...one, body: '"on"' },
  ]),
)

const badHeaders = fault(
  'PGRST111',
  'response.headers guc must be a JSON array composed of objects with a single key and a string value',
)
const badStatus = fault('PGRST112', 'response.status guc must be a valid status code')
const respond = (status: string | null, headers?: string): Exchange['send'] =>
  rpc('POST', 'respond', { status, ...(headers === undefined ? {} : { headers }) })
const done = { range: '0-0/*', body: '"done"', also } as const

t.test('settings of the response', (t) =>
  exchangeAll(t, url, [
    { send: respond('418'), ...done, status: 418 },
    { send: respond('202'), ...done, status: 202 },
    { send: respond('299'), ...done, status: 299 },
    { name: 'leading digits', send: respond('201 Created'), ...done, status: 201 },
    { send: respond('teapot'), status: 500, body: badStatus },
    { name: 'an empty status is ignored', send: respond(''), status: 200, ...done },
    { name: 'null is ignored', send: respond(null), status: 200, ...done },
    {
      send: respond(null, '[{"X-One": "1"}, {"X-Two": "a, b"}]'),
      status: 200,
      ...done,
      also: { 'X-One': '1', 'X-Two': 'a, b' },
    },
    {
      name: 'repeated headers are joined',
      send: respond(null, '[{"Cache-Control": "public"}, {"Cache-Control": "max-age=5"}]'),
      status: 200,
      ...done,
      also: { 'Cache-Control': 'public, max-age=5' },
    },
    {
      name: 'replaces the header of the server',
      send: respond('200', '[{"Content-Type": "text/custom"}, {"content-range": "1-1/1"}]'),
      ...done,
      status: 200,
      contentType: 'text/custom',
      range: '1-1/1',
    },
    { send: respond(null, '[]'), status: 200, ...done },
    { send: respond(null, '{"X-One": "1"}'), status: 500, body: badHeaders },
    { send: respond(null, '[{"X-One": "1", "X-Two": "2"}]'), status: 500, body: badHeaders },
    { send: respond(null, '[{"X-One": 1}]'), status: 500, body: badHeaders },
    { send: respond(null, '[1]'), status: 500, body: badHeaders },
    { send: respond(null, 'text'), status: 500, body: badHeaders },
    { name: 'the error about the status comes first', send: respond('x', 'x'), status: 500, body: badStatus },
  ]),
)

t.test('db-pre-request runs before every request', async (t) => {
  const { url } = await startWrites(t, {
    PGRST_DB_SCHEMAS: 'garage',
    PGRST_DB_PRE_REQUEST: 'hidden.before_request',
    PGRST_DB_TX_END: 'commit',
  })
  const before = (wish: string) => ({ headers: { 'X-Before': wish } })
  const row = { status: 200, range: '0-0/*' } as const
  const refused = fault('PT402', 'Payment Required', 'Quota exceeded', 'Upgrade your plan')
  await exchangeAll(t, url, [
    { send: rpc('GET', 'setting?name=app.before'), ...row, body: '"GET garage_anon"' },
    { send: rpc('GET', 'setting?name=app.before'), as: 'garage_clerk', ...row, body: '"GET garage_clerk"' },
    { send: ['GET', '/tags'], ...before('refuse'), status: 402, body: refused },
    { send: ['POST', '/tags', { name: 'never' }], ...before('refuse'), status: 402, body: refused },
    { send: ['GET', '/tags?name=eq.never'], status: 200, range: '*/*', body: [] },
    {
      send: ['GET', '/tags?name=eq.fast'],
      ...before('header'),
      ...row,
      body: [{ name: 'fast' }],
      also: { 'X-Before': 'yes' },
    },
    { send: ['POST', '/tags', { name: 'one' }], ...before('header'), status: 201, also: { 'X-Before': 'yes' } },
    { send: ['GET', '/tags'], ...before('write'), status: 405, body: readOnly('INSERT') },
    { send: ['POST', '/tags', { name: 'two' }], ...before('write'), status: 201 },
    { send: ['GET', '/tags?name=eq.from before'], ...row, body: [{ name: 'from before' }] },
    {
      name: 'in one transaction with the request',
      send: ['POST', '/tags', { name: 'two' }],
      ...before('write'),
      status: 409,
      body: fault(
        '23505',
        'duplicate key value violates unique constraint "tags_pkey"',
        'Key (name)=(from before) already exists.',
      ),
    },
    {
      send: ['GET', '/secrets'],
      status: 401,
      body: fault('42501', 'permission denied for table secrets'),
      also: { 'WWW-Authenticate': 'Bearer' },
    },
    {
      name: 'it may change the role',
      send: ['GET', '/secrets'],
      ...before('role'),
      status: 200,
      range: '*/*',
      body: [],
    },
    { send: ['GET', '/'], ...before('refuse'), status: 402, body: refused },
    {
      name: 'without a transaction, the function is not called',
      send: ['OPTIONS', '/tags'],
      ...before('refuse'),
      status: 200,
      also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE' },
    },
  ])
})
