// The database goes away in the middle of sign-in: 503, no double effect, and a repeated request finds its way.
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  codeOf,
  newAddress,
  password,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AuthAnswer,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { createGate } from '../support/gate.ts'
import { createLatch, type Latch } from '../support/latch.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { mailSettings } from '../support/mailing-service.ts'
import { browse, client, startProvider } from '../support/oidc-provider.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const sink = await startMailSink(t)
const acme = await startProvider(t, { ann: { email: 'ann@acme.test', email_verified: true } })
const gate = await createGate(t, database.port)
await gate.open()
const env = {
  ...mailSettings(sink),
  GOTRUE_EXTERNAL_ACME_ENABLED: 'true',
  GOTRUE_EXTERNAL_ACME_CLIENT_ID: client.id,
  GOTRUE_EXTERNAL_ACME_SECRET: client.secret,
  GOTRUE_EXTERNAL_ACME_URL: acme.issuer,
  PGRST_DB_POOL: '3',
}
const uri = database.authenticatorUri.replace(`:${database.port}/`, `:${gate.port}/`)
const { url, service } = await startApplication(t, uri, env)
acme.serve(`${url}/auth/v1/callback`)
const ask = askAuth(url)
const auto = askAuth((await startApplication(t, uri, { ...env, GOTRUE_MAILER_AUTOCONFIRM: 'true' })).url)

await database.query(`
  create function public.wait() returns trigger language plpgsql as 'begin return new; end';
  create trigger wait before insert on auth.users for each row execute function public.wait();
  create trigger wait before insert on auth.refresh_tokens for each row execute function public.wait()`)

/** Makes the statements that create accounts, sessions and refresh tokens wait. */
async function delayed(t: Test): Promise<Latch> {
  const latch = await createLatch(t, database)
  await database.query(`create or replace function public.wait() returns trigger language plpgsql as $$
    begin
      perform ${latch.wait};
      return new;
    end $$`)
  return latch
}

const noConnectionIsLost = () =>
  until(async () => {
    const { total, idle, waiting } = service.database.statistics
    const { rowCount } = await database.query(`select from pg_stat_activity
      where datname = current_database() and usename = 'authenticator' and state ~ '^idle in transaction'`)
    return total === idle && waiting === 0 && rowCount === 0
  })

/** How the database goes away while a statement waits, and whether the statement takes effect. */
const outages = {
  'its session is terminated': {
    takesEffect: false,
    strike: async (latch: Latch) => {
      await database.query(`select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and classid = 77 and not granted
          and database = (select oid from pg_database where datname = current_database())`)
      await latch.release()
    },
  },
  'the connection breaks': {
    takesEffect: true,
    strike: async (latch: Latch) => {
      await gate.shut()
      await latch.release()
      const running = `select from pg_stat_activity
        where datname = current_database() and usename = 'authenticator' and state = 'active'`
      await until(async () => (await database.query(running)).rowCount === 0)
      await gate.open()
    },
  },
}

const unavailable = { status: 503, body: { error_code: 'unexpected_failure', msg: /database cannot be reached/ } }

type Flow = {
  readonly email: string
  readonly send: () => Promise<AuthAnswer>
  /** Checks what a repeated request gets. */
  readonly check: (t: Test, again: AuthAnswer, takesEffect: boolean) => Promise<void> | void
}

const flows: Readonly<Record<string, () => Promise<Flow>>> = {
  'a sign-up': async () => {
    const email = newAddress()
    return {
      email,
      send: () => ask('POST', '/signup', { body: { email, password } }),
      check: async (t, again) => {
        t.match(again, { status: 200, body: { email } }, again.text)
        const { code } = await sink.next(email)
        t.equal((await ask('POST', '/verify', { body: { type: 'signup', email, token: code } })).status, 200)
        t.equal(sink.countTo(email), 1, 'one mail')
      },
    }
  },
  'a code': async () => {
    const email = newAddress()
    await ask('POST', '/signup', { body: { email, password } })
    const { code } = await sink.next(email)
    return {
      email,
      send: () => ask('POST', '/verify', { body: { type: 'signup', email, token: code } }),
      check: async (t, again, takesEffect) => {
        if (!takesEffect) t.equal(again.status, 200, again.text)
        else t.equal(codeOf(again), 'otp_expired', 'it is used up')
        const signedIn = await passwordGrant(ask, email)
        t.equal(signedIn.status, 200, 'the address is confirmed')
      },
    }
  },
  'a refresh': async () => {
    const email = newAddress()
    const { refresh_token: token } = await signUp(auto, email)
    return {
      email,
      send: () => refreshGrant(ask, token),
      check: async (t, again) => {
        t.equal(again.status, 200, again.text)
        const { rows } = await database.query('select token from auth.refresh_tokens where parent = $1', [token])
        t.strictSame(rows, [{ token: sessionOf(again).refresh_token }], 'there is one child')
      },
    }
  },
}

