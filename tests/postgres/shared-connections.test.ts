// Fast reads share connections; none waits for another's slow read, and each gets only its own result.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type pg from 'pg'
import { loadConfig } from '../../server/config/load.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import type { StreamedField } from '../../server/postgres/protocol/streamed-field.ts'
import { runPipeline, StatementError } from '../../server/postgres/protocol/pipeline.ts'
import type { PipelineStatement } from '../../server/rest/database.ts'
import type { RawRow } from '../../server/rest/row-transfer.ts'
import { withConnection } from '../../server/postgres/lending.ts'
import { createPool, flushPool, type ConnectionPool, type PoolSettings } from '../../server/postgres/pool.ts'
import { StatementStats } from '../../server/common/statement-stats.ts'
import { mayBegin } from '../../server/postgres/sharing/gate.ts'
import { sharingPolicy } from '../../server/postgres/sharing/policy.ts'
import { createDatabase } from '../support/database.ts'
import { createLatch } from '../support/latch.ts'
import { endKeepers, rowWaits } from '../support/locks.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const { config } = loadConfig({ env: { DATABASE_URL: database.adminUri } })
const connection = toPoolConfig(database.adminUri, {})
t.teardown(() => database.drop())

function poolOf(
  t: Test,
  dbPool = 4,
  options: pg.PoolConfig = connection,
  seconds = 10,
  settings: Partial<PoolSettings> = {},
): ConnectionPool {
  const pool = createPool(options, { ...config, dbPool, dbPoolAcquisitionTimeout: seconds, ...settings })
  t.teardown(async () => {
    await pool.shared.end()
    await pool.end()
  })
  return pool
}

function trusted(): StatementStats {
  const stats = new StatementStats()
  for (let time = 0; time < 20; time++) stats.record(0.1, 100)
  return stats
}

type Outcome = {
  readonly texts: readonly (string | undefined)[]
  readonly wasMoved: boolean
  readonly arriving?: StreamedField
}

type Read = {
  /** Settled with the first row of the last statement. */
  readonly outcome: Promise<Outcome>
  readonly wasTaken: boolean
  /** Whether it was moved to a separate connection. */
  readonly isMoved: () => boolean
}

const statement = (text: string, ...values: string[]): PipelineStatement => ({ text, values, hasNoEffect: true })

/** A read that counts how often it is settled, which must be once. */
function share(
  t: Test,
  pool: ConnectionPool,
  part: readonly PipelineStatement[],
  stats = trusted(),
  prepare = true,
  kind: 'read' | 'write' = 'read',
  more: { readonly waitsForPool?: boolean; readonly isCallerGone?: boolean } = {},
): Read {
  let wasMoved = false
  let hasArrived = false
  let settled = 0
  let wasTaken = false
  const outcome = new Promise<Outcome>((resolve, reject) => {
    const settle = (error: Error | undefined, results: RawRow[][], arriving?: StreamedField): void => {
      // The received field is settled once more at its end.
      if (++settled > 1 && !hasArrived) t.fail('settled twice')
      hasArrived = arriving !== undefined
      const texts = (results.at(-1)?.[0] ?? []).map((field) => field?.toString())
      if (error) reject(error)
      else resolve({ texts, wasMoved, ...(arriving ? { arriving } : {}) })
    }
    const runOnOwnConnection = (): void => {
      if (wasMoved) t.fail('moved twice')
      wasMoved = true
      withConnection(
        pool,
        (client) => runPipeline(client, [part], prepare),
        () => true,
      ).then(
        (results) => settle(undefined, results),
        (error: unknown) => settle(error as Error, []),
      )
    }
    const onLargeRow = (fields: RawRow, last: StreamedField): void => settle(undefined, [[fields]], last)
    const guardedPart = (gate: string, number: string): PipelineStatement[] => [
      { ...statement(`select ${mayBegin('$1', '$2')}`, gate, number), isGuard: true },
      ...part,
    ]
    const fixed = {
      kind,
      part,
      mayRepeat: kind === 'read',
      keepsSession: true,
      guardedPart,
      stats,
      onLargeRow,
      settle,
      runOnOwnConnection,
    }
    const run = {
      ...fixed,
      waitsForPool: more.waitsForPool ?? true,
      get isCallerGone() {
        return more.isCallerGone ?? false
      },
    }
    wasTaken = pool.shared.share(run, prepare)
    if (!wasTaken) resolve({ texts: [], wasMoved })
  })
  outcome.catch(() => undefined)
  return { outcome, wasTaken, isMoved: () => wasMoved }
}

