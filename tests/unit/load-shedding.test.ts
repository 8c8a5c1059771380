// When requests are refused because the server is overloaded, with a clock that the test sets.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { Admission } from '../../server/postgres/admission.ts'
import { connectionErrors } from '../../server/postgres/connection-error.ts'
import { QueueLimit } from '../../server/postgres/queue-limit.ts'
import { LoadShedding } from '../../server/program/operations/load-shedding.ts'
import { observeRefusals } from '../../server/program/operations/refused-requests.ts'
import { LoopDelay } from '../../server/program/operations/loop-delay.ts'

/** A queue in front of `places` servers, each of which takes `service` milliseconds, with arrivals at a constant rate. */
function simulate({
  places,
  service,
  rate,
  seconds,
  wait,
}: {
  readonly places: number
  readonly service: number
  readonly rate: number
  readonly seconds: number
  readonly wait: number
}): {
  readonly served: number
  readonly refused: number
  readonly longest: number
  readonly late: number
  readonly standing: number
} {
  let now = 0
  const limit = new QueueLimit(wait, () => now)
  const queue: number[] = []
  const busyUntil: number[] = []
  let served = 0
  let refused = 0
  let longest = 0
  let late = 0
  let standing = 0
  let arrived = 0
  for (; now < seconds * 1000; now++) {
    for (let index = busyUntil.length - 1; index >= 0; index--) {
      if ((busyUntil[index] ?? 0) <= now) {
        busyUntil.splice(index, 1)
        served++
      }
    }
    const serve = (since: number): void => {
      busyUntil.push(now + service)
      longest = Math.max(longest, now - since)
      if (now > 2000) late = Math.max(late, now - since)
      if (now > 2000 && now < 5000) standing = Math.max(standing, now - since)
    }
    while (queue.length > 0 && busyUntil.length < places) {
      const since = queue.shift() ?? 0
      limit.leave(queue.length)
      serve(since)
    }
    for (; arrived < (rate * (now + 1)) / 1000; arrived++) {
      if (busyUntil.length < places) serve(now)
      else if (limit.isExceeded(queue.length, places)) refused++
      else {
        queue.push(now)
        limit.begin()
      }
    }
  }
  return { served, refused, longest, late, standing }
}

t.test('a queue: load -> goodput, refusals and waits', (t) => {
  // Ten places of 20 ms serve 500 a second.
  const pool = { places: 10, service: 20, seconds: 10, wait: 250 }
  for (const load of [0.5, 0.9]) {
    const { refused, longest } = simulate({ ...pool, rate: 500 * load })
    t.equal(refused, 0, `nothing is refused at ${load} times the rate`)
    t.ok(longest < 100)
  }
  for (const load of [1.5, 2, 4, 20]) {
    const { served, refused, longest, late, standing } = simulate({ ...pool, rate: 500 * load })
    t.ok(served > 0.97 * 5000, `goodput at ${load} times the rate: ${served} of 5000`)
    t.ok(refused > 0)
    // Before anything is known of the rate, 100 ms of arrivals are let in.
    t.ok(longest <= Math.max(800, load * 100), `the longest wait of a burst is ${longest} ms`)
    t.ok(late <= 300, `the longest wait after that is ${late} ms`)
    // Ten requests get their turn every 20 ms, and twenty may wait in any case.
    t.ok(standing <= 60, `the longest wait in the seconds after a standing queue is ${standing} ms`)
  }
  t.equal(simulate({ ...pool, rate: 1000, wait: 0 }).refused, 0, '0 switches it off')
  t.end()
})

t.test('a queue of few requests is never refused, however slow they are', (t) => {
  const { refused } = simulate({ places: 10, service: 10_000, rate: 1, seconds: 29, wait: 250 })
  t.equal(refused, 0)
  t.end()
})

t.test('a burst is served, if it takes no more than three times the wait', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  // 300 at once, of which one gets its turn every 2 ms.
  let refused = 0
  for (let length = 0; length < 300; length++) {
    if (limit.isExceeded(length, 10)) refused++
    limit.begin()
  }
  for (let length = 299; length >= 0; length--) {
    now += 2
    limit.leave(length)
    if (now < 500 && limit.isExceeded(length, 10)) refused++
  }
  t.equal(refused, 0)
  t.notOk(limit.isExceeded(1000, 10), 'an empty queue is not judged by its past')
  t.end()
})

t.test('a queue that stood is kept short for five seconds', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  /** Has a queue of `length` requests wait for `time` ms, while one gets its turn every ms. */
  const stand = (length: number, time: number): void => {
    limit.begin()
    for (const end = now + time; now < end; now++) limit.leave(length)
  }
  /** The least number of waiting requests at which a further one is refused. */
  const longest = (): number => {
    for (let length = 0; length <= 2000; length++) if (limit.isExceeded(length, 10)) return length
    return Infinity
  }
  const empty = (): void => limit.leave(0)

  stand(260, 300)
  t.equal(longest(), 751, 'a burst')
  empty()
  stand(100, 600)
  t.equal(longest(), 251, 'no longer a burst')
  t.equal(longest(), 26, 'from now on, a tenth of the wait')
  empty()
  t.equal(longest(), Infinity, 'nothing waits')
  limit.begin()
  t.equal(longest(), 26, 'the next queue is judged by the known rate from its beginning')
  empty()
  now += 5000
  stand(10, 200)
  t.equal(longest(), 251, 'five seconds later it may be long again, but in five more seconds, none is a burst')
  t.equal(longest(), 26, 'it was too long again')
  empty()
  now += 10_000
  stand(10, 200)
  t.equal(longest(), 751, 'later it is')
  t.end()
})

