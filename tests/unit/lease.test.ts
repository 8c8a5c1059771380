// Leases of requests that several processes take from shared counts, on a clock of the test.
import t from 'tap'
import type { Rate } from '../../server/identity/limits.ts'
import { LocalCounts, type Counts, type Grant } from '../../server/rest/limits/counts.ts'
import { Lease, type LeaseState } from '../../server/rest/limits/lease.ts'
import { seededRandom } from '../support/seeded-random.ts'

/** Lets all promises settle whose results are known. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Shared counts that also count their statements. */
function counting(now: () => number): Counts & { statements: number; wanted: number[]; failure: Error | undefined } {
  const counts = new LocalCounts(now)
  return {
    statements: 0,
    wanted: [],
    failure: undefined,
    take(subject: string, rate: Rate, wanted: number): Promise<Grant> {
      this.statements++
      this.wanted.push(wanted)
      return this.failure ? Promise.reject(this.failure) : counts.take(subject, rate, wanted)
    },
  }
}

t.test(
  'in any interval three processes let through the burst, the rate, and a tenth of a second each at most',
  async (t) => {
    for (const [seed, perSecond, burst] of [
      [1, 100, 20],
      [2, 1000, 1],
      [3, 7.5, 50],
      [4, 0.5, 3],
      [5, 10_000, 10_000],
    ] as const) {
      const random = seededRandom(seed)
      let time = 0
      const counts = counting(() => time)
      const rate = { perSecond, burst }
      const processes = Array.from({ length: 3 }, () => new Lease('role', rate, counts, () => time))
      /** Times of the requests that were let through. */
      const granted: number[] = []
      const note = (state: LeaseState): void => {
        if (state.isGranted) granted.push(time)
        t.ok(state.remaining >= 0 && state.remaining <= burst)
      }
      let asked = 0
      for (let step = 0; step < 300; step++) {
        time += random.chance(0.05) ? random.below(3000) : random.below(20)
        const [busy] = [random.below(3)]
        for (const [index, lease] of processes.entries()) {
          const count = index === busy ? random.below(40) : random.below(3)
          asked += count
          for (let n = 0; n < count; n++) {
            const state = lease.take(1)
            if (state instanceof Promise) void state.then(note)
            else note(state)
          }
        }
        await settle()
        await settle()
      }
      const leases = 3 * Math.floor(perSecond / 10)
      let worst = -Infinity
      for (let from = 0; from < granted.length; from += 7) {
        for (let to = from; to < granted.length; to += 5) {
          const seconds = ((granted[to] ?? 0) - (granted[from] ?? 0)) / 1000
          worst = Math.max(worst, to - from + 1 - (burst + perSecond * seconds + leases))
        }
      }
      t.ok(worst <= 1e-6, `rate ${perSecond}, burst ${burst}: ${worst} more than the bound`)
      t.ok(granted.length <= burst + (perSecond * time) / 1000, 'never more than was taken')
      t.ok(granted.length >= Math.min(asked, burst), 'at least the burst')
      t.ok(counts.statements < asked, `${counts.statements} statements for ${asked} requests`)
    }
  },
)

t.test('a busy process needs few statements, and an idle one takes no more than it needs', async (t) => {
  let time = 0
  const counts = counting(() => time)
  const lease = new Lease('role', { perSecond: 1000, burst: 1000 }, counts, () => time)
  await lease.take(1)
  t.strictSame(counts.wanted, [1])
  for (let n = 0; n < 900; n++) {
    time += 1
    const state = await lease.take(1)
    t.ok(state.isGranted)
  }
  t.ok(counts.statements < 100, `${counts.statements} statements`)
  t.ok(Math.max(...counts.wanted) <= 200)
  time += 5000
  for (let n = 0; n < 200; n++) await lease.take(1)
  time += 5000
  const before = counts.statements
  await lease.take(300)
  t.ok(counts.statements - before <= 2)
})

t.test('what is refused needs no statement until there may be more', async (t) => {
  let time = 0
  const counts = counting(() => time)
  const lease = new Lease('role', { perSecond: 2, burst: 2 }, counts, () => time)
  const take = async (wanted = 1): Promise<LeaseState> => lease.take(wanted)
  t.strictSame(await Promise.all([take(), take(), take(), take()]), [
    { isGranted: true, remaining: 1, seconds: 1 },
    { isGranted: true, remaining: 0, seconds: 1 },
    { isGranted: false, remaining: 0, seconds: 1 },
    { isGranted: false, remaining: 0, seconds: 1 },
  ])
  t.equal(counts.statements, 1, 'requests that arrive together share a statement')
  for (let n = 0; n < 100; n++) t.notOk((await take()).isGranted)
  t.equal(counts.statements, 1)
  time += 500
  t.strictSame(await take(2), { isGranted: false, remaining: 1, seconds: 1 })
  t.ok((await take()).isGranted, 'a smaller request is not held up by a larger one')
  lease.giveBack(1)
  t.ok((await take()).isGranted, 'what was given back')
  lease.setRate({ perSecond: 2, burst: 10 })
  time += 5000
  t.strictSame(await take(4), { isGranted: true, remaining: 6, seconds: 2 }, 'the new burst')
})

t.test('an error of the database rejects the waiting requests, and the next one tries again', async (t) => {
  const counts = counting(() => 0)
  const lease = new Lease('role', { perSecond: 1, burst: 5 }, counts, () => 0)
  counts.failure = new Error('gone')
  await t.rejects(Promise.all([lease.take(1), lease.take(1)]), { message: 'gone' })
  counts.failure = undefined
  t.equal((await lease.take(5)).isGranted, true)
})
