// When requests are refused because the server is overloaded, with a clock that the test sets.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { Admission } from '../../../server/postgres/admission.ts'
import { connectionErrors } from '../../../server/postgres/connection-error.ts'
import { QueueLimit } from '../../../server/postgres/queue-limit.ts'
import { LoadShedding } from '../../../server/running/overload/load-shedding.ts'
import { observeRefusals, RefusalBatch, RefusalLines } from '../../../server/running/overload/refusals.ts'
import { LoopDelay } from '../../../server/running/overload/loop-delay.ts'
import { ServedRate } from '../../../server/running/overload/served-rate.ts'
import { until } from '../../support/until.ts'

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
    // A hundred requests get their turn in 200 ms.
    t.ok(standing <= 220, `the longest wait of a hundred requests is ${standing} ms`)
  }
  // Ten places of 1 ms serve 10,000 a second.
  for (const load of [1.5, 2, 4]) {
    const { served, standing } = simulate({ ...pool, service: 1, rate: 10_000 * load })
    t.ok(served > 0.97 * 100_000, `goodput at ${load} times the rate: ${served} of 100,000`)
    t.ok(standing <= 30, `the longest wait in the seconds after a standing queue is ${standing} ms`)
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
    for (let length = 0; length <= 2000; length++) if (limit.isExceeded(length, 2)) return length
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

t.test('a few slow requests wait as long in a queue that stood', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  limit.begin()
  for (; now < 1000; now += 5) limit.leave(60)
  t.ok(limit.isExceeded(60, 10), 'the queue stood: 60 wait for 300 ms')
  t.notOk(limit.isExceeded(49, 10), '49 wait for 245 ms')
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

t.test('a queue of which nothing gets its turn may be long, and shows nothing about the rate', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  /** Has a hundred requests wait for a lock for `time` ms, after which one gets its turn every 0.1 ms. */
  const lock = (time: number): number => {
    let refused = 0
    for (let length = 0; length < 100; length++) {
      if (limit.isExceeded(length, 3)) refused++
      limit.begin()
      now += time / 100
    }
    for (let length = 99; length >= 0; length--) {
      limit.leave(length)
      now += 0.1
      if (limit.isExceeded(length, 3)) refused++
    }
    return refused
  }
  t.equal(lock(5000), 0)
  t.equal(lock(200), 0)

  limit.begin()
  now += 90
  t.notOk(limit.isExceeded(5000, 3), 'a burst has not shown its rate')
  now += 10
  t.notOk(limit.isExceeded(299, 3))
  t.ok(limit.isExceeded(300, 3), 'at most a hundred per place')
  for (let length = 300; length > 0; length--) limit.abandon(length)
  now += 200
  t.notOk(limit.isExceeded(299, 3), 'requests that are no longer wanted have not had their turn')
  limit.abandon(0)
  now += 1000
  limit.begin()
  t.notOk(limit.isExceeded(5000, 3), 'the next queue begins anew')
  t.end()
})

t.test('an overload in which all requests begin to wait for a lock keeps its last known rate', (t) => {
  let now = 0
  const limit = new QueueLimit(250, () => now)
  limit.begin()
  for (; now < 1000; now++) limit.leave(300)
  t.ok(limit.isExceeded(300, 10), 'one gets its turn every ms')
  now += 3000
  t.ok(limit.isExceeded(101, 10))
  t.notOk(limit.isExceeded(99, 10))
  t.end()
})

t.test('requests that wait in one place count one by one', async (t) => {
  let now = 0
  const limit = new QueueLimit(100, () => now)
  limit.begin()
  for (; now < 200; now++) limit.leave(5, 10)
  t.notOk(limit.isExceeded(2999, 10), 'ten get their turn every ms')
  t.ok(limit.isExceeded(3001, 10))

  const admission = new Admission(1, () => undefined, 1)
  t.equal(admission.enter('read', 60_000), undefined)
  const waiting = admission.enter('read', 60_000, undefined, () => 2)
  await new Promise((resolve) => setTimeout(resolve, 150))
  t.notOk(admission.isOverloaded('read', 98))
  t.ok(admission.isOverloaded('read', 99))
  admission.leave('read')
  await waiting
})

t.test('writes that wait for a lock do not make reads wait', async (t) => {
  const admission = new Admission(4, () => undefined, 1)
  const writes = Array.from({ length: 3 + 400 }, async () => admission.enter('write', 60_000))
  t.notOk(admission.isOverloaded('write'), 'they have not waited long')
  await new Promise((resolve) => setTimeout(resolve, 150))
  t.ok(admission.isOverloaded('write'))
  await t.rejects(admission.enter('write', 60_000) ?? Promise.resolve(), connectionErrors.overloaded())
  t.notOk(admission.isOverloaded('read'))
  t.equal(admission.enter('read', 60_000), undefined, 'a read is admitted at once')
  writes.forEach(() => {
    admission.leave('write')
  })
  await Promise.all(writes)
  t.notOk(admission.isOverloaded('write'), 'the queue is empty again')
})

/** Has requests arrive since the last sample, and returns how many of them are served. */
function arrive(loop: LoopDelay, count: number, now?: number): number {
  let served = 0
  for (let request = 0; request < count; request++) {
    loop.countRequest(now)
    if (loop.admit()) served++
  }
  return served
}

t.test('the event loop: delays of samples -> overload', (t) => {
  /** Whether requests are refused after each of the samples. */
  const samples = (delays: readonly number[], loop = new LoopDelay(250), start = 0, requests = 100): boolean[] => {
    let now = start
    loop.record(0, now)
    return delays.map((delay) => {
      now += 20 + delay
      arrive(loop, requests)
      loop.record(delay, now)
      return arrive(loop, 100) < 100
    })
  }
  t.strictSame(samples([0, 50, 100, 90, 80]), [false, false, false, false, false], 'up to 100 ms are normal')
  t.strictSame(samples([3000, 0, 500, 0, 900]), [false, false, false, false, false], 'single long rounds')
  t.strictSame(samples([150, 150, 150, 150, 0]), [false, false, true, true, true], 'long rounds, one after another')
  const few = new LoopDelay(250)
  for (let now = 170; now <= 680; now += 170) {
    arrive(few, 4)
    few.record(150, now)
  }
  t.equal(arrive(few, 100), 100, 'too few requests to be the cause')

  const overloads: boolean[] = []
  const loop = new LoopDelay(250, (isOverloaded) => overloads.push(isOverloaded))
  samples([150, 150, 150], loop)
  t.strictSame(overloads, [true])
  const last = 510
  loop.record(0, last + 1)
  t.strictSame(overloads, [true], 'it goes on')
  loop.record(0, last + 5001)
  t.strictSame(overloads, [true, false])
  t.equal(arrive(loop, 10_000), 10_000, 'it ends five seconds after the last refusal')
  t.strictSame(samples([100, 0], loop, last + 6000), [false, false], 'rounds may be as long as before')
  t.strictSame(
    samples([110], loop, last + 6500),
    [true],
    'but in five more seconds, a single one that is longer is enough',
  )
  loop.record(0, last + 12_000)
  t.strictSame(samples([150, 0], loop, last + 30_000), [false, false], 'later it is not')
  t.end()
})

t.test('an overload is noticed in a round of the event loop that does not end', (t) => {
  const loop = new LoopDelay(250)
  // A whole number: with a fraction, the difference of 100 milliseconds below may come out as a little more.
  const begin = Math.floor(performance.now())
  const stop = loop.start(begin)
  t.teardown(stop)
  // Without a single turn of the event loop.
  t.equal(arrive(loop, 1000, begin + 10), 1000)
  t.equal(arrive(loop, 1000, begin + 130), 1000)
  t.equal(arrive(loop, 1000, begin + 240), 1000)
  t.equal(arrive(loop, 1000, begin + 340), 1000)
  const served = arrive(loop, 10_000, begin + 355)
  t.ok(served < 1000, `${served} of 10000 are served`)
  const later = arrive(loop, 10_000, begin + 410)
  t.ok(later > 0 && later < 1000, `${later} of the next 10000`)
  t.end()
})

/**
 * A process in which a served request takes `cost` milliseconds and a refusal `refusal`, with arrivals at a constant rate in
 * requests per millisecond: its requests per millisecond, and the longest time that one waited after the first two seconds.
 */
function simulateProcess(
  cost: number,
  refusal: number,
  rate: number,
  seconds: number,
): { served: number; longest: number } {
  const loop = new LoopDelay(250)
  let now = 0
  let due = 20
  let idle = 0
  let arrived = 0
  let served = 0
  let longest = 0
  loop.record(0, 0)
  while (now < seconds * 1000) {
    const ready = Math.floor(now * rate) - arrived
    if (ready === 0) {
      now += 0.2
      idle += 0.2
    }
    for (let request = 0; request < ready; request++) {
      if (now > 2000) longest = Math.max(longest, now - (arrived + request) / rate)
      loop.countRequest(now)
      const isServed = loop.admit()
      now += isServed ? cost : refusal
      if (isServed && now > 2000) served++
    }
    arrived += ready
    if (now < due) continue
    loop.record(now - due, now, idle)
    due = now + 20
    idle = 0
  }
  return { served: served / (seconds * 1000 - 2000), longest }
}

t.test('a process: load -> goodput and waits', (t) => {
  const cost = 0.1
  for (const refusal of [0.005, 0.02, 0.04]) {
    for (const load of [0.5, 0.9]) {
      const { served } = simulateProcess(cost, refusal, load / cost, 10)
      t.ok(
        served > (load / cost) * 0.99,
        `nothing is refused at ${load} times the rate: ${served} requests per millisecond`,
      )
    }
    for (const load of [1.2, 2]) {
      const { served, longest } = simulateProcess(cost, refusal, load / cost, 10)
      // What a process can do that is idle for a tenth of the time.
      const possible = (0.9 - (load / cost) * refusal) / (cost - refusal)
      t.ok(served > possible * 0.9, `${served} of ${possible} at ${load} times the rate, refusals of ${refusal} ms`)
      t.ok(longest < 1000, `the longest wait is ${longest} ms`)
    }
  }
  t.end()
})

t.test('the rate of a process grows when requests become cheaper', (t) => {
  t.equal(new ServedRate(8).perMillisecond, 4, 'it begins with half of the requests that arrive')
  const rate = new ServedRate(1)
  const follow = (samples: number, isLate: boolean, idle: number): number => {
    for (let sample = 0; sample < samples; sample++) rate.adapt(isLate, idle, 20)
    return rate.perMillisecond
  }
  t.ok(follow(100, false, 0.5) > 20)
  t.equal(follow(100, false, 0.5), 30, 'to one and a half of the requests that arrive')
  const fallen = follow(10, true, 0)
  t.ok(fallen > 10 && fallen < 12, `a long delay leaves nearly two fifths of it: ${fallen}`)
  follow(20, false, 0.04)
  t.ok(follow(10, true, 0) > fallen * 0.75, 'late samples shortly after the others are of the same delay')
  follow(25, false, 0.04)
  t.ok(follow(10, true, 0) < fallen * 0.4, 'later it falls as much again')
  t.ok(follow(100, true, 0) < 0.6, 'a delay without end leaves ever less')
  follow(40, false, 0.5)
  t.ok(follow(300, false, 0) < 1, 'without a pause it falls, too')
  t.equal(follow(10_000, false, 0), 0.05, 'but some requests are served in any case')
  t.ok(follow(100, false, 0.5) > 1)
  t.end()
})

t.test('refusals are sent together, after 5 ms or when a hundred wait, in their order', async (t) => {
  const sent: number[] = []
  const batch = new RefusalBatch<number>((refusal) => {
    sent.push(refusal)
    // The one after the last: a client that has its response may send the next request at once.
    if (refusal === 2) batch.add(3)
  })
  batch.add(1)
  batch.add(2)
  t.strictSame(sent, [], 'not at once')
  t.ok(await until(() => sent.length === 3))
  t.strictSame(sent, [1, 2, 3])
  for (let refusal = 4; refusal < 104; refusal++) batch.add(refusal)
  t.strictSame(sent, rangeTo(103), 'a hundred do not wait for a timer, which may be late')
  batch.add(104)
  t.equal(sent.length, 103)
  t.ok(await until(() => sent.length === 104))
  t.strictSame(sent, rangeTo(104), 'each is sent once')
})

const rangeTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

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
  t.equal(shedding.reasonFor('GET', true), undefined, 'one in 20 milliseconds')
  t.strictSame(reasons(), ['processor', 'processor', 'processor'])
  state.read = true
  t.strictSame(reasons(), ['pool', 'pool', 'processor'])
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
    new RefusalLines(() => time),
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
