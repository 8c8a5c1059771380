// The end of a transaction: `db-tx-end` and `Prefer: tx`.
// https://docs.postgrest.org/en/stable/references/configuration.html#db-tx-end
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { writesSettings } from '../support/writes-service.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())

type End = 'commit' | 'rollback'

/** The setting, whether `Prefer: tx` is honoured, and the end without the preference. */
const settings: readonly (readonly [setting: string, asked: boolean, otherwise: End])[] = [
  ['commit', false, 'commit'],
  ['commit-allow-override', true, 'commit'],
  ['rollback', false, 'rollback'],
  ['rollback-allow-override', true, 'rollback'],
]

const deferred = fault(
  '23503',
  'insert or update on table "bookings" violates foreign key constraint "bookings_vehicle_id_fkey"',
  'Key (vehicle_id)=(12345) is not present in table "vehicles".',
)

for (const [setting, asked, otherwise] of settings) {
  t.test(setting, async (t) => {
    const { url } = await startApplication(t, database.uri('garage_server', 'garage'), {
      ...writesSettings,
      PGRST_DB_SCHEMAS: 'garage',
      PGRST_DB_TX_END: setting,
    })
    for (const prefer of [undefined, 'tx=commit', 'tx=rollback', 'tx=rollback, tx=commit', 'tx=maybe'] as const) {
      const wanted = prefer === 'tx=commit' ? 'commit' : prefer?.startsWith('tx=rollback') ? 'rollback' : undefined
      const end = (asked ? wanted : undefined) ?? otherwise
      const row = (exchange: Exchange): Exchange => ({
        ...exchange,
        ...(prefer === undefined ? {} : { prefer }),
        ...(asked && wanted && (exchange.status ?? 200) < 300 ? { applied: `tx=${wanted}` } : {}),
      })
      const kept = end === 'commit' ? [{ name: 'kept' }] : []
      const seen: Exchange = {
        send: ['GET', '/tags?name=eq.kept'],
        status: 200,
        range: kept.length === 0 ? '*/*' : '0-0/*',
        body: kept,
      }
      const ways: readonly Exchange[] = [
        { send: ['POST', '/tags', { name: 'kept' }], status: 201 },
        { send: ['PUT', '/tags?name=eq.kept', { name: 'kept' }], status: 204 },
        { send: ['POST', '/rpc/add_tag', { name: 'kept' }], status: 200, range: '0-0/*', body: { name: 'kept' } },
        { send: ['PATCH', '/tags?name=eq.fast', { name: 'kept' }], status: 204, range: '0-0/*' },
        { send: ['POST', '/tags', { name: 'kept' }], accept: 'application/vnd.pgrst.object+json', status: 201 },
      ]
      for (const way of ways) {
        await exchangeAll(t, url, [row(way), seen])
        await database.query("delete from garage.tags where name = 'kept'")
      }
      await database.query("insert into garage.tags values ('fast') on conflict do nothing")
      await exchangeAll(t, url, [
        {
          ...row({ send: ['POST', '/bookings', { id: 1, vehicle_id: 12345 }], status: 409 }),
          name: 'deferred constraints',
          body: deferred,
        },
        { ...row({ send: ['POST', '/rpc/break_deferred', {}], status: 409 }), body: deferred },
        { ...row({ send: ['PUT', '/bookings?id=eq.1', { id: 1, vehicle_id: 12345 }], status: 409 }), body: deferred },
      ])
      const { rowCount } = await database.query('select from garage.bookings')
      t.equal(rowCount, 0)
    }
  })
}
