// Reading changes of rows from the log of a database.
import t, { type Test } from 'tap'
import { connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { LogReader, type LogReaderOptions, type LogState } from '../../server/postgres/replication/log-reader.ts'
import type { LogTransaction, LogTuple } from '../../server/postgres/replication/log-transaction.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'
import { startReplication } from '../support/replication.ts'
import { until } from '../support/until.ts'

const publication = 'supabase_realtime'

type Reading = {
  readonly reader: LogReader
  readonly transactions: LogTransaction[]
  readonly states: LogState[]
  /** Resolves when it has reported a state of a kind. */
  readonly reached: (kind: LogState['kind']) => Promise<boolean>
}

function read(t: Test, database: TestDatabase, options: Partial<LogReaderOptions> = {}): Reading {
  const transactions: LogTransaction[] = []
  const states: LogState[] = []
  const reader = new LogReader({
    connection: connectionConfig(database.adminUri, {}),
    publications: [publication],
    mostBytes: () => 64 * 1024 * 1024,
    onTransaction: (transaction) => void transactions.push(transaction),
    onState: (state) => states.push(state),
    ...options,
  })
  reader.start()
  t.teardown(() => reader.stop())
  return { reader, transactions, states, reached: (kind) => until(() => states.at(-1)?.kind === kind) }
}

async function publishing(t: Test, tables: string): Promise<TestDatabase> {
  const database = await createDatabase()
  t.teardown(database.drop)
  await database.query(tables)
  await database.query(`create publication ${publication} for all tables`)
  return database
}

const texts = (tuple: LogTuple | undefined): unknown =>
  tuple?.map((value) => (value === null || value === undefined ? value : value.toString()))

/** The changes of the transactions, in short. */
const changes = (transactions: readonly LogTransaction[]): unknown =>
  transactions.flatMap((transaction) =>
    transaction.changes.map((change) =>
      change.kind === 'insert'
        ? ['insert', texts(change.row)]
        : change.kind === 'delete'
          ? ['delete', texts(change.old)]
          : ['update', texts(change.old), texts(change.row)],
    ),
  )

const slots = async (database: TestDatabase): Promise<readonly Record<string, unknown>[]> =>
  (
    await database.query(
      "select slot_name, temporary, plugin, active_pid as pid, confirmed_flush_lsn::text as confirmed from pg_replication_slots where database = current_database() and slot_name like 'rowhouse%'",
    )
  ).rows

t.test('changes of all kinds, in transactions', async (t) => {
  const database = await publishing(t, 'create table a (id int primary key, name text)')
  const { reader, transactions, states, reached } = read(t, database)
  await reached('reading')
  const before = Date.now()
  await database.query(
    'begin; insert into a values (1, null), (2, $$grün$$); update a set name = $$x$$ where id = 1; commit',
  )
  await database.query('begin; insert into a values (3, null); rollback')
  await database.query('update a set id = 4 where id = 2; delete from a where id = 1; truncate a')
  await until(() => transactions.length === 2)
  t.strictSame(changes(transactions), [
    ['insert', ['1', null]],
    ['insert', ['2', 'grün']],
    ['update', undefined, ['1', 'x']],
    ['update', ['2', null], ['4', 'grün']],
    ['delete', ['1', null]],
  ])
  const [first, second] = transactions
  if (!first || !second) throw new Error('there are two')
  t.match(first.changes[0]?.relation, {
    schema: 'public',
    name: 'a',
    replicaIdentity: 'default',
    columns: [
      { name: 'id', type: 23, isKey: true },
      { name: 'name', type: 25, isKey: false },
    ],
  })
  t.ok(first.commit < first.end && first.end <= second.commit, 'positions are in order')
  const [state] = states
  t.ok(state?.kind === 'reading' && state.from <= first.commit)
  const time = Number(first.time / 1000n)
  t.ok(time > before - 1000 && time < Date.now() + 1000, 'the time of the commit')
  const { rows } = await database.query('insert into a values (9) returning pg_current_xact_id()::text as xid')
  await until(() => transactions.length === 3)
  t.equal(String(transactions[2]?.xid), rows[0]?.xid)
  await until(() => reader.lag.bytes === 0 && reader.position >= (transactions[2]?.end ?? 0n))
  t.strictSame(reader.lag, { bytes: 0, seconds: 0 })
})

t.test('replica identities', async (t) => {
  const database = await publishing(
    t,
    `create table everything (id int primary key, name text); alter table everything replica identity full;
     create table by_index (id int primary key, code text not null); create unique index codes on by_index (code);
     alter table by_index replica identity using index codes;
     create table nothing (id int primary key); alter table nothing replica identity nothing`,
  )
  const { transactions, reached } = read(t, database)
  await reached('reading')
  await database.query(
    `insert into everything values (1, 'a'); update everything set name = 'b'; delete from everything`,
  )
  await database.query(`insert into by_index values (1, 'a'); update by_index set code = 'b'; delete from by_index`)
  await database.query('insert into nothing values (1)')
  await t.rejects(database.query('delete from nothing'), /does not have a replica identity/)
  await until(() => transactions.length === 3)
  t.strictSame(changes(transactions), [
    ['insert', ['1', 'a']],
    ['update', ['1', 'a'], ['1', 'b']],
    ['delete', ['1', 'b']],
    ['insert', ['1', 'a']],
    ['update', [null, 'a'], ['1', 'b']],
    ['delete', [null, 'b']],
    ['insert', ['1']],
  ])
  t.strictSame(
    transactions.map(({ changes: all }) => all[0]?.relation.replicaIdentity),
    ['full', 'index', 'nothing'],
  )
})

t.test('large values that have not changed, and what values are written like', async (t) => {
  const database = await publishing(
    t,
    `create table a (id int primary key, body text, at timestamptz, span interval, bytes bytea, number float8);
     alter table a alter body set storage external`,
  )
  await database.query(
    `alter database ${database.name} set datestyle = 'german'; alter database ${database.name} set intervalstyle = 'iso_8601';
     alter database ${database.name} set bytea_output = 'escape'; alter database ${database.name} set extra_float_digits = -3`,
  )
  const { transactions, reached } = read(t, database)
  await reached('reading')
  await database.query(
    `insert into a values (1, repeat('x', 10000), '2026-08-21 10:11:12.5+00', '1 day 2 hours', '\\x00ff', 0.1::float8 + 0.2)`,
  )
  await database.query('update a set number = 1')
  await until(() => transactions.length === 2)
  t.strictSame(changes(transactions), [
    [
      'insert',
      ['1', 'x'.repeat(10_000), '2026-08-21 10:11:12.5+00', '1 day 02:00:00', '\\x00ff', '0.30000000000000004'],
    ],
    ['update', undefined, ['1', undefined, '2026-08-21 10:11:12.5+00', '1 day 02:00:00', '\\x00ff', '1']],
  ])
})

t.test('a table that is changed is described again', async (t) => {
  const database = await publishing(t, 'create table a (id int primary key)')
  const { transactions, reached } = read(t, database)
  await reached('reading')
  await database.query('insert into a values (1)')
  await database.query('insert into a values (2)')
  const statements = [
    'alter table a add column b int',
    'alter table a rename column b to c',
    'grant select on a to public',
    'alter table a enable row level security',
    'create policy p on a using (true)',
  ]
  for (const [index, statement] of statements.entries()) {
    await database.query(statement)
    await database.query(`insert into a values (${index + 3})`)
  }
  await until(() => transactions.length === 2 + statements.length)
  const relations = transactions.map(({ changes: all }) => all[0]?.relation)
  t.equal(relations[0], relations[1])
  for (const [index, statement] of statements.entries()) t.not(relations[index + 2], relations[index + 1], statement)
  t.strictSame(
    relations.at(-1)?.columns.map(({ name }) => name),
    ['id', 'c'],
  )
})

t.test('100,000 rows in one transaction', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key, name text)')
  const { transactions, reached } = read(t, database)
  await reached('reading')
  await database.query("insert into a select n, 'name ' || n from generate_series(1, 100000) as n")
  await database.query('insert into a values (0)')
  await until(() => transactions.length === 2)
  t.equal(transactions[0]?.changes.length, 100_000)
  t.equal(transactions[0]?.isTooLarge, false)
  const last = transactions[0]?.changes.at(-1)
  t.strictSame(last?.kind === 'insert' && texts(last.row), ['100000', 'name 100000'])
})

