// Many sessions insert into a table with a webhook at once. Each commit sends a notice, and PostgreSQL lets only one commit with
// a notice at a time; a listener that does not read keeps all of them in the queue.
import pg from 'pg'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'

const [sessions, rowsOfEach] = [40, 25]

t.test('all are committed, and each call is sent once', { timeout: 300_000 }, async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const { received, port } = await startReceiver(t, (_call, response) => response.writeHead(200).end())
  await database.query(`
    create table public.plain (id int primary key);
    create table public.orders (id int primary key);
    create trigger hook after insert on public.orders referencing new table as changed_rows for each statement
      execute function rowhouse.webhook('http://127.0.0.1:${port}/hook')`)

  // It has begun a transaction, so that it receives nothing.
  const deaf = new pg.Client({ connectionString: database.adminUri })
  await deaf.connect()
  t.teardown(() => deaf.end())
  await deaf.query('listen rowhouse_calls')
  await deaf.query('begin; select 1')

  /** Inserts rows one by one in all sessions. Returns the milliseconds of each insert. */
  const insertInto = async (table: string): Promise<number[]> => {
    const session = (number: number): Promise<number[]> =>
      withClient(database.adminUri, async (client) => {
        const times: number[] = []
        for (let row = 0; row < rowsOfEach; row++) {
          const since = performance.now()
          await client.query(`insert into public.${table} values ($1)`, [number * rowsOfEach + row])
          times.push(performance.now() - since)
        }
        return times
      })
    return (await Promise.all(Array.from({ length: sessions }, (_, number) => session(number)))).flat()
  }

  const worst = (times: readonly number[]): number => Math.max(...times)
  const plain = await insertInto('plain')
  const { logged } = await startApplication(t, database.authenticatorUri, {
    SERVICES: 'rest,webhooks',
    WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1',
  })
  const called = await insertInto('orders')
  t.comment(`slowest insert: ${Math.round(worst(plain))} ms, with a webhook ${Math.round(worst(called))} ms`)
  t.ok(worst(called) < 45_000, 'none waits for long')

  const orders = sessions * rowsOfEach
  t.ok(await until(() => received.length >= orders))
  t.ok(
    await until(
      async () => (await database.query("select from rowhouse.calls where state <> 'delivered'")).rowCount === 0,
    ),
  )
  t.equal(received.length, orders)
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, orders)
  const recordOf = (body: string): unknown =>
    (JSON.parse(body) as { readonly record: { readonly id: number } }).record.id
  t.equal(new Set(received.map(({ body }) => recordOf(body))).size, orders)
  t.strictSame(
    logged().filter(({ level }) => level === 'error'),
    [],
  )
})
