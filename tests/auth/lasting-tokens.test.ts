// `GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS=false`: a token outlives its session at every door; what is not a token still ends at once.
import { join } from 'node:path'
import { createClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { detailsOf, signUp as signUpWithCookie } from '../support/account.ts'
import { askAuth, codeOf, passwordGrant, refreshGrant, signUp, type SessionBody } from '../support/auth.ts'
import { folderWith } from '../support/function-server.ts'
import { prefix } from '../support/image-upload.ts'
import { dial, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const folder = await folderWith(t, {
  'functions/answer/index.ts': `Deno.serve(() => new Response('answered'))`,
})
const { url, call, database, reload } = await startRealtimeServer(t, {
  SERVICES: 'rest,auth,profiles,reports,analysis,storage,realtime,functions,mcp',
  FUNCTIONS_DIR: join(folder, 'functions'),
  STORAGE_FILE_BACKEND_PATH: t.testdir(),
  SESSION_SECRETS: 's'.repeat(32),
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_RATE_LIMIT_HEADER: 'x-client',
})
await database.query(`create table public.notes (id int primary key);
  grant select on public.notes to authenticated;
  create table public.own (id int primary key, owner uuid);
  alter table public.own enable row level security;
  create policy own on public.own for select to authenticated using (owner = auth.uid());
  grant select on public.own to authenticated;
  create policy team on realtime.messages for select to authenticated using (realtime.topic() = 'team');
  alter publication supabase_realtime add table public.notes, public.own`)
// The tables are served once the schema cache has been loaded again.
if (!(await until(async () => (await fetch(`${url}/rest/v1/own`)).status !== 404))) throw new Error('no table')
const ask = askAuth(url)
const setting = 'GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS'

type Door = (headers: Record<string, string>) => Promise<number>

const http =
  (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Door =>
  async (headers) => {
    const leaving = new AbortController()
    const response = await fetch(url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...more, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: leaving.signal,
    })
    // Of an endless stream, the status is all that is needed.
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) leaving.abort()
    else await response.arrayBuffer()
    return response.status
  }

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const broadcast = { messages: [{ topic: 'room', event: 'e', payload: {} }] }

/** Status with an active session; without one, where it is checked, the status is the last. */
const doors: readonly (readonly [name: string, door: Door, active: number, ended: number])[] = [
  ['/rest/v1', http('GET', '/rest/v1/notes'), 200, 401],
  ['a batch', http('POST', '/rest/v1/$batch', { requests: [{ id: 'a', method: 'GET', url: '/notes' }] }), 200, 401],
  ['/openapi.json', http('GET', '/openapi.json'), 200, 401],
  ['/storage/v1', http('GET', '/storage/v1/bucket'), 200, 400],
  ['/functions/v1', http('POST', '/functions/v1/answer', {}), 200, 401],
  ['/mcp', http('POST', '/mcp', list, { accept: 'application/json, text/event-stream' }), 200, 401],
  // Without an image, that is what an accepted caller gets.
  ['the analysis', http('POST', `${prefix}/predict`, {}), 422, 401],
  ['broadcasts', http('POST', '/realtime/v1/api/broadcast', broadcast), 202, 401],
  ['changes of rows', http('GET', '/realtime/v1/changes?schema=public&table=notes'), 200, 401],
]

async function through(t: Test, token: string, isGood: boolean, label: string): Promise<void> {
  for (const [name, door, active, ended] of doors) {
    t.equal(await door({ Authorization: `Bearer ${token}` }), isGood ? active : ended, `${label}: ${name}`)
  }
  const socket = await dial(t, url, { token })
  t.equal((await socket.opened).status, isGood ? 101 : 401, `${label}: a socket`)
}

/** What ends a session, or the account with it. */
const ends: Readonly<Record<string, (session: SessionBody) => Promise<unknown>>> = {
  'a sign-out': ({ access_token: token }) => ask('POST', '/logout?scope=global', { token }),
  'a ban': ({ user }) =>
    database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [user.id]),
  'the end of the account': ({ user }) => database.query('delete from auth.users where id = $1', [user.id]),
}

/** A socket with a channel of the user, and one that only joins with the user's token. */
async function channelsOf(t: Test, token: string): Promise<readonly RealtimeClient[]> {
  const [own, other] = [await dial(t, url, { token }), await dial(t, url)]
  await Promise.all([own.opened, other.opened])
  t.match(await own.join('a'), { status: 'ok' })
  t.match(await other.join('a', {}, { access_token: token }), { status: 'ok' })
  return [own, other]
}

const over = 'The session of this token has ended'

t.test('by default, a token ends with its session at every door', async (t) => {
  for (const [label, end] of Object.entries(ends)) {
    const session = await signUp(ask)
    await through(t, session.access_token, true, `before ${label}`)
    await end(session)
    await through(t, session.access_token, false, `after ${label}`)
  }
})

