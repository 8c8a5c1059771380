// The queue of passwords that wait to be hashed: turns and bounds of networks, and clients that leave.
import t from 'tap'
import { Failure } from '../../server/http/envelope.ts'
import { BoundedWork, type Bounds } from '../../server/services/accounts/bounded-work.ts'
import type { PasswordHasher } from '../../server/services/accounts/hash-processes.ts'
import { createPasswords, type Passwords } from '../../server/services/accounts/password.ts'
import type { WorkClient } from '../../server/services/accounts/work-client.ts'
import { password } from '../support/account.ts'
import { blockingHasher } from '../support/blocking-hasher.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)

/** What waits for `opened` goes on after `open`. */
function latch() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

/** A client that can leave. `listeners` counts what waits for that. */
function leavingClient(network: string | undefined) {
  const listeners = new Set<() => void>()
  let isGone = false
  const client: WorkClient = {
    network,
    get isGone() {
      return isGone
    },
    onGone: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const leave = (): void => {
    isGone = true
    for (const listener of listeners) listener()
  }
  return { client, leave, listeners }
}

const staying = (network: string | undefined): WorkClient => leavingClient(network).client
const bounds = { atOnce: 1, waiting: 100, waitingOfNetwork: 100 }
const statusOf = (result: PromiseSettledResult<unknown> | undefined): unknown =>
  result?.status === 'rejected' && result.reason instanceof Failure ? result.reason.statusCode : result?.status

t.test('hashing is bounded: concurrent jobs, queue length, rejections', async (t) => {
  const work = new BoundedWork({ ...bounds, atOnce: 2, waiting: 3 })
  let running = 0
  let most = 0
  const order: number[] = []
  const piece = (n: number) => async (): Promise<number> => {
    most = Math.max(most, ++running)
    order.push(n)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running--
    if (n === 1) throw new Error('one')
    return n
  }
  const client = staying('192.0.2.1')
  const results = await Promise.allSettled([0, 1, 2, 3, 4, 5, 6].map((n) => work.run(piece(n), client)))
  t.equal(most, 2)
  t.strictSame(order, [0, 1, 2, 3, 4], 'in order, and a failure does not block others')
  t.strictSame(results.map(statusOf), ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 503, 503])
  const refused = results[5]?.status === 'rejected' ? (results[5].reason as unknown) : undefined
  t.match(refused, { statusCode: 503, headers: { 'Retry-After': '2' } })
  t.equal(await work.run(piece(7), client), 7, 'the queue has room again')
})

/** Runs a task for each client in turn, while another one occupies the only place. Returns the tasks in their order, and the results. */
async function queued(given: Partial<Bounds>, clients: readonly WorkClient[], meanwhile = (): void => undefined) {
  const work = new BoundedWork({ ...bounds, ...given })
  const gate = latch()
  const first = work.run(() => gate.opened, staying('first'))
  const ran: number[] = []
  const all = clients.map((client, n) => work.run(() => Promise.resolve(void ran.push(n)), client))
  const settled = Promise.allSettled(all)
  meanwhile()
  gate.open()
  await first
  return { ran, statuses: (await settled).map(statusOf), work }
}

t.test('networks take turns, and each has a bounded part of the queue', async (t) => {
  const flood = Array.from({ length: 8 }, () => staying('2001:db8:0:1'))
  const { ran, statuses } = await queued({ waitingOfNetwork: 5 }, [...flood, staying('a'), staying('b'), staying('a')])
  t.strictSame(ran, [0, 8, 9, 1, 10, 2, 3, 4], 'the flood delays others by one task each')
  t.strictSame(statuses.slice(5, 8), [429, 429, 429])
  const administrators = await queued(
    { waitingOfNetwork: 2 },
    Array.from({ length: 6 }, () => staying(undefined)),
  )
  t.equal(administrators.ran.length, 6, 'administrators are not limited')
})

t.test('an IPv6 /48 takes one turn, and has a bounded part of the queue', async (t) => {
  const hex = (n: number): string => n.toString(16)
  const flood = (networks: number, networkOf: (n: number) => string) =>
    Array.from({ length: networks }, (_, n) => staying(networkOf(n)))
  const subnets = flood(20, (n) => `2001:db8:1:2${hex(n).padStart(2, '0')}`)
  const site = flood(40, (n) => `2001:db8:2:${hex(n * 256)}`)
  const first = await queued({ waitingOfNetwork: 5 }, [...subnets, staying('a'), staying('2001:db8:3:0')])
  t.strictSame(first.ran.slice(0, 4), [0, 20, 21, 1], 'the flood of a /56 delays others by one task each')
  t.strictSame([...new Set(first.statuses.slice(10, 20))], [429], 'a /56 has twice the places of a network')
  t.notOk(first.statuses.slice(0, 10).includes(429))
  const second = await queued({ waitingOfNetwork: 5 }, [...site, staying('a')])
  t.strictSame(second.ran.slice(0, 3), [0, 40, 1])
  t.strictSame([...new Set(second.statuses.slice(20, 40))], [429], 'a /48 has four times the places')
  const turns = await queued(
    {},
    ['0', '0', '0', '1', '1', '100'].map((it) => staying(`2001:db8:2:${it}`)),
  )
  t.strictSame(turns.ran, [0, 3, 5, 1, 4, 2], 'the networks of a /48 take turns, too')
  const full = await queued({ waiting: 4 }, [...site.slice(0, 4), staying('a'), staying('b'), staying('c')])
  t.strictSame(full.statuses, ['fulfilled', 503, 503, 503, 'fulfilled', 'fulfilled', 'fulfilled'])
})

