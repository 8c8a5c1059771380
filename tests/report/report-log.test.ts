// The log line of a request with a session cookie.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'

t.test('the log contains the role of a session, but no secret', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const settings = { SESSION_SECRETS: 's'.repeat(32), PGRST_LOG_LEVEL: 'info' }
  const { call, logged } = await startApplication(t, database.authenticatorUri, settings)
  const account = { email: 'logged@example.com', password: 'a password to be kept' }
  t.equal((await call('POST', '/auth/signup', { body: { ...account, firstName: 'Logged' } })).status, 201)
  const { cookie = '' } = await call('POST', '/auth/signin', { body: account })
  t.match(await call('GET', '/report', { headers: { Cookie: cookie } }), { status: 200 })
  await call('GET', '/report')
  const lines = logged().filter(({ path }) => path === '/report')
  t.match(lines, [
    { method: 'GET', status: 200, role: 'authenticated' },
    { method: 'GET', status: 401, role: null },
  ])
  const text = JSON.stringify(logged())
  for (const secret of [account.password, cookie, account.email]) t.notOk(text.includes(secret), secret.slice(0, 7))
})
