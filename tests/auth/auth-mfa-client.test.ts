// `supabase.auth.mfa` and `supabase.auth.admin` of `@supabase/supabase-js`, unmodified, against the whole service.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { newAddress, password } from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { codeOfApp } from '../support/second-factor.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url } = await startApplication(t, database.authenticatorUri, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
const newKey = (role: string) =>
  withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role })).key)
const publishable = await newKey('anon')
const secret = await newKey('service_role')

// The client requires a WebSocket, which Node 20 lacks. It is not used here.
const realtime = { transport: class {} as never }
const connect = (key: string) =>
  createClient(url, key, { auth: { persistSession: false, autoRefreshToken: false }, realtime })
const { admin } = connect(secret).auth

type Result = { readonly data: unknown; readonly error: unknown }

/** The data of a response without an error. */
function dataOf<Either extends Result>({ data, error }: Either): NonNullable<Extract<Either, { error: null }>['data']> {
  if (error !== null || data === null || data === undefined) throw new Error(String(error))
  return data
}

t.test('mfa: enrol, challenge, verify, level, unenrol', async (t) => {
  const { auth } = connect(publishable)
  const email = newAddress()
  dataOf(await auth.signUp({ email, password }))
  t.strictSame((await auth.mfa.getAuthenticatorAssuranceLevel()).data, {
    currentLevel: 'aal1',
    nextLevel: 'aal1',
    currentAuthenticationMethods: (await auth.mfa.getAuthenticatorAssuranceLevel()).data?.currentAuthenticationMethods,
  })
  const factor = dataOf(await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'app' }))
  t.match(factor.totp.qr_code, /^data:image\/svg\+xml;utf-8,<svg[^#]*$/)
  t.strictSame((await auth.mfa.listFactors()).data?.totp, [], 'an unverified factor is not among the verified ones')

  const { id: challengeId } = dataOf(await auth.mfa.challenge({ factorId: factor.id }))
  const wrong = await auth.mfa.verify({ factorId: factor.id, challengeId, code: '12345' })
  t.match(wrong.error, { status: 422, code: 'mfa_verification_failed', message: /Invalid TOTP code/ })
  const code = codeOfApp(factor.totp)
  dataOf(await auth.mfa.verify({ factorId: factor.id, challengeId, code }))
  t.match((await auth.mfa.getAuthenticatorAssuranceLevel()).data, { currentLevel: 'aal2', nextLevel: 'aal2' })
  t.match((await auth.mfa.listFactors()).data?.totp, [{ id: factor.id, status: 'verified' }])

  // On another device, the password alone gives aal1, and the factor raises it.
  const other = connect(publishable).auth
  dataOf(await other.signInWithPassword({ email, password }))
  t.match((await other.mfa.getAuthenticatorAssuranceLevel()).data, { currentLevel: 'aal1', nextLevel: 'aal2' })
  t.match((await other.mfa.unenroll({ factorId: factor.id })).error, { status: 422, code: 'insufficient_aal' })
  await database.query('update auth.mfa_factors set last_totp_step = null where id = $1', [factor.id])
  dataOf(await other.mfa.challengeAndVerify({ factorId: factor.id, code: codeOfApp(factor.totp) }))
  t.match((await other.mfa.getAuthenticatorAssuranceLevel()).data, { currentLevel: 'aal2' })

  t.equal(dataOf(await auth.mfa.unenroll({ factorId: factor.id })).id, factor.id)
  dataOf(await auth.refreshSession())
  t.match((await auth.mfa.getAuthenticatorAssuranceLevel()).data, { currentLevel: 'aal1', nextLevel: 'aal1' })
  t.strictSame((await auth.mfa.listFactors()).data?.all, [])
})

t.test('mfa: a recovery code instead of the code of the app', async (t) => {
  const { auth } = connect(publishable)
  const email = newAddress()
  dataOf(await auth.signUp({ email, password }))
  const factor = dataOf(await auth.mfa.enroll({ factorType: 'totp' }))
  const { access_token: token } = dataOf(
    await auth.mfa.challengeAndVerify({ factorId: factor.id, code: codeOfApp(factor.totp) }),
  )
  const response = await fetch(`${url}/auth/v1/factors/recovery-codes`, {
    method: 'POST',
    headers: { apikey: publishable, Authorization: `Bearer ${token}` },
  })
  const { codes } = (await response.json()) as { codes: readonly string[] }
  const other = connect(publishable).auth
  dataOf(await other.signInWithPassword({ email, password }))
  dataOf(await other.mfa.challengeAndVerify({ factorId: factor.id, code: codes[0] ?? '' }))
  t.match((await other.mfa.getAuthenticatorAssuranceLevel()).data, { currentLevel: 'aal2' })
})

t.test('admin: users and their factors', async (t) => {
  const email = newAddress()
  const { user } = dataOf(await admin.createUser({ email, password, email_confirm: true, user_metadata: { a: 1 } }))
  const id = user?.id ?? ''
  t.match(user, { email, user_metadata: { a: 1, email_verified: true } })
  t.equal((await admin.createUser({ email })).error?.code, 'email_exists')
  t.equal((await admin.getUserById(id)).data.user?.email, email)
  t.equal((await admin.getUserById('99999999-9999-4999-8999-999999999999')).error?.code, 'user_not_found')
  const { user: updated } = dataOf(await admin.updateUserById(id, { user_metadata: { b: 2 }, ban_duration: '1h' }))
  t.match(updated, { user_metadata: { a: 1, b: 2 }, banned_until: String })
  const page = dataOf(await admin.listUsers({ page: 1, perPage: 1 }))
  t.match(page, { aud: 'authenticated', total: Number, nextPage: 2 })
  t.equal(page.users.length, 1)
  t.ok((await admin.listUsers({ page: -1 })).error)
  t.equal((await connect(publishable).auth.admin.listUsers()).error?.code, 'not_admin')

  dataOf(await admin.updateUserById(id, { ban_duration: 'none' }))
  const { auth } = connect(publishable)
  const { session } = dataOf(await auth.signInWithPassword({ email, password }))
  const factor = dataOf(await auth.mfa.enroll({ factorType: 'totp' }))
  t.match(dataOf(await admin.mfa.listFactors({ userId: id })).factors, [{ id: factor.id, status: 'unverified' }])
  t.match(await admin.mfa.deleteFactor({ userId: id, id: factor.id }), {
    error: null,
    // The type of auth-js lacks the member that its own tests read.
    data: { data: { id: factor.id } },
  })
  t.strictSame(dataOf(await admin.mfa.listFactors({ userId: id })).factors, [])

  t.equal((await admin.signOut(session?.access_token ?? '')).error, null)
  t.equal((await auth.getUser(session?.access_token)).error?.name, 'AuthSessionMissingError')
  t.equal((await admin.deleteUser(id)).error, null)
  t.equal((await admin.deleteUser(id)).error?.code, 'user_not_found')
})
