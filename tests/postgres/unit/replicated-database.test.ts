// Which server runs a transaction, with servers that are simulated.
import t, { type Test } from 'tap'
import { unreachable, type WalPosition } from '../../../server/common/wal-position.ts'
import { connectionErrors } from '../../../server/postgres/connection-error.ts'
import { StatementError } from '../../../server/postgres/protocol/statement-error.ts'
import type { ReplicaDatabase } from '../../../server/postgres/replicas/replica.ts'
import {
  mostWaiting,
  ReplicatedDatabase,
  type ReplicatedOptions,
} from '../../../server/postgres/replicas/replicated-database.ts'
import type { EngineDatabase, RestTransaction, TransactionResult } from '../../../server/rest/database.ts'
import { until } from '../../support/until.ts'

type Server = {
  lsn: number
  timeline: number
  isStandby: boolean
  identity: string
  /** Thrown by checks. */
  fault: Error | undefined
  run: (transaction: RestTransaction) => Promise<TransactionResult>
}

const named = (name: string) => (): Promise<TransactionResult> => Promise.resolve({ rows: [[[Buffer.from(name)]]] })
const serverNamed = (name: string): Server => ({
  lsn: 100,
  timeline: 1,
  isStandby: name !== 'primary',
  identity: 'cluster database',
  fault: undefined,
  run: named(name),
})

const lsnText = (lsn: number): string => `0/${lsn.toString(16)}`
const fileOf = ({ timeline }: Server): string => timeline.toString(16).padStart(8, '0') + '0'.repeat(16)

const options = { prepare: true, sharing: 'all' } as const
const transaction: RestTransaction = {
  settings: { text: '', values: [], hasNoEffect: true, checksSession: false, texts: { guarded: () => '' } },
  before: [],
  statements: [],
  isolation: null,
  readOnly: true,
  hasNoEffect: true,
  rollback: false,
  checkResult: undefined,
  stats: undefined,
  caller: { isGone: false, onGone: () => () => undefined },
  mayUseReplica: true,
}

/** A database of simulated servers, once the replicas have been checked. */
async function simulate(t: Test, more: Partial<ReplicatedOptions> = {}) {
  const primary = serverNamed('primary')
  const replicas = [serverNamed('one'), serverNamed('two')] as const
  let positionFault: Error | undefined
  const ask = (server: Server) => () =>
    server.fault
      ? Promise.reject(server.fault)
      : Promise.resolve({
          standby: server.isStandby,
          identity: server.identity,
          lsn: lsnText(server.lsn),
          timeline: String(server.timeline),
          file: fileOf(server),
          has_more: false,
        })
  const checker = (server: Server) => ({ ask: ask(server), close: () => undefined })
  const engine = {
    run: (it: RestTransaction) => primary.run(it),
    batch: <T>(_: unknown, use: (run: never) => Promise<T>) => use(undefined as never),
    query: (text: string) => {
      if (positionFault) return Promise.reject(positionFault)
      if (text.includes('pg_db_role_setting')) return Promise.resolve([{ may_happen: false }])
      return Promise.resolve([{ flushed: lsnText(primary.lsn), is_asynchronous: false, file: fileOf(primary) }])
    },
  } as unknown as EngineDatabase
  const openOf = (server: Server) => (): ReplicaDatabase => ({
    run: (it) => server.run(it),
    query: () => Promise.resolve([{ standby: server.isStandby, lsn: lsnText(server.lsn) }]),
    renewConnections: () => Promise.resolve(),
    close: () => Promise.resolve(),
  })
  const database = new ReplicatedDatabase(engine, {
    checker: checker(primary),
    replicas: replicas.map((server, index) => ({
      name: `replica ${index + 1}`,
      open: openOf(server),
      checker: checker(server),
    })),
    maxLag: 10,
    wait: 20,
    checkInterval: 5,
    ...more,
  })
  // The timers of the checks do not keep the process alive.
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => {
    clearInterval(alive)
    return database.close()
  })
  database.start()
  const usable = (...expected: boolean[]): Promise<boolean> =>
    until(() => database.statistics.every(({ isUsable }, index) => isUsable === expected[index]))
  await usable(true, true)
  const written: WalPosition[] = []
  const run = async (own: Partial<RestTransaction> = {}, after?: WalPosition): Promise<string> => {
    const consistency = { after, written: (position: WalPosition) => void written.push(position) }
    const { rows } = await database.run({ ...transaction, consistency, ...own }, options)
    return String(rows[0]?.[0]?.[0])
  }
  return {
    ...{ database, primary, replicas, usable, run, written },
    failPositions: (error: Error) => (positionFault = error),
  }
}

