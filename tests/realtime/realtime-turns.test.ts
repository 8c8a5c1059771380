// How long large messages and floods of small ones occupy the process, so that others wait. A busy machine disturbs it: it is one
// of the tests that measure.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { longestTurnDuring, threadClock } from '../support/longest-turn.ts'
import { dial, hourToken, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const token = await hourToken('anon')
const { url } = await startRealtimeServer(t, { TENANT_MAX_EVENTS_PER_SECOND: '500' })

async function open(t: Parameters<typeof dial>[0], version: 1 | 2 = 2): Promise<RealtimeClient> {
  const client = await dial(t, url, { token, version })
  await client.opened
  return client
}

/** The longest time that this process is occupied during a request to `/health` while `work` runs, in milliseconds of processor time. */
async function healthDuring(work: () => Promise<unknown>): Promise<number> {
  let isDone = false
  let longest = 0
  const { now, close } = threadClock()
  const watching = (async () => {
    while (!isDone) {
      const begun = now()
      await (await fetch(`${url}/health`)).text()
      longest = Math.max(longest, now() - begun)
      await pause(5)
    }
  })()
  await work()
  isDone = true
  await watching
  close()
  return longest
}

t.test('a megabyte of empty messages delays no others', async (t) => {
  // Frames without payload: FIN and text, masked, length 0.
  const flood = Buffer.alloc(170_000 * 6, Buffer.from([0x81, 0x80, 0, 0, 0, 0]))
  const longest = await healthDuring(async () => {
    const client = await open(t)
    const { _socket: carrier } = client.socket as unknown as { readonly _socket: NodeJS.WritableStream }
    carrier.write(flood)
    t.match(await client.closed, { code: 1008 })
  })
  t.ok(longest < 100, `${Math.round(longest)} ms of this process, client and server`)
})

t.test('frames of megabytes delay others little', async (t) => {
  const join = (config: object): string => JSON.stringify(['1', '1', 'realtime:room', 'phx_join', { config }])
  const binding = { event: '*', schema: 'public', table: 'items', filter: `id=eq.${'x'.repeat(100)}` }
  const frames: Readonly<Record<string, string>> = {
    bindings: join({ postgres_changes: Array.from({ length: 6000 }, (_, n) => ({ ...binding, table: `t${n}` })) }),
    values: join({ values: Array.from({ length: 90_000 }, () => 1) }),
    'too many values': join({ values: Array.from({ length: 2_000_000 }, () => 1) }),
    names: join(Object.fromEntries(Array.from({ length: 33_000 }, (_, n) => [`n${n}`, 1]))),
    'long names': join(Object.fromEntries(Array.from({ length: 33_000 }, (_, n) => [`n${n}${'x'.repeat(120)}`, 1]))),
    text: join({ text: 'ä'.repeat(2_000_000) }),
  }
  for (const [name, frame] of Object.entries(frames)) {
    const client = await open(t)
    const longest = await longestTurnDuring(async () => {
      client.sendRaw(frame)
      await client.events()
    })
    t.ok(longest < 60, `${name}: ${Math.round(longest)} ms of this process, client and server`)
  }
  const client = await open(t)
  client.sendRaw(frames.bindings ?? '')
  t.match(await client.next('phx_reply'), {
    payload: { status: 'error', response: { reason: /^RealtimeDisabledForConfiguration: A channel has at most 1000/ } },
  })
})

t.test('thousands of broadcasts in a request delay others little', async (t) => {
  const { url } = await startRealtimeServer(t)
  const messages = Array.from({ length: 9000 }, (_, n) => ({ topic: 'room', event: 'e', payload: { n } }))
  const body = JSON.stringify({ messages })
  // Tokens are counted.
  const sender = await hourToken('anon', { sub: 'a sender' })
  const send = async (body: string): Promise<void> => {
    const headers = { Authorization: `Bearer ${sender}`, 'Content-Type': 'application/json' }
    t.equal((await fetch(`${url}/realtime/v1/api/broadcast`, { method: 'POST', headers, body })).status, 202)
  }
  // The first request compiles the schema of bodies.
  await send(JSON.stringify({ messages: messages.slice(0, 500) }))
  const longest = await longestTurnDuring(() => send(body))
  t.ok(longest < 60, `${Math.round(longest)} ms`)
})

t.test('a transaction of 100,000 rows delays others little', async (t) => {
  const { url, database } = await startRealtimeServer(t)
  await database.query(`create table items (id int primary key, name text);
    grant select on items to anon; alter publication supabase_realtime add table items`)
  const client = await dial(t, url, { token })
  await client.opened
  let rows = 0
  client.socket.on('message', (data: Buffer) => {
    if (data.includes('postgres_changes') && data.includes('"type":"INSERT"')) rows++
  })
  await client.join('items', { postgres_changes: [{ event: 'INSERT', schema: 'public', table: 'items' }] })
  t.match((await client.next('system')).payload, { status: 'ok' })
  const beating = setInterval(() => client.send('heartbeat', 'phoenix', {}), 10_000)
  t.teardown(() => clearInterval(beating))
  const longest = await longestTurnDuring(async () => {
    await database.query(`insert into items select n, repeat('x', 100) from generate_series(1, 100000) n`)
    await until(() => rows === 100_000)
  })
  t.equal(rows, 100_000)
  t.ok(longest < 60, `${Math.round(longest)} ms`)
})

t.test('many messages to many members delay others little, sent by HTTP or SQL', async (t) => {
  const { url, database } = await startRealtimeServer(t)
  const clients = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = await dial(t, url, { token })
      await client.opened
      await client.join('room')
      return client
    }),
  )
  const [first] = clients
  let received = 0
  // Others would take the time of this process.
  for (const { socket } of clients) socket.removeAllListeners('message').on('message', () => received++)
  const messages = Array.from({ length: 300 }, (_, n) => ({ topic: 'room', event: 'e', payload: { n } }))
  const sender = await hourToken('anon', { sub: 'another sender' })
  const headers = { Authorization: `Bearer ${sender}`, 'Content-Type': 'application/json' }
  const byRequest = await longestTurnDuring(async () => {
    await fetch(`${url}/realtime/v1/api/broadcast`, { method: 'POST', headers, body: JSON.stringify({ messages }) })
    await until(() => received === 60_000)
  })
  t.equal(received, 60_000)
  const bySql = await longestTurnDuring(async () => {
    await database.query(`select realtime.send('{}', 'e', 'room', false) from generate_series(1, 300)`)
    await until(() => received === 120_000)
  })
  t.equal(received, 120_000)
  t.equal(first?.socket.readyState, WebSocket.OPEN)
  t.ok(byRequest < 60 && bySql < 60, `${Math.round(byRequest)} ms, ${Math.round(bySql)} ms`)
})