/** Has statements wait for the one ahead of them, however slow the machine is. */
function waitLong(t: Test): void {
  const { patience } = sharingPolicy
  const before = { ...patience }
  Object.assign(patience, { read: 60_000, write: 60_000 })
  t.teardown(() => Object.assign(patience, before))
}

/** Like a statement of the services, which have a reserve. */
const hasReserve = { waitsForPool: false }

const pidAnd = (value: string) => statement('select pg_backend_pid(), $1::text', value)

/** Terminates the backend that runs a statement with this text, once there is one. */
async function terminate(text: string): Promise<void> {
  const query = `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and state = $2 and query like $1 and pid <> pg_backend_pid()`
  while ((await database.query(query, [`%${text}%`, 'active'])).rowCount === 0) await pause(10)
}

t.test('statements that have been fast are trusted to be fast', async (t) => {
  const pool = poolOf(t)
  const stats = new StatementStats()
  for (let time = 0; time < 19; time++) stats.record(0.1, 100)
  t.notOk(share(t, pool, [pidAnd('')], stats).wasTaken, 'too few samples')
  stats.record(0.1, 100)
  t.ok(share(t, pool, [pidAnd('')], stats).wasTaken)
  stats.record(0.1, 100_000)
  t.notOk(share(t, pool, [pidAnd('')], stats).wasTaken, 'one large result')
  for (let time = 0; time < 20; time++) stats.record(0.1, 100)
  t.ok(share(t, pool, [pidAnd('')], stats).wasTaken, 'after enough fast samples')
  stats.record(100, 100)
  t.notOk(share(t, pool, [pidAnd('')], stats).wasTaken, 'one slow sample')
  const slow = new StatementStats()
  for (let time = 0; time < 100; time++) slow.record(2, 100)
  t.notOk(share(t, pool, [pidAnd('')], slow).wasTaken, 'never fast')
  for (let time = 0; time < 32; time++) slow.record(time === 20 ? 0.1 : 3, 100)
  t.ok(slow.expected <= 3)
})

t.test('a statement that a busy process may only think slow shares connections when there are no others', async (t) => {
  waitLong(t)
  const pool = poolOf(t, 1)
  const statsOf = (least: number): StatementStats => {
    const stats = new StatementStats()
    for (let time = 0; time < 20; time++) stats.record(3, 100, least)
    return stats
  }
  t.notOk(share(t, pool, [pidAnd('')], statsOf(0)).wasTaken, 'not while the pool has another connection')
  const leave = await occupy(pool, 1)
  t.notOk(share(t, pool, [pidAnd('')], statsOf(1)).wasTaken, 'nor if it certainly is slow')
  const reads = Array.from({ length: 13 }, () => share(t, pool, [pidAnd('')], statsOf(0)))
  t.equal(pool.waitingCount, 2, '38 ms of them wait together')
  leave()
  t.notOk((await Promise.all(reads.map(({ outcome }) => outcome))).some(({ wasMoved }) => wasMoved))
})

t.test('writes no longer share connections when most take long', async (t) => {
  const pool = poolOf(t)
  let taken = 0
  const isShared = async (kind: 'read' | 'write'): Promise<boolean> => {
    const { outcome, wasTaken } = share(t, pool, [statement('select pg_sleep(0.003)')], trusted(), true, kind)
    await outcome
    return wasTaken
  }
  const isStopped = async (): Promise<boolean> => {
    if (await isShared('write')) taken++
    // The first writes wait for no gate: they have connections of their own.
    else if (taken <= sharingPolicy.commits.most) await pause(5)
    else return true
    return false
  }
  while (!(await isStopped()));
  t.ok(taken < 5 * sharingPolicy.commits.window, `${taken} writes`)
  t.ok(await isShared('read'), 'reads still do')
})

