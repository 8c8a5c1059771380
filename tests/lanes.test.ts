// Brief reads share connections; none of them waits for another's long one, and each hears of its own result only.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type pg from 'pg'
import { loadConfig } from '../server/config/load.ts'
import { toPoolConfig } from '../server/program/connection-setting.ts'
import type { ArrivingField } from '../server/postgres/protocol/arriving-field.ts'
import { runPipeline, StatementError } from '../server/postgres/protocol/pipeline.ts'
import type { PipelineStatement, Row } from '../server/rest/database.ts'
import { withConnection } from '../server/postgres/lending.ts'
import { createPool, flushPool, type ConnectionPool } from '../server/postgres/pool.ts'
import { RunHistory } from '../server/common/run-history.ts'
import { mayBegin } from '../server/postgres/sharing/turn-guard.ts'
import { createDatabase } from './support/database.ts'
import { createLatch } from './support/latch.ts'
import { endKeepers, rowWaits } from './support/locks.ts'
import { until } from './support/until.ts'

const database = await createDatabase()
const { config } = loadConfig({ env: { DATABASE_URL: database.adminUri } })
const connection = toPoolConfig(database.adminUri, {})
t.teardown(() => database.drop())

function poolOf(t: Test, dbPool = 4, options: pg.PoolConfig = connection): ConnectionPool {
  const pool = createPool(options, { ...config, dbPool, dbPoolAcquisitionTimeout: 2 })
  t.teardown(async () => {
    await pool.shared.end()
    await pool.end()
  })
  return pool
}

function trusted(): RunHistory {
  const history = new RunHistory()
  for (let time = 0; time < 20; time++) history.note(0.1, 100)
  return history
}

type Outcome = {
  readonly texts: readonly (string | undefined)[]
  readonly wasMoved: boolean
  readonly arriving?: ArrivingField
}

type Read = {
  /** Settled with the last statement's first row. */
  readonly outcome: Promise<Outcome>
  readonly wasTaken: boolean
  /** Whether it was moved to a connection of its own. */
  readonly isMoved: () => boolean
}

const statement = (text: string, ...values: string[]): PipelineStatement => ({ text, values, hasNoEffect: true })

