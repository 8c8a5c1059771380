// The app_role and the sessions of accounts, in the console.
import t from 'tap'
import { signInToConsole, startConsoleServer } from '../support/console.ts'

const ann = '11111111-1111-4111-8111-111111111111'
const ben = '22222222-2222-4222-8222-222222222222'
const session = '33333333-3333-4333-8333-333333333333'

const accounts = `
  insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values ('${ann}', 'authenticated', 'authenticated', 'ann@example.com', '{}', '{}', now(), now()),
    ('${ben}', 'authenticated', 'authenticated', 'ben@example.com', '{}', '{}', now(), now());
  insert into auth.sessions (id, user_id, created_at, updated_at, user_agent)
  values ('${session}', '${ann}', now(), now(), 'Firefox'), (gen_random_uuid(), '${ann}', now(), now(), null)`

t.test('the app_role and the sessions of an account', async (t) => {
  const server = await startConsoleServer(t, {}, accounts)
  const { call } = await signInToConsole(server)

  const shown = await call('GET', `users/${ann}`)
  const { app_role: none, sessions } = shown.body.details as { app_role: string | null; sessions: { id: string }[] }
  t.equal(none, null)
  t.equal(sessions.length, 2)
  t.match(
    sessions.find(({ id }) => id === session),
    { userAgent: 'Firefox', hasCookie: false, expiresAt: null },
  )

  t.equal((await call('PUT', `users/${ann}/app-role`, { app_role: 'admin' })).status, 200)
  t.same((await call('GET', `users?ids=${ann},${ben}`)).body.details, [{ id: ann, app_role: 'admin' }])
  const {
    rows: [entry],
  } = await server.database.query(
    "select payload from auth.audit_log_entries where payload ->> 'action' = 'user_modified'",
  )
  t.match(entry?.payload, { actor_username: 'test', traits: { user_id: ann, app_role: 'admin' } }, 'in the audit log')

  t.same((await call('DELETE', `users/${ben}/sessions/${session}`)).body.details, { ended: 0 }, 'of another user')
  t.same((await call('DELETE', `users/${ann}/sessions/${session}`)).body.details, { ended: 1 })
  t.same((await call('DELETE', `users/${ann}/sessions/all`)).body.details, { ended: 1 })
  t.equal((await call('PUT', `users/${ann}/app-role`, { app_role: null })).status, 200)
  t.same((await call('GET', `users/${ann}`)).body.details, { app_role: null, sessions: [] })

  const { rows: log } = await server.database.query(
    "select action, details from rowhouse.console_log where action <> 'sign in' order by id",
  )
  t.same(
    log.map(({ action }: Record<string, unknown>) => action),
    ['set app_role', 'end sessions', 'end sessions', 'end sessions', 'set app_role'],
  )
})

t.test('what is refused', async (t) => {
  const server = await startConsoleServer(t)
  const { call } = await signInToConsole(server)
  t.equal((await call('PUT', `users/${ann}/app-role`, { app_role: 'admin' })).status, 404)
  t.equal((await call('PUT', `users/${ann}/app-role`, { app_role: '' })).status, 400)
  t.equal((await call('GET', 'users?ids=a')).status, 400)
  t.equal((await call('GET', 'users/a')).status, 400)
  t.equal((await call('DELETE', `users/${ann}/sessions/others`)).status, 400)
  t.equal((await call('GET', `users/${ann}`, undefined, { 'X-Console-Token': '' })).status, 403)
})