t.test('many reads on one connection', async (t) => {
  const pool = poolOf(t)
  for (let round = 0; round < 5; round++) {
    const stats = trusted()
    const reads = Array.from({ length: 5 }, (_, index) => share(t, pool, [pidAnd(`${round} ${index}`)], stats))
    const outcomes = await Promise.all(reads.map(({ outcome }) => outcome))
    t.strictSame(
      outcomes.map(({ texts: [, text] }) => text),
      reads.map((_, index) => `${round} ${index}`),
    )
    // More than one connection is used only if the machine is so busy that the first read is slow.
    t.ok(new Set(outcomes.map(({ texts: [pid] }) => pid)).size < reads.length, 'they shared a connection')
  }
  while (pool.idleCount < pool.totalCount) await pause(5)
  t.ok(pool.totalCount < 5, 'and returned it')
})

t.test('errors and settings are limited to their read', async (t) => {
  const pool = poolOf(t)
  const set = (value: string) => statement("select set_config('my.value', $1, true)", value)
  const show = statement("select coalesce(nullif(current_setting('my.value', true), ''), 'none')")
  // The second statement of the failing read is never prepared, although its Parse message was sent.
  const unprepared = statement('select 7')
  for (let round = 0; round < 3; round++) {
    const stats = trusted()
    const reads = [
      share(t, pool, [set('a'), show], stats),
      share(t, pool, [set('b'), statement('select 1 / $1::int', '0'), unprepared], stats),
      share(t, pool, [show], stats),
      share(t, pool, [unprepared], stats),
      share(t, pool, [set('c'), show], stats),
    ]
    const [first, second, third, fourth, fifth] = await Promise.allSettled(reads.map(({ outcome }) => outcome))
    t.match(first, { value: { texts: ['a'] } })
    t.match(second, { status: 'rejected', reason: { server: { code: '22012' } } })
    t.match(third, { value: { texts: ['none'] } })
    t.match(fourth, { value: { texts: ['7'] } })
    t.match(fifth, { value: { texts: ['c'] } })
  }
})

t.test('a slow read does not delay the others', async (t) => {
  const pool = poolOf(t)
  const stats = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select 'late' from ${latch.wait}`)], stats)
  const others = [1, 2, 3].map((index) => share(t, pool, [pidAnd(String(index))], stats))
  const outcomes = await Promise.all(others.map(({ outcome }) => outcome))
  for (const [index, { texts, wasMoved }] of outcomes.entries()) {
    t.equal(texts[1], String(index + 1))
    t.ok(wasMoved, 'run on another connection')
  }
  t.match(await share(t, pool, [pidAnd('next')]).outcome, { texts: [/\d+/, 'next'] }, 'and so is a later read')
  await latch.release()
  t.match(await long.outcome, { texts: ['late'], wasMoved: false })
})

t.test('a large result is streamed, and does not delay the others', async (t) => {
  const pool = poolOf(t)
  const stats = trusted()
  const size = 20_000_000
  const large = share(t, pool, [{ text: `select 'head', repeat('x', ${size})`, values: [] }], stats)
  const other = share(t, pool, [pidAnd('other')], stats)
  const { arriving, texts } = await large.outcome
  t.strictSame(texts, ['head'], 'the fields before the last')
  // The large result has no consumer yet.
  t.match(await other.outcome, { wasMoved: true })
  t.equal(arriving?.length, size)
  arriving?.drop()
  while (pool.idleCount < pool.totalCount) await pause(10)
  t.pass('all connections were returned')
})

t.test('reads on a lost connection are retried', async (t) => {
  const pool = poolOf(t)
  const stats = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select ${latch.wait}, 'ended'`)], stats)
  const others = [1, 2].map((index) => share(t, pool, [pidAnd(String(index))], stats))
  await terminate('ended')
  await latch.release()
  for (const { outcome } of others) t.match(await outcome, { wasMoved: true })
  t.match(await long.outcome, { wasMoved: true })
  t.match(await share(t, pool, [pidAnd('after')]).outcome, { texts: [/\d+/, 'after'] })
})