const failed = (code: string, severity = 'ERROR'): StatementError =>
  new StatementError({ severity, code, message: code }, { part: 0, statement: 0, isBound: true })

t.test('only certain reads run on replicas, which take turns', async (t) => {
  const { run } = await simulate(t)
  const names = [await run(), await run(), await run(), await run()]
  t.strictSame([...new Set(names)].sort(), ['one', 'two'])
  for (const own of [
    { mayUseReplica: false },
    { readOnly: false },
    { hasNoEffect: false },
    { isolation: 'serializable' },
    { claim: {} as RestTransaction['claim'] },
  ] as const) {
    t.equal(await run(own), 'primary', JSON.stringify(own))
  }
  t.equal((await run({ isolation: 'repeatable read' })) === 'primary', false)
})

t.test('the replica with the fewest running reads is chosen', async (t) => {
  const { run, replicas } = await simulate(t)
  const [one] = replicas
  let finish: ((result: TransactionResult) => void) | undefined
  one.run = () => new Promise((resolve) => (finish = resolve))
  const blocked = [run(), run()]
  await until(() => finish !== undefined)
  for (let time = 0; time < 6; time++) t.equal(await run(), 'two')
  finish?.({ rows: [[[Buffer.from('one')]]] })
  t.ok((await Promise.all(blocked)).includes('one'))
})

t.test('the position of a client', async (t) => {
  const { run, replicas, primary, usable } = await simulate(t)
  const [one, two] = replicas
  primary.lsn = 120
  t.equal(await run({}, { timeline: 1, lsn: 120n }), 'primary', 'no replica has it')
  const waiting = run({}, { timeline: 1, lsn: 120n })
  two.lsn = 130
  one.lsn = 110
  t.equal(await waiting, 'two', 'one has it in time')
  for (let time = 0; time < 4; time++) t.equal(await run({}, { timeline: 1, lsn: 125n }), 'two')
  t.equal(await run({}, unreachable), 'primary')
  t.equal(await run({}, { timeline: 2, lsn: 1n }), 'primary', 'a position of a later timeline')
  primary.timeline = 2
  await usable(false, false)
  t.equal(await run(), 'primary', 'after a failover')
  two.timeline = 2
  await usable(false, true)
  t.equal(await run({}, { timeline: 2, lsn: 1n }), 'two')
})

t.test('reads that wait for a position are limited, and end with their callers', async (t) => {
  const { run, replicas } = await simulate(t, { wait: 60_000 })
  const caller = { isGone: false, onGone: () => () => undefined }
  const answers: string[] = []
  const left = Array.from({ length: mostWaiting }, () =>
    run({ caller }, { timeline: 1, lsn: 500n }).then((name) => answers.push(name)),
  )
  t.equal(await run({}, { timeline: 1, lsn: 500n }), 'primary', 'no further one waits')
  t.not(await run(), 'primary', 'reads without a position')
  t.not(await run({}, { timeline: 1, lsn: 90n }), 'primary', 'a position that all replicas have')
  t.strictSame(answers, [])
  caller.isGone = true
  await Promise.all(left)
  t.strictSame([...new Set(answers)], ['primary'], 'which rejects the reads of disconnected clients')
  const next = run({}, { timeline: 1, lsn: 500n })
  replicas[1].lsn = 500
  t.equal(await next, 'two', 'there is a place again')
})

t.test('no position makes a read wait longer than the limit', async (t) => {
  const { run } = await simulate(t, { wait: 50 })
  for (const lsn of [101n, 2n ** 40n, unreachable.lsn]) {
    const started = performance.now()
    t.equal(await run({}, { timeline: 1, lsn }), 'primary')
    const took = performance.now() - started
    t.ok(took > 40, `${lsn}: ${took} ms`)
  }
})

