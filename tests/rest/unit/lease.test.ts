// Leases of requests that several processes take from shared counts, on a clock of the test.
import t from 'tap'
import type { Rate } from '../../../server/identity/limits.ts'
import { LocalCounts, type Counts, type Grant } from '../../../server/rest/extensions/limits/counts.ts'
import { Lease, type LeaseState } from '../../../server/rest/extensions/limits/lease.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

/** Lets all promises settle whose results are known. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Shared counts that also count their statements. */
function counting(now: () => number): Counts & { statements: number; wanted: number[]; failure: Error | undefined } {
  const counts = new LocalCounts(now)
  return {
    statements: 0,
    wanted: [],
    failure: undefined,
    take(subject: string, rate: Rate, wanted: number, minimum?: number): Promise<Grant> {
      this.statements++
      this.wanted.push(wanted)
      return this.failure ? Promise.reject(this.failure) : counts.take(subject, rate, wanted, minimum)
    },
    putBack(subject: string, rate: Rate, count: number): Promise<void> {
      return counts.putBack(subject, rate, count)
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
      const random = seededRandom(testSeed(seed))
      let time = 0
      const counts = counting(() => time)
      const rate = { perSecond, burst }
      // Their clocks differ, and run at different speeds. Only that of the counts decides.
      const clocks = [() => time, () => 1.5 * time - 1e6, () => 0.5 * time + 1e9]
      const processes = clocks.map((now) => new Lease('role', rate, counts, now))
      /** Times of the requests that were let through. */
      const granted: number[] = []
      const note = (state: LeaseState): void => {
        if (state.isGranted) granted.push(time)
        if (state.remaining < 0 || state.remaining > burst) t.fail(`${state.remaining} remaining`)
      }
      let asked = 0
      for (let step = 0; step < 300; step++) {
        time += random.chance(0.05) ? random.below(3000) : random.below(20)
        const [busy] = [random.below(3)]
        for (const [index, lease] of processes.entries()) {
          const count = index === busy ? random.below(40) : random.below(3)
          asked += count
          for (let n = 0; n < count; n++) {
            // Some are the parts of a batch, and some are refused by another limit.
            const wanted = random.chance(0.2) ? 1 + random.below(burst) : 1
            const isRefused = random.chance(0.1)
            const settled = (state: LeaseState): void => {
              if (isRefused && state.isGranted) lease.giveBack(wanted)
              else for (let part = 0; part < wanted; part++) note(state)
            }
            asked += wanted - 1
            const state = lease.take(wanted)
            if (state instanceof Promise) void state.then(settled)
            else settled(state)
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
    if (!state.isGranted) t.fail('refused')
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
  t.strictSame(counts.wanted, [1, 3], 'requests that arrive during a statement share the next one')
  for (let n = 0; n < 100; n++) if ((await take()).isGranted) t.fail('granted')
  t.equal(counts.statements, 2)
  time += 500
  t.strictSame(await take(2), { isGranted: false, remaining: 1, seconds: 1 })
  t.ok((await take()).isGranted, 'a smaller request is not held up by a larger one')
  lease.giveBack(1)
  t.ok((await take()).isGranted, 'what was given back')
  lease.setRate({ perSecond: 2, burst: 10 })
  time += 5000
  t.strictSame(await take(4), { isGranted: true, remaining: 6, seconds: 1 }, 'the new burst')
})

t.test('what a process does not let through is there for the others', async (t) => {
  const counts = counting(() => 0)
  const rate = { perSecond: 0.01, burst: 100 }
  const [one, two] = [new Lease('role', rate, counts, () => 0), new Lease('role', rate, counts, () => 0)]
  t.ok((await one.take(1)).isGranted)
  t.strictSame(await one.take(100), { isGranted: false, remaining: 99, seconds: 100 }, 'a batch that is too large')
  t.ok((await one.take(9)).isGranted, 'it refuses no smaller one')
  const answers = await Promise.all([one.take(95), one.take(20), one.take(1)])
  t.strictSame(
    answers.map(({ isGranted }) => isGranted),
    [false, true, true],
  )
  t.strictSame(await two.take(69), { isGranted: true, remaining: 0, seconds: 100 }, 'the rest in another process')
  two.giveBack(69)
  t.ok((await one.take(69)).isGranted, 'what the other one gives back')
})

t.test('an error of the database rejects the waiting requests, and the next one tries again', async (t) => {
  const counts = counting(() => 0)
  const lease = new Lease('role', { perSecond: 1, burst: 5 }, counts, () => 0)
  counts.failure = new Error('gone')
  await t.rejects(Promise.all([lease.take(1), lease.take(1)]), { message: 'gone' })
  counts.failure = undefined
  t.equal((await lease.take(5)).isGranted, true)
})
