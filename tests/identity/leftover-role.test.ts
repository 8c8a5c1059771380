// A function that sets the role for the whole session of its connection: later statements there run as the login role.
import t from 'tap'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create function public.leave_role() returns text language sql as $$ select set_config('role', 'anon', false) $$;
  grant execute on function public.leave_role() to anon;
`)

for (const sharing of ['all', 'none']) {
  t.test(`with db-pool-sharing = ${sharing}`, async (t) => {
    const { call } = await startApplication(t, database.authenticatorUri, {
      SESSION_SECRETS: 's'.repeat(32),
      // All requests use the same connection.
      PGRST_DB_POOL: '1',
      DB_POOL_RESERVE: '0',
      DB_POOL_SHARING: sharing,
    })
    const user = await signUp(call, `${sharing}@example.org`)
    const { access_token: token } = detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token'))
    const { key } = await withClient(database.adminUri, (client) =>
      createApiKey(client, { role: 'service_role', label: sharing }),
    )
    const leave = async (): Promise<void> => {
      t.equal((await call('POST', '/rest/v1/rpc/leave_role', { body: {} })).status, 200)
    }
    const path = '/rest/v1/profiles?select=id'
    for (const round of [1, 2]) {
      await leave()
      t.equal(
        (await call('GET', path, { headers: { Authorization: `Bearer ${token}` } })).status,
        200,
        `token, ${round}`,
      )
    }
    await leave()
    t.equal((await call('GET', path, { headers: { apikey: key } })).status, 200, 'API key')
    await leave()
    t.equal((await user.call('GET', '/auth/me')).status, 200, 'session')
    await leave()
    t.equal((await user.call('GET', '/report')).status, 200, 'report')
  })
}