t.test('deallocated statements are prepared again', async (t) => {
  waitLong(t)
  const pool = poolOf(t, 1)
  const part = [pidAnd('x')]
  await share(t, pool, part).outcome
  await withConnection(
    pool,
    (client) => client.query('deallocate all'),
    () => true,
  )
  t.match(
    await share(t, pool, part).outcome,
    { texts: [/\d+/, 'x'], wasMoved: true },
    'prepared again, on its own connection',
  )
  t.match(await share(t, pool, part).outcome, { texts: [/\d+/, 'x'], wasMoved: false }, 'then as before')
})

t.test('a flushed pool does not reuse a shared connection', async (t) => {
  const pool = poolOf(t)
  const stats = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select pg_backend_pid() from ${latch.wait}`)], stats)
  t.ok(await latch.isAwaited())
  void flushPool(pool)
  const later = share(t, pool, [pidAnd('later')], stats)
  await later.outcome
  await latch.release()
  t.not((await later.outcome).texts[0], (await long.outcome).texts[0])
})

t.test('a shared connection is closed after some time', async (t) => {
  const pool = poolOf(t, 2)
  const stats = trusted()
  let released = 0
  pool.on('release', () => released++)
  let running = 0
  let started = 0
  await new Promise<void>((resolve) => {
    const next = (): void => {
      if (started === 2500) {
        if (running === 0) resolve()
        return
      }
      started++
      running++
      void share(t, pool, [pidAnd('')], stats).outcome.finally(() => {
        running--
        next()
      })
    }
    for (let index = 0; index < 4; index++) next()
  })
  t.ok(released >= 2, `returned ${released} times`)
})

t.test('an exclusive connection is available, however many fast reads arrive', async (t) => {
  const pool = poolOf(t, 1)
  const stats = trusted()
  let isServed = false
  let running = 0
  const feed = (): void => {
    if (isServed) return
    running++
    const { outcome, wasTaken } = share(t, pool, [pidAnd('')], stats)
    // The caller has gone, so the lent connection is not used.
    void outcome.then(() => {
      running--
      if (wasTaken) feed()
      else setImmediate(feed)
    })
  }
  for (let index = 0; index < 4; index++) feed()
  await withConnection(
    pool,
    async () => {
      isServed = true
    },
    () => false,
  )
  t.ok(isServed)
  while (running > 0) await pause(5)
})

t.test('without a connection, every read gets the error', async (t) => {
  const port = 1
  const pool = poolOf(t, 2, toPoolConfig(`postgresql://nobody@127.0.0.1:${port}/none`, {}))
  const stats = trusted()
  for (const { outcome } of [1, 2, 3].map(() => share(t, pool, [pidAnd('')], stats))) {
    await t.rejects(outcome, { name: 'ConnectionError', kind: 'not connected' })
  }
})

t.test('transactions are no longer watched once their connection has failed', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const connected = once(server, 'connection') as Promise<[Socket]>
  const { port } = server.address() as AddressInfo
  const pool = poolOf(t, 1, toPoolConfig(`postgresql://nobody@127.0.0.1:${port}/none?sslmode=disable`, {}))
  const stats = trusted()
  const reads = [1, 2].map(() => share(t, pool, [pidAnd('')], stats))
  // Whether a transaction takes long is decided after what has arrived was read. Here the connection is lost in between.
  const later: (() => void)[] = []
  const postponed = t.intercept(globalThis, 'setImmediate', { value: (call: () => void) => later.push(call) })
  t.ok(await until(() => later.length > 0))
  postponed.restore()
  const [socket] = await connected
  socket.destroy()
  for (const { outcome } of reads) await t.rejects(outcome, { name: 'ConnectionError', kind: 'not connected' })
  const timers = t.capture(globalThis, 'setTimeout')
  for (const call of later) call()
  t.strictSame(timers(), [], 'no timer is started')
  timers.restore()
})

