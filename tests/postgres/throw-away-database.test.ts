// Databases for one run, on the shared cluster of the tests.
import pg from 'pg'
import t from 'tap'
import { withClient } from '../../server/postgres/connection/client.ts'
import { withThrowAwayDatabases } from '../../server/postgres/throw-away-database.ts'
import { readCluster, uriOf } from '../support/cluster.ts'
import { withClient as withTestClient } from '../support/database.ts'

const { port } = await readCluster()
const uri = uriOf(port, 'postgres')

const exists = (name: string): Promise<boolean> =>
  withTestClient(
    uri,
    async (client) => (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1,
  )

t.test('a copy has the rows of its template, and both are removed', async (t) => {
  const names = await withThrowAwayDatabases(uri, {}, async ({ create, clone }) => {
    const template = await create()
    await withClient(template.connection, (client) => client.query('create table notes as select 1 as id'))
    const [one, two] = await Promise.all([clone(template), clone(template)])
    for (const { connection, name } of [one, two]) {
      const { rows } = await withClient(connection, async (client) => {
        await client.query('insert into notes values (2)')
        return client.query('select current_database() as name, sum(id)::int as sum from notes')
      })
      t.strictSame(rows, [{ name, sum: 3 }])
    }
    await one.drop()
    t.equal(await exists(one.name), false)
    await one.drop()
    return [template.name, two.name]
  })
  for (const name of names) t.equal(await exists(name), false, 'removed at the end')
})

t.test('databases are removed after an error, also with sessions', async (t) => {
  let name = ''
  const session = new pg.Client(uri)
  await t.rejects(
    withThrowAwayDatabases(uri, {}, async ({ create }) => {
      name = (await create()).name
      const busy = new pg.Client(uriOf(port, name))
      busy.on('error', () => undefined)
      await busy.connect()
      throw new Error('failed on purpose')
    }),
    { message: 'failed on purpose' },
  )
  t.equal(await exists(name), false)
  await session.connect()
  await session.end()
})

t.test('a run removes what killed runs left behind, and nothing else', async (t) => {
  const dead = 'rowhouse_throwaway_00000000dead_1'
  const used = 'rowhouse_throwaway_0000000005ed_1'
  const other = 'rowhouse_throwaway_mine'
  await withTestClient(uri, async (admin) => {
    for (const name of [dead, used, other]) await admin.query(`create database ${name}`)
    const user = new pg.Client(uriOf(port, used))
    await user.connect()
    await withThrowAwayDatabases(uri, {}, async (first) => {
      t.strictSame(first.removed, [dead])
      const { name } = await first.create()
      await withThrowAwayDatabases(uri, {}, async ({ removed }) => {
        t.strictSame(removed, [], 'not the database of a run that goes on, nor one that is in use')
        t.ok(await exists(name))
      })
    })
    t.ok((await exists(used)) && (await exists(other)))
    await user.end()
    for (const name of [used, other]) await admin.query(`drop database if exists ${name} with (force)`)
  })
})

t.test('a role without the right to create databases is refused', async (t) => {
  await withTestClient(uri, (admin) => admin.query("create role throwaway_poor login password 'x'"))
  t.teardown(() => withTestClient(uri, (admin) => admin.query('drop role throwaway_poor')))
  const poor = uriOf(port, 'postgres', 'throwaway_poor:x')
  await t.rejects(
    withThrowAwayDatabases(poor, {}, ({ create }) => create()),
    { code: '42501' },
  )
})
