// How a pool grows: when it opens connections, and which request gets one.
import t, { type Test } from 'tap'
import pg from 'pg'
import { GrowingPool } from '../../server/postgres/growing-pool.ts'
import { createOwnedDatabase } from '../support/authenticator.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { until } from '../support/until.ts'

const { uri } = await createOwnedDatabase(t)

type Connected = (error?: Error) => void
type Attempt = { readonly open: () => void; readonly refuse: () => void }

/** A pool, and its attempts to open connections that the server has not answered yet. */
function heldPool(t: Test, max: number, options: pg.PoolConfig = {}): { pool: GrowingPool; attempts: Attempt[] } {
  const attempts: Attempt[] = []
  class HeldClient extends pg.Client {
    override connect(): Promise<this>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<this> | undefined {
      if (!callback) throw new Error('The pool calls with a callback.')
      const answer = super.connect.bind(this) as (callback: Connected) => void
      attempts.push({ open: () => answer(callback), refuse: () => callback(new Error('refused')) })
      return undefined
    }
  }
  const pool = new GrowingPool({ Client: HeldClient, connectionString: uri, max, ...options })
  t.teardown(async () => {
    // The end of a pool waits for its attempts.
    const ended = pool.ending ? undefined : pool.end()
    for (const { refuse } of attempts.splice(0)) refuse()
    await ended
  })
  return { pool, attempts }
}

/** Number of requests that have their connection. */
function counted(requests: readonly Promise<unknown>[]): { readonly lent: number } {
  const count = { lent: 0 }
  for (const request of requests) request.then(() => count.lent++).catch(() => undefined)
  return count
}

const open = (attempts: Attempt[]): void => attempts.shift()?.open()

/** Lets the server accept whatever the pool opens until the condition holds. */
const accepting = (attempts: Attempt[], condition: () => boolean): Promise<boolean> =>
  until(() => {
    for (const attempt of attempts.splice(0)) attempt.open()
    return condition()
  })

const isIdle = (pool: pg.Pool): boolean => pool.idleCount === pool.totalCount && pool.waitingCount === 0

t.test('at most as many connections are being opened as are open', async (t) => {
  const { pool, attempts } = heldPool(t, 10)
  const requests = Array.from({ length: 10 }, () => pool.connect())
  const count = counted(requests)
  const growth: number[] = []
  while (count.lent < 10 && attempts.length > 0) {
    growth.push(attempts.length)
    const expected = count.lent + attempts.length
    for (const attempt of attempts.splice(0)) attempt.open()
    t.ok(await until(() => count.lent === expected && pool.totalCount - pool.openingCount === expected))
  }
  t.strictSame(growth, [1, 1, 2, 4, 2])
  for (const client of await Promise.all(requests)) client.release()
  t.equal(pool.totalCount, 10)
  t.ok(isIdle(pool))
})

t.test('a request takes a connection that is returned while it waits for another', async (t) => {
  const { pool, attempts } = heldPool(t, 4)
  const first = pool.connect()
  open(attempts)
  const client = await first
  const second = pool.connect()
  t.equal(attempts.length, 1)
  client.release()
  t.equal(await second, client, 'the server has not answered yet')
  t.equal(pool.openingCount, 1)
  open(attempts)
  t.ok(await until(() => pool.openingCount === 0))
  t.equal(pool.totalCount, 2)
  t.equal(pool.idleCount, 1, 'the other one is there for the next request')
  const third = await pool.connect()
  t.equal(attempts.length, 0)
  third.release()
  client.release()
})

t.test('requests are served in their order', async (t) => {
  const { pool, attempts } = heldPool(t, 2)
  const order: number[] = []
  const requests = Array.from({ length: 6 }, async (_, index) => {
    const client = await pool.connect()
    order.push(index)
    await client.query('select')
    client.release()
  })
  t.ok(await accepting(attempts, () => order.length === 6))
  await Promise.all(requests)
  t.strictSame(order, [0, 1, 2, 3, 4, 5])
})

t.test('a refusal is for one request while the pool has connections, and for all while it has none', async (t) => {
  const { pool, attempts } = heldPool(t, 8)
  const refused = Array.from({ length: 5 }, () => pool.connect())
  t.equal(attempts.length, 1)
  attempts.shift()?.refuse()
  for (const outcome of await Promise.allSettled(refused)) {
    t.match(outcome, { status: 'rejected', reason: { message: 'refused' } })
  }
  t.equal(attempts.length, 0, 'without further attempts')
  t.equal(pool.totalCount, 0)

  const requests = [pool.connect(), pool.connect(), pool.connect()] as const
  open(attempts)
  const client = await requests[0]
  t.equal(attempts.length, 1)
  attempts.shift()?.refuse()
  await requests[1].then(
    () => t.fail('it was not refused'),
    (error: unknown) => t.match(error, { message: 'refused' }),
  )
  t.equal(attempts.length, 1, 'the next request has an attempt of its own')
  open(attempts)
  const other = await requests[2]
  other.release()
  client.release()
  t.ok(isIdle(pool))
})