/** A read that counts how often it is settled: it must be once. */
function share(
  t: Test,
  pool: ConnectionPool,
  part: readonly PipelineStatement[],
  history = trusted(),
  prepare = true,
  kind: 'read' | 'write' = 'read',
): Read {
  let wasMoved = false
  let hasArrived = false
  let settled = 0
  let wasTaken = false
  const outcome = new Promise<Outcome>((resolve, reject) => {
    const settle = (error: Error | undefined, results: Row[][], arriving?: ArrivingField): void => {
      // What arrived is settled once more at its end.
      if (++settled > 1 && !hasArrived) t.fail('settled twice')
      hasArrived = arriving !== undefined
      const texts = (results.at(-1)?.[0] ?? []).map((field) => field?.toString())
      if (error) reject(error)
      else resolve({ texts, wasMoved, ...(arriving ? { arriving } : {}) })
    }
    const alone = (): void => {
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
    const onArriving = (fields: Row, arriving: ArrivingField): void => settle(undefined, [[fields]], arriving)
    const guardedPart = (gate: string, turn: string): PipelineStatement[] => [
      { ...statement(`select ${mayBegin('$1', '$2')}`, gate, turn), isGuard: true },
      ...part,
    ]
    const run = { kind, part, mayRepeat: kind === 'read', guardedPart, history, onArriving, settle, alone }
    wasTaken = pool.shared.share(run, prepare)
    if (!wasTaken) resolve({ texts: [], wasMoved })
  })
  outcome.catch(() => undefined)
  return { outcome, wasTaken, isMoved: () => wasMoved }
}

const pidAnd = (value: string) => statement('select pg_backend_pid(), $1::text', value)

/** Ends the server process that runs a statement with this text, once there is one. */
async function terminate(text: string): Promise<void> {
  const query =
    'select pg_terminate_backend(pid) from pg_stat_activity where state = $2 and query like $1 and pid <> pg_backend_pid()'
  while ((await database.query(query, [`%${text}%`, 'active'])).rowCount === 0) await pause(10)
}

t.test('what is trusted to be brief', async (t) => {
  const pool = poolOf(t)
  const history = new RunHistory()
  for (let time = 0; time < 19; time++) history.note(0.1, 100)
  t.notOk(share(t, pool, [pidAnd('')], history).wasTaken, 'known for too short')
  history.note(0.1, 100)
  t.ok(share(t, pool, [pidAnd('')], history).wasTaken)
  history.note(0.1, 100_000)
  t.notOk(share(t, pool, [pidAnd('')], history).wasTaken, 'once with a large result')
  for (let time = 0; time < 20; time++) history.note(0.1, 100)
  t.ok(share(t, pool, [pidAnd('')], history).wasTaken, 'after a new probation')
  history.note(100, 100)
  t.notOk(share(t, pool, [pidAnd('')], history).wasTaken, 'once long')
  const slow = new RunHistory()
  for (let time = 0; time < 100; time++) slow.note(2, 100)
  t.notOk(share(t, pool, [pidAnd('')], slow).wasTaken, 'never quick')
  for (let time = 0; time < 32; time++) slow.note(time === 20 ? 0.1 : 3, 100)
  t.ok(slow.expected <= 3)
})

for (const prepare of [true, false]) {
  t.test(`many on one connection, prepared statements ${prepare ? 'on' : 'off'}`, async (t) => {
    const pool = poolOf(t)
    for (let round = 0; round < 5; round++) {
      const history = trusted()
      const reads = Array.from({ length: 5 }, (_, index) =>
        share(t, pool, [pidAnd(`${round} ${index}`)], history, prepare),
      )
      const outcomes = await Promise.all(reads.map(({ outcome }) => outcome))
      t.strictSame(
        outcomes.map(({ texts: [, text] }) => text),
        reads.map((_, index) => `${round} ${index}`),
      )
      // More than one only on a machine that is so busy that the first takes long.
      t.ok(new Set(outcomes.map(({ texts: [pid] }) => pid)).size < reads.length, 'they shared')
    }
    while (pool.idleCount < pool.totalCount) await pause(5)
    t.ok(pool.totalCount < 5, 'and what was lent was given back')
  })

  t.test(`errors and settings stay with their read, prepared statements ${prepare ? 'on' : 'off'}`, async (t) => {
    const pool = poolOf(t)
    const set = (value: string) => statement("select set_config('my.value', $1, true)", value)
    const show = statement("select coalesce(nullif(current_setting('my.value', true), ''), 'none')")
    // The second statement of the one that fails is never prepared, though it was sent to be.
    const unprepared = statement('select 7')
    for (let round = 0; round < 3; round++) {
      const history = trusted()
      const reads = [
        share(t, pool, [set('a'), show], history, prepare),
        share(t, pool, [set('b'), statement('select 1 / $1::int', '0'), unprepared], history, prepare),
        share(t, pool, [show], history, prepare),
        share(t, pool, [unprepared], history, prepare),
        share(t, pool, [set('c'), show], history, prepare),
      ]
      const [first, second, third, fourth, fifth] = await Promise.allSettled(reads.map(({ outcome }) => outcome))
      t.match(first, { value: { texts: ['a'] } })
      t.match(second, { status: 'rejected', reason: { server: { code: '22012' } } })
      t.match(third, { value: { texts: ['none'] } })
      t.match(fourth, { value: { texts: ['7'] } })
      t.match(fifth, { value: { texts: ['c'] } })
    }
  })
}

t.test('a read that takes long holds up nobody', async (t) => {
  const pool = poolOf(t)
  const history = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select 'late' from ${latch.wait}`)], history)
  const others = [1, 2, 3].map((index) => share(t, pool, [pidAnd(String(index))], history))
  const outcomes = await Promise.all(others.map(({ outcome }) => outcome))
  for (const [index, { texts, wasMoved }] of outcomes.entries()) {
    t.equal(texts[1], String(index + 1))
    t.ok(wasMoved, 'run elsewhere')
  }
  t.match(await share(t, pool, [pidAnd('next')]).outcome, { texts: [/\d+/, 'next'] }, 'nor one that comes later')
  await latch.release()
  t.match(await long.outcome, { texts: ['late'], wasMoved: false })
})

t.test('a large result is passed on, and holds up nobody', async (t) => {
  const pool = poolOf(t)
  const history = trusted()
  const size = 20_000_000
  const large = share(t, pool, [{ text: `select 'head', repeat('x', ${size})`, values: [] }], history)
  const other = share(t, pool, [pidAnd('other')], history)
  const { arriving, texts } = await large.outcome
  t.strictSame(texts, ['head'], 'the fields before the last')
  // Nobody has begun to read the large one.
  t.match(await other.outcome, { wasMoved: true })
  t.equal(arriving?.length, size)
  arriving?.drop()
  while (pool.idleCount < pool.totalCount) await pause(10)
  t.pass('all connections are given back')
})

t.test('reads on a lost connection run again', async (t) => {
  const pool = poolOf(t)
  const history = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select ${latch.wait}, 'ended'`)], history)
  const others = [1, 2].map((index) => share(t, pool, [pidAnd(String(index))], history))
  await terminate('ended')
  await latch.release()
  for (const { outcome } of others) t.match(await outcome, { wasMoved: true })
  t.match(await long.outcome, { wasMoved: true })
  t.match(await share(t, pool, [pidAnd('after')]).outcome, { texts: [/\d+/, 'after'] })
})

