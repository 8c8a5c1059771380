// The hard end of sessions that run statements of others: several ends at once, a session that has gone, one that may not be ended.
import t from 'tap'
import { LibpqClient, connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { terminateSession, watchSession } from '../../server/postgres/connection/watched-session.ts'
import { createDatabase, withClient } from '../support/database.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
const config = connectionConfig(database.adminUri, {})

async function opened(): Promise<{ readonly client: LibpqClient; readonly pid: number }> {
  const client = new LibpqClient(config)
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { client, pid: rows[0]?.pid ?? 0 }
}

const isAlive = (pid: number): Promise<boolean> =>
  withClient(database.adminUri, async (client) => {
    const { rowCount } = await client.query('select from pg_stat_activity where pid = $1', [pid])
    return rowCount === 1
  })

const stubborn = `do $$ begin
  loop
    begin perform pg_sleep(60); exception when query_canceled then null; end;
  end loop;
end $$`

t.test('a session that catches cancellation has ended for each of several callers', async (t) => {
  const { client, pid } = await opened()
  const running = client.query(stubborn).catch((error: unknown) => error)
  t.equal(await isAlive(pid), true)
  const ends = [1, 2, 3].map(async () => {
    await terminateSession(client, config, pid)
    return isAlive(pid)
  })
  t.strictSame(await Promise.all(ends), [false, false, false])
  t.type(await running, Error)
})

t.test('a session that has gone already', async (t) => {
  const { client, pid } = await opened()
  await withClient(database.adminUri, (other) => other.query('select pg_terminate_backend($1, 10000)', [pid]))
  await terminateSession(client, config, pid)
  t.equal(await isAlive(pid), false)
})

t.test(
  'a role that may not end the session, and a database that is not reached, keep the caller no longer',
  async (t) => {
    const role = `confined_${database.name}`
    await withClient(database.adminUri, (other) => other.query(`create role ${role} login password 'secret'`))
    t.teardown(() => withClient(database.adminUri, (other) => other.query(`drop role ${role}`)))
    const confined = new URL(database.adminUri)
    Object.assign(confined, { username: role, password: 'secret' })
    for (const uri of [confined.href, 'postgresql://postgres@127.0.0.1:1/postgres']) {
      const { client, pid } = await opened()
      const running = client.query('select pg_sleep(60)').catch((error: unknown) => error)
      await terminateSession(client, connectionConfig(uri, {}), pid)
      t.type(await running, Error, 'its connection is closed at once')
      await terminateSession(client, config, pid)
      t.equal(await isAlive(pid), false)
    }
  },
)

t.test('the limits of a watched session', async (t) => {
  for (const [limits, statement, exceeded] of [
    [{ time: 100, received: 1e9 }, 'select pg_sleep(60)', 'time'],
    [{ time: 60_000, received: 1_000_000 }, "select repeat('x', 1000), generate_series(1, 100000000)", 'received'],
  ] as const) {
    const { client, pid } = await opened()
    const limit = new Promise<string>((resolve) => {
      const stop = watchSession(client, limits, resolve)
      t.teardown(stop)
    })
    const running = client.query(statement).catch((error: unknown) => error)
    t.equal(await limit, exceeded)
    await terminateSession(client, config, pid)
    t.type(await running, Error)
  }
})
