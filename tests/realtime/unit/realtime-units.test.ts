// Parts of realtime without a server: frames, joins, presence, rates, messages between processes.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Allowance } from '../../../server/services/realtime/allowance.ts'
import { Broadcast, readBinary, readText, TextEvent, type Delivery } from '../../../server/services/realtime/frames.ts'
import { Hub, type Member, type Room } from '../../../server/services/realtime/hub.ts'
import { bindingIds, readJoin } from '../../../server/services/realtime/join.ts'
import { presenceEntry, PresenceList } from '../../../server/services/realtime/presence.ts'
import {
  bytesOf,
  payloadsOf,
  RelayReader,
  type RelayMessage,
} from '../../../server/services/realtime/relay-messages.ts'
import { until } from '../../support/until.ts'

t.test('frames are those of RFC 6455, of every length', (t) => {
  for (const length of [0, 50, 125, 126, 65_535, 65_536, 100_000]) {
    const broadcast = new Broadcast({ topic: 'a', event: 'e', payload: Buffer.alloc(length, 32), isJson: true })
    const frame = broadcast.frame(2) ?? Buffer.alloc(0)
    const [opcode, size = 0] = frame
    t.equal(opcode, 0x82)
    const [header, payload] =
      size < 126 ? [2, size] : size === 126 ? [4, frame.readUInt16BE(2)] : [10, Number(frame.readBigUInt64BE(2))]
    t.equal(frame.length, header + payload)
    t.equal(broadcast.frame(2), frame, 'encoded once')
  }
  t.equal(new Broadcast({ topic: 'a', event: 'e', payload: Buffer.alloc(1), isJson: false }).frame(1), undefined)
  t.equal(
    new Broadcast({ topic: 'x'.repeat(256), event: 'e', payload: Buffer.alloc(1), isJson: false }).frame(2),
    undefined,
  )
  t.equal(
    new Broadcast({ topic: 'x'.repeat(256), event: 'e', payload: Buffer.from('1'), isJson: true }).frame(2)?.[0],
    0x81,
  )
  t.end()
})

t.test('random bytes are no frames', (t) => {
  let seed = 1
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647)
  for (let n = 0; n < 20_000; n++) {
    const bytes = Buffer.from(Array.from({ length: next() % 40 }, () => next() % 256))
    if (bytes.length > 0 && n % 2 === 0) bytes[0] = 3
    const message = readBinary(bytes)
    if (message) t.ok(message.binary)
    readText(bytes, 1)
    readText(bytes, 2)
  }
  t.end()
})

t.test('joins', (t) => {
  t.match(readJoin(undefined, 'schema:table:id=eq.1:2'), {
    isLegacy: true,
    bindings: [{ event: '*', schema: 'schema', table: 'table', filter: 'id=eq.1:2' }],
  })
  t.match(readJoin({ config: { private: 'TRUE', presence: { key: '', enabled: 'false' } } }, 'a'), {
    isPrivate: true,
    presenceKey: undefined,
    isPresenceEnabled: false,
    bindings: [],
    isLegacy: false,
  })
  const options = { postgres_changes_options: { wait: true, timeout: 60_000, since: '0/1:2' } }
  t.match(readJoin({ config: options }, 'a'), { wait: 20_000, since: '0/1:2' })
  t.match(readJoin({ access_token: 'a', user_token: 'b' }, 'a'), { token: 'b' })
  t.match(readJoin({ access_token: 'sb_publishable_x' }, 'a'), { token: undefined })
  const [one, same, other] = bindingIds([{ schema: 'a', table: 'b' }, { table: 'b', schema: 'a' }, { schema: 'a' }])
  t.equal(one, same)
  t.not(one, other)
  t.end()
})

t.test('presence', (t) => {
  const list = new PresenceList()
  const owner = {}
  const entry = presenceEntry('k', '{}', undefined)
  list.set(owner, entry)
  t.match(JSON.parse(list.stateJson()), { k: { metas: [{ phx_ref: entry.ref }] } })
  list.delete(owner)
  t.equal(list.takeDiff(), undefined, 'what comes and goes between two diffs leaves no trace')
  // The name of the server counts.
  const forged = presenceEntry('__proto__', '{"phx_ref":"mine","a":1}', undefined)
  list.set(owner, forged)
  t.equal(list.stateJson(), `{"__proto__":{"metas":[{"phx_ref":"mine","a":1,"phx_ref":"${forged.ref}"}]}}`)
  t.end()
})

