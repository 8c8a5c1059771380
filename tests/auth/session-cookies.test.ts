// Session cookies on servers with TLS: which cookies are accepted from browsers and from programs.
import t from 'tap'
import { signCookie } from '../../server/http/cookie.ts'
import { listensOnLoopback } from '../../server/config/loopback.ts'
import { detailsOf, password, signIn, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { secrets, startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const plain = await startService(t, database.authenticatorUri)
const secure = await startService(t, database.authenticatorUri, { secureCookies: true })

/** The result of signing in: cookies by name, and their full Set-Cookie headers. */
async function cookiesOf(call: typeof secure.call, email: string) {
  const { headers } = await call('POST', '/auth/signin', { body: { email, password } })
  const set = headers.getSetCookie()
  const values = set.map((text) => text.split(';')[0] ?? '')
  return { set, session: values[0] ?? '', host: values[1] ?? '' }
}
await signUp(secure.call, 'ann@example.org')
await signUp(secure.call, 'mallory@example.org')
const ann = await cookiesOf(secure.call, 'ann@example.org')
const mallory = await cookiesOf(secure.call, 'mallory@example.org')
const expires = Math.floor(Date.now() / 1000) + 1000
const idOf = (cookie: string): string => /^[^=]+=([^.]+)/.exec(cookie)?.[1] ?? ''

t.test('attributes of cookies', (t) => {
  const attributes = 'Path=/; Max-Age=12(?:09600|09599); HttpOnly; SameSite=Lax; Secure'
  t.equal(ann.set.length, 2)
  t.match(ann.set[0], new RegExp(`^session=[\\w-]{43}\\.\\d{10}\\.[\\w+/]{43}; ${attributes}$`))
  t.match(ann.set[1], new RegExp(`^__Host-session=[\\w-]{43}\\.\\d{10}\\.[\\w+/]{43}; ${attributes}$`))
  t.equal(idOf(ann.session), idOf(ann.host), 'both name the same session')
  t.notMatch(ann.set.join(), /domain/i)
  t.end()
})

const browser = { 'Sec-Fetch-Site': 'same-origin' }
const oldBrowser = { 'User-Agent': 'Mozilla/5.0 (Macintosh) Version/15.0 Safari/605.1.15' }
const page = { Origin: secure.url }
const made = (name: string, id: string): string => `${name}=${signCookie(name, { id, expires }, secrets)}`

t.test('request cookies -> signed-in user', async (t) => {
  type Row = readonly [label: string, headers: Readonly<Record<string, string>>, cookie: string, who: string | null]
  const rows: readonly Row[] = [
    ['both', browser, `${ann.session}; ${ann.host}`, 'ann'],
    ['both, in the other order', browser, `${ann.host}; ${ann.session}`, 'ann'],
    ['the strict one alone', browser, ann.host, 'ann'],
    ['a program with both', {}, `${ann.session}; ${ann.host}`, 'ann'],
    ['a program with `session` alone', {}, ann.session, 'ann'],
    // Another subdomain has set `session` for the whole domain.
    ["tossed: another's `session` beside the own", browser, `${mallory.session}; ${ann.host}`, 'ann'],
    ['tossed, before the own two', browser, `${mallory.session}; ${ann.session}; ${ann.host}`, 'ann'],
    ['tossed, to a browser without a session', browser, mallory.session, null],
    ['tossed, to a browser from before fetch metadata', oldBrowser, mallory.session, null],
    ['tossed, to a page', page, mallory.session, null],
    ['tossed, to a browser that signed out', browser, `${mallory.session}; __Host-session=`, null],
    ['a program with an empty strict one', {}, `${ann.session}; __Host-session=`, null],
    // No downgrade: if `__Host-session` is invalid, `session` is ignored.
    ['a forged strict one', browser, `${ann.session}; __Host-session=forged`, null],
    ['a forged strict one from a program', {}, `${ann.session}; __Host-session=forged`, null],
    ['a genuine one behind a forged one', browser, `__Host-session=forged; ${ann.host}`, 'ann'],
    // Each cookie is signed with its name.
    ['`session` under the strict name', browser, ann.session.replace(/^session/, '__Host-session'), null],
    ['the strict one under the name `session`', {}, ann.host.replace(/^__Host-session/, 'session'), null],
    ['the strict name in another case', browser, ann.host.replace('__Host-', '__host-'), null],
    ['a strict one with a made-up id', browser, made('__Host-session', 'x'.repeat(43)), null],
    ['none', browser, 'other=1', null],
  ]
  for (const [label, headers, cookie, who] of rows) {
    const given = await secure.call('GET', '/auth/me', { headers: { ...headers, Cookie: cookie } })
    t.equal(given.status, who === null ? 401 : 200, label)
    if (who !== null) t.match(detailsOf(given), { email: `${who}@example.org` }, label)
  }
})

t.test('a server without TLS uses `session` alone', async (t) => {
  const own = await signIn(plain.call, 'ann@example.org')
  const rows: readonly (readonly [string, string, number])[] = [
    ['session', own.cookie, 200],
    ['from a browser', own.cookie, 200],
    ['the strict one alone', ann.host, 401],
    ['a forged strict one beside it', `${own.cookie}; __Host-session=forged`, 200],
  ]
  for (const [label, cookie, status] of rows) {
    const headers = { Cookie: cookie, ...(label === 'from a browser' ? browser : {}) }
    t.equal((await plain.call('GET', '/auth/me', { headers })).status, status, label)
  }
})

t.test('forged cookies, however many, neither hide nor end the session', async (t) => {
  const own = await signUp(plain.call, 'carol@example.org')
  const { session: endedCookie } = await cookiesOf(plain.call, 'mallory@example.org')
  t.equal((await plain.call('POST', '/auth/signout', { headers: { Cookie: endedCookie } })).status, 200)
  const signed = (id: number): string => made('session', String(id).padStart(43, 'x'))
  const forged = (id: number): string => `${signed(id).slice(0, -3)}AAA`
  const times = (count: number, one: (id: number) => string): string =>
    Array.from({ length: count }, (_, n) => one(n)).join('; ')
  const rows: readonly (readonly [label: string, cookies: string])[] = [
    ['nine of the right form', times(9, forged)],
    ['as many as a header has room for', times(100, forged)],
    ['nine that are short', times(9, (id) => `session=${id}`)],
    ['a thousand that are empty', times(1000, () => 'session=')],
    ['a huge one', `session=${'x'.repeat(10_000)}`],
    ['nine copies of an ended one', times(9, () => endedCookie)],
    ['genuine ones of sessions that do not exist', times(50, signed)],
  ]
  for (const [label, cookies] of rows) {
    const beside = { Cookie: `${cookies}; ${own.cookie}` }
    const me = await plain.call('GET', '/auth/me', { headers: beside })
    t.equal(me.status, 200, label)
    t.match(detailsOf(me), { email: 'carol@example.org' }, label)
    t.strictSame(me.headers.getSetCookie(), [], label)
    t.equal((await plain.call('GET', '/report', { headers: beside })).status, 200, `${label}, at the report service`)
    const without = await plain.call('GET', '/auth/me', { headers: { Cookie: cookies } })
    t.equal(without.status, 401, `${label}, alone`)
    const again = await plain.call('POST', '/auth/signin', {
      body: { email: 'mallory@example.org', password },
      headers: { Cookie: cookies },
    })
    t.equal(again.status, 200, `${label}, when another user signs in`)
    t.equal(
      (await plain.call('GET', '/auth/me', { headers: { Cookie: own.cookie } })).status,
      200,
      `${label}, afterwards`,
    )
  }
  // Signing out and in ends the session behind them, too: its user asks for it.
  const many = { Cookie: `${times(20, forged)}; ${own.cookie}` }
  t.equal((await plain.call('POST', '/auth/signout', { headers: many })).status, 200)
  t.equal((await plain.call('GET', '/auth/me', { headers: { Cookie: own.cookie } })).status, 401)
})

t.test('any number of genuine cookies is looked up with one statement', async (t) => {
  const counter = await countRoundTrips(t, database.authenticatorUri)
  const { call } = await startService(t, counter.uri)
  const { cookie } = await signIn(call, 'ann@example.org')
  const tripsWith = async (cookies: string): Promise<number> => {
    await counter.quiet()
    counter.take()
    t.equal((await call('GET', '/auth/me', { headers: { Cookie: cookies } })).status, 200)
    return counter.take()
  }
  await tripsWith(cookie)
  const others = Array.from({ length: 50 }, (_, n) => made('session', String(n).padStart(43, 'y'))).join('; ')
  t.ok((await tripsWith(`${others}; ${cookie}`)) <= (await tripsWith(cookie)) + 1)
})

t.test('signing out and signing in replace both cookies', async (t) => {
  const first = await cookiesOf(secure.call, 'mallory@example.org')
  const again = await secure.call('POST', '/auth/signin', {
    body: { email: 'mallory@example.org', password },
    headers: { Cookie: `${first.session}; ${first.host}` },
  })
  t.equal(again.headers.getSetCookie().length, 2)
  const old = await secure.call('GET', '/auth/me', { headers: { Cookie: first.host } })
  t.equal(old.status, 401, 'the previous session has ended')

  const [session = '', host = ''] = again.headers.getSetCookie().map((text) => text.split(';')[0])
  const out = await secure.call('POST', '/auth/signout', { headers: { Cookie: `${session}; ${host}` } })
  t.equal(out.status, 200)
  t.strictSame(out.headers.getSetCookie(), [
    'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
    '__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
  ])
  for (const cookie of [session, host]) {
    t.equal((await secure.call('GET', '/auth/me', { headers: { Cookie: cookie } })).status, 401)
  }
})

t.test('two users in turn on one connection are not mixed up', async (t) => {
  const bob = await signUp(secure.call, 'bob@example.org')
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      secure.call('GET', '/auth/me', { headers: { Cookie: n % 2 ? bob.cookie : ann.host } }),
    ),
  )
  for (const [n, answer] of answers.entries()) {
    t.match(detailsOf(answer), { email: n % 2 ? 'bob@example.org' : 'ann@example.org' })
  }
})