for (const [how, { strike, takesEffect }] of Object.entries(outages)) {
  for (const [label, prepare] of Object.entries(flows)) {
    void t.test(`${label}, while ${how}`, async (t) => {
      const { email, send, check } = await prepare()
      const latch = await delayed(t)
      const sent = send()
      t.ok(await latch.isAwaited())
      await strike(latch)
      const answer = await sent
      t.match(answer, unavailable, answer.text)
      let again = await send()
      await until(async () => again.status !== 503 || ((again = await send()), false))
      await check(t, again, takesEffect)
      const { rows } = await database.query(
        `select count(*)::integer as users, (select count(*)::integer from auth.identities where identities.email = $1)
           as identities from auth.users where users.email = $1`,
        [email],
      )
      t.strictSame(rows, [{ users: 1, identities: 1 }])
      t.ok(await noConnectionIsLost())
    })
  }

  void t.test(`a callback, while ${how}`, async (t) => {
    const page = 'https://app.test'
    const start = `${url}/auth/v1/authorize?provider=acme&login_hint=ann`
    const callback = await browse(start, `${url}/auth/v1/callback`)
    const open = async () => new URL((await fetch(callback, { redirect: 'manual' })).headers.get('location') ?? '')
    const latch = await delayed(t)
    const opened = open()
    t.ok(await latch.isAwaited())
    await strike(latch)
    t.equal((await opened).searchParams.get('error'), 'temporarily_unavailable')
    t.notMatch((await opened).href, 'access_token')
    const again = await open()
    t.match(again.searchParams.get('error_code'), /^(?:bad_oauth_state|flow_state_already_used)$/, 'a flow counts once')
    t.match((await browse(start, page)).hash, 'access_token', 'the next one succeeds')
    const { rows } = await database.query(`select count(distinct users.id)::integer as users,
        count(distinct identities.id)::integer as identities, count(distinct sessions.id)::integer as sessions
      from auth.users left join auth.identities on identities.user_id = users.id
        left join auth.sessions on sessions.user_id = users.id
      where users.email = 'ann@acme.test'`)
    t.strictSame(rows, [{ users: 1, identities: 1, sessions: takesEffect ? 2 : 1 }])
    t.ok(await noConnectionIsLost())
    await database.query("delete from auth.users where email = 'ann@acme.test'")
  })
}

t.test('every endpoint says that the database is away, and works when it is back', async (t) => {
  const session = await signUp(auto)
  const { access_token: token, refresh_token } = session
  const rows = [
    ['POST', '/signup', { email: newAddress(), password }],
    ['POST', '/otp', { email: newAddress() }],
    ['POST', '/recover', { email: session.user.email }],
    ['POST', '/resend', { type: 'signup', email: newAddress() }],
    ['POST', '/verify', { type: 'email', email: session.user.email, token: '123456' }],
    ['POST', '/token?grant_type=password', { email: session.user.email, password }],
    ['POST', '/token?grant_type=refresh_token', { refresh_token }],
    ['GET', '/verify?type=signup&token=abc', undefined],
    ['GET', '/user', undefined],
    ['PUT', '/user', { data: { a: 1 } }],
    ['POST', '/factors', { factor_type: 'totp', friendly_name: 'app' }],
    ['POST', '/logout', undefined],
    ['GET', '/authorize?provider=acme', undefined],
  ] as const
  const all = () =>
    Promise.all(
      rows.map(([method, path, body]) => ask(method, path, { token, ...(body === undefined ? {} : { body }) })),
    )
  await gate.shut()
  for (const [index, answer] of (await all()).entries()) t.match(answer, unavailable, rows[index]?.[1] ?? '')
  t.equal((await ask('GET', '/health')).status, 200)
  t.equal((await ask('GET', '/settings')).status, 200)
  await gate.open()
  t.ok(await until(async () => (await ask('GET', '/user', { token })).status === 200))
  for (const answer of await all()) t.ok(answer.status < 500, answer.text)
  t.ok(await noConnectionIsLost())
})

t.test('clients that hang up while a trigger of the project is slow', async (t) => {
  const latch = await delayed(t)
  const addresses = Array.from({ length: 8 }, newAddress)
  const sent = addresses.map((email) => {
    const body = JSON.stringify({ email, password })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const call = request(`${url}/auth/v1/signup`, { method: 'POST', headers })
    call.on('error', () => undefined).end(body)
    return call
  })
  t.ok(await latch.isAwaited(2), 'one connection of three is left for reads')
  for (const call of sent) call.destroy()
  await latch.release()
  t.ok(await noConnectionIsLost())
  const answers = await Promise.all(addresses.map((email) => ask('POST', '/signup', { body: { email, password } })))
  for (const answer of answers) t.equal(answer.status, 200, answer.text)
  const { rows } = await database.query(
    'select count(*)::integer as users, count(distinct email)::integer as addresses from auth.users where email = any ($1)',
    [addresses],
  )
  t.strictSame(rows, [{ users: 8, addresses: 8 }])
})
