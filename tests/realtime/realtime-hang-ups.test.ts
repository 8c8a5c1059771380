// Clients that hang up while the service is loaded for the first time, and bodies and messages in the smallest pieces.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { longestTurnDuring } from '../support/longest-turn.ts'
import { dial, hourToken, startRealtimeServer } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const token = await hourToken('anon')
const tableSql = `create table public.items (id int primary key); grant select on public.items to anon;
  alter publication supabase_realtime add table public.items;`

const head = (method: string, path: string, headers: Readonly<Record<string, string | number>> = {}): string =>
  [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries({ Host: 'x', Authorization: `Bearer ${token}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    '\r\n',
  ].join('\r\n')

async function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

t.test('clients hang up while everything is loaded, and leave nothing behind', async (t) => {
  const { url, service, database, logged } = await startRealtimeServer(t)
  await database.query(tableSql)
  const requests = [
    head('GET', `/realtime/v1/websocket?vsn=2.0.0&apikey=${token}`, {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': 13,
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }),
    head('GET', '/realtime/v1/changes?schema=public&table=items'),
    `${head('POST', '/realtime/v1/api/broadcast/room/events/e', { 'Content-Type': 'application/json', 'Content-Length': 1000 })}{"a":`,
  ]
  // One of each at a time: some are too early, some in the middle, and some have been answered.
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const socket = await connected(url)
      socket.write(requests[n % requests.length] ?? '')
      await pause(n)
      if (n % 2 === 0) socket.destroy()
      else socket.resetAndDestroy()
    }),
  )
  const figures = () => service.realtime?.figures()
  const client = await dial(t, url, { token })
  t.match(await client.opened, { status: 101 })
  t.match(
    await client.join('room', {
      broadcast: { self: true },
      postgres_changes: [{ event: '*', schema: 'public', table: 'items' }],
    }),
    { status: 'ok' },
  )
  t.match((await client.next('system')).payload, { status: 'ok' })
  await database.query('insert into items values (1)')
  t.match((await client.next('postgres_changes')).payload, { data: { record: { id: 1 } } })
  t.ok(
    await until(() => figures()?.counts.sockets === 1 && figures()?.log?.subscribers === 1),
    'only this client is left',
  )
  t.equal(figures()?.counts.channels, 1)
  t.strictSame(
    logged().filter(({ level }) => level === 'error'),
    [],
  )
})

t.test('a server that is stopped while the service is loaded', async (t) => {
  const { url, service } = await startRealtimeServer(t)
  const clients = await Promise.all(Array.from({ length: 5 }, () => dial(t, url, { token })))
  await service.stop()
  const statuses = await Promise.all(clients.map(({ opened, closed }) => Promise.race([opened, closed])))
  t.equal(statuses.length, 5, 'all are answered or closed')
})

/** A body in chunks of one byte. */
const chunked = (body: string): Buffer =>
  Buffer.from(Array.from(body, (sign) => `1\r\n${sign}\r\n`).join('') + '0\r\n\r\n')

t.test('bodies in chunks of one byte, from several clients at once', async (t) => {
  const { url } = await startRealtimeServer(t)
  const client = await dial(t, url, { token })
  await client.opened
  await client.join('room')
  const flood = chunked(JSON.stringify('x'.repeat(50_000)))
  const before = process.memoryUsage()
  const longest = await longestTurnDuring(async () => {
    const sockets = await Promise.all(Array.from({ length: 4 }, () => connected(url)))
    await Promise.all(
      sockets.map(async (socket) => {
        socket.write(
          head('POST', '/realtime/v1/api/broadcast/room/events/e', {
            'Content-Type': 'application/json',
            'Transfer-Encoding': 'chunked',
          }),
        )
        socket.write(flood)
        const [answer] = (await once(socket, 'data')) as [Buffer]
        t.match(answer.toString(), /^HTTP\/1.1 202 /)
        socket.destroy()
      }),
    )
  })
  const after = process.memoryUsage()
  for (let n = 0; n < 4; n++) t.match((await client.next('broadcast')).payload, { payload: 'x'.repeat(50_000) })
  // Most of it is Node's parser, which takes 64 kB at a time.
  t.ok(longest < 250, `${Math.round(longest)} ms of this process, client and server`)
  const more = after.rss - before.rss
  t.ok(more < 200_000_000, `${Math.round(more / 1e6)} MB more`)
})

t.test('a message in fragments of one byte', async (t) => {
  const { url } = await startRealtimeServer(t)
  const [client, flooder] = [await dial(t, url, { token }), await dial(t, url, { token })]
  await Promise.all([client.opened, flooder.opened])
  await client.join('room', { broadcast: { self: true } })
  const text = JSON.stringify([
    '1',
    '1',
    'realtime:room',
    'broadcast',
    { type: 'broadcast', event: 'e', payload: { text: 'x'.repeat(3000) } },
  ])
  for (const [index, sign] of [...text].entries())
    client.socket.send(sign, { fin: index === text.length - 1, binary: false })
  t.match((await client.next('broadcast')).payload, { payload: { text: 'x'.repeat(3000) } })
  const longest = await longestTurnDuring(async () => {
    for (let n = 0; n < 5000; n++) flooder.socket.send('x', { fin: false })
    t.match(await flooder.closed, { code: 1008 }, 'too many fragments')
  })
  t.ok(longest < 100, `${Math.round(longest)} ms of this process, client and server`)
})
