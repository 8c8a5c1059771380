// A revoked key is refused at once by every process, because the database notifies them.
import t, { type Test } from 'tap'
import { ApiKeyChanges } from '../../server/identity/api-key/api-key-changes.ts'
import { createApiKeyLookup } from '../../server/identity/api-key/api-key-lookup.ts'
import {
  createApiKey,
  hashApiKey,
  makeApiKey,
  revokeApiKey,
  type NewApiKey,
} from '../../server/identity/api-key/api-key.ts'
import { startApplication, type Application } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const create = (wanted: NewApiKey) => withClient(database.adminUri, (client) => createApiKey(client, wanted))
const revoke = (id: string) => withClient(database.adminUri, (client) => revokeApiKey(client, id))
const status = async ({ call }: Application, key: string): Promise<number> =>
  (await call('GET', '/rest/v1/profiles', { headers: { apikey: key } })).status

/** Milliseconds until a key is refused. Without notifications, a cached key would be valid for 30 seconds. */
async function untilRefused(t: Test, application: Application, key: string, label: string): Promise<number> {
  const start = performance.now()
  while ((await status(application, key)) !== 401) {
    if (performance.now() - start > 28_000) {
      t.fail(`${label}: the key is still accepted after 28 seconds`)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return Math.round(performance.now() - start)
}

t.test('both processes refuse a key after: event', async (t) => {
  const processes = [
    await startApplication(t, database.authenticatorUri),
    await startApplication(t, database.authenticatorUri, { PGRST_DB_CHANNEL: 'another channel' }),
  ]
  const [user = '', banned = '', deleted = ''] = ['a', 'b', 'c'].map((id) => `aaaaaaaa-0000-4000-8000-00000000000${id}`)
  const rows: readonly (readonly [label: string, wanted: NewApiKey, end: (id: string) => Promise<unknown>])[] = [
    ['revoked', { role: 'service_role', label: 'a' }, revoke],
    [
      'deleted',
      { role: 'service_role', label: 'b' },
      (id) => database.query('delete from auth.api_keys where id = $1', [id]),
    ],
    [
      'expired',
      { role: 'service_role', label: 'c' },
      (id) => database.query('update auth.api_keys set expires_at = now() where id = $1', [id]),
    ],
    [
      'its user is deleted',
      { role: 'authenticated', userId: user, label: 'd' },
      () => database.query('delete from auth.users where id = $1', [user]),
    ],
    [
      'its user is banned',
      { role: 'authenticated', userId: banned, label: 'e' },
      () => database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [banned]),
    ],
    [
      'its user is deleted, and the row kept',
      { role: 'authenticated', userId: deleted, label: 'f' },
      () => database.query('update auth.users set deleted_at = now() where id = $1', [deleted]),
    ],
  ]
  await database.query(
    `insert into auth.users (id, email, encrypted_password)
     select id, id || '@example.org', 'x' from unnest($1::uuid[]) as id`,
    [[user, banned, deleted]],
  )
  const other = await create({ role: 'service_role', label: 'other' })
  for (const [label, wanted, end] of rows) {
    const { id, key } = await create(wanted)
    for (const each of processes) t.equal(await status(each, key), 200, label)
    await end(id)
    const times = await Promise.all(processes.map((each) => untilRefused(t, each, key, label)))
    t.comment(`${label}: refused after ${times.join(' and ')} ms`)
    for (const each of processes) t.equal(await status(each, other.key), 200, 'another key is still accepted')
  }
})

t.test('the key of a user is valid again after the ban, and has the current address', async (t) => {
  const application = await startApplication(t, database.authenticatorUri)
  const user = 'aaaaaaaa-0000-4000-8000-00000000000d'
  await database.query(
    "insert into auth.users (id, email, email_confirmed_at) values ($1, 'before@example.org', now())",
    [user],
  )
  const { key } = await create({ role: 'authenticated', userId: user, label: 'g' })
  const email = async (): Promise<unknown> =>
    (await application.call('POST', '/rest/v1/rpc/caller_address', { headers: { apikey: key } })).body
  await database.query(
    `create function public.caller_address() returns text language sql as 'select auth.email()';
     grant execute on function public.caller_address() to authenticated; notify pgrst, 'reload schema'`,
  )
  await until(async () => (await email()) === 'before@example.org')
  await database.query("update auth.users set email = 'after@example.org' where id = $1", [user])
  await until(async () => (await email()) === 'after@example.org')
  await database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [user])
  await untilRefused(t, application, key, 'banned')
  await database.query('update auth.users set banned_until = null where id = $1', [user])
  await until(async () => (await status(application, key)) === 200)
  t.equal(await email(), 'after@example.org')
})