t.test('statements that are gone are prepared anew', async (t) => {
  const pool = poolOf(t, 1)
  const part = [pidAnd('x')]
  await share(t, pool, part).outcome
  await withConnection(
    pool,
    (client) => client.query('deallocate all'),
    () => true,
  )
  t.match(await share(t, pool, part).outcome, { texts: [/\d+/, 'x'], wasMoved: true }, 'once more, on its own')
  t.match(await share(t, pool, part).outcome, { texts: [/\d+/, 'x'], wasMoved: false }, 'then as before')
})

t.test('a flushed pool gives no lane away', async (t) => {
  const pool = poolOf(t)
  const history = trusted()
  const latch = await createLatch(t, database)
  const long = share(t, pool, [statement(`select pg_backend_pid() from ${latch.wait}`)], history)
  t.ok(await latch.isAwaited())
  flushPool(pool)
  const later = share(t, pool, [pidAnd('later')], history)
  await later.outcome
  await latch.release()
  t.not((await later.outcome).texts[0], (await long.outcome).texts[0])
})

t.test('a lane ends now and then', async (t) => {
  const pool = poolOf(t, 2)
  const history = trusted()
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
      void share(t, pool, [pidAnd('')], history).outcome.finally(() => {
        running--
        next()
      })
    }
    for (let index = 0; index < 4; index++) next()
  })
  t.ok(released >= 2, `given back ${released} times`)
})

