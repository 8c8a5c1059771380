// What clients may not do: too much of everything, and too slowly.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { dial, hourToken, push, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const token = await hourToken('anon')
const server = await startRealtimeServer(t, {
  TENANT_MAX_EVENTS_PER_SECOND: '500',
  TENANT_MAX_BYTES_PER_SECOND: '1000000',
  TENANT_MAX_JOINS_PER_SECOND: '110',
  TENANT_MAX_CHANNELS_PER_CLIENT: '1000',
  CLIENT_PRESENCE_MAX_CALLS: '5',
  REALTIME_MAX_PAYLOAD_BYTES: '100000',
  REALTIME_MAX_BUFFERED_BYTES: '1000000',
  MAX_CONNECTIONS: '20',
})
const { url } = server

async function open(t: Parameters<typeof dial>[0], version: 1 | 2 = 2): Promise<RealtimeClient> {
  const client = await dial(t, url, { token, version })
  await client.opened
  return client
}

t.test('a thousand channels on one socket, and one more', async (t) => {
  const client = await open(t)
  await Promise.all(Array.from({ length: 1000 }, (_, n) => client.join(`c${n}`)))
  t.strictSame(await client.join('one more'), {
    status: 'error',
    response: { reason: 'ChannelRateLimitReached: Too many channels' },
  })
  t.equal(client.socket.readyState, WebSocket.OPEN)
})

/** Sends until the server ends the connection. A busy machine handles fewer at a time, to which the limits apply. */
async function flood(client: RealtimeClient, send: (n: number) => void): Promise<void> {
  for (let n = 0; client.socket.readyState === WebSocket.OPEN; n++) {
    // The server lags behind, and is not made to read more than it can before it ends the connection.
    if (client.socket.bufferedAmount < 1_000_000) send(n)
    else await pause(5)
    if (n % 500 === 499) await pause(5)
  }
}

t.test('too many joins', async (t) => {
  const client = await open(t)
  await flood(client, (n) => client.send('phx_join', 'realtime:again', {}, { ref: String(n), joinRef: String(n) }))
  t.match(await client.closed, { code: /1008|1013/ })
})

t.test('too many messages end the channel, then the connection', async (t) => {
  const client = await open(t)
  await client.join('room')
  await flood(client, () => client.sendRaw(push('room', 'e', {})))
  t.match(await client.next('system'), {
    payload: { extension: 'system', status: 'error', message: 'Too many messages per second', channel: 'room' },
  })
  await client.next('phx_close')
  t.match(await client.closed, { code: 1008, reason: 'Too many messages per second' })
})

t.test('too many bytes', async (t) => {
  const client = await open(t)
  for (let n = 0; n < 4; n++) client.sendRaw(Buffer.alloc(4_000_000))
  t.match(await client.closed, { code: 1008, reason: 'Too many bytes per second' })
})

t.test('a message of more than five megabytes', async (t) => {
  const client = await open(t)
  client.sendRaw(Buffer.alloc(5_000_001))
  t.match(await client.closed, { code: 1009 })
})

t.test('pings', async (t) => {
  const client = await open(t)
  await flood(client, () => client.socket.ping())
  t.match(await client.closed, { code: 1008 })
})

t.test('messages of many values, and of great depth', async (t) => {
  const [client, old] = [await open(t), await open(t, 1)]
  await old.join('room', { broadcast: { self: true } })
  client.sendRaw(`[null,"1","phoenix","heartbeat",[${'[],'.repeat(400_000)}1]]`)
  client.sendRaw(`[null,"1","phoenix","heartbeat",${'['.repeat(200_000)}${']'.repeat(200_000)}]`)
  t.strictSame(await client.events(), ['phx_reply'], 'depth alone is harmless')
  old.sendRaw(
    `{"topic":"realtime:room","event":"broadcast","ref":"1","payload":{"event":"e","payload":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`,
  )
  t.strictSame(await old.events(), [])
})

