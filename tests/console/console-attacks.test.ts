// Who may open the console, and what strangers, other sites and thieves of cookies get.
import { request } from 'node:http'
import t from 'tap'
import { createApiKey, revokeApiKey } from '../../server/identity/api-key/api-key.ts'
import type { ViewerToken } from '../../server/services/console/protocol.ts'
import { askAuth, newAddress, passwordGrant, sessionOf, signUp } from '../support/auth.ts'
import { signInToConsole, startConsoleServer, type ConsoleServer } from '../support/console.ts'
import { withClient } from '../support/database.ts'
import { raise } from '../support/second-factor.ts'
import { signToken } from '../support/token.ts'

const common = { GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_MFA_TOTP_ENROLL_ENABLED: 'true' }

type Headers = Readonly<Record<string, string>>

/** Sends a request with exactly these headers, also `Host`. */
const send = (url: string, method: string, path: string, headers: Headers = {}, body?: unknown) =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const sent = body === undefined ? '' : JSON.stringify(body)
    const call = request(
      `${url}${path}`,
      { method, headers: { ...(sent === '' ? {} : { 'Content-Type': 'application/json' }), ...headers } },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      },
    )
    call.on('error', reject)
    call.end(sent)
  })

const signIn = (server: Pick<ConsoleServer, 'url'>, body: unknown, headers: Headers = {}) =>
  send(server.url, 'POST', '/console/api/session', headers, body)

const codeOf = async (server: ConsoleServer): Promise<string> => (await server.link()).split('#code=')[1] ?? ''

t.test('codes of links', async (t) => {
  const server = await startConsoleServer(t)
  const code = await codeOf(server)
  const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(server, { code })))
  t.equal(answers.filter(({ status }) => status === 201).length, 1, 'one of several at once')
  t.equal(answers.filter(({ status }) => status === 401).length, 7)

  await server.database.query('update rowhouse.console_sessions set expires_at = now() where is_code')
  const late = await codeOf(server)
  await server.database.query("update rowhouse.console_sessions set expires_at = now() - interval '1 s' where is_code")
  t.match(await signIn(server, { code: late }), { status: 401, text: /expired/ })
  for (const wrong of ['', 'x', "' or true --", late.slice(1), 'a'.repeat(101)]) {
    const { status } = await signIn(server, { code: wrong })
    t.ok([400, 401].includes(status), `${wrong.slice(0, 12)}: ${status}`)
  }
  for (const body of [{}, { code, key: 'x' }, { code: 1 }, [], null, { other: 'x' }]) {
    t.equal((await signIn(server, body)).status, 400, JSON.stringify(body))
  }
  for (let n = 0; n < 20; n++) await signIn(server, { code })
  t.match(await signIn(server, { code }), { status: 429, headers: { 'retry-after': /\d/ } }, 'floods are refused')
})

t.test('a cookie alone, from elsewhere, or of another name', async (t) => {
  const server = await startConsoleServer(t)
  const { cookie, session, call } = await signInToConsole(server)
  t.match(cookie, /^console=[\w-]{43}$/)
  const path = '/console/api/overview'
  const token = { 'X-Console-Token': session.token }
  t.equal((await call('GET', 'overview')).status, 200)
  const refused: readonly (readonly [string, Headers, number])[] = [
    ['without the header', { cookie }, 403],
    ['with another header', { cookie, 'X-Console-Token': `${session.token}x` }, 403],
    ['with the cookie in the header', { cookie, 'X-Console-Token': cookie.slice(8) }, 403],
    ['without the cookie', token, 401],
    ['with a forged cookie', { cookie: `console=${'a'.repeat(43)}`, ...token }, 401],
    ['with a cookie of another name', { cookie: cookie.replace('console', 'session'), ...token }, 401],
    ['from a page of another site', { cookie, ...token, 'Sec-Fetch-Site': 'cross-site' }, 403],
    [
      'from a page on another port',
      { cookie, ...token, 'Sec-Fetch-Site': 'same-site', Origin: 'http://127.0.0.1:1' },
      403,
    ],
    ['from another origin, by an older browser', { cookie, ...token, Origin: 'https://evil.example' }, 403],
    ['by DNS rebinding', { cookie, ...token, Host: 'evil.example' }, 404],
    ['through a proxy', { cookie, ...token, 'X-Forwarded-For': '203.0.113.9' }, 404],
  ]
  for (const [what, headers, status] of refused) {
    const answer = await send(server.url, 'GET', path, headers)
    t.equal(answer.status, status, what)
    t.notMatch(answer.text, /sb_secret/, what)
    if (!/page|origin|DNS|proxy/.test(what)) continue
    const withToken = await send(server.url, 'GET', '/console/api/session', headers)
    t.equal(withToken.status, status, `${what}: the session with its token`)
    t.notMatch(withToken.text, session.token, what)
  }
  t.equal((await send(server.url, 'GET', '/console/', { Host: 'evil.example' })).status, 404)
  const crossSite = await signIn(server, { code: await codeOf(server) }, { Origin: 'https://evil.example' })
  t.equal(crossSite.status, 403, 'no other site signs its visitors in')
  const preflight = await send(server.url, 'OPTIONS', path, {
    Origin: 'https://evil.example',
    'Access-Control-Request-Method': 'GET',
    'Access-Control-Request-Headers': 'x-console-token',
  })
  t.equal(preflight.headers['access-control-allow-origin'], undefined)

  t.equal((await call('DELETE', 'session')).status, 200)
  t.equal((await call('GET', 'overview')).status, 401, 'the cookie ends when one signs out')
})