t.test('pages of other sites: headers -> 403, even with cookies', async (t) => {
  const rows: readonly (readonly [method: string, path: string])[] = [
    ['POST', '/auth/signup'],
    ['POST', '/auth/signin'],
    ['POST', '/auth/signout'],
    ['POST', '/auth/token'],
    ['DELETE', '/auth/sessions/others'],
    ['POST', '/report'],
  ]
  const cookie = `${ann.session}; ${ann.host}`
  for (const [method, path] of rows) {
    for (const [name, value] of [
      ['Origin', 'https://evil.example'],
      ['Origin', 'null'],
      ['Sec-Fetch-Site', 'cross-site'],
      ['Sec-Fetch-Site', 'same-site'],
    ] as const) {
      const given = await secure.call(method, path, { headers: { [name]: value, Cookie: cookie } })
      t.equal(given.status, 403, `${method} ${path} ${name}: ${value}`)
      t.strictSame(given.headers.getSetCookie(), [])
    }
  }
  t.equal((await secure.call('GET', '/auth/me', { headers: { Cookie: cookie } })).status, 200)
})

t.test('listening address -> whether cookies are Secure', async (t) => {
  const hosts: readonly (readonly [host: string, socket: string | null, isLoopback: boolean])[] = [
    ['127.0.0.1', null, true],
    ['127.8.9.10', null, true],
    ['::1', null, true],
    ['localhost', null, true],
    ['0.0.0.0', null, false],
    ['!4', null, false],
    ['*', null, false],
    ['::', null, false],
    ['192.0.2.1', null, false],
    ['127.0.0.1.example.org', null, false],
    ['127.0.0.1', '/run/rowhouse.sock', false],
  ]
  for (const [serverHost, serverUnixSocket, wanted] of hosts) {
    t.equal(listensOnLoopback({ serverHost, serverUnixSocket }), wanted, `${serverHost} ${serverUnixSocket ?? ''}`)
  }

  const SESSION_SECRETS = 's'.repeat(32)
  const environments: readonly (readonly [env: Readonly<Record<string, string>>, cookies: number])[] = [
    [{}, 1],
    [{ NODE_ENV: 'production' }, 1],
    [{ HOST: '0.0.0.0' }, 2],
    [{ HOST: '0.0.0.0', NODE_ENV: 'development' }, 2],
    [{ HOST: '0.0.0.0', SECURE_COOKIES: 'false' }, 1],
    [{ SECURE_COOKIES: 'true' }, 2],
  ]
  for (const [env, cookies] of environments) {
    const { call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS, ...env })
    const { headers } = await call('POST', '/auth/signin', { body: { email: 'ann@example.org', password } })
    const set = headers.getSetCookie()
    t.equal(set.length, cookies, JSON.stringify(env))
    t.ok(
      set.every((text) => text.endsWith('; Secure') === (cookies === 2)),
      JSON.stringify(env),
    )
  }
})