t.test('of a transaction that is too large, no changes are kept', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key, name text); create table b (id int)')
  const { transactions, reached } = read(t, database, { mostBytes: () => 1000 })
  await reached('reading')
  // The second table is described within the transaction, after it has become too large.
  await database.query("insert into a select n, 'name' from generate_series(1, 1000) as n; insert into b values (1)")
  await database.query('insert into b values (2)')
  await until(() => transactions.length === 2)
  t.match(transactions, [
    { isTooLarge: true, changes: [] },
    { isTooLarge: false, changes: [{ kind: 'insert' }] },
  ])
  t.equal(transactions[0]?.changes.length, 0)
})

t.test('a slow receiver gets one transaction after the other, and costs no memory', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key, body text)')
  const received: number[] = []
  const release: (() => void)[] = []
  let busy = 0
  const { reader, reached } = read(t, database, {
    onTransaction: async ({ changes: all }) => {
      busy++
      t.equal(busy, 1)
      const [change] = all
      if (change?.kind === 'insert') received.push(Number(change.row[0]?.toString()))
      if (received.length === 1) await new Promise<void>((resolve) => release.push(resolve))
      else await Promise.resolve()
      busy--
    },
  })
  await reached('reading')
  const before = process.memoryUsage().rss
  // 100 MB.
  for (let id = 0; id < 200; id++) {
    await database.query(
      `insert into a select ${id}, string_agg(md5(random()::text), '') from generate_series(1, 16000)`,
    )
  }
  const { confirmed } = (await slots(database))[0] ?? {}
  t.strictSame(received, [0])
  await until(() => reader.lag.seconds > 0)
  t.ok(process.memoryUsage().rss - before < 60 * 1024 * 1024, 'it waits on the server')
  release[0]?.()
  await until(() => received.length === 200)
  t.strictSame(
    received,
    Array.from({ length: 200 }, (_, id) => id),
    'in order, nothing is missing',
  )
  await until(async () => (await slots(database))[0]?.confirmed !== confirmed)
})

