// What precedes the protocol at `/mcp`: credentials, pages, bodies, and what clients of OAuth learn.
import t from 'tap'
import { askAuth, signUp } from '../support/auth.ts'
import { connect, startMcpServer } from '../support/mcp.ts'
import { bearer, signToken } from '../support/token.ts'

const { url, call, logged } = await startMcpServer(t, '', { GOTRUE_MAILER_AUTOCONFIRM: 'true', BODY_LIMIT: '50000' })
const anonymous = await bearer('anon')
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}, at = url, path = '/mcp') =>
  fetch(`${at}${path}`, {
    method: 'POST',
    headers: {
      authorization: anonymous,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const errorOf = async (response: Response): Promise<{ readonly status: number; readonly message: string }> => {
  const { error } = (await response.json()) as { readonly error: { readonly message: string } }
  return { status: response.status, message: error.message }
}

t.test('each request needs a key or a token, and says where tokens are from', async (t) => {
  for (const [headers, message, problem] of [
    [{}, /Send an API key or a token/, undefined],
    [{ authorization: 'Basic eDp5' }, /not 'Bearer/, 'invalid_token'],
    [{ authorization: 'Bearer x.y.z' }, /./, 'invalid_token'],
    [{ authorization: await bearer('anon', { exp: 1 }) }, /expired/, 'invalid_token'],
    [{ authorization: await bearer('supabase_auth_admin') }, /permission denied/, 'invalid_token'],
    [{ apikey: 'sb_secret_forged' }, /./, 'invalid_token'],
    [{ authorization: anonymous, apikey: 'sb_secret_forged' }, /./, 'invalid_token'],
  ] as const) {
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body: '{}' })
    const challenge = response.headers.get('www-authenticate') ?? ''
    t.match(challenge, `resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`)
    t.equal(/error="([^"]*)"/.exec(challenge)?.[1], problem)
    t.match(await errorOf(response), { status: 401, message })
  }
  t.equal((await post(list)).status, 200)
  t.equal(
    (await fetch(`${url}/mcp`, { method: 'POST', body: '{}', headers: { apikey: await signToken({ role: 'anon' }) } }))
      .status,
    406,
  )
})

t.test('the resource is described for clients of OAuth', async (t) => {
  const response = await fetch(`${url}/.well-known/oauth-protected-resource/mcp`, {
    headers: { origin: 'https://other.example' },
  })
  t.equal(response.headers.get('access-control-allow-origin'), '*')
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.strictSame(await response.json(), {
    resource: `${url}/mcp`,
    bearer_methods_supported: ['header'],
    resource_name: 'rowhouse',
  })
  const forged = await call('GET', '/.well-known/oauth-protected-resource/mcp', { headers: { host: 'evil.example' } })
  t.notMatch(JSON.stringify(forged), 'evil.example')
  t.equal((await fetch(`${url}/.well-known/oauth-protected-resource/mcp`, { method: 'POST' })).status, 405)
  t.equal((await fetch(`${url}/.well-known/oauth-protected-resource/mcp/more`)).status, 404)
})

t.test('a token for another resource is refused', async (t) => {
  const withAudience = async (aud: unknown): Promise<number> =>
    (await post(list, { authorization: await bearer('anon', { aud }) })).status
  t.equal(await withAudience('authenticated'), 200)
  t.equal(await withAudience(['authenticated', `${url}/mcp`]), 200)
  t.equal(await withAudience(`${url}/mcp/`), 200)
  t.equal(await withAudience('https://other.example/mcp'), 401)
  t.equal(await withAudience(['authenticated', 'HTTPS://other.example']), 401)
})

t.test('pages of other sites are refused', async (t) => {
  const { port } = new URL(url)
  for (const origin of [
    'https://evil.example',
    // DNS rebinding: the page of an attacker at a name that leads here.
    `http://evil.example:${port}`,
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://127.0.0.1/',
    'null',
    'http://2130706433',
    'chrome-extension://localhost',
    '',
  ]) {
    const response = await post(list, { origin, host: new URL(url).host })
    t.match(await errorOf(response), { status: 403, message: /are not accepted/ }, origin)
    t.equal(response.headers.get('access-control-allow-origin'), null)
  }
  const response = await post(list, { origin: 'http://localhost:6274' })
  t.equal(response.status, 200)
  t.equal(response.headers.get('access-control-allow-origin'), 'http://localhost:6274')
  const preflight = await fetch(`${url}/mcp`, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://[::1]:6274',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,mcp-protocol-version',
    },
  })
  t.equal(preflight.status, 204)
  t.match(preflight.headers.get('access-control-allow-headers'), 'mcp-protocol-version')
})