t.test('whoever needs a connection of its own gets one, however many brief reads come', async (t) => {
  const pool = poolOf(t, 1)
  const history = trusted()
  let isServed = false
  let running = 0
  const feed = (): void => {
    if (isServed) return
    running++
    const { outcome, wasTaken } = share(t, pool, [pidAnd('')], history)
    // What is not taken waits its turn as the others do; here it just goes away.
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

t.test('without a connection every read hears why', async (t) => {
  const port = 1
  const pool = poolOf(t, 2, toPoolConfig(`postgresql://nobody@127.0.0.1:${port}/none`, {}))
  const history = trusted()
  for (const { outcome } of [1, 2, 3].map(() => share(t, pool, [pidAnd('')], history))) {
    await t.rejects(outcome, { name: 'ConnectionError', kind: 'not connected' })
  }
})

t.test('turns whose connection cannot be made are not watched any more', async (t) => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const connected = once(server, 'connection') as Promise<[Socket]>
  const { port } = server.address() as AddressInfo
  const pool = poolOf(t, 1, toPoolConfig(`postgresql://nobody@127.0.0.1:${port}/none?sslmode=disable`, {}))
  const history = trusted()
  const reads = [1, 2].map(() => share(t, pool, [pidAnd('')], history))
  // Whether a turn takes long is decided after what has arrived was read. Here the connection is lost in between.
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

t.test('when all connections are in use, reads are sent behind others rather than wait', async (t) => {
  const pool = poolOf(t, 2)
  const history = new RunHistory()
  for (let time = 0; time < 20; time++) history.note(0.4, 100)
  const reads = Array.from({ length: 8 }, (_, index) => share(t, pool, [pidAnd(String(index))], history))
  const outcomes = await Promise.all(reads.map(({ outcome }) => outcome))
  t.strictSame(
    outcomes.map(({ texts: [, text] }) => text),
    ['0', '1', '2', '3', '4', '5', '6', '7'],
  )
  t.equal(new Set(outcomes.map(({ texts: [pid] }) => pid)).size, 2, 'on both')
  // What was noted of the reads above depends on the machine.
  const known = new RunHistory()
  for (let time = 0; time < 20; time++) known.note(0.4, 100)
  const crowd = Array.from({ length: 60 }, () => share(t, pool, [pidAnd('')], known))
  t.ok(
    crowd.some(({ wasTaken }) => !wasTaken),
    'but not behind too many',
  )
  await Promise.all(crowd.map(({ outcome }) => outcome))
})

t.test('errors of a lane are those of statements', async (t) => {
  const pool = poolOf(t)
  await t.rejects(share(t, pool, [statement('select nothing')]).outcome, StatementError)
})

const write = (t: Test, pool: ConnectionPool, history: RunHistory, ...part: readonly PipelineStatement[]): Read =>
  share(t, pool, part, history, true, 'write')

/** Shares a write that does nothing until there are gates. */
async function openGates(t: Test, pool: ConnectionPool): Promise<void> {
  while (!write(t, pool, trusted(), statement('select 1')).wasTaken) await pause(5)
  while (pool.idleCount < pool.totalCount) await pause(5)
}

const insert = (value: string) => statement('insert into written (value) values ($1) returning value', value)

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
    const history = trusted()
    const values = Array.from({ length: 8 }, (_, index) => String(index))
    const writes = values.map((value) => write(t, pool, history, insert(value)))
    const read = share(t, pool, [pidAnd('x')], history)
    for (const [index, { outcome }] of writes.entries()) t.match(await outcome, { texts: [String(index)] })
    await read.outcome
    t.ok(pool.totalCount < 9)
    t.strictSame(await rowsWritten(), values)
  })

  t.test('an error undoes its own write only', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const history = trusted()
    const [first, second, third] = await Promise.allSettled([
      write(t, pool, history, insert('a')).outcome,
      write(t, pool, history, insert('b'), statement('select 1 / $1::int', '0')).outcome,
      write(t, pool, history, insert('c')).outcome,
    ])
    t.match([first, second, third], [
      { status: 'fulfilled' }, { reason: { server: { code: '22012' } } }, { status: 'fulfilled' },
    ]) // prettier-ignore
    t.strictSame(await rowsWritten(), ['a', 'c'])
  })

  t.test('one that waits for a lock holds up the others for a moment only', async (t) => {
    const pool = poolOf(t, 6)
    await openGates(t, pool)
    const locker = await pool.connect()
    await locker.query('begin')
    await locker.query('select from locked where id in (1, 2) for update')
    const history = trusted()
    const count = (id: string) => statement('update locked set times = times + 1 where id = $1 returning id', id)
    const blocked = [write(t, pool, history, count('1')), write(t, pool, history, count('2'))]
    const others = ['3', '4', '5'].map((id) => write(t, pool, history, count(id)))
    await Promise.race(others.map(({ outcome }) => outcome))
    t.ok(
      others.every(({ isMoved }) => isMoved()),
      'all at once',
    )
    await Promise.all(others.map(({ outcome }) => outcome))
    t.notOk(history.isTrusted, 'the next ones are not sent behind each other')
    await locker.query('commit')
    locker.release()
    const [front, second] = await Promise.all(blocked.map(({ outcome }) => outcome))
    t.match([front, second], [{ wasMoved: false }, { wasMoved: true }], 'the one in front goes on where it is')
    const { rows } = await database.query('select sum(times)::int as sum, max(times)::int as max from locked')
    t.strictSame(rows, [{ sum: 5, max: 1 }], 'each was done once')
  })

  t.test('one that waits for a lock holds up nobody either when the gates are lost', async (t) => {
    const pool = poolOf(t, 6)
    await openGates(t, pool)
    const locker = await pool.connect()
    await locker.query('begin')
    await locker.query('select from locked where id = 1 for update')
    const history = trusted()
    const count = (id: string) => statement('update locked set times = times + 1 where id = $1 returning id', id)
    const front = write(t, pool, history, count('1'))
    const others = ['2', '3', '4'].map((id) => write(t, pool, history, count(id)))
    // In one call: those behind the front are moved after a moment.
    await database.query(`do $$ begin
      while not exists (${rowWaits}) loop
        perform pg_sleep(0.001);
        perform pg_stat_clear_snapshot();
      end loop;
      perform * from (${endKeepers}) as ended;
    end $$`)
    for (const { outcome } of others) t.match(await outcome, { wasMoved: true })
    await locker.query('commit')
    locker.release()
    t.match(await front.outcome, { wasMoved: false })
    t.ok(await until(() => pool.idleCount === pool.totalCount))
    const { rows } = await database.query('select sum(times)::int as sum, max(times)::int as max from locked')
    t.strictSame(rows, [{ sum: 4, max: 1 }], 'each was done once')
  })

  t.test('one that ends while the others are moved', async (t) => {
    const pool = poolOf(t, 3)
    await openGates(t, pool)
    await database.query('create sequence if not exists runs; select setval($$runs$$, 1, false)')
    let expected = 0
    const values: string[] = []
    for (let round = 0; round < 8; round++) {
      const history = trusted()
      const batch = Array.from({ length: 5 }, (_, index) => `${round} ${index}`)
      values.push(...batch)
      expected += batch.length
      // About as long as the patience.
      const slow = statement(`select pg_sleep(${0.097 + round * 0.001})`)
      const count = statement("select nextval('runs')")
      const writes = batch.map((value, index) =>
        index % 2 === 0
          ? write(t, pool, history, count, slow, insert(value))
          : write(t, pool, history, count, insert(value)),
      )
      for (const { outcome, wasTaken } of writes) {
        t.ok(wasTaken)
        await outcome
      }
      await openGates(t, pool)
    }
    t.strictSame(await rowsWritten(), values.sort(), 'each was written once')
    const { rows } = await database.query('select last_value::int as runs from runs')
    t.strictSame(rows, [{ runs: expected }], 'and none was begun twice')
  })

  t.test('one that is moved never begins, whatever becomes of the gates', async (t) => {
    const pool = poolOf(t, 6)
    await openGates(t, pool)
    const locker = await pool.connect()
    await locker.query('begin')
    await locker.query('select from locked where id = 1 for update')
    const history = trusted()
    const count = (id: string) => statement('update locked set times = times + 1 where id = $1 returning id', id)
    const front = write(t, pool, history, count('1'))
    const others = ['2', '3', '4'].map((id) => write(t, pool, history, count(id)))
    await Promise.all(others.map(({ outcome }) => outcome))
    const keepers = await database.query(endKeepers)
    t.ok(keepers.rows.length > 0)
    await pause(50)
    await locker.query('commit')
    locker.release()
    t.match(await front.outcome, { wasMoved: false })
    while (pool.idleCount < pool.totalCount) await pause(5)
    const { rows } = await database.query('select sum(times)::int as sum, max(times)::int as max from locked')
    t.strictSame(rows, [{ sum: 4, max: 1 }], 'each was done once')
  })

  t.test('without gates nothing begins', async (t) => {
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

  t.test('the server’s own cancellations are told', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const timeout = statement("select set_config('statement_timeout', '20ms', true)")
    const slow = write(t, pool, trusted(), timeout, statement('select pg_sleep(0.2)'), insert('a'))
    t.match(await slow.outcome.catch((error: unknown) => error), { server: { code: '57014' } })
    t.strictSame(await rowsWritten(), [])
  })

  t.test('nobody knows what became of writes on a lost connection', async (t) => {
    const pool = poolOf(t)
    await openGates(t, pool)
    const history = trusted()
    const front = write(t, pool, history, statement('select pg_terminate_backend(pg_backend_pid())'), insert('a'))
    const behind = write(t, pool, history, insert('b'))
    await t.rejects(front.outcome)
    // On a machine where the front takes long to be lost, the one behind it is moved before.
    if (behind.isMoved()) await behind.outcome
    else await t.rejects(behind.outcome)
    t.strictSame(await rowsWritten(), behind.isMoved() ? ['b'] : [])
  })

  t.test('are not shared where statements are not prepared: there may be a pooler', async (t) => {
    const pool = poolOf(t, 2)
    await openGates(t, pool)
    t.notOk(share(t, pool, [insert('a')], trusted(), false, 'write').wasTaken)
    t.ok(share(t, pool, [pidAnd('x')], trusted(), false).wasTaken)
  })
})