t.test('rates', (t) => {
  const allowance = new Allowance()
  t.ok(allowance.take(100, 10, 0))
  t.notOk(allowance.take(1, 10, 50))
  t.ok(allowance.take(1, 10, 100))
  t.ok(allowance.take(100, 10, 1_000_000))
  t.end()
})

t.test('messages between processes', (t) => {
  const payload = Buffer.from(JSON.stringify({ text: 'ä€🎉"\\'.repeat(5000) }))
  const messages: readonly RelayMessage[] = [
    { kind: 'hello' },
    { kind: 'subscribers', hasSubscribers: true },
    { kind: 'subscribers', hasSubscribers: false },
    { kind: 'reading', from: 0x1_0000_0001n },
    { kind: 'newest', position: '0/1:2', before: 3n },
    {
      kind: 'send',
      topic: 'a',
      isPrivate: true,
      delivery: new Broadcast({ topic: 'a', event: 'e', payload, isJson: true }),
    },
    {
      kind: 'send',
      topic: 'a',
      isPrivate: false,
      delivery: new Broadcast({ topic: 'a', event: 'e', payload: Buffer.from([0, 255]), isJson: false }),
    },
    { kind: 'send', topic: 'a', isPrivate: false, delivery: new TextEvent('broadcast', 'a', 'broadcast', '{}') },
    { kind: 'presence', topic: 'a', isPrivate: false, owner: 3, entry: presenceEntry('k', '{"n":1}', undefined) },
    { kind: 'presence', topic: 'a', isPrivate: false, owner: 3, entry: undefined },
  ]
  const secret = Buffer.alloc(32, 1)
  const reader = new RelayReader(secret)
  for (const [number, message] of messages.entries()) {
    const parts = [...payloadsOf(secret, 'sender', number, bytesOf(message))]
    t.ok(parts.every((part) => Buffer.byteLength(part) < 7990))
    const read = parts.map((part) => reader.read(part))
    t.ok(read.slice(0, -1).every((part) => part?.message === undefined))
    const found = read.at(-1)?.message
    if (message.kind === 'send' && found?.kind === 'send') {
      t.same([found.topic, found.isPrivate], [message.topic, message.isPrivate])
      t.same(found.delivery.frame(2), message.delivery.frame(2))
    } else t.match(found, message)
  }
  t.equal(reader.read('session x'), undefined)
  const bytes = bytesOf({
    kind: 'send',
    topic: 'a',
    isPrivate: true,
    delivery: new TextEvent('broadcast', 'a', 'e', `"${'x'.repeat(9000)}"`),
  })
  const [first = '', second = ''] = payloadsOf(secret, 'sender', 90, bytes)
  t.same(reader.read(second), { sender: 'sender', message: undefined }, 'without its beginning')
  reader.read(first)
  reader.read(first)
  t.equal(reader.read(second)?.message?.kind, 'send', 'although somebody has repeated a part')
  t.same(reader.read(second), { sender: 'sender', message: undefined }, 'repeated')
  t.same(reader.read(first), { sender: 'sender', message: undefined }, 'repeated')
  const [foreign = ''] = payloadsOf(Buffer.alloc(32, 2), 'sender', 100, bytes)
  const [sealed = ''] = payloadsOf(secret, 'sender', 100, bytes)
  for (const forged of [
    foreign,
    sealed.replace('sender', 'another'),
    sealed.replace(' 100 0 ', ' 101 0 '),
    sealed.replace(' 0 2 ', ' 0 1 '),
    `${sealed.slice(0, 100)}AAAA${sealed.slice(104)}`,
    'sender 100 0 999999999 e30=',
    'sender 100 0 1 {}',
    'sender 99999999999999 999999999 999999999 ',
    'sender',
    '',
  ]) {
    t.equal(reader.read(forged), undefined, forged.slice(0, 50))
  }
  t.end()
})

/** A topic with members, who pass on what they get. */
function crowdOf(size: number, deliver: (delivery: Delivery, member: number) => void): { hub: Hub; room: Room } {
  const hub = new Hub()
  const room = hub.room('crowd', false)
  for (let number = 0; number < size; number++) {
    const member: Member = {
      number,
      room,
      isPresent: false,
      deliver: (delivery) => deliver(delivery, number),
      checkExpiry: () => undefined,
    }
    hub.add(member)
  }
  return { hub, room }
}

