// Lending connections: order, limits, and callers that leave.
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import pg from 'pg'
import { shareOfWrites } from '../../server/postgres/admission.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import type { Caller } from '../../server/rest/database.ts'
import { runPipeline } from '../../server/postgres/protocol/pipeline.ts'
import type { PipelineClient } from '../../server/postgres/protocol/pipeline-client.ts'
import { withConnection } from '../../server/postgres/lending.ts'
import { createPool, flushPool, type ConnectionPool, type PoolSettings } from '../../server/postgres/pool.ts'
import { Database } from '../../server/postgres/database.ts'
import { createOwnedDatabase } from '../support/authenticator.ts'
import { until } from '../support/until.ts'

const { database, uri, authenticator, anonymous } = await createOwnedDatabase(t)

function poolOf(t: Test, settings: Partial<PoolSettings> = {}): ConnectionPool {
  const pool = createPool(toPoolConfig(uri, {}), {
    dbPool: 4,
    dbPoolAcquisitionTimeout: 5,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
    ...settings,
  })
  t.teardown(() => pool.end())
  return pool
}

class Person implements Caller {
  isGone = false
  readonly #listeners = new Set<() => void>()

  onGone(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  leave(): void {
    this.isGone = true
    for (const listener of [...this.#listeners]) listener()
  }

  get listenerCount(): number {
    return this.#listeners.size
  }
}

const never = (): boolean => false
const isIdle = (pool: pg.Pool): boolean => pool.idleCount === pool.totalCount && pool.waitingCount === 0
const untilIdle = (pool: pg.Pool): Promise<boolean> => until(() => isIdle(pool))

/** Runs one statement as a request does. */
const run = (pool: ConnectionPool, text: string, caller?: Caller, access: 'read' | 'write' = 'read') =>
  withConnection(
    pool,
    async (client) => (await runPipeline(client, [[{ text, values: [] }]], true))[0]?.[0]?.[0]?.toString(),
    never,
    { access, caller },
  )

/** Lends a connection until the returned function is called. */
async function occupy(pool: ConnectionPool, access: 'read' | 'write'): Promise<() => Promise<void>> {
  let free = (): void => undefined
  let began = (): void => undefined
  const isLent = new Promise<void>((resolve) => (began = resolve))
  const done = withConnection(
    pool,
    () => {
      began()
      return new Promise<void>((resolve) => (free = resolve))
    },
    never,
    { access },
  )
  await isLent
  return () => {
    free()
    return done
  }
}

t.test('the share of connections for writes', async (t) => {
  t.strictSame([1, 2, 3, 4, 8, 10, 20, 100].map(shareOfWrites), [1, 1, 2, 3, 6, 8, 15, 75])
})

t.test('writes leave connections to reads, and reads leave none to writes', async (t) => {
  const pool = poolOf(t)
  const frees = await Promise.all([occupy(pool, 'write'), occupy(pool, 'write'), occupy(pool, 'write')])
  t.notOk(pool.canLend('write'))
  t.ok(pool.canLend('read'))
  const order: string[] = []
  const writes = ['a', 'b'].map((text) =>
    run(pool, `select '${text}'`, undefined, 'write').then((it) => order.push(it ?? '')),
  )
  t.equal(pool.waitingCount, 2)
  for (let time = 0; time < 3; time++) t.equal(await run(pool, 'select 1'), '1', 'a read overtakes waiting writes')
  const readers = await Promise.all([occupy(pool, 'read')])
  const read = run(pool, "select 'c'").then((it) => order.push(it ?? ''))
  t.equal(pool.waitingCount, 3)
  await frees[0]()
  await Promise.all([...writes, read])
  t.strictSame(order, ['a', 'b', 'c'], 'otherwise first come, first served')
  await Promise.all([...frees.slice(1), ...readers].map((free) => free()))
  t.ok(await untilIdle(pool))
})

t.test('waiting ends with the timeout, or when the caller leaves', async (t) => {
  const pool = poolOf(t, { dbPool: 1, dbPoolAcquisitionTimeout: 2 })
  const free = await occupy(pool, 'read')
  const person = new Person()
  const abandoned = run(pool, 'select 1', person)
  const late = run(pool, 'select 1')
  t.equal(pool.waitingCount, 2)
  person.leave()
  await t.rejects(abandoned, { name: 'ConnectionError', kind: 'caller gone' })
  t.equal(pool.waitingCount, 1, 'it was removed from the queue')
  t.equal(person.listenerCount, 0)
  await t.rejects(late, { name: 'ConnectionError', kind: 'timed out' })
  t.equal(pool.waitingCount, 0)
  await t.rejects(
    run(pool, 'select 1', person),
    { name: 'ConnectionError', kind: 'caller gone' },
    'nothing starts for a caller who has left',
  )
  await free()
  t.equal(await run(pool, 'select 1'), '1')
  const impatient = poolOf(t, { dbPool: 1, dbPoolAcquisitionTimeout: 0 })
  const back = await occupy(impatient, 'read')
  await t.rejects(run(impatient, 'select 1'), { name: 'ConnectionError', kind: 'timed out' })
  await back()
})

t.test('time spent waiting elsewhere counts', async (t) => {
  const pool = poolOf(t, { dbPool: 1, dbPoolAcquisitionTimeout: 600 })
  const late = { since: performance.now() - 600_000 }
  t.equal(await withConnection(pool, async () => 'lent', never, late), 'lent', 'at once, if one is idle')
  await withConnection(
    pool,
    () =>
      t.rejects(
        withConnection(pool, async () => undefined, never, late),
        { name: 'ConnectionError', kind: 'timed out' },
      ),
    never,
  )
})

t.test('the statement of a caller who leaves is cancelled', async (t) => {
  const pool = poolOf(t, { dbPool: 3 })
  const people = [new Person(), new Person(), new Person()]
  const naps = people.map((person) => run(pool, 'select pg_sleep(25)', person, 'read'))
  const settled = Promise.allSettled(naps)
  const running =
    "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep' and query like '%25%'"
  t.ok(await until(async () => (await database.query(running)).rowCount === 3))
  for (const person of people) person.leave()
  const outcomes = await settled
  for (const outcome of outcomes) {
    t.match(outcome, { status: 'rejected', reason: { kind: 'caller gone' } }, 'it would be fulfilled at its own end')
  }
  t.ok(await untilIdle(pool))
  t.equal(pool.totalCount, 3, 'the connections are reused')
  // No cancellation may hit the next user of the connection.
  for (let time = 0; time < 30; time++) t.equal(await run(pool, `select ${time} from pg_sleep(0.002)`), String(time))
})

// tap fails on a rejection without a handler, which would end the server.
t.test('a connection that is lost while its statement is cancelled is closed', async (t) => {
  const pool = poolOf(t, { dbPool: 1 })
  const caller = new Person()
  const lost = new Error('lost')
  const use = async (client: PipelineClient): Promise<void> => {
    const napping = runPipeline(client, [[{ text: 'select pg_sleep(25)', values: [] }]], false)
    caller.leave()
    t.match(await napping.catch((error: unknown) => error), { server: { code: '57014' } })
    const { stream } = (client as unknown as { readonly connection: pg.Connection }).connection
    const closed = once(stream, 'close')
    stream.destroy()
    await closed
    throw lost
  }
  await t.rejects(
    withConnection(pool, use, (error) => error === lost, { caller }),
    { name: 'ConnectionError', kind: 'caller gone' },
  )
  t.equal(await run(pool, "select 'another'"), 'another')
})

t.test('callers who leave at any time do not affect others', async (t) => {
  const pool = poolOf(t, { dbPool: 2 })
  let failures = 0
  await Promise.all(
    Array.from({ length: 6 }, async (_, worker) => {
      for (let time = 0; time < 25; time++) {
        const person = new Person()
        const isLeaving = (worker + time) % 3 > 0
        const timer = isLeaving ? setTimeout(() => person.leave(), (time * 7 + worker * 3) % 60) : undefined
        const text = `select 'mine' from pg_sleep(${isLeaving ? 0.03 : 0.001})`
        const outcome = await run(pool, text, person, time % 2 ? 'write' : 'read').catch((error: unknown) => error)
        clearTimeout(timer)
        if (outcome !== 'mine' && !(person.isGone && (outcome as { kind?: string }).kind === 'caller gone')) failures++
      }
    }),
  )
  t.equal(failures, 0)
  t.ok(await untilIdle(pool))
})

t.test('a connection left in a transaction is closed', async (t) => {
  const pool = poolOf(t, { dbPool: 1 })
  const pid = await run(pool, 'select pg_backend_pid()')
  await withConnection(pool, (client) => client.query('begin'), never)
  const other = await run(pool, 'select pg_backend_pid()')
  t.not(other, pid)
  await withConnection(
    pool,
    async (client) => {
      await client.query('begin')
      // `pg` reports an error before it knows the transaction status.
      for (let time = 0; time < 2; time++) await client.query('select 1/0').catch(() => undefined)
    },
    never,
  )
  t.not(await run(pool, 'select pg_backend_pid()'), other)
})

/** Has so many connections in use at the same moment. @returns the processes of the server that they have */
async function pidsOfAll(pool: ConnectionPool, connections: number): Promise<string[]> {
  let free = (): void => undefined
  const areLent = new Promise<void>((resolve) => (free = resolve))
  let lent = 0
  const uses = Array.from({ length: connections }, () =>
    withConnection(
      pool,
      async (client) => {
        const [[[pid] = []] = []] = await runPipeline(client, [[{ text: 'select pg_backend_pid()', values: [] }]], true)
        if (++lent === connections) free()
        await areLent
        return String(pid)
      },
      never,
    ),
  )
  return Promise.all(uses)
}

t.test('a flushed pool replaces its connections one after another', async (t) => {
  const pool = poolOf(t)
  const pids = async (): Promise<string[]> => {
    const found = await pidsOfAll(pool, 4)
    t.ok(await untilIdle(pool))
    return found
  }
  const kept = (old: readonly string[], now: readonly string[]): number => old.filter((pid) => now.includes(pid)).length
  const first = await pids()
  t.equal(new Set(first).size, 4)
  const stopping = new AbortController()
  const flushed = flushPool(pool, 3_600_000, stopping.signal)
  const second = await pids()
  t.equal(kept(first, second), 3, 'the next one waits')
  stopping.abort()
  await flushed
  const third = await pids()
  t.equal(kept(first, third), 0, 'the end of the pauses replaces all')
  t.equal(kept(second, third), 1, 'a connection that is new already stays')
  await flushPool(pool, 20)
  const fourth = await pids()
  t.equal(kept(third, fourth), 0)
  void flushPool(pool)
  t.equal(kept(fourth, await pids()), 0, 'at once without a time')
})

/** Opens connections by using them at the same moment, and counts those that are opened later. */
async function poolWithConnections(
  t: Test,
  connections: number,
  settings: Partial<PoolSettings> = {},
): Promise<{ pool: ConnectionPool; opened: () => number }> {
  const pool = poolOf(t, settings)
  await pidsOfAll(pool, connections)
  t.ok(await untilIdle(pool))
  t.equal(pool.totalCount, connections)
  let opened = 0
  pool.on('connect', () => opened++)
  return { pool, opened: () => opened }
}

t.test('a flushed pool opens the successors of used connections itself', async (t) => {
  const { pool, opened } = await poolWithConnections(t, 2)
  const old = await pidsOfAll(pool, 2)
  // Long enough to open a connection on a busy machine; the second one counts as used for a second.
  await flushPool(pool, 600)
  t.equal(opened(), 2)
  t.equal(pool.totalCount, 2, 'instead of the old ones, which are closed')
  const next = await pidsOfAll(pool, 2)
  t.notOk(next.some((pid) => old.includes(pid)))
  t.equal(opened(), 2, 'no request had to wait for a connection')
})

t.test('a full pool closes an idle connection before it opens its successor', async (t) => {
  const { pool, opened } = await poolWithConnections(t, 2, { dbPool: 2 })
  const most = { connections: 0 }
  pool.on('connect', () => (most.connections = Math.max(most.connections, pool.totalCount)))
  await flushPool(pool, 600)
  t.equal(opened(), 2)
  t.equal(pool.totalCount, 2)
  t.equal(most.connections, 2)
})

t.test('a full pool opens no successor of a connection in use', async (t) => {
  const pool = poolOf(t, { dbPool: 1 })
  const free = await occupy(pool, 'read')
  let opened = 0
  pool.on('connect', () => opened++)
  await flushPool(pool, 20)
  t.equal(opened, 0)
  await free()
  t.equal(pool.totalCount, 0, 'it is closed when it is returned')
  t.equal(await run(pool, 'select 1'), '1')
  t.equal(opened, 1)
})

t.test('connections that were not used lately have no successors', async (t) => {
  const { pool, opened } = await poolWithConnections(t, 2)
  await pause(1100)
  await flushPool(pool, 20)
  t.equal(opened(), 0)
  t.equal(pool.totalCount, 0)
})

t.test('a flush ends although the server refuses successors', async (t) => {
  const { pool, opened } = await poolWithConnections(t, 2)
  const old = await run(pool, 'select pg_backend_pid()')
  await database.query(`alter role ${authenticator} connection limit 0`)
  t.teardown(() => database.query(`alter role ${authenticator} connection limit -1`))
  await flushPool(pool, 20)
  t.equal(opened(), 0)
  await database.query(`alter role ${authenticator} connection limit -1`)
  t.not(await run(pool, 'select pg_backend_pid()'), old)
})

t.test('a flush ends although the server does not respond', async (t) => {
  const { pool } = await poolWithConnections(t, 2)
  const old = await run(pool, 'select pg_backend_pid()')
  let asked = 0
  const openAnother = (): Promise<void> => {
    asked++
    return new Promise(() => undefined)
  }
  t.intercept(pool, 'openAnother', { value: openAnother, configurable: true })
  await flushPool(pool, 50)
  t.equal(asked, 2)
  Reflect.deleteProperty(pool, 'openAnother')
  t.not(await run(pool, 'select pg_backend_pid()'), old)
})

t.test('reserved connections are available when the pool is used up', async (t) => {
  // Long enough to open a connection.
  const pool = poolOf(t, { dbPool: 1, dbPoolReserve: 1, dbPoolAcquisitionTimeout: 3 })
  const { query } = new Database(pool)
  t.strictSame(await query('select 1 as one', []), [{ one: 1 }])
  t.equal(pool.reserve?.totalCount, 0, 'not opened while the pool has connections')
  const free = await occupy(pool, 'read')
  t.strictSame(await query('select 1 as one', []), [{ one: 1 }])
  t.equal(pool.reserve?.totalCount, 1)
  await Promise.all([
    t.rejects(run(pool, 'select 1'), { name: 'ConnectionError', kind: 'timed out' }, 'not for requests'),
    t.rejects(
      new Database(pool).transaction({ role: anonymous, claims: {} }, (inside) => inside('select 1', [])),
      { name: 'ConnectionError', kind: 'timed out' },
      'nor for transactions of the service',
    ),
  ])
  await free()
  const none = poolOf(t, { dbPool: 1, dbPoolAcquisitionTimeout: 3 })
  const back = await occupy(none, 'read')
  await t.rejects(
    new Database(none).query('select 1', []),
    { name: 'ConnectionError', kind: 'timed out' },
    'without a reserve',
  )
  await back()
})

t.test('if the server has no free slot, requests wait for the existing connections of the pool', async (t) => {
  await database.query(`alter role ${authenticator} connection limit 3`)
  t.teardown(() => database.query(`alter role ${authenticator} connection limit -1`))
  const pool = poolOf(t, { dbPool: 10, dbPoolReserve: 2 })
  const pids = new Set<string | undefined>()
  const crowd = async (): Promise<void> => {
    const found = Array.from({ length: 50 }, () => run(pool, 'select pg_backend_pid() from pg_sleep(0.02)'))
    for (const pid of await Promise.all(found)) pids.add(pid)
  }
  // On a busy machine, the first connections may serve all before the others are open.
  t.ok(await until(async () => (await crowd(), pids.size >= 3)))
  await crowd()
  t.equal(pids.size, 3)
  const frees = await Promise.all([occupy(pool, 'read'), occupy(pool, 'read'), occupy(pool, 'read')])
  const asked = new Database(pool).query('select 1 as one', [])
  await pause(100)
  await Promise.all(frees.map((free) => free()))
  t.strictSame(await asked, [{ one: 1 }], 'if the reserve has no slot, it waits for the pool')
  const busy = await Promise.all([occupy(pool, 'read'), occupy(pool, 'read'), occupy(pool, 'read')])
  const writer = run(pool, 'select 1', undefined, 'write')
  await database.query(`alter role ${authenticator} connection limit -1`)
  t.equal(await writer, '1', 'and grows when slots are available again')
  await Promise.all(busy.map((free) => free()))
  await database.query(`alter role ${authenticator} connection limit 0`)
  const none = poolOf(t, { dbPool: 5 })
  const refused = await Promise.allSettled(Array.from({ length: 20 }, () => run(none, 'select 1')))
  for (const outcome of refused) t.match(outcome, { status: 'rejected', reason: { kind: 'not connected' } })
  t.equal(none.waitingCount, 0, 'with no connection at all it is an error')
  await database.query(`alter role ${authenticator} connection limit -1`)
  t.equal(await run(none, 'select 1'), '1')
})
