// Messages between processes while this one finds out which others there are.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ListenerEvent } from '../../../server/postgres/listener.ts'
import type { JsonStatement, TextRow } from '../../../server/postgres/json-statement.ts'
import { TextEvent } from '../../../server/services/realtime/frames.ts'
import { Hub } from '../../../server/services/realtime/hub.ts'
import { Relay } from '../../../server/services/realtime/relay.ts'
import { RelayReader } from '../../../server/services/realtime/relay-messages.ts'
import { RealtimeStatistics } from '../../../server/services/realtime/statistics.ts'

/** A statement that the database has not answered yet. */
type Asked = {
  readonly what: 'secret' | 'peers' | 'notify'
  readonly answer: (rows: readonly TextRow[]) => void
}

const secret: TextRow[] = [['ab'.repeat(32)]]
const others: TextRow[] = [['rowhouse realtime another']]

/** A relay on a database that answers when the test says so. */
function startRelay(t: Pick<Test, 'teardown'>) {
  const asked: Asked[] = []
  const notified: string[] = []
  const reader = new RelayReader(Buffer.from('ab'.repeat(32), 'hex'))
  let isOver = false
  const hub = new Hub()
  let onEvent: (event: ListenerEvent) => void = () => undefined
  const errors: unknown[] = []
  const relay = new Relay({
    database: {
      askRows: ({ text }: JsonStatement, _identity: unknown, values: readonly unknown[]) =>
        new Promise((resolve) => {
          if (isOver) return resolve([])
          const what = text.includes('realtime_secret') ? 'secret' : text.includes('pg_stat') ? 'peers' : 'notify'
          if (what === 'notify') notified.push(String(values[0]))
          asked.push({ what, answer: (rows) => resolve([...rows]) })
        }),
      listenAs: (_name, _channel, listener) => {
        onEvent = listener
        return Promise.resolve(() => Promise.resolve())
      },
    },
    hub,
    statistics: new RealtimeStatistics(),
    onEnd: () => undefined,
    onMissed: () => undefined,
    onPeersSubscribed: () => undefined,
    newestBefore: () => Promise.resolve(undefined),
    onNewest: () => undefined,
    onError: (error) => errors.push(error),
  })
  hub.observer = {
    onBroadcast: (room, delivery) => relay.onBroadcast(room, delivery),
    onPresence: () => undefined,
    onUse: () => undefined,
  }
  t.teardown(async () => {
    isOver = true
    for (const { answer } of asked) answer([])
    await relay.stop()
  })
  return {
    relay,
    errors,
    publish: () => hub.publish(hub.room('room', false), new TextEvent('broadcast', 'room', 'word', '{}')),
    listening: () => onEvent({ kind: 'listening', channel: 'rowhouse_realtime' }),
    /** Answers the oldest statement of a kind, if there is one. */
    answer: async (what: Asked['what'], rows: readonly TextRow[]): Promise<void> => {
      const index = asked.findIndex((one) => one.what === what)
      if (index >= 0) asked.splice(index, 1)[0]?.answer(rows)
      await nextTurn()
    },
    /** Answers all statements, also those that follow. */
    answerAll: async (peers: readonly TextRow[]): Promise<void> => {
      for (let one = asked.shift(); one; one = asked.shift()) {
        one.answer(one.what === 'secret' ? secret : one.what === 'peers' ? peers : [])
        await nextTurn()
      }
    },
    /** The kinds of messages that were sent to others. */
    sent: () =>
      notified.flatMap((array) => array.match(/[^{},"]+/g) ?? []).map((payload) => reader.read(payload)?.message?.kind),
    waiting: () => asked.length,
  }
}

t.test('a message is not lost when the process begins to listen before it is sent', async (t) => {
  const { relay, errors, publish, listening, answer, answerAll, sent } = startRelay(t)
  relay.ask()
  publish()
  await answer('peers', others)
  await answer('secret', secret)
  // The others are forgotten now, because they may have said meanwhile that they end.
  listening()
  await answerAll(others)
  t.ok(sent().includes('send'))
  t.strictSame(errors, [])
})

t.test('nor when it is published while the others are not known again', async (t) => {
  const { relay, publish, listening, answer, answerAll, sent } = startRelay(t)
  relay.ask()
  await answer('secret', secret)
  listening()
  publish()
  await answerAll(others)
  t.ok(sent().includes('send'))
})

t.test('without others, nothing is sent', async (t) => {
  const { relay, publish, listening, answer, answerAll, sent, waiting } = startRelay(t)
  relay.ask()
  await answer('secret', secret)
  listening()
  publish()
  await answerAll([])
  publish()
  await nextTurn()
  t.equal(waiting(), 0, 'nor is the database asked')
  t.strictSame(sent(), [])
})
