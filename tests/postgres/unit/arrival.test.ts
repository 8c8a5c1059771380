// When data may have arrived that a busy event loop reads late.
import { setImmediate as nextRound, setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { StatementStats } from '../../../server/common/statement-stats.ts'
import { ArrivalClock } from '../../../server/postgres/protocol/arrival.ts'

const work = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
}

t.test('what an idle event loop reads has just arrived', async (t) => {
  const clock = new ArrivalClock()
  clock.earliest(performance.now())
  await pause(30)
  const now = performance.now()
  t.equal(clock.earliest(now), now)
  t.equal(clock.earliest(now + 5), now, 'the same for all that is read in one round')
})

t.test('what a busy event loop reads may have arrived since the round before', async (t) => {
  const clock = new ArrivalClock()
  await pause(5)
  const first = performance.now()
  clock.earliest(first)
  work(30)
  await nextRound()
  work(30)
  const second = performance.now()
  t.equal(clock.earliest(second), first)
  await nextRound()
  work(10)
  const third = performance.now()
  t.equal(clock.earliest(third), second, 'but was not there in that round')
})

t.test('what is read after short waits has not arrived while the event loop was idle', async (t) => {
  const { nodeTiming } = performance
  const own = Object.getOwnPropertyDescriptor(nodeTiming, 'idleTime') ?? {}
  t.teardown(() => Object.defineProperty(nodeTiming, 'idleTime', own))
  let idleTime = 10
  Object.defineProperty(nodeTiming, 'idleTime', { configurable: true, get: () => idleTime })
  const clock = new ArrivalClock()
  clock.earliest(100)
  await nextRound()
  idleTime += 0.75
  t.equal(clock.earliest(102), 100.75)
  await nextRound()
  t.equal(clock.earliest(104), 102)
})

t.test('a statement stays trusted when only this process was late', (t) => {
  const stats = new StatementStats()
  for (let time = 0; time < 20; time++) stats.record(0.1, 100)
  stats.record(80, 100, 3)
  t.ok(stats.isFast)
  stats.record(80, 100)
  t.notOk(stats.isFast, 'and not when it took long itself')
  t.end()
})

t.test('the expected duration is that of the quickest execution of a second at least', (t) => {
  const stats = new StatementStats()
  let now = 0
  const record = (milliseconds: number, count: number): void => {
    for (let time = 0; time < count; time++) stats.record(milliseconds, 100, milliseconds, ++now)
  }
  record(0.1, 1)
  record(5, 998)
  t.equal(stats.expected, 0.1)
  record(5, 1001)
  t.equal(stats.expected, 0.1, 'of the window before')
  record(5, 1001)
  t.equal(stats.expected, 5, 'a statement that has become slower')
  now += 10_000
  record(0.2, 1)
  t.equal(stats.expected, 0.2, 'or quicker')
  t.end()
})

t.test('the expected duration does not grow because this process is late', (t) => {
  const stats = new StatementStats()
  let now = 0
  /** For more than a window: executions that seem to take `milliseconds`, and take `least` or more. */
  const record = (milliseconds: number, least: number): void => {
    for (let time = 0; time < 1001; time++) stats.record(milliseconds, 100, least, ++now)
  }
  record(3, 0)
  t.equal(stats.expected, 3, 'when nothing else is known')
  t.equal(stats.least, 0)
  record(0.2, 0.1)
  t.equal(stats.expected, 0.2)
  for (let window = 0; window < 3; window++) record(20, 0)
  t.equal(stats.expected, 0.2)
  t.equal(stats.least, 0)
  record(20, 4)
  record(20, 4)
  t.equal(stats.expected, 4, 'it grows as far as is certain')
  t.equal(stats.least, 4)
  record(0.3, 0.3)
  t.equal(stats.expected, 0.3)
  t.end()
})