t.test('a full queue refuses the network with the most tasks', async (t) => {
  const clients = ['a', 'a', 'a', 'b', 'c', 'd', 'd', 'a'].map(staying)
  const { ran, statuses } = await queued({ waiting: 4 }, clients)
  t.strictSame(statuses, ['fulfilled', 503, 503, 'fulfilled', 'fulfilled', 'fulfilled', 503, 503])
  t.strictSame(ran, [0, 3, 4, 5])
})

t.test('who leaves gives up the place in the queue', async (t) => {
  const leaving = Array.from({ length: 5 }, () => leavingClient('a'))
  const [gone, stays] = [leavingClient('b'), leavingClient('b')]
  gone.leave()
  const clients = [...leaving.map(({ client }) => client), gone.client, stays.client]
  const { ran, statuses, work } = await queued({ waiting: 6, waitingOfNetwork: 5 }, clients, () => {
    for (const { leave } of leaving) leave()
  })
  t.strictSame(ran, [6], 'no task of those who left has run')
  t.strictSame(statuses, [499, 499, 499, 499, 499, 499, 'fulfilled'])
  t.strictSame(
    [...leaving, stays].map(({ listeners }) => listeners.size),
    [0, 0, 0, 0, 0, 0],
  )
  t.equal(await work.run(() => Promise.resolve('next'), staying('a')), 'next', 'all places are free again')
})

t.test('a generated mix of networks, departures and failures loses no place', async (t) => {
  const random = seededRandom(testSeed(41))
  const limits = { atOnce: 2, waiting: 12, waitingOfNetwork: 4 }
  const networks = ['a', 'b', '2001:db8:0:1', '2001:db8:0:2', undefined]
  const work = new BoundedWork(limits)
  let running = 0
  let most = 0
  const all = Array.from({ length: 2000 }, async (_, n) => {
    for (let turns = random.below(40); turns > 0; turns--) await Promise.resolve()
    const { client, leave } = leavingClient(networks[random.below(networks.length)])
    const task = work.run(async () => {
      most = Math.max(most, ++running)
      for (let turns = random.below(10); turns > 0; turns--) await Promise.resolve()
      running--
      if (n % 7 === 0) throw new Error('failed')
    }, client)
    if (n % 3 === 0) queueMicrotask(leave)
    await task
  })
  const results = await Promise.allSettled(all)
  t.equal(most, limits.atOnce)
  for (const status of ['fulfilled', 'rejected', 429, 499, 503])
    t.ok(results.map(statusOf).includes(status), String(status))
  t.equal(await work.run(() => Promise.resolve(1), staying('a')), 1)
})

t.test('hang-ups and floods of sign-ups: nothing is hashed for who has left', async (t) => {
  const gate = latch()
  let started = 0
  const hasher: PasswordHasher = {
    ...blockingHasher,
    hash: async (password) => {
      started++
      await gate.opened
      return blockingHasher.hash(password)
    },
  }
  const queue = createPasswords({ atOnce: 1, waitingOfNetwork: 4 }, hasher)
  const clients: WorkClient[] = []
  const passwords: Passwords = {
    for: (client) => {
      clients.push(client)
      return queue.for(client)
    },
  }
  const { url } = await startService(t, database.authenticatorUri, { passwords, trustedProxies: 1 })
  const left = new AbortController()
  const post = (n: number, address: string, signal: AbortSignal | null = null) =>
    fetch(`${url}/auth/signup`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
      body: JSON.stringify({ email: `flood${n}@example.org`, password, firstName: 'F' }),
      signal,
    })
  const first = post(0, '2001:db8::1')
  t.ok(await until(() => started === 1))
  // Four of the same /64 wait, and one is refused.
  const flood = [1, 2, 3, 4, 5].map((n) => post(n, `2001:db8::${n}`, left.signal))
  const refused = await Promise.any(flood)
  t.equal(refused.status, 429)
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  left.abort()
  const results = await Promise.allSettled(flood)
  t.equal(results.filter(({ status }) => status === 'rejected').length, 4)
  t.ok(await until(() => clients.filter(({ isGone }) => isGone).length === 4))
  const others = [6, 7].map((n) => post(n, '192.0.2.1'))
  gate.open()
  const answers = await Promise.all([first, ...others])
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201, 201],
  )
  t.equal(started, 3)
  const { rows } = await database.query("select count(*)::int from auth.users where email ~ '^flood[1-5]@'")
  t.equal(rows[0]?.count, 0, 'no account was created for those who left')
})
