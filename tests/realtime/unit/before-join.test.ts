// What waits for a channel until its join is answered: bounded by bytes for all channels of a socket.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { unobservedSocket } from '../../../server/common/socket-observer.ts'
import { lastingIdentity } from '../../../server/identity/identity.ts'
import { ByteBudget } from '../../../server/services/realtime/byte-budget.ts'
import { Channel } from '../../../server/services/realtime/channel.ts'
import { Broadcast, readFrame, type ReceivedFrame, type Ref } from '../../../server/services/realtime/frames.ts'
import { Hub } from '../../../server/services/realtime/hub.ts'
import { readJoin } from '../../../server/services/realtime/join.ts'
import type { RealtimeParts } from '../../../server/services/realtime/realtime-parts.ts'
import { RealtimeStatistics } from '../../../server/services/realtime/statistics.ts'

const credential = {
  token: 'token',
  identity: lastingIdentity('anon', { role: 'anon' }),
  expiresAt: Infinity,
  session: undefined,
  keyHash: undefined,
}
const rights = { read: true, write: true }

/** A socket whose channels are private, and join when stored messages are there. */
function openSocket(most = 1000) {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  const statistics = new RealtimeStatistics()
  const hub = new Hub()
  const waiting = new ByteBudget(() => most)
  const replies: { readonly ref: Ref; readonly status: string; readonly response: unknown }[] = []
  const written: string[] = []
  const parts = {
    hub,
    statistics,
    settings: () => ({
      realtimeMaxPayloadBytes: 10_000,
      realtimeMaxBufferedBytes: most,
      realtimePresenceMaxCalls: 1000,
      realtimePresenceWindowMs: 1000,
    }),
    tokens: { verify: () => Promise.resolve(credential), takeUnchecked: () => false },
    policies: { decide: () => Promise.resolve({ broadcast: rights, presence: rights }) },
    storedMessages: async () => {
      await opened
      return []
    },
    onError: (error: unknown) => t.fail(String(error)),
  } as unknown as RealtimeParts
  const socket = {
    version: 2,
    headers: {},
    credential,
    observer: unobservedSocket,
    waiting,
    presence: new ByteBudget(() => most),
    write: (frame: Buffer) => written.push(frame.toString()),
    reply: (_joinRef: Ref, ref: Ref, _topic: string, status: string, response: string) =>
      replies.push({ ref, status, response: JSON.parse(response) }),
    forget: () => undefined,
  } as const
  const join = (name: string): { readonly channel: Channel; readonly joined: Promise<void> } => {
    const config = { private: true, broadcast: { ack: true, self: true, replay: { since: 0 } } }
    const request = readJoin({ config }, name)
    const channel = new Channel({ socket, name, joinRef: '1', request, requestBytes: 0 }, parts)
    return { channel, joined: channel.join('join') }
  }
  const send = (channel: Channel, ref: string, text: string): void => {
    const payload = { type: 'broadcast', event: 'e', payload: { text } }
    const frame: ReceivedFrame = {
      data: Buffer.from(JSON.stringify(['1', ref, channel.topic, 'broadcast', payload])),
      isBinary: false,
    }
    const message = readFrame(frame, 2)
    if (message) channel.handle(message, frame)
  }
  return { hub, statistics, waiting, replies, written, join, send, open }
}

const isRefused =
  /^Messages that wait for joins of a client have at most 1000 bytes, and there is no room for this one$/

t.test('messages of the client have a number of bytes in all of its channels', async (t) => {
  const { statistics, waiting, replies, join, send, open } = openSocket()
  const [one, two] = [join('one'), join('two')]
  send(one.channel, 'a', 'x'.repeat(340))
  send(two.channel, 'b', 'x'.repeat(340))
  send(two.channel, 'c', 'x'.repeat(340))
  send(one.channel, 'd', 'x')
  t.match(replies, [{ ref: 'c', status: 'error', response: { reason: isRefused } }], 'says which one is lost, and why')
  t.equal(replies.length, 1)
  t.equal(statistics.drops.get('too many messages'), 1)
  open()
  await Promise.all([one.joined, two.joined])
  const answered = replies.filter(({ status }) => status === 'ok').map(({ ref }) => ref)
  t.strictSame(answered.sort(), ['a', 'b', 'd', 'join', 'join'])
  t.ok(waiting.take(1000), 'nothing waits any more')
})

t.test('a hundred messages wait, and no more', (t) => {
  const { replies, join, send } = openSocket(100_000)
  const { channel } = join('one')
  for (let n = 0; n < 101; n++) send(channel, String(n), '')
  const reason = 'Before a join is answered, at most 100 messages can wait for it'
  t.strictSame(replies, [{ ref: '100', status: 'error', response: { reason } }])
  channel.dispose()
  t.end()
})

t.test('a channel that ends before makes room', (t) => {
  const { waiting, join, send, hub } = openSocket()
  const { channel } = join('one')
  send(channel, 'a', 'x'.repeat(800))
  t.notOk(waiting.take(500))
  channel.dispose()
  t.ok(waiting.take(1000))
  t.equal(hub.channels.size, 0)
  t.end()
})

t.test('messages of others, too', async (t) => {
  const { hub, statistics, waiting, written, join, open } = openSocket()
  const [one, two] = [join('one'), join('two')]
  while (hub.channels.size < 2) await nextTurn()
  const publish = (topic: string, event: string): boolean =>
    hub.publish(
      hub.room(topic, true),
      new Broadcast({ topic, event, payload: Buffer.from(JSON.stringify('x'.repeat(300))), isJson: true }),
    )
  for (const event of ['a', 'b', 'c', 'd']) t.ok(publish(event < 'c' ? 'one' : 'two', event))
  t.equal(statistics.drops.get('crowded topic'), 1)
  open()
  await Promise.all([one.joined, two.joined])
  t.equal(written.filter((frame) => frame.includes('xxx')).length, 3)
  t.ok(waiting.take(1000))
})
