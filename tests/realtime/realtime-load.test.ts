// The loads of `npm run bench`, scaled down: everything arrives, in order, and floods of one client do not delay others.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { longestTurnDuring } from '../support/longest-turn.ts'
import { dial, hourToken, push, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const token = await hourToken('anon')
const { url, database } = await startRealtimeServer(t, { TENANT_MAX_EVENTS_PER_SECOND: '200' })
await database.query(`create table public.items (id int primary key);
  grant select on public.items to anon;
  alter publication supabase_realtime add table public.items;`)

/** Opens sockets that join a channel. */
const opened = (count: number, config: object): Promise<readonly RealtimeClient[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const client = await dial(t, url, { token, version: index % 2 === 0 ? 2 : 1 })
      await client.opened
      const { status } = await client.join('load', config)
      if (status !== 'ok') throw new Error('not joined')
      return client
    }),
  )

const sequence = (length: number): readonly number[] => Array.from({ length }, (_, n) => n)

t.test('100 sockets and 20 broadcasts a second', async (t) => {
  const clients = await opened(100, { broadcast: { self: true } })
  const [sender] = clients
  for (const n of sequence(60)) {
    sender?.sendRaw(push('load', 'e', { n }))
    await pause(50)
  }
  const numbersOf = ({ received }: RealtimeClient): readonly number[] =>
    received
      .filter(({ event }) => event === 'broadcast')
      .map(({ payload }) => (payload as { readonly payload: { readonly n: number } }).payload.n)
  t.ok(await until(() => clients.every((client) => numbersOf(client).length >= 60)))
  for (const client of clients) t.strictSame(numbersOf(client), sequence(60))
  for (const { socket } of clients) socket.terminate()
})

t.test('100 subscribers and 20 changes a second', async (t) => {
  const clients = await opened(100, { postgres_changes: [{ event: '*', schema: 'public', table: 'items' }] })
  for (const client of clients) t.match((await client.next('system')).payload, { status: 'ok' })
  for (const n of sequence(60)) {
    await database.query('insert into items values ($1)', [n])
    await pause(30)
  }
  const idsOf = ({ received }: RealtimeClient): readonly number[] =>
    received
      .filter(({ event }) => event === 'postgres_changes')
      .map(({ payload }) => (payload as { readonly data: { readonly record: { id: number } } }).data.record.id)
  t.ok(await until(() => clients.every((client) => idsOf(client).length >= 60)))
  for (const client of clients) t.strictSame(idsOf(client), sequence(60))
  for (const { socket } of clients) socket.terminate()
})

t.test('floods of heartbeats, broken and empty messages', async (t) => {
  const floods: Readonly<Record<string, string>> = {
    heartbeats: '[null,"1","phoenix","heartbeat",{}]',
    'broken messages': '{',
    'empty messages': '',
    'messages without a channel': '["1","1","realtime:none","broadcast",{}]',
  }
  for (const [name, message] of Object.entries(floods)) {
    const client = await dial(t, url, { token })
    await client.opened
    const longest = await longestTurnDuring(async () => {
      for (let sent = 0; sent < 5000; sent += 100) {
        for (let count = 0; count < 100; count++) client.sendRaw(message)
        await new Promise((resolve) => setImmediate(resolve))
      }
      t.match(await client.closed, { code: 1008, reason: 'Too many messages per second' })
    })
    t.ok(longest < 60, `${name}: ${Math.round(longest)} ms of this process, client and server`)
    t.equal((await fetch(`${url}/health`)).status, 200)
  }
})