t.test('payloads that are too large', async (t) => {
  const [client, silent] = [await open(t), await open(t)]
  await client.join('room', { broadcast: { ack: true } })
  await silent.join('room')
  const large = { text: 'x'.repeat(100_001) }
  client.sendRaw(push('room', 'e', large, { ref: 'r' }))
  t.match(await client.next('phx_reply'), {
    ref: 'r',
    payload: { status: 'error', response: { reason: 'payload_size_exceeded' } },
  })
  silent.sendRaw(push('room', 'e', large, { ref: 'r' }))
  t.strictSame(await silent.events(), [])
  t.strictSame(await client.events(), [])
  client.send('presence', 'realtime:room', { type: 'presence', event: 'track', payload: large })
  t.match(await client.next('system'), { payload: { message: 'Track message size exceeded' } })
})

t.test('too many presence messages', async (t) => {
  const client = await open(t)
  await client.join('room')
  for (let n = 0; n < 6; n++) {
    client.send('presence', 'realtime:room', { type: 'presence', event: 'track', payload: { n } })
  }
  t.match(await client.next('system'), { payload: { message: 'Client presence rate limit exceeded' } })
  await client.next('phx_close')
})

t.test('topics of ten kilobytes, and strange ones', async (t) => {
  const client = await open(t)
  t.match(await client.join('x'.repeat(10_000)), { status: 'error', response: { reason: /^TopicNameRequired: / } })
  // Too long for a binary frame.
  const long = `${'ä'.repeat(300)}"\\ 🎉`
  t.match(await client.join(long, { broadcast: { self: true } }), { status: 'ok' })
  client.send('broadcast', `realtime:${long}`, { type: 'broadcast', event: 'e', payload: {} })
  t.match(await client.next('broadcast'), { topic: `realtime:${long}` })
  const response = await fetch(`${url}/realtime/v1/api/broadcast/${encodeURIComponent(long)}/events/http`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{}',
  })
  t.equal(response.status, 202)
  t.match(await client.next('broadcast'), { payload: { event: 'http' } })
  for (const name of ['__proto__', 'constructor', ' ', "'; drop table x; --", '\u0000']) {
    t.match(await client.join(name), { status: 'ok' }, name)
  }
})

t.test('a burst that is larger than the buffer does not close clients that read', async (t) => {
  const { url } = await startRealtimeServer(t, { REALTIME_MAX_BUFFERED_BYTES: '100000' })
  const [sender, receiver] = [await dial(t, url, { token }), await dial(t, url, { token })]
  await Promise.all([sender, receiver].map(({ opened }) => opened))
  await sender.join('room')
  await receiver.join('room')
  sender.sendRaw(push('room', 'e', { text: 'x'.repeat(4_000_000 - 1_100_000) }))
  t.match(await receiver.next('broadcast'), { payload: { event: 'e' } })
  t.equal(receiver.socket.readyState, WebSocket.OPEN)
})

t.test('the presence of a topic fits into the buffer of a client', async (t) => {
  const track = (client: RealtimeClient, text: string): void =>
    client.send('presence', 'realtime:full', { type: 'presence', event: 'track', payload: { text } })
  const clients: RealtimeClient[] = []
  for (let n = 0; n < 12; n++) {
    const client = await open(t)
    await client.join('full', { presence: { key: `k${n}`, enabled: true } })
    track(client, 'x'.repeat(90_000))
    clients.push(client)
    const reply = await client.next('phx_reply')
    if (n < 11) t.match(reply.payload, { status: 'ok' }, `${n}`)
    else {
      t.match(reply.payload, { status: 'error', response: { reason: /at most 1000000 bytes/ } })
      track(client, 'short')
      t.match((await client.next('phx_reply')).payload, { status: 'ok' })
    }
  }
  const [first] = clients
  if (first) track(first, 'y'.repeat(90_000))
  t.match((await first?.next('phx_reply'))?.payload, { status: 'ok' }, 'its own former entry does not count')
  const newcomer = await open(t)
  await newcomer.join('full', { presence: { key: 'new', enabled: true } })
  const { payload } = await newcomer.next('presence_state')
  t.equal(Object.keys(payload as object).length, 12)
  for (const client of [...clients, newcomer]) client.socket.close()
  await Promise.all([...clients, newcomer].map(({ closed }) => closed))
})

