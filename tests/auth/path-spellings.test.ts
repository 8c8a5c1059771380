// Another spelling of a path is either another path, or the same in every respect: it must not have a limit of its own.
import { readdir, readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { isAmbiguous } from '../../server/http/exact-router.ts'
import { authRoutes } from '../../server/services/auth/auth-table.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, signUp } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { cookieSettings } from '../support/mailing-service.ts'
import { RawConnection, requestHead } from '../support/raw-connection.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const limit = 3
const { url } = await startApplication(t, database.authenticatorUri, {
  ...cookieSettings,
  STORAGE_FILE_BACKEND_PATH: t.testdir(),
  TRUSTED_PROXIES: '1',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  ...Object.fromEntries(
    [
      ...['VERIFY', 'OTP', 'TOKEN_REFRESH', 'ANONYMOUS_USERS', 'SSO', 'WEB3', 'PASSKEY'],
      'OAUTH_DYNAMIC_CLIENT_REGISTER',
    ].map((name) => [`GOTRUE_RATE_LIMIT_${name}`, String(limit)]),
  ),
  GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: String(limit),
  AUTH_ADDRESS_LIMIT: String(limit),
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ENABLED: 'true',
  GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true',
  GOTRUE_WEBAUTHN_RP_ID: 'example.org',
  GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Example',
  GOTRUE_WEBAUTHN_RP_ORIGINS: 'https://example.org',
})
const { access_token: token } = await signUp(askAuth(url))

/** Spellings of a path that some server, proxy or library takes for the same. */
function spellingsOf(path: string): readonly string[] {
  const last = path.lastIndexOf('/') + 1
  const [before, name] = [path.slice(0, last), path.slice(last)]
  const first = name.charCodeAt(0).toString(16)
  const random = seededRandom(testSeed(0) + path.length)
  const mixed = Array.from({ length: 4 }, () =>
    [...path].map((sign) => (random.chance(0.5) ? sign.toUpperCase() : sign)).join(''),
  )
  return [
    path,
    path.toUpperCase(),
    before + name.toUpperCase(),
    before + name.slice(0, 1).toUpperCase() + name.slice(1),
    path.replace('/auth', '/Auth'),
    path.replace('/v1', '/V1'),
    ...mixed,
    `${path}/`,
    `${path}//`,
    `/${path}`,
    before.slice(0, -1) + `//${name}`,
    `${before}./${name}`,
    `${before}x/../${name}`,
    `${path}/.`,
    `${before}%${first}${name.slice(1)}`,
    `${before}%${first.toUpperCase()}${name.slice(1)}`,
    path.replaceAll('/', '%2F').replace('%2F', '/'),
    `${path}%2f`,
    `${path}%20`,
    `${path}%00`,
    `${path};x=1`,
    `${path}.json`,
    `${path}#x`,
    `${path}#`,
    path.replaceAll('/', '\\').replace('\\', '/'),
    `${before.slice(0, -1)}\\${name}#`,
    `http://example.org${path}`,
    `HTTP://example.org${path}`,
    `ftp://example.org${path}`,
    `//example.org${path}`,
    // Other letters that are equal without regard to case, and white space outside ASCII.
    path.replace('s', '\u00c5\u00bf').replace('k', '\u00e2\u0084\u00aa'),
    `${path}\u00a0`,
    `${path}\u00c2\u00a0`,
    `${path}\u00ef\u00bb\u00bf`,
  ]
}

type Limited = {
  readonly method: string
  readonly path: string
  readonly query?: string
  readonly body?: (n: number) => unknown
}

/** All routes of `/auth/v1` with a limit, and those whose handlers count requests per client. */
const limited: readonly Limited[] = [
  ...authRoutes
    .filter((route) => route.limit !== undefined && route.limit !== null)
    .map(({ method, path }) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{[^}]*\}/g, '11111111-2222-4333-8444-555555555555'),
      query: '?grant_type=pkce&invite_token=x&token=x&type=signup&provider=twitter',
    })),
  { method: 'POST', path: '/auth/v1/signup', body: () => ({}) },
  { method: 'POST', path: '/auth/v1/signup', body: () => ({ email: 'no address', password: 'x' }) },
  {
    method: 'POST',
    path: '/auth/signin',
    body: (n) => ({ email: `stranger${n}@example.org`, password: 'a wrong password' }),
  },
]

let clients = 0

