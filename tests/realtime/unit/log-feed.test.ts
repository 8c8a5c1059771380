// The order in which transactions and states of the log reach those who listen.
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { LogTransaction } from '../../../server/postgres/replication/log-transaction.ts'
import { LogFeed, type FeedHandlers } from '../../../server/services/realtime/log-feed.ts'
import { until } from '../../support/until.ts'

const transaction = (xid: number): LogTransaction => ({
  xid,
  commit: BigInt(xid),
  end: BigInt(xid),
  time: 0n,
  changes: [],
  relations: new Set(),
  size: 0,
  isTooLarge: false,
})

t.test(
  'what is read again comes after the state that says so, though transactions of before are still handed out',
  async (t) => {
    let reader: FeedHandlers | undefined
    const feed = new LogFeed({
      gathering: 0,
      createReader: (handlers) => {
        reader = handlers
        return { start: () => undefined, stop: () => Promise.resolve() }
      },
      onMessage: () => 0,
      onError: (error) => t.fail(String(error)),
    })
    const seen: unknown[] = []
    let goOn = (): void => undefined
    feed.add({
      onTransactions: async (transactions) => {
        seen.push(...transactions.map(({ xid }) => xid))
        if (seen.at(-1) === 1) await new Promise<void>((resolve) => (goOn = resolve))
      },
      onState: ({ kind }) => seen.push(kind),
    })
    const end = feed.use()
    reader?.onState({ kind: 'reading', from: 1n, publications: [] })
    void reader?.onTransaction(transaction(1))
    t.ok(await until(() => seen.includes(1)))
    reader?.onState({ kind: 'lost', message: 'gone', retrySeconds: 1 })
    reader?.onState({ kind: 'reading', from: 2n, publications: [] })
    void reader?.onTransaction(transaction(2))
    await turn()
    t.strictSame(seen, ['reading', 1])
    goOn()
    t.ok(await until(() => seen.includes(2)))
    t.strictSame(seen, ['reading', 1, 'lost', 'reading', 2])
    end()
    await feed.stop()
  },
)

t.test('transactions that wait together are handed out together, up to a size', async (t) => {
  let reader: FeedHandlers | undefined
  const feed = new LogFeed({
    gathering: 0,
    createReader: (handlers) => {
      reader = handlers
      return { start: () => undefined, stop: () => Promise.resolve() }
    },
    onMessage: () => 0,
    onError: (error) => t.fail(String(error)),
  })
  const seen: number[][] = []
  feed.add({
    onTransactions: (transactions) => {
      seen.push(transactions.map(({ xid }) => xid))
      return undefined
    },
    onState: () => undefined,
  })
  const end = feed.use()
  for (let xid = 0; xid < 1200; xid++) void reader?.onTransaction(transaction(xid))
  t.ok(await until(() => seen.flat().length === 1200))
  t.strictSame(
    seen.map(({ length }) => length),
    [500, 500, 200],
  )
  t.strictSame(seen.flat(), [...Array(1200).keys()])
  end()
  await feed.stop()
})