t.test('what a client tracks fits into the buffer, whatever the number of its channels', async (t) => {
  const client = await open(t)
  const track = async (name: string, length: number): Promise<unknown> => {
    client.send('presence', `realtime:${name}`, {
      type: 'presence',
      event: 'track',
      payload: { text: 'ä'.repeat(length) },
    })
    return (await client.next('phx_reply')).payload
  }
  for (let n = 0; n < 13; n++) {
    await client.join(`tracked ${n}`)
    // Two bytes each.
    const reply = await track(`tracked ${n}`, 40_000)
    if (n < 12) t.match(reply, { status: 'ok' }, `${n}`)
    else
      t.match(reply, {
        status: 'error',
        response: { reason: /^The presence of a client has at most 1000000 bytes in all of its channels, / },
      })
    // Bytes per second are limited, too.
    await pause(50)
  }
  t.match(await track('tracked 0', 40_001), { status: 'ok' }, 'its own former entry does not count')
  client.send('presence', 'realtime:tracked 0', { type: 'presence', event: 'untrack' })
  t.match((await client.next('phx_reply')).payload, { status: 'ok' })
  t.match(await track('tracked 12', 40_000), { status: 'ok' }, 'untracking makes room')
  client.send('phx_leave', 'realtime:tracked 1', {})
  await client.next('phx_reply')
  t.match(await track('tracked 0', 40_000), { status: 'ok' }, 'leaving makes room')
  client.socket.close()
  await client.closed
})

t.test('joins that the server keeps are bounded by bytes', async (t) => {
  const client = await open(t)
  const more = { padding: 'x'.repeat(90_000) }
  for (let n = 0; n < 11; n++) t.match(await client.join(`padded ${n}`, {}, more), { status: 'ok' }, `${n}`)
  const reason =
    'ChannelRateLimitReached: The joins of a client have at most 1000000 bytes, and there is no room for this one'
  t.strictSame(await client.join('padded 11', {}, more), { status: 'error', response: { reason } })
  t.match(await client.join('padded 0', {}, more), { status: 'ok' }, 'the former join of the topic does not count')
  client.socket.close()
  await client.closed
})

t.test('a client that never reads is closed', async (t) => {
  const [sender, slow] = [await open(t), await open(t)]
  await sender.join('room')
  await slow.join('room')
  slow.socket.pause()
  const payload = { text: 'x'.repeat(90_000) }
  for (let n = 0; n < 100 && server.service.realtime?.figures().counts.drops.get('slow client') === undefined; n++) {
    sender.sendRaw(push('room', 'e', payload))
    await pause(20)
  }
  t.ok(await until(() => server.service.realtime?.figures().counts.drops.get('slow client') === 1))
  t.strictSame(await sender.events(), [], 'the sender goes on')
  slow.socket.resume()
  await slow.closed
})

t.test('too many connections', async (t) => {
  const clients = await Promise.all(Array.from({ length: 30 }, () => dial(t, url, { token })))
  const opened = await Promise.all(clients.map((client) => client.opened))
  const refused = opened.filter(({ status }) => status === 429)
  t.ok(refused.length >= 10, `${refused.length} were refused`)
  t.ok(refused.every(({ body }) => body === '{"error":"Too many connected users"}'))
})

t.test('cross-site sockets, when the settings name origins', async (t) => {
  const { url } = await startRealtimeServer(t, { PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://app.example' })
  const from = async (origin: string) => (await (await dial(t, url, { token, headers: { origin } })).opened).status
  t.equal(await from('https://evil.example'), 403)
  t.equal(await from('https://app.example'), 101)
})

t.test('everything is counted, and nothing stays behind', async (t) => {
  const statistics = server.service.realtime?.figures().counts
  t.ok(await until(() => statistics?.sockets === 0))
  t.equal(statistics?.channels, 0)
  for (const drop of [
    'too many channels',
    'too many joins',
    'too many messages',
    'too many bytes',
    'broken frame',
    'payload too large',
    'too many presence messages',
    'slow client',
    'too many connections',
  ] as const) {
    t.ok((statistics?.drops.get(drop) ?? 0) > 0, drop)
  }
})