t.test('cookies of the same name that pages of other ports add', async (t) => {
  const server = await startConsoleServer(t)
  const { cookie, session } = await signInToConsole(server)
  const other = await signInToConsole(server)
  const forged = Array.from({ length: 50 }, (_, n) => `console=${String(n).padStart(43, 'a')}`)
  const path = '/console/api/session'
  const tossed = [...forged, other.cookie, cookie].join('; ')
  const token = { 'X-Console-Token': session.token }
  t.equal((await send(server.url, 'GET', '/console/api/overview', { cookie: tossed, ...token })).status, 200)
  const mine = await send(server.url, 'GET', path, { cookie: tossed, ...token })
  t.match(mine.text, session.token, 'the page keeps its session')
  t.equal((await send(server.url, 'GET', path, { cookie: tossed })).status, 401, 'only a few are looked up')
})

t.test('headers', async (t) => {
  const server = await startConsoleServer(t)
  const page = await send(server.url, 'GET', '/console/', { 'Accept-Encoding': 'gzip' })
  t.equal(page.status, 200)
  const policy = String(page.headers['content-security-policy'])
  for (const part of ["script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "connect-src 'self'"]) {
    t.match(policy, part)
  }
  t.notMatch(policy, /unsafe|http/)
  t.match(page.headers, {
    'x-content-type-options': 'nosniff',
    'content-encoding': 'gzip',
    'cache-control': 'no-cache',
  })
  const again = await send(server.url, 'GET', '/console/', { 'If-None-Match': String(page.headers.etag) })
  t.equal(again.status, 304)
  t.match(await send(server.url, 'GET', '/console?x=1'), { status: 307, headers: { location: './console/' } })
  for (const path of [
    '/console/..%2f..%2fpackage.json',
    '/console/parts/..%2fconsole.css',
    '/console/package.json',
    '/console/parts/',
    '/console/%00',
  ]) {
    t.equal((await send(server.url, 'GET', path)).status, 404, path)
  }
  const { call } = await signInToConsole(server)
  const { headers } = await call('GET', 'overview')
  t.match(Object.fromEntries(headers), { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'same-origin' })
  const { headers: signedIn } = await signIn(server, { code: await codeOf(server) })
  t.match(String(signedIn['set-cookie']), /HttpOnly; SameSite=Strict/)
})

t.test('when the console is closed', async (t) => {
  const [off, elsewhere] = await Promise.all([
    startConsoleServer(t, { CONSOLE: 'off' }),
    startConsoleServer(t, { ROWHOUSE_EMBEDDED: undefined }),
  ])
  for (const server of [off, elsewhere]) {
    for (const path of ['/console/', '/console/api/session', '/console/main.js']) {
      t.equal((await send(server.url, 'GET', path)).status, 404, path)
    }
  }
})

t.test('secret keys', async (t) => {
  const server = await startConsoleServer(t, { ...common, ROWHOUSE_EMBEDDED: undefined, CONSOLE: 'on' })
  const { secret, id, others } = await withClient(server.database.adminUri, async (client) => {
    const { key, id } = await createApiKey(client, { role: 'service_role', label: 'test' })
    const anon = await createApiKey(client, { role: 'anon', label: 'test' })
    const user = await createApiKey(client, { role: 'authenticated', label: 'test' })
    return { secret: key, id, others: [anon.key, user.key] }
  })
  for (const key of [...others, 'sb_secret_x', `${secret}x`]) t.equal((await signIn(server, { key })).status, 401)
  const answer = await signIn(server, { key: secret }, { Host: 'db.example.com', 'X-Forwarded-For': '203.0.113.9' })
  t.equal(answer.status, 201)
  t.match(answer.headers['set-cookie']?.toString(), /^console=|^__Host-console=/)
  const { token, isDevelopment } = (JSON.parse(answer.text) as { details: { token: string; isDevelopment: boolean } })
    .details
  t.equal(isDevelopment, false)
  const [cookie = ''] = String(answer.headers['set-cookie']).split(';', 1)
  const look = () => send(server.url, 'GET', '/console/api/overview', { cookie, 'X-Console-Token': token })
  t.match(await look(), { status: 200, text: /"keys":null/ }, 'keys are not shown outside of development')
  await withClient(server.database.adminUri, (client) => revokeApiKey(client, id))
  t.equal((await look()).status, 401, 'the session ends with the key')
})

t.test('accounts', async (t) => {
  const server = await startConsoleServer(t, { ...common, ROWHOUSE_EMBEDDED: undefined, CONSOLE: 'on' })
  const ask = askAuth(server.url)
  const email = newAddress()
  const stranger = await signUp(ask)
  t.match(await signIn(server, { access_token: stranger.access_token }), { status: 401, text: /not an administrator/ })
  const { user } = await signUp(ask, email)
  await server.database.query("update auth.users set app_role = 'admin' where id = $1", [user.id])
  const opened = async (token: string) => {
    const answer = await signIn(server, { access_token: token })
    t.equal(answer.status, 201)
    const headers = {
      cookie: String(answer.headers['set-cookie']).split(';', 1)[0] ?? '',
      'X-Console-Token': (JSON.parse(answer.text) as { details: { token: string } }).details.token,
    }
    return async () => (await send(server.url, 'GET', '/console/api/overview', headers)).status
  }
  const first = await opened(sessionOf(await passwordGrant(ask, email)).access_token)
  t.equal(await first(), 200)

  const { session: raised } = await raise(ask, sessionOf(await passwordGrant(ask, email)).access_token)
  t.equal(await first(), 401, 'a second factor ends the sessions without it')
  const weak = sessionOf(await passwordGrant(ask, email))
  t.match(await signIn(server, { access_token: weak.access_token }), { status: 401, text: /second factor/ })
  const second = await opened(raised.access_token)

  const forged = await signToken({ sub: user.id, role: 'authenticated', app_role: 'admin', aal: 'aal2', exp: 4e9 })
  t.equal((await signIn(server, { access_token: forged })).status, 401, 'a token without a session')
  t.equal((await signIn(server, { access_token: `${raised.access_token}x` })).status, 401)

  await server.database.query('update auth.users set app_role = null where id = $1', [user.id])
  t.equal(await second(), 401, 'the session ends with the right')
  await server.database.query("update auth.users set app_role = 'admin' where id = $1", [user.id])
  t.equal(await second(), 200)
  await ask('POST', '/logout?scope=global', { token: raised.access_token })
  t.equal(await second(), 401, 'the session ends with that of the account')
})

t.test('tokens of viewers', async (t) => {
  const server = await startConsoleServer(t, common)
  const { session, call } = await signInToConsole(server)
  // Roles belong to the whole cluster, so those of other tests may be there.
  const roles = session.roles.filter((role) => !role.includes('_test_'))
  t.same(roles.sort(), ['anon', 'authenticated', 'service_role'])
  for (const role of ['postgres', 'supabase_auth_admin', 'authenticator', 'pg_read_all_data', 'nobody', "anon' --"]) {
    t.equal((await call('POST', 'tokens', { role })).status, 404, role)
  }
  for (const body of [{}, { role: 'anon', user: session.token }, { user: 'x' }, { role: 'anon', exp: 1 }]) {
    t.equal((await call('POST', 'tokens', body)).status, 400, JSON.stringify(body))
  }
  t.equal((await call('POST', 'tokens', { user: '00000000-0000-4000-8000-000000000000' })).status, 404)
  const { user } = await signUp(askAuth(server.url))
  const { body } = await call('POST', 'tokens', { user: user.id })
  const { token, expires_at: expiresAt } = body.details as ViewerToken
  t.ok(expiresAt - Date.now() / 1000 <= 300)
  const profiles = await fetch(`${server.url}/rest/v1/profiles?select=id`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  t.same(await profiles.json(), [{ id: user.id }], 'the rows of that user')
  const { rows } = await server.database.query('select actor, action, details from rowhouse.console_log order by id')
  t.match(rows.at(-1), { actor: 'test', action: 'look as', details: { user: user.id } })

  const change = { method: 'PATCH', path: 'rest/v1/profiles?id=eq.1', as: { user: user.id } }
  t.equal((await call('POST', 'changes', change)).status, 201)
  const { rows: changes } = await server.database.query('select action, details from rowhouse.console_log order by id')
  t.strictSame(changes.at(-1), { action: 'change', details: change }, 'changes are recorded before they are requested')
  for (const body of [{}, { ...change, method: 'GET' }, { ...change, path: 'x'.repeat(2001) }, { ...change, as: {} }]) {
    t.equal((await call('POST', 'changes', body)).status, 400)
  }
})