t.test('when all connections are in use, reads are queued on shared ones', async (t) => {
  const pool = poolOf(t, 2)
  // A connection that is returned would serve those that wait for the other to be opened.
  const leave = await occupy(pool, 2)
  leave()
  await until(() => pool.idleCount === 2)
  const stats = new StatementStats()
  for (let time = 0; time < 20; time++) stats.record(0.4, 100)
  const reads = Array.from({ length: 8 }, (_, index) => share(t, pool, [pidAnd(String(index))], stats))
  const outcomes = await Promise.all(reads.map(({ outcome }) => outcome))
  t.strictSame(
    outcomes.map(({ texts: [, text] }) => text),
    ['0', '1', '2', '3', '4', '5', '6', '7'],
  )
  t.equal(new Set(outcomes.map(({ texts: [pid] }) => pid)).size, 2, 'on both connections')
  // Whether the reads above counted as fast depends on the machine.
  const known = new StatementStats()
  for (let time = 0; time < 20; time++) known.record(0.4, 100)
  const crowd = Array.from({ length: 60 }, () => share(t, pool, [pidAnd('')], known, true, 'read', hasReserve))
  t.ok(
    crowd.some(({ wasTaken }) => !wasTaken),
    'but not too many on one',
  )
  await Promise.all(crowd.map(({ outcome }) => outcome))
})

/** Lends all connections of a pool until the returned function is called. */
async function occupy(pool: ConnectionPool, count: number): Promise<() => void> {
  let leave: () => void = () => undefined
  const left = new Promise<void>((resolve) => (leave = resolve))
  const lent = Array.from(
    { length: count },
    () =>
      new Promise<void>((resolve, reject) => {
        const use = (): Promise<void> => {
          resolve()
          return left
        }
        withConnection(pool, use, () => false).catch(reject)
      }),
  )
  await Promise.all(lent)
  return leave
}

t.test('statements that find no free connection wait for one together', async (t) => {
  waitLong(t)
  const pool = poolOf(t, 1)
  const leave = await occupy(pool, 1)
  const reads = Array.from({ length: 30 }, (_, index) => share(t, pool, [pidAnd(String(index))]))
  t.ok(reads.every(({ wasTaken }) => wasTaken))
  t.equal(pool.waitingCount, 1)
  t.equal(pool.shared.waitingTogether('read'), 29)
  t.notOk(
    share(t, pool, [pidAnd('')], trusted(), true, 'read', hasReserve).wasTaken,
    'those with a reserve do not wait',
  )
  leave()
  const outcomes = await Promise.all(reads.map(({ outcome }) => outcome))
  t.strictSame(
    outcomes.map(({ texts: [, text] }) => text),
    reads.map((_, index) => String(index)),
  )
  t.equal(new Set(outcomes.map(({ texts: [pid] }) => pid)).size, 1)
  t.notOk(reads.some(({ isMoved }) => isMoved()))
  t.equal(pool.shared.waitingTogether('read'), 0)
})

t.test('statements wait no longer than for a connection of their own', async (t) => {
  const pool = poolOf(t, 1, connection, 8)
  const leave = await occupy(pool, 1)
  const begun = performance.now()
  const early = [1, 2, 3].map(() => share(t, pool, [pidAnd('')]))
  await pause(4000)
  const late = share(t, pool, [pidAnd('')])
  t.equal(pool.waitingCount, 2, 'a later one does not share the timeout of those before')
  const timedOut = { name: 'ConnectionError', kind: 'timed out' }
  for (const { outcome } of early) await t.rejects(outcome, timedOut)
  const waited = performance.now() - begun
  t.ok(waited > 7900, `after ${waited} ms`)
  leave()
  t.match(await late.outcome, { wasMoved: false })
})