t.test('a connection that broke is replaced for the request that waits', async (t) => {
  const { pool, attempts } = heldPool(t, 1)
  const first = pool.connect()
  open(attempts)
  const broken = await first
  const waiting = Array.from({ length: 2 }, () => pool.connect())
  broken.release(new Error('broken'))
  t.ok(await accepting(attempts, () => pool.openingCount === 0 && pool.totalCount === 1))
  const next = await waiting[0]
  t.ok(next)
  t.not(next, broken)
  next?.release()
  const last = await waiting[1]
  t.equal(last, next)
  last?.release()
})

t.test('a pool that ends serves the requests that wait, and rejects later ones', async (t) => {
  const { pool, attempts } = heldPool(t, 4)
  const first = pool.connect()
  open(attempts)
  const lent = await first
  let served = 0
  const waiting = Promise.all(
    Array.from({ length: 6 }, async () => {
      const client = await pool.connect()
      await client.query('select')
      client.release()
      served++
    }),
  )
  let hasEnded = false
  const ended = pool.end().then(() => (hasEnded = true))
  await t.rejects(pool.connect(), { message: /after calling end/ })
  lent.release()
  t.notOk(hasEnded)
  t.ok(await accepting(attempts, () => served === 6))
  await Promise.all([waiting, ended])
  t.equal(pool.totalCount, 0)
})

t.test('a pool ends although the server refuses the requests that wait', async (t) => {
  const { pool, attempts } = heldPool(t, 4)
  const waiting = Promise.allSettled([pool.connect(), pool.connect()])
  const ended = pool.end()
  attempts.shift()?.refuse()
  for (const outcome of await waiting) t.match(outcome, { status: 'rejected', reason: { message: 'refused' } })
  await ended
  t.equal(pool.totalCount, 0)
})

t.test('a request that gave up keeps no connection', async (t) => {
  const { pool, attempts } = heldPool(t, 2, { connectionTimeoutMillis: 3000 })
  const requests = Array.from({ length: 2 }, () => pool.connect())
  t.ok(await accepting(attempts, () => pool.totalCount === 2 && pool.openingCount === 0))
  const [one, two] = await Promise.all(requests)
  const lates = Array.from({ length: 3 }, () => pool.connect())
  for (const outcome of await Promise.allSettled(lates)) {
    t.match(outcome, { status: 'rejected', reason: { message: /timeout exceeded/ } })
  }
  one?.release(new Error('broken'))
  t.equal(attempts.length, 0, 'none is opened for them')
  two?.release()
  t.ok(isIdle(pool))
  t.equal(pool.totalCount, 1)
  const next = await pool.connect()
  t.equal(next, two)
  next.release()
})

t.test('no connection is lent twice or lost, whatever the server answers', async (t) => {
  const random = seededRandom(testSeed(19)).next
  const { pool, attempts } = heldPool(t, 5)
  pool.on('error', () => undefined)
  const inUse = new Set<pg.PoolClient>()
  let twice = 0
  let most = 0
  let served = 0
  let refused = 0
  let isOver = false
  const server = (async () => {
    while (!isOver || pool.openingCount > 0) {
      await new Promise((resolve) => setTimeout(resolve, random() * 4))
      const attempt = attempts.shift()
      if (random() < 0.3) attempt?.refuse()
      else attempt?.open()
      if (random() < 0.2) void pool.openAnother()
      most = Math.max(most, pool.totalCount)
    }
  })()
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      for (let time = 0; time < 100; time++) {
        const client = await pool.connect().catch(() => undefined)
        if (!client) {
          refused++
          continue
        }
        if (inUse.has(client)) twice++
        inUse.add(client)
        await client.query('select')
        inUse.delete(client)
        client.release(random() < 0.2)
        served++
        if (random() < 0.5) await new Promise((resolve) => setTimeout(resolve, random() * 6))
      }
    }),
  )
  isOver = true
  await server
  t.equal(twice, 0)
  t.equal(served + refused, 500)
  t.ok(refused > 0 && served > 300, `${served} were served, ${refused} refused`)
  t.ok(most <= 5)
  t.ok(await until(() => isIdle(pool)))
})