t.test('positions of writes', async (t) => {
  const { run, database, primary, written, failPositions } = await simulate(t)
  const write = { readOnly: false, hasNoEffect: false }
  primary.lsn = 200
  await run(write)
  t.strictSame(written, [{ timeline: 1, lsn: 200n }])
  await run({ ...write, rollback: true })
  await run({ hasNoEffect: false })
  await run({ readOnly: false, hasNoEffect: true })
  t.equal(written.length, 1, 'nothing else has a position')
  const consistency = { after: undefined, written: (position: WalPosition) => void written.push(position) }
  const batch = {
    isolation: null,
    readOnly: false,
    rollback: false,
    caller: transaction.caller,
    consistency,
    maxBytes: 1,
  }
  t.equal(await database.batch(batch, () => Promise.resolve('done'), options), 'done')
  t.equal(written.length, 2)
  for (const [error, expected] of [
    [failed('23505'), 2],
    [connectionErrors.timedOut(), 2],
    [connectionErrors.notConnected('', undefined), 2],
    [new Error('Connection terminated unexpectedly'), 3],
    [failed('57P01', 'FATAL'), 4],
  ] as const) {
    primary.run = () => Promise.reject(error)
    await t.rejects(run(write), error)
    t.equal(written.length, expected, error.message)
  }
  t.strictSame(written.at(-1), unreachable, 'the commit may have taken effect')
  primary.run = named('primary')
  failPositions(new Error('no connection'))
  t.equal(await run(write), 'primary', 'a committed write is acknowledged')
  t.strictSame(written.at(-1), unreachable)
})

t.test('errors of a replica', async (t) => {
  const { run, replicas, primary, database, usable } = await simulate(t)
  const fail = (error: Error): void => {
    for (const replica of replicas) replica.run = () => Promise.reject(error)
  }
  const all = ['25006', '40001', '42P01', '22P02', '55000', 'PGRST']
  for (const code of all) {
    fail(failed(code))
    t.equal(await run(), 'primary', code)
  }
  t.equal(
    database.statistics.reduce((sum, { reruns }) => sum + reruns, 0),
    all.length,
  )
  fail(failed('57014'))
  await t.rejects(run(), { message: '57014' })
  const gone = connectionErrors.callerGone()
  fail(gone)
  await t.rejects(run(), gone)
  const refusal = new Error('too expensive')
  for (const replica of replicas) {
    replica.run = (it) => Promise.reject(it.precheck?.check([]) ?? new Error('there is no check'))
  }
  await t.rejects(run({ precheck: { statements: [], check: () => refusal } }), refusal)
  await usable(true, true)
  fail(connectionErrors.notConnected('refused', undefined))
  for (const replica of replicas) replica.fault = new Error('refused')
  t.equal(await run(), 'primary')
  t.equal(await run(), 'primary')
  t.strictSame(
    database.statistics.map(({ isUsable }) => isUsable),
    [false, false],
    'a lost replica is not used',
  )
  for (const replica of replicas) replica.fault = undefined
  await usable(true, true)
  primary.run = () => Promise.reject(connectionErrors.notConnected('the primary is lost', undefined))
  fail(failed('22P02'))
  await t.rejects(run(), { message: '22P02' }, 'without the primary, the answer of the replica')
  fail(failed('40001'))
  await t.rejects(run(), { message: 'the primary is lost' })
})

t.test('a replica that does not respond is abandoned', async (t) => {
  const { run, replicas, usable } = await simulate(t)
  const seen: RestTransaction[] = []
  for (const replica of replicas) replica.run = (it) => new Promise(() => seen.push(it))
  const reading = run()
  await until(() => seen.length === 1)
  for (const replica of replicas) replica.fault = new Error('the server does not respond')
  t.equal(await reading, 'primary')
  t.equal(seen[0]?.caller.isGone, true, 'what runs there is cancelled')
  for (const replica of replicas) replica.fault = undefined
  t.ok(await usable(true, true))
})

t.test('servers that are no replicas', async (t) => {
  const { replicas, usable } = await simulate(t)
  replicas[0].isStandby = false
  replicas[1].identity = 'another cluster'
  t.ok(await usable(false, false))
})