t.test('a statement whose caller has gone while it waited does not begin', async (t) => {
  const pool = poolOf(t, 1)
  await database.query('create table public.abandoned (id text)')
  const leave = await occupy(pool, 1)
  const write = (text: string, isCallerGone: () => boolean): Read =>
    share(t, pool, [statement('insert into public.abandoned values ($1)', text)], trusted(), true, 'read', {
      get isCallerGone() {
        return isCallerGone()
      },
    })
  let isGone = false
  const abandoned = write('abandoned', () => isGone)
  const patient = write('patient', () => false)
  isGone = true
  leave()
  await t.rejects(abandoned.outcome, { name: 'ConnectionError', kind: 'caller gone' })
  await patient.outcome
  t.strictSame((await database.query('select id from public.abandoned')).rows, [{ id: 'patient' }])

  const leaveAgain = await occupy(pool, 1)
  const last = write('last', () => true)
  leaveAgain()
  await t.rejects(last.outcome, { name: 'ConnectionError', kind: 'caller gone' })
  t.match(await share(t, pool, [pidAnd('')]).outcome, { wasMoved: false }, 'the connection is free again')
  t.equal((await database.query('select from public.abandoned')).rowCount, 1)
})

t.test('a request that needs a connection of its own gets its turn among statements that wait together', async (t) => {
  const pool = poolOf(t, 2)
  const leave = await occupy(pool, 2)
  const order: string[] = []
  const before = share(t, pool, [pidAnd('')]).outcome.then(() => order.push('before'))
  const own = withConnection(
    pool,
    async () => void order.push('own'),
    () => false,
  )
  await pause(150)
  const after = share(t, pool, [pidAnd('')]).outcome.then(() => order.push('after'))
  leave()
  await Promise.all([before, own, after])
  t.equal(order.length, 3)
  t.ok(order.indexOf('own') < order.indexOf('after'), order.join(', '))
})

for (const [name, known] of [
  ['that are brief', trusted],
  // As if this process had read all earlier results late.
  [
    'of unknown duration',
    (): StatementStats => {
      const stats = new StatementStats()
      for (let time = 0; time < 2000; time++) stats.record(2, 100, 0, time)
      return stats
    },
  ],
] as const)
  t.test(`under more load than the pool can serve, statements ${name} share connections`, async (t) => {
    waitLong(t)
    // A busy machine must not refuse any of them, nor end their wait.
    const pool = poolOf(t, 2, connection, 60, { loadSheddingWait: 0 })
    const stats = known()
    let taken = 0
    let started = 0
    const feed = async (): Promise<void> => {
      while (started < 6000) {
        started++
        const { outcome, wasTaken, isMoved } = share(t, pool, [pidAnd('')], stats)
        if (!wasTaken) {
          await withConnection(
            pool,
            (client) => runPipeline(client, [[pidAnd('')]], true),
            () => true,
          )
          continue
        }
        await outcome
        if (!isMoved()) taken++
      }
    }
    await Promise.all(Array.from({ length: 300 }, feed))
    t.ok(taken > 5400, `${taken} of ${started}`)
  })

t.test('errors of a shared connection are those of its statements', async (t) => {
  const pool = poolOf(t)
  await t.rejects(share(t, pool, [statement('select nothing')]).outcome, StatementError)
})

const write = (t: Test, pool: ConnectionPool, stats: StatementStats, ...part: readonly PipelineStatement[]): Read =>
  share(t, pool, part, stats, true, 'write')

/** Shares a write that changes nothing until the gates are open. */
async function openGates(t: Test, pool: ConnectionPool): Promise<void> {
  while (!write(t, pool, trusted(), statement('select 1')).wasTaken) await pause(5)
  while (pool.idleCount < pool.totalCount) await pause(5)
}

