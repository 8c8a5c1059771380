// Where a subscription begins that is made while transactions are being read.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { LogTransaction } from '../../../server/postgres/replication/log-transaction.ts'
import { lastingIdentity } from '../../../server/identity/identity.ts'
import { Subscriber, Viewer } from '../../../server/services/realtime/changes/audience.ts'
import { ChangeBuffer } from '../../../server/services/realtime/changes/change-buffer.ts'
import type { ChangeDelivery } from '../../../server/services/realtime/changes/change-delivery.ts'
import { StartingSubscribers } from '../../../server/services/realtime/changes/starting-subscribers.ts'
import { CallerSettings } from '../../../server/services/realtime/policies/row-check.ts'

const transaction = (xid: number, commit: bigint): LogTransaction => ({
  xid,
  commit,
  end: commit + 1n,
  time: 0n,
  changes: [],
  relations: new Set(),
  size: 100,
  isTooLarge: false,
})

t.test('a client resumes before what it is yet to get, although that was read when it subscribed', async (t) => {
  const buffer = new ChangeBuffer({ bytes: () => 10_000, seconds: () => 60 })
  const delivered: bigint[] = []
  const delivery = {
    deliver: (entries: readonly { readonly transaction: LogTransaction }[]) => {
      delivered.push(...entries.map(({ transaction: { commit } }) => commit))
      return Promise.resolve()
    },
  } as unknown as ChangeDelivery
  const starting = new StartingSubscribers({
    buffer,
    delivery,
    onFailure: (_subscriber, { message }) => t.fail(message),
    onError: (error) => t.fail(String(error)),
  })
  const subscribe = (snapshot: string, lsn: string) => {
    const viewer = new Viewer(lastingIdentity('anon', { role: 'anon' }), new CallerSettings(() => false))
    const subscriber = new Subscriber([], { onChange: () => undefined, onFailure: () => undefined }, viewer)
    return starting.begin(subscriber, { snapshot, lsn, relations: [], actions: '' }, undefined)
  }
  buffer.begin(10n)
  t.strictSame(subscribe('100:100:', '0/A'), { commit: 9n, index: 0 }, 'before the first one')
  buffer.add(transaction(100, 20n))
  buffer.add(transaction(101, 30n))
  // The check has seen the first one, but not the second, which was read before the subscription began.
  t.strictSame(subscribe('101:101:', '0/1E'), { commit: 20n, index: 0 })
  t.strictSame(subscribe('102:102:', '0/20'), { commit: 30n, index: 0 }, 'has seen both')
  await nextTurn()
  await nextTurn()
  t.strictSame(delivered, [20n, 30n, 30n])
})
