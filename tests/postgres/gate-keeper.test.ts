// Gates are closed reliably, or the caller learns that they are not, even if the connection that keeps them fails.
import t, { type Test } from 'tap'
import pg from 'pg'
import { calledOff, GateKeeper, mayBegin, type Gate } from '../../server/postgres/sharing/gate.ts'
import { createDatabase, withClient } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
t.teardown(() => database.drop())

type Fault = {
  /** Statements with this text never get a response. */
  stalls?: string
  /** Statements with this text fail. */
  fails?: string
  /** The server is disconnected before the connection can be closed. */
  isCutOff?: boolean
  /** Set once the connection is closed. */
  isEnded?: boolean
}

/** A keeper whose connections have one of the faults each; further connections have none. */
function keeperWith(t: Test, name: string, ...faults: Fault[]): GateKeeper {
  const config = { connectionString: database.adminUri, application_name: name }
  const keeper = new GateKeeper(() => {
    const client = new pg.Client(config)
    const fault = faults.shift() ?? {}
    const { stalls, fails, isCutOff } = fault
    const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<pg.QueryResult>
    const end = client.end.bind(client)
    const faulty = (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
      if (stalls !== undefined && text.includes(stalls)) return new Promise(() => undefined)
      if (fails !== undefined && text.includes(fails)) return Promise.reject(new Error('fails'))
      return query(text, values)
    }
    const ends = async (): Promise<void> => {
      if (isCutOff !== true) await end()
      fault.isEnded = true
    }
    if (isCutOff === true) t.teardown(end)
    return Object.assign(client, { query: faulty, end: ends })
  })
  t.teardown(() => keeper.end())
  return keeper
}

async function gateOf(t: Test, keeper: GateKeeper): Promise<Gate> {
  let gate: Gate | undefined
  t.ok(await until(() => (gate ??= keeper.claim()) !== undefined))
  if (!gate) throw new Error('there is no gate')
  return gate
}

const sessions = async (name: string): Promise<readonly number[]> => {
  const { rows } = await database.query('select pid from pg_stat_activity where application_name = $1', [name])
  return rows.map(({ pid }) => Number(pid))
}

/** Starts a transaction like a shared connection does. */
const begin = (client: pg.Client, gate: Gate, number: number) =>
  client.query(`select ${mayBegin('$1', '$2')}`, [gate.id, number])

/** Runs transaction 1 until `use` is done. */
const whileRunning = (gate: Gate, use: () => Promise<void>) =>
  withClient(database.adminUri, async (client) => {
    await client.query('begin')
    await begin(client, gate, 1)
    await use()
    await client.query('rollback')
  })

const mayNotBegin = (t: Test, gate: Gate, number: number) =>
  withClient(database.adminUri, (client) => t.rejects(begin(client, gate, number), { code: calledOff }))

const faults: readonly (readonly [string, Fault[], (name: string) => Promise<unknown>])[] = [
  ['nothing fails', [], () => Promise.resolve()],
  [
    'its session was ended',
    [],
    async (name) => {
      for (const pid of await sessions(name)) await database.query('select pg_terminate_backend($1)', [pid])
    },
  ],
  ['it does not respond', [{ stalls: 'is_running' }], () => Promise.resolve()],
  [
    'it does not respond, and the server does not notice its end',
    [{ stalls: 'is_running', isCutOff: true }],
    () => Promise.resolve(),
  ],
  ['it fails', [{ fails: 'is_running' }], () => Promise.resolve()],
]

for (const [number, [fault, clients, act]] of faults.entries()) {
  t.test(`the gate behind the running transaction is closed: ${fault}`, async (t) => {
    const name = `keeper ${number}`
    const keeper = keeperWith(t, name, ...clients)
    const gate = await gateOf(t, keeper)
    await whileRunning(gate, async () => {
      await act(name)
      t.equal(await gate.closeBehind(1), true)
      await mayNotBegin(t, gate, 2)
      t.equal(await gate.closeBehind(1), true, 'it stays closed')
    })
    await mayNotBegin(t, gate, 2)
    t.equal(await gate.closeBehind(1), false, 'transaction 2 could have started')
  })
}

t.test('without a connection, a gate is not reported as closed', async (t) => {
  const keeper = keeperWith(t, 'keeper x', { stalls: 'is_running' }, { fails: 'set_config' })
  const gate = await gateOf(t, keeper)
  await whileRunning(gate, async () => {
    t.equal(await gate.closeBehind(1), false)
    t.equal(await gate.closeBehind(1), true, 'until there is a connection')
  })
})

t.test('a finished transaction is not mistaken for a running one', async (t) => {
  const keeper = keeperWith(t, 'keeper y')
  const gate = await gateOf(t, keeper)
  await whileRunning(gate, async () => undefined)
  t.equal(await gate.closeBehind(1), false)
  await mayNotBegin(t, gate, 2)
})

t.test('a connection that fails during set-up is closed', async (t) => {
  const name = 'keeper z'
  const fault: Fault = { fails: 'set_config' }
  const keeper = keeperWith(t, name, fault)
  t.equal(keeper.claim(), undefined)
  t.ok(await until(() => fault.isEnded === true))
  t.ok(await until(async () => (await sessions(name)).length === 0))
})

t.test('closing the keeper while it connects leaves no connection', async (t) => {
  const name = 'keeper end'
  const fault: Fault = {}
  const keeper = keeperWith(t, name, fault)
  t.equal(keeper.claim(), undefined)
  await keeper.end()
  t.equal(fault.isEnded, true)
  t.ok(await until(async () => (await sessions(name)).length === 0))
})