t.test('without a listener, a key is cached for one second', async (t) => {
  const silent = await startApplication(t, database.authenticatorUri, { PGRST_DB_CHANNEL_ENABLED: 'false' })
  const { id, key } = await create({ role: 'service_role', label: 'silent' })
  t.equal(await status(silent, key), 200)
  await revoke(id)
  t.comment(`refused after ${await untilRefused(t, silent, key, 'silent')} ms`)
})

t.test('a key that is revoked while the listening connection is lost is refused', async (t) => {
  const application = await startApplication(t, database.authenticatorUri)
  const { id, key } = await create({ role: 'service_role', label: 'lost' })
  t.equal(await status(application, key), 200)
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
  )
  await revoke(id)
  t.comment(`refused after ${await untilRefused(t, application, key, 'lost')} ms`)
})

t.test('the cache: event -> lookups in the database', async (t) => {
  const key = makeApiKey('secret')
  const row = { hash: hashApiKey(key), role: 'service_role', user_id: null, email: null, expires_at: null, row: {} }
  let time = 0
  let asked = 0
  const changes = new ApiKeyChanges()
  const lookup = createApiKeyLookup({
    query: () => Promise.resolve(asked++ < 1000 ? [row] : []),
    changes,
    now: () => time,
  })
  const asks = async (): Promise<number> => {
    const before = asked
    await lookup(key)
    return asked - before
  }
  const steps: readonly (readonly [label: string, event: () => unknown, asks: number])[] = [
    ['first', () => undefined, 1],
    ['unheard: for a second', () => (time += 999), 0],
    ['and no longer', () => (time += 1), 1],
    ['the listener connects', () => changes.setListening(true), 1],
    ['heard: for half a minute', () => (time += 29_999), 0],
    ['and no longer', () => (time += 1), 1],
    ['another key', () => changes.notify(`forget key ${'0'.repeat(64)}`), 0],
    ['another notification', () => changes.notify('forget key'), 0],
    ['this key', () => changes.notify(`forget key ${hashApiKey(key).toString('hex')}`), 1],
    ['the connection is lost', () => changes.setListening(false), 1],
    ['the shorter lifetime passes', () => (time += 1000), 1],
  ]
  for (const [label, event, wanted] of steps) {
    event()
    t.equal(await asks(), wanted, label)
  }
})

t.test('a lookup that started before a revocation is not cached after it', async (t) => {
  const key = makeApiKey('secret')
  const row = { hash: hashApiKey(key), role: 'service_role', user_id: null, email: null, expires_at: null, row: {} }
  const answers: ((rows: Record<string, unknown>[]) => void)[] = []
  const changes = new ApiKeyChanges()
  changes.setListening(true)
  const lookup = createApiKeyLookup({ query: () => new Promise((resolve) => answers.push(resolve)), changes })
  for (const forget of [
    () => changes.notify(`forget key ${hashApiKey(key).toString('hex')}`),
    () => changes.setListening(true),
  ]) {
    const early = lookup(key)
    forget()
    // A second lookup starts although the first is still pending, because that one may predate the revocation.
    const late = lookup(key)
    const [answerLate, answerEarly] = [answers.pop(), answers.pop()]
    answerLate?.([])
    await t.rejects(Promise.resolve(late), { name: 'CredentialError', problem: 'invalid token' })
    answerEarly?.([row])
    t.match(await early, { role: 'service_role' }, 'the first lookup returns the former result')
    await t.rejects(Promise.resolve(lookup(key)), { name: 'CredentialError', problem: 'invalid token' })
    changes.notify(`forget key ${hashApiKey(key).toString('hex')}`)
  }
})
