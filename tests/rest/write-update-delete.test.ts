// PATCH and DELETE.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#update
import t from 'tap'
import { exchangeAll, type Exchange } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { notOne, object, strict, tooMany, updateAndDeleteTables } from '../tables/write-update-delete.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

for (const { title, rows } of updateAndDeleteTables) {
  t.test(title, (t) => exchangeAll(t, url, rows))
}

t.test('writes are rolled back if their result is refused', async (t) => {
  const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit' })
  const untouched: Exchange = {
    send: ['GET', '/notes?order=level'],
    status: 200,
    range: '0-1/*',
    body: [
      { message: 'first', level: 1 },
      { message: 'second', level: 2 },
    ],
  }
  await exchangeAll(t, url, [
    { send: ['PATCH', '/notes', { level: 9 }], prefer: strict(1), status: 400, body: tooMany(2) },
    untouched,
    { send: ['DELETE', '/notes'], prefer: strict(1), status: 400, body: tooMany(2) },
    untouched,
    { send: ['PATCH', '/notes', { level: 9 }], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['DELETE', '/notes'], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['POST', '/notes', [{ level: 8 }, { level: 9 }]], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['POST', '/rpc/delete_fittings', { vehicle: 1 }], prefer: strict(1), status: 400, body: tooMany(2) },
    { send: ['POST', '/rpc/delete_fittings', { vehicle: 1 }], accept: object, status: 406, body: notOne(2) },
    {
      send: ['GET', '/fittings?vehicle_id=eq.1&select=part&order=part'],
      status: 200,
      range: '0-1/*',
      body: [{ part: 'hook' }, { part: 'radio' }],
    },
    { send: ['PATCH', '/notes?level=eq.1', { level: 9 }], accept: object, status: 204, range: '0-0/*' },
    { send: ['DELETE', '/notes?level=eq.2'], prefer: strict(1), status: 204, applied: strict(1) },
    { send: ['GET', '/notes'], status: 200, range: '0-0/*', body: [{ message: 'first', level: 9 }] },
  ])
})
