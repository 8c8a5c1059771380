// Writes share connections only while their commits are fast.
import t from 'tap'
import { sharingPolicy } from '../../../server/postgres/sharing/policy.ts'
import { WritePace } from '../../../server/postgres/sharing/write-pace.ts'

const { slow, window, most, pause, lasting } = sharingPolicy.commits
const fast = slow / 3

/** A pace whose clock stands still unless it is set; `record` returns how many of the writes were accepted. */
function start() {
  const pace = new WritePace()
  const clock = { now: 1000 }
  const mayShare = (): boolean => pace.mayShare(clock.now)
  const record = (milliseconds: number, count: number): number => {
    let accepted = 0
    for (; accepted < count && mayShare(); accepted++) pace.record(milliseconds, clock.now)
    return accepted
  }
  return { pace, clock, mayShare, record }
}

t.test('fast commits keep sharing', (t) => {
  const { record, mayShare } = start()
  t.equal(record(fast, 20 * window), 20 * window)
  t.equal(record(slow, 20 * window), 20 * window, 'those at the limit, too')
  t.ok(mayShare())
  t.end()
})

t.test('slow commits stop it after few writes, until the next attempt, and longer each time', (t) => {
  const { clock, record, mayShare } = start()
  record(fast, 20 * window)
  for (const length of [500, 1000, 2000, 4000, 8000, pause.longest, pause.longest]) {
    t.equal(record(5, window), most + 1)
    clock.now += length - 1
    t.notOk(mayShare())
    clock.now++
    t.ok(mayShare(), `after ${length} ms`)
  }
  t.equal(record(fast, lasting), lasting, 'commits have become fast')
  record(5, window)
  clock.now += pause.first
  t.ok(mayShare(), 'a stop after a long attempt is short')
  t.end()
})

t.test('a delay of all connections is no reason to stop', (t) => {
  const { record } = start()
  for (let checkpoint = 0; checkpoint < 20; checkpoint++) {
    t.equal(record(fast, window - 10), window - 10)
    t.equal(record(30, 10), 10)
  }
  t.end()
})

t.test('half of the writes being slow is', (t) => {
  const { pace, clock, mayShare } = start()
  for (let write = 0; write < 4 * window; write++) pace.record(write % 20 < 11 ? 5 : fast, clock.now)
  t.notOk(mayShare())
  t.end()
})

t.test('writes that end after the stop are not part of the next attempt', (t) => {
  const { pace, clock, record, mayShare } = start()
  record(5, window)
  for (let write = 0; write < 10 * window; write++) pace.record(5, clock.now + pause.first - 1)
  clock.now += pause.first
  t.ok(mayShare())
  t.equal(record(5, most), most)
  t.ok(mayShare())
  t.end()
})

t.test('an hour of slow commits costs few shared writes', (t) => {
  const { clock, record } = start()
  let shared = 0
  for (; clock.now < 3_600_000; clock.now += 10) shared += record(5, 10)
  t.ok(shared <= (3_600_000 / pause.longest + 6) * (most + 1), `${shared} writes`)
  t.end()
})