/** Sends each spelling in turn, several times. @returns how many requests the handler of the route has got */
async function admitted(t: Test, { method, path, query = '', body = () => ({}) }: Limited): Promise<number> {
  const connection = new RawConnection(url)
  const client = `203.0.113.${++clients}`
  let count = 0
  let sent = 0
  for (const spelling of spellingsOf(path)) {
    for (let time = 0; time < 2; time++) {
      const text = JSON.stringify(body(sent++))
      const head = requestHead(method, spelling + query, [
        ['Host', 'example.org'],
        ['X-Forwarded-For', client],
        ['Authorization', `Bearer ${token}`],
        ['Content-Type', 'application/json'],
        ['Content-Length', String(text.length)],
      ])
      try {
        const { status, headers, body: answer } = await connection.send({ head, body: text, isHead: false })
        // Node itself answers what it cannot parse, without a body.
        const isOfNode = status === 400 && !headers.some(([name]) => name === 'content-type')
        // The last two are of handlers: an unknown factor, and a mail that was sent a moment ago.
        const isRouted =
          ![404, 405, 429].includes(status) || /mfa_factor_not_found|over_email_send_rate_limit/.test(answer)
        if (isRouted && !isOfNode) count++
        if (status >= 500) t.fail(`${method} ${JSON.stringify(spelling)}: ${status}`)
      } catch {
        connection.close()
      }
    }
  }
  connection.close()
  return count
}

t.test('all spellings of a route together have the limit of one', async (t) => {
  t.ok(limited.length > 12)
  for (const route of limited) {
    t.equal(await admitted(t, route), limit, `${route.method} ${route.path}`)
  }
})

t.test('a router distinguishes upper and lower case, whichever service it is of', async (t) => {
  for (const [path, status] of [
    ['/health', 200],
    ['/ready', 200],
    ['/docs/', 200],
    ['/openapi.json', 200],
    ['/auth/me', 401],
    ['/auth/v1/settings', 200],
    ['/auth/v1/user', 401],
    ['/report', 401],
    ['/storage/v1/status', 200],
    ['/api/v1/water-hyacinth/health', 200],
  ] as const) {
    t.equal((await fetch(url + path)).status, status, path)
    for (const other of [path.toUpperCase(), path.replace(/[a-z](?=[^a-z]*$)/, (sign) => sign.toUpperCase())]) {
      t.equal((await fetch(url + other)).status, 404, other)
    }
  }
})

t.test('a call is a call, however the letters of /rpc/ are written', async (t) => {
  await database.query(`
    create function public.echo(a text) returns text language sql stable as 'select a';
    grant execute on function public.echo(text) to authenticated;
    notify pgrst`)
  const headers = { Authorization: `Bearer ${token}` }
  const get = async (path: string): Promise<string> => (await fetch(`${url}/rest/v1${path}`, { headers })).text()
  await until(async () => (await get('/rpc/echo?a=x')) === '"x"')
  // The second and the third of a form come from the cache.
  for (const value of ['foo.bar', 'foo.baz', 'foo.qux', 'one', 'two', 'three', 'eq.1', 'eq.2', 'eq.3', 'in.(1,2)']) {
    const expected = await get(`/rpc/echo?a=${value}`)
    for (const path of ['/%72pc/echo', '/rp%63/echo', '/%72%70%63/echo', '/rpc/%65cho']) {
      t.equal(await get(`${path}?a=${value}`), expected, `${path} ${value}`)
    }
  }
  t.match(await get('/RPC/echo?a=x'), /PGRST/)
  const batch = async (path: string): Promise<string> => {
    const requests = [
      { id: '1', method: 'GET', url: '/rpc/echo?a=x' },
      { id: '2', method: 'GET', url: `${path}?a=$1` },
    ]
    const sent = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } }
    const body = JSON.stringify({ requests })
    return (await fetch(`${url}/rest/v1/$batch`, { ...sent, body })).text()
  }
  t.equal(await batch('/%72pc/echo'), await batch('/rpc/echo'))
})

t.test('targets that Express reads otherwise are of no service', async (t) => {
  const connection = new RawConnection(url)
  for (const target of ['/health#', '/health#/x', '/health\u00a0', '/auth\\me#', 'ftp://example.org/health', '*']) {
    const head = requestHead('GET', target, [['Host', 'x']])
    const { status } = await connection
      .send({ head, body: '', isHead: false })
      .catch(() => ({ status: 400 }))
      .finally(() => connection.close())
    t.match(status, /^40[04]$/, JSON.stringify(target))
  }
  for (const [target, is] of [
    ['/a/b?c#d\\', false],
    ['/', false],
    ['/a%20b', false],
    ['/a b', true],
    ['/a\\b', true],
    ['/a#b', true],
    ['*', true],
    ['a', true],
    ['', true],
  ] as const) {
    t.equal(isAmbiguous(target), is, JSON.stringify(target))
  }
})

t.test('no other router is created', async (t) => {
  const folder = new URL('../../server/', import.meta.url)
  const found: string[] = []
  for (const path of await readdir(folder, { recursive: true })) {
    if (!path.endsWith('.ts')) continue
    const text = (await readFile(new URL(path, folder), 'utf8')).replaceAll(/^ *(?:\*|\/\/).*$/gm, '')
    if (/\bRouter\(\)|\bRouter\(\{(?! caseSensitive: true)/.test(text)) found.push(path)
    if (/\bexpress\(\)/.test(text) && !text.includes("enable('case sensitive routing')")) found.push(path)
  }
  t.strictSame(found, [])
})
