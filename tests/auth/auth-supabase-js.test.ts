// `@supabase/supabase-js`, unmodified: a user's whole way through sign-in, and the REST API under row-level security.
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { newAddress, password } from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { notesProject } from '../support/notes-project.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(notesProject)
const { url } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
})
const key = await withClient(
  database.adminUri,
  async (client) => (await createApiKey(client, { role: 'anon', label: 'page' })).key,
)

type Table<Row> = { Row: Row; Insert: Partial<Row>; Update: Partial<Row>; Relationships: [] }
type Schema = {
  public: {
    Tables: {
      notes: Table<{ id: number; owner: string; text: string }>
      members: Table<{ id: string; name: string | null }>
    }
    Views: Record<never, never>
    Functions: Record<never, never>
  }
}

/** The client of a page. It requires a WebSocket, which Node 20 lacks and which is not used here. */
const open = (): SupabaseClient<Schema> =>
  createClient<Schema>(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: class {} as never },
  })

t.test('sign up, sign in, refresh, update, sign out', async (t) => {
  const page = open()
  const email = newAddress()
  const signedUp = await page.auth.signUp({ email, password, options: { data: { full_name: 'Ada' } } })
  t.equal(signedUp.error, null)
  t.match(signedUp.data.user, { email, user_metadata: { full_name: 'Ada' } })
  const { rows } = await database.query('select name from public.members where id = $1', [signedUp.data.user?.id])
  t.strictSame(rows, [{ name: 'Ada' }], 'the trigger has run')

  const notes = async (client: SupabaseClient) => (await client.from('notes').select('text')).data
  t.equal((await page.from('notes').insert({ text: 'mine' })).error, null)
  t.strictSame(await notes(page), [{ text: 'mine' }])

  const other = open()
  t.match((await other.auth.signInWithPassword({ email, password: 'wrong' })).error, {
    status: 400,
    code: 'invalid_credentials',
  })
  t.equal((await other.auth.signInWithPassword({ email, password })).error, null)
  t.strictSame(await notes(other), [{ text: 'mine' }])

  const stranger = open()
  t.equal((await stranger.auth.signUp({ email: newAddress(), password })).error, null)
  t.strictSame(await notes(stranger), [], 'another user sees nothing')

  t.equal((await page.auth.getUser()).data.user?.email, email)
  const before = (await page.auth.getSession()).data.session?.refresh_token
  const refreshed = await page.auth.refreshSession()
  t.equal(refreshed.error, null)
  t.not(refreshed.data.session?.refresh_token, before)
  const updated = await page.auth.updateUser({ data: { full_name: null, theme: 'dark' } })
  t.match(updated.data.user?.user_metadata, { theme: 'dark' })
  t.notOk(updated.data.user && 'full_name' in updated.data.user.user_metadata)
  t.match((await page.auth.updateUser({ password: '1' })).error, { code: 'weak_password', reasons: ['length'] })
  t.match((await page.auth.getClaims()).data?.claims, { email, role: 'authenticated', aal: 'aal1' })

  t.equal((await page.auth.signOut({ scope: 'others' })).error, null)
  t.match((await other.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.equal((await page.auth.getUser()).data.user?.email, email)
  const third = open()
  await third.auth.signInWithPassword({ email, password })
  t.equal((await third.auth.signOut({ scope: 'local' })).error, null)
  t.equal((await page.auth.getUser()).data.user?.email, email)
  t.equal((await page.auth.signOut()).error, null)
  t.equal((await page.auth.getSession()).data.session, null)
})

t.test('an anonymous user who becomes a permanent one', async (t) => {
  const page = open()
  const { data, error } = await page.auth.signInAnonymously({ options: { data: { theme: 'dark' } } })
  t.equal(error, null)
  t.match(data.user, { is_anonymous: true, user_metadata: { theme: 'dark' } })
  t.equal((await page.from('notes').insert({ text: 'first' })).error, null)
  const email = newAddress()
  const kept = await page.auth.updateUser({ email, password })
  t.match(kept.data.user, { id: data.user?.id, email, is_anonymous: false })
  const back = open()
  t.equal((await back.auth.signInWithPassword({ email, password })).data.user?.id, data.user?.id)
  t.strictSame((await back.from('notes').select('text')).data, [{ text: 'first' }])
  t.strictSame(
    (await back.auth.getUserIdentities()).data?.identities.map(({ provider }) => provider),
    ['email'],
  )
})