t.test('a queue that stood because of slow requests does not refuse the fast ones that follow', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  limit.begin()
  for (let left = 0; left < 20; left++) {
    now += 100
    limit.leave(100)
  }
  t.ok(limit.isExceeded(100, 10))
  limit.leave(0)
  const refusedOf = (count: number): number => {
    let refused = 0
    let length = 0
    for (let arrived = 0; arrived < count; arrived++) {
      if (limit.isExceeded(length, 10)) {
        refused++
        continue
      }
      limit.begin()
      length++
    }
    while (length > 0) {
      now += 0.5
      limit.leave(--length)
    }
    return refused
  }
  t.equal(refusedOf(45), 25, 'the first ones show the rate')
  t.equal(refusedOf(45), 0)
  t.end()
})

t.test('writes that wait for a lock do not make reads wait', async (t) => {
  const admission = new Admission(4, () => undefined, 1)
  const writes = Array.from({ length: 40 }, async () => admission.enter('write', 60_000))
  await new Promise((resolve) => setTimeout(resolve, 150))
  t.ok(admission.isOverloaded('write'))
  await t.rejects(admission.enter('write', 60_000) ?? Promise.resolve(), connectionErrors.overloaded())
  t.notOk(admission.isOverloaded('read'))
  t.equal(admission.enter('read', 60_000), undefined, 'a read is admitted at once')
  for (let left = 0; left < 40; left++) admission.leave('write')
  await Promise.all(writes)
  t.notOk(admission.isOverloaded('write'), 'the queue is empty again')
})

t.test('the event loop: delays of samples -> overload', (t) => {
  const samples = (delays: readonly number[], loop = new LoopDelay(250), start = 0, requests = 5): boolean[] => {
    let now = start
    return delays.map((delay) => {
      now += 20 + delay
      for (let count = 0; count < requests; count++) loop.countRequest()
      loop.record(delay, now)
      return loop.isOverloaded
    })
  }
  t.strictSame(samples([0, 50, 100, 90, 80]), [false, false, false, false, false], 'up to 100 ms are normal')
  t.strictSame(samples([3000, 0, 500, 0, 900]), [false, false, false, false, false], 'single long rounds')
  t.strictSame(samples([150, 150, 150, 150, 0]), [false, false, true, true, false], 'long rounds, one after another')
  t.strictSame(
    samples([150, 150, 150, 150], undefined, 0, 4),
    [false, false, false, false],
    'too few requests to be the cause',
  )
  const loop = new LoopDelay(250)
  samples([150, 150, 150, 0], loop)
  t.strictSame(samples([10, 11, 0], loop, 1000), [false, true, false], 'for five seconds, rounds must be short')
  t.strictSame(samples([100, 0], loop, 5500), [false, false], 'then they may be as long as before')
  t.strictSame(samples([150, 0], loop, 6000), [true, false], 'but for five more seconds, one that is longer is enough')
  t.strictSame(samples([11, 0], loop, 7000), [true, false], 'and begins the five seconds anew')
  t.strictSame(samples([150, 0], loop, 17_000), [false, false], 'later it is not')
  t.end()
})

t.test('load shedding: state, method and service -> reason', (t) => {
  const state = { read: false, write: false }
  let now = 0
  const loop = new LoopDelay(250)
  const shedding = new LoadShedding({ wait: 250, isPoolOverloaded: (access) => state[access] }, loop, () => now)
  const reasons = (): unknown[] => [
    shedding.reasonFor('GET', true),
    shedding.reasonFor('POST', true),
    shedding.reasonFor('GET', false),
  ]
  t.strictSame(reasons(), [undefined, undefined, undefined])
  state.read = true
  t.strictSame(reasons(), ['pool', undefined, undefined], 'a POST may be a write')
  state.write = true
  t.strictSame(reasons(), ['pool', 'pool', undefined])
  state.read = false
  t.strictSame(reasons(), [undefined, undefined, undefined], 'a POST may be a read')
  for (let sample = 1; sample <= 3; sample++) {
    for (let count = 0; count < 5; count++) shedding.reasonFor('GET', true)
    loop.record(200, sample * 220)
  }
  t.strictSame(reasons(), ['processor', 'processor', 'processor'])
  t.equal(shedding.overload, undefined, 'nothing was refused')
  shedding.refused('processor')
  t.equal(shedding.overload, 'processor')
  now = 2000
  t.equal(shedding.overload, undefined)
  t.strictSame(shedding.refusals, { pool: 0, processor: 1 })
  const off = new LoadShedding({ wait: 0, isPoolOverloaded: () => true }, loop)
  t.equal(off.reasonFor('GET', true), undefined)
  t.end()
})

t.test('a flood of refusals is counted, and has few lines', (t) => {
  let time = 0
  let isWanted = true
  let lines = 0
  let measured = 0
  const observe = observeRefusals(
    { wants: () => isWanted, write: () => void lines++ },
    { requestAnswered: ({ status, role, route }) => void (measured += Number(status === 503 && !role && !route)) },
    () => time,
  )
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET' })
  const response = Object.assign(new ServerResponse(request), { statusCode: 503 })
  const flood = (): void => {
    for (let count = 0; count < 1000; count++) observe(request, response, '/rest/v1/films?secret=1', 0.1)
  }
  flood()
  t.strictSame([lines, measured], [10, 1000])
  time = 999
  flood()
  t.equal(lines, 10)
  time = 1000
  flood()
  t.strictSame([lines, measured], [20, 3000])
  time = 2000
  isWanted = false
  flood()
  t.equal(lines, 20, 'none at this level')
  t.end()
})
