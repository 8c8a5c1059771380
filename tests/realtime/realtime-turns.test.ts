// How long large messages and floods of small ones occupy the process, so that others wait. A busy machine disturbs it: it is one
// of the tests that measure.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { longestTurnDuring } from '../support/longest-turn.ts'
import { dial, hourToken, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'

const token = await hourToken('anon')
const { url } = await startRealtimeServer(t, { TENANT_MAX_EVENTS_PER_SECOND: '500' })

async function open(t: Parameters<typeof dial>[0], version: 1 | 2 = 2): Promise<RealtimeClient> {
  const client = await dial(t, url, { token, version })
  await client.opened
  return client
}

/** The longest time that a request to `/health` takes while `work` runs. */
async function healthDuring(work: () => Promise<unknown>): Promise<number> {
  let isDone = false
  let longest = 0
  const watching = (async () => {
    while (!isDone) {
      const begun = performance.now()
      await (await fetch(`${url}/health`)).text()
      longest = Math.max(longest, performance.now() - begun)
      await pause(5)
    }
  })()
  await work()
  isDone = true
  await watching
  return longest
}

t.test('a megabyte of empty messages delays no others', async (t) => {
  const longest = await healthDuring(async () => {
    const client = await open(t)
    // Frames without payload: FIN and text, masked, length 0.
    const empty = Buffer.from([0x81, 0x80, 0, 0, 0, 0])
    const { _socket: carrier } = client.socket as unknown as { readonly _socket: NodeJS.WritableStream }
    carrier.write(Buffer.concat(Array.from({ length: 170_000 }, () => empty)))
    t.match(await client.closed, { code: 1008 })
  })
  t.comment(`${longest} ms`)
  t.ok(longest < 500, 'on a busy machine')
})

t.test('frames of megabytes delay others little', async (t) => {
  const join = (config: object): string => JSON.stringify(['1', '1', 'realtime:room', 'phx_join', { config }])
  const binding = { event: '*', schema: 'public', table: 'items', filter: `id=eq.${'x'.repeat(100)}` }
  const frames: Readonly<Record<string, string>> = {
    bindings: join({ postgres_changes: Array.from({ length: 10_000 }, (_, n) => ({ ...binding, table: `t${n}` })) }),
    values: join({ values: Array.from({ length: 90_000 }, () => 1) }),
    'too many values': join({ values: Array.from({ length: 2_000_000 }, () => 1) }),
    names: join(Object.fromEntries(Array.from({ length: 45_000 }, (_, n) => [`n${n}`, 1]))),
    text: join({ text: 'ä'.repeat(2_000_000) }),
  }
  for (const [name, frame] of Object.entries(frames)) {
    const client = await open(t)
    const longest = await longestTurnDuring(async () => {
      client.sendRaw(frame)
      await client.events()
    })
    t.ok(longest < 120, `${name}: ${Math.round(longest)} ms of this process, client and server`)
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
  t.ok(longest < 120, `${Math.round(longest)} ms`)
})