const insert = (value: string) => statement('insert into written (value) values ($1) returning value', value)
const increment = (id: string) => statement('update locked set times = times + 1 where id = $1 returning id', id)

type Blocked = {
  /** Writes of other rows, sent behind the front. */
  readonly others: readonly Read[]
  /** Unlocks the row, and checks that each write took effect once. */
  readonly release: () => Promise<void>
}

/** Sends writes of four rows on one shared connection. The first one waits for its row, which is locked. */
async function blockFront(t: Test): Promise<Blocked> {
  const pool = poolOf(t, 6)
  await openGates(t, pool)
  const locker = await pool.connect()
  await locker.query('begin')
  await locker.query('select from locked where id = 1 for update')
  const stats = trusted()
  const front = write(t, pool, stats, increment('1'))
  const others = ['2', '3', '4'].map((id) => write(t, pool, stats, increment(id)))
  const release = async (): Promise<void> => {
    await locker.query('commit')
    locker.release()
    t.match(await front.outcome, { wasMoved: false })
    t.ok(await until(() => pool.idleCount === pool.totalCount))
    const { rows } = await database.query('select sum(times)::int as sum, max(times)::int as max from locked')
    t.strictSame(rows, [{ sum: 4, max: 1 }], 'each write took effect once')
  }
  return { others, release }
}

async function rowsWritten(): Promise<readonly string[]> {
  const { rows } = await database.query('select value from written order by value')
  return (rows as { value: string }[]).map(({ value }) => value)
}