t.test('the server waits for a receiver that takes longer than its timeout', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key, body text)')
  let isFirst = true
  const { states, reached } = read(t, database, {
    connection: connectionConfig(`${database.adminUri}?options=-c%20wal_sender_timeout%3D2s`, {}),
    onTransaction: async () => {
      if (isFirst) await new Promise((resolve) => setTimeout(resolve, 5000))
      isFirst = false
    },
  })
  await reached('reading')
  await database.query('insert into a select n, repeat(md5(n::text), 30) from generate_series(1, 1) as n')
  await database.query('insert into a select n, repeat(md5(n::text), 30) from generate_series(2, 20000) as n')
  await new Promise((resolve) => setTimeout(resolve, 8000))
  t.match(states, [{ kind: 'reading' }])
  t.equal(states.length, 1, 'nor does it end an idle connection')
})

t.test('a server that does not respond', { timeout: 300_000 }, async (t) => {
  const { primary } = await startReplication(t, 0)
  await primary.query(`create publication ${publication} for all tables`)
  const states: LogState[] = []
  const reader = new LogReader({
    connection: connectionConfig(primary.uri(), {}),
    publications: [publication],
    mostBytes: () => 1000,
    longestSilence: 3000,
    onTransaction: () => undefined,
    onState: (state) => states.push(state),
  })
  reader.start()
  await until(() => states.at(-1)?.kind === 'reading')
  await new Promise((resolve) => setTimeout(resolve, 5000))
  t.equal(states.length, 1, 'an idle one does')
  const thaw = await primary.freeze()
  await until(() => states.length > 1)
  t.match(states[1], { kind: 'lost', message: /^the server has not responded for [34] seconds$/ })
  thaw()
  await until(() => states.at(-1)?.kind === 'reading')
  await reader.stop()
})

t.test('what is not published advances the position, too, and is confirmed', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key)')
  await database.query(`drop publication ${publication}; create publication ${publication}`)
  const { reader, transactions, reached } = read(t, database)
  await reached('reading')
  const { position } = reader
  await database.query('insert into a select generate_series(1, 1000)')
  const { rows } = await database.query('select (pg_current_wal_insert_lsn() - $$0/0$$)::text as lsn')
  await until(() => reader.position >= BigInt(String(rows[0]?.lsn)))
  t.ok(reader.position > position)
  await until(async () => {
    const { rows: found } = await database.query(
      "select confirmed_flush_lsn - '0/0' >= $1::numeric as done from pg_replication_slots where database = current_database()",
      [rows[0]?.lsn],
    )
    return found[0]?.done === true
  })
  t.strictSame(transactions, [])
})