t.test('with the option, it is good until it expires', async (t) => {
  await reload({ [setting]: 'false' })
  for (const [label, end] of Object.entries(ends)) {
    const session = await signUp(ask)
    const { access_token: token, refresh_token: refresh } = session
    const channels = await channelsOf(t, token)
    await end(session)
    await through(t, token, true, `after ${label}`)
    for (const client of channels) {
      t.strictSame(await client.events(), [], `${label}: channels stay`)
      t.match(await client.join('b', {}, { access_token: token }), { status: 'ok' }, `${label}: others are joined`)
    }
    const user = await ask('GET', '/user', { token })
    t.match(
      codeOf(user),
      { 'a ban': 'user_banned', 'the end of the account': 'user_not_found' }[label] ?? 'session_not_found',
    )
    t.equal((await refreshGrant(ask, refresh)).status, 400, `${label}: nothing is refreshed`)
    if (label === 'a ban') t.equal(codeOf(await passwordGrant(ask, String(session.user.email))), 'user_banned')
  }
  const { user } = await signUp(ask)
  const expired = await signToken({ role: 'authenticated', sub: user.id, session_id: user.id, exp: 1 })
  await through(t, expired, false, 'an expired token')
  const forged = `${(await signUp(ask)).access_token.slice(0, -8)}AAAAAAAA`
  for (const [name, door, active] of doors) {
    t.not(await door({ Authorization: `Bearer ${forged}` }), active, `a forged signature: ${name}`)
  }
})

t.test('changes of rows and private channels go on under policies after a sign-out', async (t) => {
  await reload({ [setting]: 'false' })
  const session = await signUp(ask)
  const client = await dial(t, url)
  await client.opened
  const changes = { postgres_changes: [{ event: 'INSERT', schema: 'public', table: 'own' }] }
  const config = { private: true, ...changes }
  t.match(await client.join('team', config, { access_token: session.access_token }), { status: 'ok' })
  t.match(await client.next('system'), { payload: { status: 'ok' } })
  await ask('POST', '/logout?scope=global', { token: session.access_token })
  await database.query('insert into public.own values (1, $1), (2, $2)', [session.user.id, crypto.randomUUID()])
  t.match(await client.next('postgres_changes'), { payload: { data: { record: { id: 1 } } } })
  await database.query("select realtime.send('{}', 'e', 'team')")
  t.match(await client.next('broadcast'), { payload: { event: 'e' } })
  t.strictSame(await client.events(), [], 'nothing of others')
})

t.test('cookies end at once in any case', async (t) => {
  await reload({ [setting]: 'false' })
  for (const [index, path] of ['/auth/signout', '/auth/sessions/others'].entries()) {
    const user = await signUpWithCookie(call, `cookie${index}@example.org`)
    const { access_token: token } = detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token'))
    t.equal((await user.call('GET', '/report')).status, 200)
    if (path === '/auth/signout') await user.call('POST', path)
    else {
      const other = await call('POST', '/auth/signin', { body: { email: user.email, password: 'correct horse' } })
      await call('DELETE', path, { headers: { Cookie: other.cookie ?? '' } })
    }
    t.equal((await user.call('GET', '/report')).status, 401, path)
    t.equal((await user.call('POST', '/auth/token')).status, 401, `${path}: and give no more tokens`)
    t.equal(await http('GET', '/rest/v1/notes')({ Authorization: `Bearer ${token}` }), 200, `${path}: the token stays`)
  }
})

t.test('a client of supabase-js goes on with the token of another that has signed out everywhere', async (t) => {
  await reload({ [setting]: 'false' })
  const { user } = await signUp(ask)
  const clients = await Promise.all(
    [1, 2].map(async () => {
      const client = createClient(url, await signToken({ role: 'anon' }), {
        auth: { persistSession: false, autoRefreshToken: false },
        // Node 20 has no WebSocket, and the test does not need one.
        realtime: { transport: class {} as never },
      })
      const { error } = await client.auth.signInWithPassword({
        email: String(user.email),
        password: 'correct horse battery',
      })
      t.equal(error, null)
      return client
    }),
  )
  const [first, second] = clients
  await first?.auth.signOut()
  t.equal((await second?.from('notes').select())?.error, null)
  t.equal((await second?.auth.getUser())?.error?.name, 'AuthSessionMissingError')
})

t.test('a reload turns the check on and off', async (t) => {
  await reload({ [setting]: 'false' })
  const session = await signUp(ask)
  const { access_token: token } = session
  const [own, other] = await channelsOf(t, token)
  await ask('POST', '/logout?scope=global', { token })
  await through(t, token, true, 'off')

  await reload({ [setting]: undefined })
  await through(t, token, false, 'on')
  t.match(await own?.closed, { code: 1008, reason: over }, 'its socket is closed')
  t.match(await other?.next('system', 'realtime:a'), { payload: { message: over } }, 'its channel ends')

  await reload({ [setting]: 'false' })
  await through(t, token, true, 'off again')
  await reload({ [setting]: 'nonsense' })
  await through(t, token, true, 'an invalid value changes nothing')
  await reload({ [setting]: 'true' })
  t.ok(await until(async () => (await http('GET', '/rest/v1/notes')({ Authorization: `Bearer ${token}` })) === 401))
})

t.test('what was not checked while the check was off for a moment is checked afterwards', async (t) => {
  await reload({ [setting]: 'true' })
  const session = await signUp(ask)
  const { access_token: token } = session
  const [own, other] = await channelsOf(t, token)
  await reload({ [setting]: 'false' })
  await ask('POST', '/logout?scope=global', { token })
  const late = await dial(t, url)
  await late.opened
  t.match(await late.join('a', {}, { access_token: token }), { status: 'ok' })
  await reload({ [setting]: 'true' })
  t.match(await own?.closed, { code: 1008, reason: over }, 'a socket')
  for (const client of [other, late]) {
    t.match(await client?.next('system', 'realtime:a'), { payload: { message: over } }, 'a channel')
  }
})