t.test('writes', async (t) => {
  await database.query('create table written (value text); create table locked (id int primary key, times int)')
  t.beforeEach(async () => {
    await database.query('truncate written, locked; insert into locked select i, 0 from generate_series(1, 9) i')
  })

  t.test('share connections, but not with reads', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const stats = trusted()
    const values = Array.from({ length: 8 }, (_, index) => String(index))
    const writes = values.map((value) => write(t, pool, stats, insert(value)))
    const read = share(t, pool, [pidAnd('x')], stats)
    for (const [index, { outcome }] of writes.entries()) t.match(await outcome, { texts: [String(index)] })
    await read.outcome
    t.ok(pool.totalCount < 9)
    t.strictSame(await rowsWritten(), values)
  })

  t.test('an error rolls back only its own write', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const stats = trusted()
    const [first, second, third] = await Promise.allSettled([
      write(t, pool, stats, insert('a')).outcome,
      write(t, pool, stats, insert('b'), statement('select 1 / $1::int', '0')).outcome,
      write(t, pool, stats, insert('c')).outcome,
    ])
    t.match([first, second, third], [
      { status: 'fulfilled' }, { reason: { server: { code: '22012' } } }, { status: 'fulfilled' },
    ]) // prettier-ignore
    t.strictSame(await rowsWritten(), ['a', 'c'])
  })

  t.test('a write that waits for a lock delays the others only briefly', async (t) => {
    const pool = poolOf(t, 6)
    await openGates(t, pool)
    const locker = await pool.connect()
    await locker.query('begin')
    await locker.query('select from locked where id in (1, 2) for update')
    const stats = trusted()
    const blocked = [write(t, pool, stats, increment('1')), write(t, pool, stats, increment('2'))]
    const others = ['3', '4', '5'].map((id) => write(t, pool, stats, increment(id)))
    await Promise.race(others.map(({ outcome }) => outcome))
    t.ok(
      others.every(({ isMoved }) => isMoved()),
      'all at once',
    )
    await Promise.all(others.map(({ outcome }) => outcome))
    t.notOk(stats.isFast, 'the next ones are not queued behind each other')
    await locker.query('commit')
    locker.release()
    const [front, second] = await Promise.all(blocked.map(({ outcome }) => outcome))
    t.match([front, second], [{ wasMoved: false }, { wasMoved: true }], 'the first one stays on its connection')
    const { rows } = await database.query('select sum(times)::int as sum, max(times)::int as max from locked')
    t.strictSame(rows, [{ sum: 5, max: 1 }], 'each write took effect once')
  })

  t.test('a write that waits for a lock delays the others only briefly even if the gates are lost', async (t) => {
    const { others, release } = await blockFront(t)
    // In one call, because those behind the first are moved after a short time.
    await database.query(`do $$ begin
      while not exists (${rowWaits}) loop
        perform pg_sleep(0.001);
        perform pg_stat_clear_snapshot();
      end loop;
      perform * from (${endKeepers}) as ended;
    end $$`)
    for (const { outcome } of others) t.match(await outcome, { wasMoved: true })
    await release()
  })

  t.test('a write that finishes while the others are moved', async (t) => {
    const pool = poolOf(t, 3)
    await openGates(t, pool)
    await database.query('create sequence if not exists runs; select setval($$runs$$, 1, false)')
    let expected = 0
    const values: string[] = []
    for (let round = 0; round < 8; round++) {
      const stats = trusted()
      const batch = Array.from({ length: 5 }, (_, index) => `${round} ${index}`)
      values.push(...batch)
      expected += batch.length
      // About as long as the patience.
      const slow = statement(`select pg_sleep(${0.097 + round * 0.001})`)
      const count = statement("select nextval('runs')")
      const writes = batch.map((value, index) =>
        index % 2 === 0
          ? write(t, pool, stats, count, slow, insert(value))
          : write(t, pool, stats, count, insert(value)),
      )
      for (const { outcome, wasTaken } of writes) {
        t.ok(wasTaken)
        await outcome
      }
      await openGates(t, pool)
    }
    t.strictSame(await rowsWritten(), values.sort(), 'each was written once')
    const { rows } = await database.query('select last_value::int as runs from runs')
    t.strictSame(rows, [{ runs: expected }], 'and none started twice')
  })

  t.test('a write that is moved never starts on its first connection, whatever happens to the gates', async (t) => {
    const { others, release } = await blockFront(t)
    await Promise.all(others.map(({ outcome }) => outcome))
    const keepers = await database.query(endKeepers)
    t.ok(keepers.rows.length > 0)
    await pause(50)
    await release()
  })

  t.test('without gates, no write starts', async (t) => {
    const pool = poolOf(t, 2)
    await openGates(t, pool)
    await database.query(endKeepers)
    const writes = [1, 2, 3].map((value) => write(t, pool, trusted(), insert(String(value))))
    for (const { outcome } of writes) await outcome
    for (const [index, { wasTaken }] of writes.entries()) {
      if (!wasTaken) await database.query('insert into written values ($1)', [String(index + 1)])
    }
    t.strictSame(await rowsWritten(), ['1', '2', '3'])
  })

  t.test('cancellations by the server are reported', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const timeout = statement("select set_config('statement_timeout', '20ms', true)")
    const slow = write(t, pool, trusted(), timeout, statement('select pg_sleep(0.2)'), insert('a'))
    t.match(await slow.outcome.catch((error: unknown) => error), { server: { code: '57014' } })
    t.strictSame(await rowsWritten(), [])
  })

  t.test('writes on a lost connection are reported as uncertain', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const stats = trusted()
    const front = write(t, pool, stats, statement('select pg_terminate_backend(pg_backend_pid())'), insert('a'))
    const behind = write(t, pool, stats, insert('b'))
    await t.rejects(front.outcome)
    // If losing the first write takes long on a slow machine, the one behind it is moved before.
    if (behind.isMoved()) await behind.outcome
    else await t.rejects(behind.outcome)
    t.strictSame(await rowsWritten(), behind.isMoved() ? ['b'] : [])
  })
})

t.test('nothing is shared without prepared statements, because there may be a pooler', async (t) => {
  const pool = poolOf(t, 2)
  await openGates(t, pool)
  t.notOk(share(t, pool, [insert('a')], trusted(), false, 'write').wasTaken)
  t.notOk(share(t, pool, [pidAnd('x')], trusted(), false).wasTaken)
  t.ok(share(t, pool, [pidAnd('x')], trusted(), true).wasTaken)
})
