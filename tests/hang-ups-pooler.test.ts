// Behind a pooler, whose sessions are not those it announces, nothing is cancelled for clients that hang up: the pooler
// may pass the cancellation on to somebody else's statement, and PgBouncer 1.18 may crash.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from './support/application.ts'
import { createMigratedDatabase } from './support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const role = `pooled_${database.name}`
await database.query(`
  create role ${role} nologin;
  grant ${role} to authenticator;
  create schema api;
  create function api.nap(seconds float8) returns text language sql volatile as $$ select pg_sleep(seconds)::text $$;
  grant usage on schema api to ${role}`)
t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))

const keyData = Buffer.from([0x4b, 0, 0, 0, 12])
const cancelRequest = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46])
let isPooler = true
let cancelled = 0
/** A server in between that announces other process numbers, as poolers do. */
const proxy = createServer((client) => {
  const server = connect(database.port, '127.0.0.1')
  client.on('error', () => server.destroy()).on('close', () => server.destroy())
  server.on('error', () => client.destroy()).on('close', () => client.destroy())
  client.on('data', (chunk) => {
    if (chunk.subarray(0, cancelRequest.length).equals(cancelRequest)) cancelled++
    server.write(chunk)
  })
  server.on('data', (chunk) => {
    const at = isPooler ? chunk.indexOf(keyData) : -1
    if (at >= 0) chunk.writeInt32BE(chunk.readInt32BE(at + keyData.length) + 1_000_000, at + keyData.length)
    client.write(chunk)
  })
})
proxy.listen(0, '127.0.0.1')
await once(proxy, 'listening')
t.teardown(() => proxy.close())

for (const [where, announcesOthers, expected] of [
  ['behind a pooler', true, 0],
  ['through something that only forwards', false, 1],
] as const) {
  t.test(where, async (t) => {
    isPooler = announcesOthers
    cancelled = 0
    const uri = new URL(database.authenticatorUri)
    uri.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { url, call, service } = await startApplication(t, uri.href, {
      PGRST_DB_ANON_ROLE: role,
      PGRST_DB_SCHEMAS: 'api',
      PGRST_DB_POOL: '1',
      PGRST_DB_PREPARED_STATEMENTS: 'false',
    })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('POST /rest/v1/rpc/nap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n')
    socket.write('Content-Type: application/json\r\n\r\n{"seconds":2}')
    const runs =
      "select from pg_stat_activity where state = 'active' and query like '%nap%' and pid <> pg_backend_pid()"
    while ((await database.query(runs)).rowCount === 0) await pause(10)
    socket.destroy()
    const { pool } = service.runtime
    while (pool.idleCount < pool.totalCount) await pause(10)
    t.equal(cancelled, expected, 'requests to cancel')
    const { status } = await call('POST', '/rest/v1/rpc/nap', { body: { seconds: 0 } })
    t.equal(status, 200, 'the connection works')
  })
}
