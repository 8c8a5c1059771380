// The hint of an error that a key or a sign-in would avoid.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const fixture = `
  create table public.notes (id int primary key, text text);
  alter table public.notes enable row level security;
  revoke all on public.notes from anon, authenticated;
  create table public.posts (id int primary key);
  alter table public.posts enable row level security;
  grant select, insert on public.posts to anon;
  create function public.refuse() returns void language plpgsql as $$
    begin raise insufficient_privilege using message = 'not today', hint = 'Come back tomorrow.'; end $$;
  grant execute on function public.refuse to anon`
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(fixture)
const { url, call } = await startApplication(t, database.authenticatorUri, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
const publishable = await withClient(
  database.adminUri,
  async (client) => (await createApiKey(client, { role: 'anon', label: 'page' })).key,
)
const noCredential =
  'The request has no key and no token. Send an API key in the header apikey, or sign in and send the token as Authorization: Bearer.'
const noUser =
  'No user is signed in: the request acts as the anonymous role. Sign in, and send the token as Authorization: Bearer.'

t.test('who gets which hint', async (t) => {
  const anon = await signToken({ role: 'anon' })
  const user = await signToken({ role: 'authenticated' })
  const rows: readonly (readonly [string, Record<string, string>, string, number, string | null])[] = [
    ['no credential', {}, '/notes', 401, noCredential],
    ['a scheme that is ignored', { Authorization: 'Basic YTpi' }, '/notes', 401, noCredential],
    ['the key of pages', { apikey: publishable }, '/notes', 401, noUser],
    ['both', { apikey: publishable, Authorization: `Bearer ${publishable}` }, '/notes', 401, noUser],
    ['a token of anon', { Authorization: `Bearer ${anon}` }, '/notes', 401, noUser],
    ['a user, who lacks the right', { Authorization: `Bearer ${user}` }, '/notes', 403, null],
    ['a hint of the database', {}, '/rpc/refuse', 401, 'Come back tomorrow.'],
  ]
  for (const [label, headers, path, status, hint] of rows) {
    const answer = await call('GET', `/rest/v1${path}`, { headers })
    t.match(answer, { status, body: { code: '42501', hint } }, label)
  }
  const added = await call('POST', '/rest/v1/posts', { body: { id: 1 } })
  t.match(added, { status: 401, body: { message: /row-level security/, hint: noCredential } }, 'a policy')
  t.match(await call('GET', '/rest/v1/nothing'), { status: 404, body: { hint: null } }, 'another error')
})

t.test('a client that has signed out', async (t) => {
  await database.query(
    'grant select on public.notes to authenticated; create policy all_notes on public.notes using (true)',
  )
  const client = createClient(url, publishable, {
    auth: { persistSession: false },
    realtime: { transport: class {} as never },
  })
  await client.auth.signUp({ email: 'ann@example.org', password: 'correct horse' })
  t.match(await client.from('notes').select(), { status: 200, data: [] })
  await client.auth.signOut()
  t.match(await client.from('notes').select(), { status: 401, error: { code: '42501', hint: noUser } })
})

t.test('without an anonymous role', async (t) => {
  const closed = await startApplication(t, database.authenticatorUri, { PGRST_DB_ANON_ROLE: '' })
  t.match(await closed.call('GET', '/rest/v1/notes'), { status: 401, body: { code: 'PGRST302', hint: noCredential } })
})

t.test('a database without accounts answers as PostgREST', async (t) => {
  const bare = await createDatabase()
  t.teardown(() => bare.drop())
  await bare.query(`grant usage on schema public to anon; ${fixture}`)
  const { call: ask } = await startApplication(t, bare.uri('authenticator', 'authenticator'), {
    SERVICES: 'rest',
    PGRST_DB_ANON_ROLE: 'anon',
  })
  t.strictSame((await ask('GET', '/rest/v1/notes')).body, {
    code: '42501',
    details: null,
    hint: null,
    message: 'permission denied for table notes',
  })
})
