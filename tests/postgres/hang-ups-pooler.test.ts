// Behind a pooler, whose backend process ids are not those it announces, no request to cancel is sent for disconnected
// clients: the pooler may forward it to another client's statement, and PgBouncer 1.18 may crash. The connection is closed
// instead if the server looks for closed connections.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { createNapDatabase, napByPost, sendTo } from '../support/abandoned-call.ts'
import { startApplication } from '../support/application.ts'
import { until } from '../support/until.ts'

const { database, settings, naps } = await createNapDatabase(t)

const keyData = Buffer.from([0x4b, 0, 0, 0, 12])
const cancelRequest = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46])
let isPooler = true
let cancelled = 0
/** A proxy that announces different process ids, as poolers do. */
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

for (const [where, announcesOthers, isCancelled] of [
  ['behind a pooler', true, false],
  ['through a proxy that only forwards', false, true],
] as const) {
  t.test(where, async (t) => {
    isPooler = announcesOthers
    cancelled = 0
    const uri = new URL(database.authenticatorUri)
    uri.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { url, call, service } = await startApplication(t, uri.href, {
      ...settings,
      PGRST_DB_POOL: '1',
      PGRST_DB_PREPARED_STATEMENTS: 'false',
    })
    const socket = sendTo(url, napByPost(2))
    t.ok(await until(async () => (await naps()) === 1))
    socket.destroy()
    const connections = () => service.database.statistics
    t.ok(await until(() => connections().idle === connections().total))
    // Cancellation is requested again if the first request takes long.
    t.equal(cancelled > 0, isCancelled, `${cancelled} cancellation requests`)
    const { status } = await call('POST', '/rest/v1/rpc/nap', { body: { seconds: 0 } })
    t.equal(status, 200, 'the connection works')
  })
}

t.test('behind a pooler, with a server that looks for closed connections', async (t) => {
  isPooler = true
  cancelled = 0
  await database.query(`alter role authenticator in database ${database.name}
    set client_connection_check_interval = '200ms'`)
  const uri = new URL(database.authenticatorUri)
  uri.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const { url, call } = await startApplication(t, uri.href, {
    ...settings,
    PGRST_DB_POOL: '2',
    PGRST_DB_PREPARED_STATEMENTS: 'false',
  })
  // Many clients that disconnect at once must not start more statements than the pool has connections.
  let most = 0
  const sockets = Array.from({ length: 6 }, () => sendTo(url, napByPost(600)))
  for (const socket of sockets) {
    await until(async () => (await naps()) > 0)
    socket.destroy()
    most = Math.max(most, await naps())
  }
  t.ok(await until(async () => (most = Math.max(most, await naps())) >= 0 && (await naps()) === 0), 'all are ended')
  t.ok(most <= 2, `${most} at a time`)
  t.equal(cancelled, 0, 'without a request to cancel')
  const { status } = await call('POST', '/rest/v1/rpc/nap', { body: { seconds: 0 } })
  t.equal(status, 200, 'the pool works')
})