t.test('a lost connection is replaced, and stop leaves nothing behind', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key)')
  const { reader, transactions, states, reached } = read(t, database)
  await reached('reading')
  const [slot] = await slots(database)
  t.match(slot, { slot_name: /^rowhouse_realtime_[\da-f]{16}$/, temporary: true, plugin: 'pgoutput' })
  await t.rejects(database.query('select pg_drop_replication_slot($1)', [slot?.slot_name]), /is active/)
  await database.query('select pg_terminate_backend($1)', [slot?.pid])
  await until(() => states.length === 3)
  t.match(states, [
    { kind: 'reading' },
    { kind: 'lost', message: /terminating connection due to administrator command/, retrySeconds: 0.25 },
    { kind: 'reading' },
  ])
  t.equal((await slots(database)).length, 1)
  await database.query('insert into a values (1)')
  await until(() => transactions.length === 1)
  await reader.stop()
  await until(async () => (await slots(database)).length === 0)
  t.equal(states.length, 3, 'the end is not reported')
  t.ok(reader.position >= (transactions[0]?.end ?? 0n), 'the position stays known')
})

t.test('an error of the receiver is reported, and reading begins again', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key)')
  for (const fail of [
    () => {
      throw new Error('no')
    },
    () => Promise.reject(new Error('no')),
  ]) {
    const { reader, states, reached } = read(t, database, { onTransaction: fail })
    await reached('reading')
    await database.query('insert into a select coalesce(max(id), 0) + 1 from a')
    await until(() => states.length === 3)
    t.match(states, [{ kind: 'reading' }, { kind: 'lost', message: 'no' }, { kind: 'reading' }])
    await reader.stop()
  }
})

t.test('stop at any time', { timeout: 300_000 }, async (t) => {
  const database = await publishing(t, 'create table a (id int primary key)')
  for (const delay of [0, 1, 5, 10, 20, 40]) {
    const { reader, states } = read(t, database)
    await new Promise((resolve) => setTimeout(resolve, delay))
    const stopped = reader.stop()
    const count = states.length
    await stopped
    t.equal(states.length, count)
  }
  const closed = read(t, database, { connection: connectionConfig('postgresql://x@127.0.0.1:1/x', {}) })
  await closed.reached('lost')
  await closed.reader.stop()
  await until(async () => (await slots(database)).length === 0)
})

t.test('what is missing', { timeout: 300_000 }, async (t) => {
  const database = await createDatabase()
  t.teardown(database.drop)
  const message = ({ states }: Reading): string => {
    const state = states.at(-1)
    return state?.kind === 'unavailable' ? state.message : ''
  }

  t.test('publications', async (t) => {
    const one = read(t, database)
    await one.reached('unavailable')
    t.equal(
      message(one),
      'There is no publication supabase_realtime. Create what is missing, and add the tables whose changes clients may listen to: create publication "supabase_realtime";',
    )
    await database.query(`create publication ${publication}`)
    await one.reached('reading')
    const several = read(t, database, { publications: ['it\'s "not" there', publication] })
    await several.reached('reading')
  })

  t.test('the attribute REPLICATION', async (t) => {
    const role = `plain_${database.name}`
    await database.query(`create role ${role} login password 'x'`)
    t.teardown(() => database.query(`drop role ${role}`))
    const reading = read(t, database, { connection: connectionConfig(database.uri(role, 'x'), {}) })
    await reading.reached('unavailable')
    t.equal(
      message(reading),
      `The role ${role} may not read the log: it lacks the attribute REPLICATION. Let a superuser give it, or set REALTIME_DATABASE_URL to the connection string of a role that has it: alter role "${role}" replication;`,
    )
    await database.query(`alter role ${role} replication`)
    await reading.reached('reading')
    await reading.reader.stop()
  })

  t.test('an old transaction', async (t) => {
    await withClient(database.adminUri, async (client) => {
      await client.query('begin; create table a ()')
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      const reading = read(t, database)
      await reading.reached('unavailable')
      t.equal(
        message(reading),
        `Reading the log begins when all transactions have ended that were there before. That of the process ${rows[0]?.pid} has not ended yet. Wait, or end it: select pg_terminate_backend(${rows[0]?.pid});`,
      )
      await client.query('commit')
      await reading.reached('reading')
    })
  })
})