t.test('what is no message of the protocol', async (t) => {
  for (const method of ['GET', 'DELETE', 'PUT'] as const) {
    const response = await fetch(`${url}/mcp`, { method, headers: { authorization: anonymous } })
    t.equal(response.headers.get('allow'), 'POST, OPTIONS')
    t.match(await errorOf(response), { status: 405, message: /not supported at \/mcp/ })
  }
  t.match(await errorOf(await post('{')), { status: 400, message: /not JSON/ })
  t.match(await errorOf(await post('')), { status: 400 })
  t.match(await errorOf(await post('null')), { status: 400 })
  t.match(await errorOf(await post([list, list])), { status: 400, message: /A batch/ })
  t.match(await errorOf(await post({ ...list, method: 5 })), { status: 400 })
  t.match(await errorOf(await post(`"${'x'.repeat(60_000)}"`)), { status: 413, message: /more than 50000 bytes/ })
  t.match(await errorOf(await post('['.repeat(40_000))), { status: 400 })
  t.match(await errorOf(await post(list, {}, url, '/mcp/more')), { status: 404 })
  const unknown = (await (await post({ ...list, method: 'resources/list' })).json()) as { error: { code: number } }
  t.equal(unknown.error.code, -32_601)
  t.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
})

t.test('a token ends with its session, and an account that is banned has no access', async (t) => {
  const ask = askAuth(url)
  const session = await signUp(ask)
  const authorization = `Bearer ${session.access_token}`
  t.equal((await post(list, { authorization })).status, 200)
  t.equal((await ask('POST', '/logout', { token: session.access_token })).status, 204)
  t.match(await errorOf(await post(list, { authorization })), {
    status: 401,
    message: /session of the token has ended/,
  })

  const other = await signUp(ask)
  const agent = await connect(t, url, { authorization: `Bearer ${other.access_token}` })
  t.notOk((await agent.call('describe_schema')).isError)
  const admin = await signToken({ role: 'service_role' })
  const banned = await ask('PUT', `/admin/users/${other.user.id}`, { token: admin, body: { ban_duration: '24h' } })
  t.equal(banned.status, 200)
  const refused = await agent.call('describe_schema').catch((error: unknown) => error)
  t.match(String(refused), /session of the token has ended|401|Unauthorized/)
})

t.test('a server without the service says so, and one with the REST API at the root has it', async (t) => {
  const without = await startMcpServer(t, '', { SERVICES: 'rest,auth' })
  const response = await post(list, {}, without.url)
  t.equal(response.status, 404)
  t.match(await response.text(), /without the service mcp/)
  const root = await startMcpServer(t, 'create table public.mcp (id int); grant select on public.mcp to anon;', {
    SERVICES: 'rest,mcp',
    REST_BASE_PATH: '/',
  })
  t.equal((await post(list, {}, root.url)).status, 200)
  const { authorization_servers: servers } = (await (
    await fetch(`${root.url}/.well-known/oauth-protected-resource/mcp`)
  ).json()) as { authorization_servers?: unknown }
  t.equal(servers, undefined, 'without the sign-in service')
  const agent = await connect(t, root.url, { authorization: anonymous })
  t.strictSame((await agent.call('read_rows', { path: '/mcp' })).data, [])
})

t.test('nothing of this was a failure of the server', async (t) => {
  t.strictSame(
    logged().filter(({ level }) => level === 'error'),
    [],
  )
})
