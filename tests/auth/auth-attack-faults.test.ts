// Bad luck and hostile code in the database: `/auth/v1` responds, and keeps its promises.
import { request } from 'node:http'
import t from 'tap'
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
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, call } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  AUTH_ACCOUNT_LIMIT: '1000',
})
const ask = askAuth(url)
const refresh = (token: string) => refreshGrant(ask, token)

t.test('refreshes while the session goes', async (t) => {
  const service = await signToken({ role: 'service_role' })
  const ends = {
    'sign-out': (token: string) => ask('POST', '/logout', { token }),
    deletion: (_token: string, id: string) => ask('DELETE', `/admin/users/${id}`, { token: service, body: {} }),
    ban: (_token: string, id: string) =>
      ask('PUT', `/admin/users/${id}`, { token: service, body: { ban_duration: '1h' } }),
  }
  for (const [label, end] of Object.entries(ends)) {
    const { refresh_token: token, access_token: access, user } = await signUp(ask)
    const [ended, ...refreshed] = await Promise.all([
      end(access, user.id),
      ...Array.from({ length: 10 }, () => refresh(token)),
    ])
    t.ok(ended.status < 300, `${label}: ${ended.text}`)
    t.strictSame(
      refreshed.filter(({ status }) => status !== 200 && status !== 400),
      [],
      label,
    )
    const tokens = [token, ...refreshed.filter(({ status }) => status === 200).map((it) => sessionOf(it).refresh_token)]
    for (const one of new Set(tokens)) t.equal((await refresh(one)).status, 400, `${label}: no token is left`)
    t.equal((await ask('GET', '/user', { token: access })).status, 403, label)
  }
})

t.test('triggers of a project that misbehave', async (t) => {
  await database.query(`
    create function public.misbehave() returns trigger language plpgsql as $$
    begin
      if new.email like '%@recursion.example' then
        update auth.users set updated_at = clock_timestamp() where id = new.id;
      elsif new.email like '%@rights.example' then
        delete from public.profiles;
      end if;
      return new;
    end $$;
    create trigger misbehave after insert or update on auth.users for each row execute function public.misbehave();
    create function public.swallow() returns trigger language plpgsql as $$
    begin
      return case when new.email like '%@swallowed.example' then null else new end;
    end $$;
    create trigger swallow before insert on auth.users for each row execute function public.swallow()`)
  for (const [domain, status, message] of [
    ['recursion.example', 500, /stack depth/],
    ['rights.example', 500, /permission denied/],
    ['swallowed.example', 409, /./],
  ] as const) {
    const email = `someone@${domain}`
    const refused = await ask('POST', '/signup', { body: { email, password } })
    t.match([refused.status, refused.body.msg], [status, message], domain)
    const { rows } = await database.query('select from auth.users where email = $1', [email])
    t.equal(rows.length, 0, `${domain}: nothing is left of the account`)
  }
  await database.query('drop trigger misbehave on auth.users; drop trigger swallow on auth.users')
  t.equal((await ask('POST', '/signup', { body: { email: newAddress(), password } })).status, 200)
})

t.test('clients that hang up while their password is hashed', async (t) => {
  const { user } = await signUp(ask)
  const body = JSON.stringify({ email: user.email, password: 'wrong password' })
  const hangUp = (): Promise<void> =>
    new Promise((resolve) => {
      const sent = request(`${url}/auth/v1/token?grant_type=password`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      })
      sent.on('error', () => undefined).on('close', resolve)
      sent.end(body, () => setImmediate(() => sent.destroy()))
    })
  await Promise.all(Array.from({ length: 10 }, hangUp))
  t.equal((await passwordGrant(ask, user.email)).status, 200)
})

t.test('the API reads on during a flood of sign-ins', async (t) => {
  const { user, access_token: token } = await signUp(ask)
  let pending = 30
  const flood = Array.from({ length: pending }, async () => {
    const answer = await passwordGrant(ask, user.email)
    pending -= 1
    return answer
  })
  const read = await call('GET', '/rest/v1/profiles?select=id', { headers: { Authorization: `Bearer ${token}` } })
  t.equal(read.status, 200)
  t.ok(pending > 0, `the read did not wait for all sign-ins: ${pending} were left`)
  for (const answer of await Promise.all(flood)) t.match(answer.status, /^(?:200|429|503)$/, String(codeOf(answer)))
})
