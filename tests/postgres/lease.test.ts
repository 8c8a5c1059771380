// The lease of work that one process does for all.
import t from 'tap'
import { Database } from '../../server/postgres/database.ts'
import { Lease } from '../../server/postgres/lease.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { until } from '../support/until.ts'

const migrated = await createMigratedDatabase()
const database = new Database(
  createPool(
    { connectionString: migrated.authenticatorUri },
    { dbPool: 4, dbPoolAcquisitionTimeout: 10, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
  ),
)
t.teardown(() => database.close())
t.teardown(() => migrated.drop())

const newLease = (name: string, seconds?: number): Lease =>
  new Lease({ database, name, ...(seconds === undefined ? {} : { seconds }) })

t.test('one process has it, until it gives it back', async (t) => {
  const [one, two] = [newLease('work'), newLease('work')]
  const taken = await Promise.all([one.take(), two.take()])
  t.equal(taken.filter((isTaken) => isTaken).length, 1)
  const [holder, other] = taken[0] === true ? [one, two] : [two, one]
  t.strictSame([holder.isHeld, other.isHeld], [true, false])
  t.equal(await holder.take(), true, 'renewed')
  t.equal(await newLease('other work').take(), true, 'each kind of work has its own')
  await other.end()
  t.equal(await other.take(), false, 'what it does not have it does not end')
  await holder.end()
  t.equal(holder.isHeld, false)
  t.equal(await other.take(), true)
})

t.test('one that is not renewed goes to another process', async (t) => {
  const [one, two] = [newLease('short', 3), newLease('short', 3)]
  t.equal(await one.take(), true)
  t.equal(await two.take(), false)
  t.ok(await until(() => !one.isHeld), 'the process knows')
  t.ok(await until(() => two.take()))
  t.equal(await one.take(), false)
})

t.test('roles of requests neither see nor take leases', async (t) => {
  await withClient(migrated.authenticatorUri, async (client) => {
    for (const role of ['anon', 'authenticated', 'service_role']) {
      await client.query(`set role ${role}`)
      await t.rejects(client.query('select from rowhouse.leases'), { code: '42501' }, role)
    }
  })
})
