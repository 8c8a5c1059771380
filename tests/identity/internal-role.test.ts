// No request may have the role of the statements of /auth/v1, even if a schema with its tables is exposed.
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { bearer, signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const env = { PGRST_DB_SCHEMAS: 'auth,public' }
const role = 'supabase_auth_admin'
/** The response to a role that is not granted. */
const refused = { code: '42501', message: `permission denied to set role "${role}"`, details: null, hint: null }

t.test('a token', async (t) => {
  const { call } = await startApplication(t, database.authenticatorUri, env)
  await database.query(
    "insert into auth.users (id, email, encrypted_password) values (gen_random_uuid(), 'a@b.test', 'x')",
  )
  const token = await signToken({ role })
  const attempts: readonly Readonly<Record<string, string>>[] = [
    { Authorization: await bearer(role) },
    { Authorization: await bearer(role, { session_id: null }) },
    { apikey: token },
    { apikey: token, Authorization: await bearer('anon') },
    { apikey: await signToken({ role: 'anon' }), Authorization: `Bearer ${token}` },
  ]
  for (const headers of attempts) {
    for (let time = 0; time < 2; time += 1) {
      const answer = await call('GET', '/rest/v1/users', { headers })
      t.strictSame([answer.status, answer.body], [403, refused], 'also when the token is cached')
    }
  }
  t.not((await call('GET', '/auth/v1/admin/users', { headers: { Authorization: `Bearer ${token}` } })).status, 200)
  const other = await call('GET', '/rest/v1/users', { headers: { Authorization: await bearer('postgres') } })
  t.strictSame(other.body, { ...refused, message: 'permission denied to set role "postgres"' }, 'as PostgreSQL says it')
  t.equal(other.status, 403)
  const anonymous = await call('GET', '/rest/v1/users')
  t.equal(anonymous.status, 401, 'other roles are not affected')
})

t.test('a role claim elsewhere, and the anonymous role', async (t) => {
  const elsewhere = await startApplication(t, database.authenticatorUri, {
    ...env,
    PGRST_JWT_ROLE_CLAIM_KEY: '.app_metadata.role',
  })
  const token = await signToken({ role: 'anon', app_metadata: { role } })
  const answer = await elsewhere.call('GET', '/rest/v1/users', { headers: { Authorization: `Bearer ${token}` } })
  t.strictSame([answer.status, answer.body], [403, refused])
  const anonymous = await startApplication(t, database.authenticatorUri, { ...env, PGRST_DB_ANON_ROLE: role })
  t.equal((await anonymous.call('GET', '/rest/v1/users')).status, 403)
})

t.test('an API key', async (t) => {
  await withClient(database.adminUri, async (client) => {
    await t.rejects(createApiKey(client, { role, label: 'a' }), { message: /server's own/ })
    const { key, id } = await createApiKey(client, { role: 'service_role', label: 'b' })
    await client.query('update auth.api_keys set role = $1 where id = $2', [role, id])
    const { call } = await startApplication(t, database.authenticatorUri, env)
    t.equal((await call('GET', '/rest/v1/users', { headers: { apikey: key } })).status, 403)
  })
})