t.test('what waits for the members of a large topic is bounded', async (t) => {
  let delivered = 0
  const { hub, room } = crowdOf(2500, () => delivered++)
  const payload = Buffer.from(JSON.stringify('x'.repeat(1_000_000)))
  const message = new Broadcast({ topic: 'crowd', event: 'e', payload, isJson: true })
  const sent = Array.from({ length: 100 }, () => hub.publish(room, message))
  const kept = sent.filter((isSent) => isSent).length
  t.ok(kept >= 15 && kept < 20, `${kept} of 100`)
  t.equal(room.send(new TextEvent('presence', 'crowd', 'presence_diff', '{}')), true, 'presence must not miss a change')
  while (delivered < (kept + 1) * 2500) await nextTurn()
  t.ok(hub.publish(room, message), 'and it goes on')
})

t.test('messages that wait for a large topic keep their order, and none is moved for another one', async (t) => {
  const firstGot: Delivery[] = []
  const lastGot: Delivery[] = []
  const { hub, room } = crowdOf(1001, (delivery, member) => {
    if (member === 0) firstGot.push(delivery)
    else if (member === 1000) lastGot.push(delivery)
  })
  const message = (n: number): Broadcast =>
    new Broadcast({ topic: 'crowd', event: 'e', payload: Buffer.from(String(n)), isJson: true })
  const sent: Broadcast[] = []
  const publish = (count: number): void => {
    for (let n = 0; n < count; n++) {
      const one = message(sent.length)
      if (hub.publish(room, one)) sent.push(one)
    }
  }
  // Counts elements that are moved in lists of these messages.
  let moved = 0
  const { shift, splice } = Array.prototype as { shift: () => unknown; splice: (...given: unknown[]) => unknown[] }
  const count = (list: readonly unknown[]): void => {
    const [one] = list
    if (typeof one === 'object' && one !== null && 'delivery' in one) moved += list.length
  }
  Object.assign(Array.prototype, {
    shift(this: unknown[]) {
      count(this)
      return shift.call(this)
    },
    splice(this: unknown[], ...given: unknown[]) {
      count(this)
      return splice.apply(this, given)
    },
  })
  try {
    publish(2000)
    while (lastGot.length < 1000) await nextTurn()
    publish(500)
    while (lastGot.length < sent.length) await nextTurn()
  } finally {
    Object.assign(Array.prototype, { shift, splice })
  }
  t.equal(sent.length, 2500)
  t.ok(moved < sent.length * 10, `${moved} moved`)
  t.ok(
    sent.every((one, index) => firstGot[index] === one && lastGot[index] === one),
    'in their order',
  )
})

t.test('empty messages that wait for a large topic are bounded, too', (t) => {
  const { hub, room } = crowdOf(1001, () => undefined)
  const empty = new Broadcast({ topic: '', event: '', payload: Buffer.alloc(0), isJson: false })
  let kept = 0
  while (hub.publish(room, empty) && kept <= 70_000) kept++
  t.ok(kept > 50_000 && kept < 70_000, `${kept} messages`)
  t.end()
})

t.test('changes of presence that come while a diff waits for a large topic are one more diff', async (t) => {
  const diffs: TextEvent[] = []
  const { room } = crowdOf(1001, (delivery, member) => {
    if (member === 0 && delivery instanceof TextEvent) diffs.push(delivery)
  })
  const owners = Array.from({ length: 500 }, () => ({}))
  for (const [n, owner] of owners.entries()) {
    room.presence.set(owner, presenceEntry(`k${n}`, '{}', undefined))
    room.presenceChanged()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const present = (): number => {
    const keys = new Set<string>()
    for (const diff of diffs) {
      const { joins, leaves } = JSON.parse(diff.payload) as { joins: object; leaves: object }
      for (const key of Object.keys(leaves)) keys.delete(key)
      for (const key of Object.keys(joins)) keys.add(key)
    }
    return keys.size
  }
  await until(() => present() === owners.length)
  t.equal(present(), owners.length, 'no change is missing')
  t.ok(diffs.length < owners.length, `${diffs.length} diffs`)
})
