// Clients that disconnect leave nothing running, and do not affect later requests.
import type { Socket } from 'node:net'
import type { DatabaseStatistics } from '../../server/postgres/database.ts'
import t from 'tap'
import { LibpqClient } from '../../server/postgres/connection/pool-config.ts'
import { makeApiKey } from '../../server/identity/api-key/api-key.ts'
import { createNapDatabase, napByGet, napByPost, sendTo } from '../support/abandoned-call.ts'
import { startApplication } from '../support/application.ts'
import { withClient } from '../support/database.ts'
import { rowWaits } from '../support/locks.ts'
import { until } from '../support/until.ts'

const { database, role, settings, naps } = await createNapDatabase(t)
await database.query(`
  create table api.notes (id int primary key, text text not null);
  insert into api.notes select i, 'note ' || i from generate_series(1, 100) i;
  create table api.blobs (id int primary key, text text not null);
  insert into api.blobs select i, repeat('x', 1000000) from generate_series(1, 30) i;
  grant select, insert, update on all tables in schema api to ${role}`)
const { url, call, service, logged } = await startApplication(t, database.authenticatorUri, {
  ...settings,
  PGRST_DB_POOL: '10',
  PGRST_LOG_LEVEL: 'info',
  SESSION_SECRETS: 'x'.repeat(40),
})
const connections = (): DatabaseStatistics => service.database.statistics

const send = (...requests: readonly string[]): Socket => sendTo(url, ...requests)
const nap = napByGet(90)

const isUsedUp = (): boolean => !connections().admitsWrites && connections().waiting >= 2
const isIdle = (): boolean => {
  const { idle, total, waiting } = connections()
  return idle === total && waiting === 0
}

for (const [how, begin] of [
  ['a connection each', () => Array.from({ length: 12 }, () => send(nap))],
  ['a connection each, by POST', () => Array.from({ length: 12 }, () => send(napByPost(90)))],
  ['all on one connection', () => [send(...Array.from({ length: 12 }, () => nap))]],
] as const) {
  t.test(`twelve abandoned calls of 90 seconds on a pool of ten: ${how}`, async (t) => {
    const sockets = begin()
    t.ok(await until(isUsedUp), 'the pool is exhausted')
    t.match(await call('GET', '/ready'), { status: 200 }, '/ready still responds')
    const signIn = { body: { email: 'nobody@example.org', password: 'wrong password' } }
    t.equal((await call('POST', '/auth/signin', signIn)).status, 401, 'account routes still respond')
    const apikey = makeApiKey('secret')
    t.equal((await call('GET', '/rest/v1/notes?id=eq.1', { headers: { apikey } })).status, 401, 'and API keys')
    for (const socket of sockets) socket.destroy()
    t.ok(await until(isIdle), 'all connections were returned')
    t.equal(await naps(), 0, 'no statement is running')
    t.match(await call('GET', '/rest/v1/notes?id=eq.1'), { status: 200, body: [{ id: 1 }] })
    const abandoned = logged().filter(({ status }) => status === 499)
    t.equal(abandoned.length % 12, 0, 'each has its line in the log')
    t.ok(abandoned.length > 0)
  })
}

t.test('a client that closes its side of the connection has disconnected, too', async (t) => {
  const socket = send(nap)
  t.ok(await until(async () => (await naps()) === 1))
  socket.end()
  t.ok(await until(isIdle))
  t.equal(await naps(), 0)
})

t.test('a large response queued behind another one releases its connection', async (t) => {
  // CSV is streamed from the database. JSON is collected, and waits for no reader.
  const large = 'GET /rest/v1/blobs?select=text HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv\r\n\r\n'
  for (let time = 0; time < 3; time++) {
    const socket = send(nap, large)
    const stuck =
      "select from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite' and pid <> pg_backend_pid()"
    t.ok(await until(async () => (await database.query(stuck)).rowCount === 1), 'it waits for its reader')
    socket.destroy()
    t.ok(await until(isIdle), 'and ends with it')
  }
})

t.test('an abandoned write is rolled back', async (t) => {
  const holder = 'update api.notes set text = text where id = 7'
  const { adminUri } = database
  await withClient(adminUri, async (client) => {
    await client.query('begin')
    await client.query(holder)
    const body = JSON.stringify({ text: 'changed' })
    const socket = send(
      `PATCH /rest/v1/notes?id=eq.7 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    t.ok(await until(async () => (await database.query(rowWaits)).rowCount === 1))
    socket.destroy()
    t.ok(await until(isIdle), 'while the row is locked')
    await client.query('commit')
  })
  t.match(await call('GET', '/rest/v1/notes?id=eq.7&select=text'), { body: [{ text: 'note 7' }] })
})

t.test('nothing is cancelled when responses end normally', async (t) => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- bound again by `intercept`
  const cancelled = t.captureFn(LibpqClient.prototype.requestCancel)
  t.intercept(LibpqClient.prototype, 'requestCancel', { value: cancelled })
  for (let time = 0; time < 6; time++) {
    const answer = await fetch(`${url}/rest/v1/blobs?select=text`, { headers: { Connection: 'close' } })
    t.equal((await answer.text()).length > 30_000_000, true)
  }
  t.ok(await until(isIdle))
  t.equal(cancelled.calls.length, 0)
})
