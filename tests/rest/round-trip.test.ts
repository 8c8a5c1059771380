// Number of round trips to Postgres per request: one, unless something must be decided in between.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { requestOf, type TableRequest } from '../support/request-table.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { send } from '../support/sent-request.ts'
import { writesSettings } from '../support/writes-service.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())

type Row = TableRequest & { readonly status: number; readonly trips: number }

const object = 'application/vnd.pgrst.object+json'
const strict = 'handling=strict, max-affected=5'

const rows: readonly Row[] = [
  { send: ['GET', '/vehicles'], status: 200, trips: 1 },
  { send: ['HEAD', '/vehicles'], status: 200, trips: 1 },
  { send: ['GET', '/vehicles?select=id,makes(name),fittings(part)&id=lt.3&order=plate'], status: 200, trips: 1 },
  { send: ['GET', '/vehicles'], prefer: 'count=exact', status: 200, trips: 1 },
  { send: ['GET', '/vehicles'], prefer: 'count=planned', status: 206, trips: 1 },
  { send: ['GET', '/vehicles'], prefer: 'timezone=UTC', status: 200, trips: 1 },
  { send: ['GET', '/vehicles'], as: 'garage_clerk', status: 200, trips: 1 },
  { send: ['GET', '/vehicles?id=eq.1'], accept: object, status: 200, trips: 1 },
  { send: ['POST', '/notes', { message: 'x' }], status: 201, trips: 1 },
  {
    send: ['POST', '/notes', [{ message: 'x' }, { message: 'y' }]],
    prefer: 'return=representation',
    status: 201,
    trips: 1,
  },
  {
    send: ['POST', '/tags', { name: 'fast' }],
    prefer: 'resolution=merge-duplicates',
    status: 200,
    trips: 1,
  },
  { send: ['PATCH', '/notes?level=eq.1', { level: 1 }], status: 204, trips: 1 },
  { send: ['DELETE', '/notes?level=eq.99'], status: 204, trips: 1 },
  { send: ['POST', '/rpc/write_volatile', {}], status: 200, trips: 1 },
  { send: ['POST', '/rpc/add', { a: 1, b: 2 }], status: 200, trips: 1 },
  { send: ['GET', '/rpc/gives_table?n=3&limit=1'], prefer: 'count=exact', status: 206, trips: 1 },
  { send: ['GET', '/rpc/gives_table'], prefer: strict, status: 200, trips: 1 },
  { send: ['POST', '/notes', { message: 'x' }], prefer: 'tx=rollback', status: 201, trips: 1 },
  { send: ['GET', '/vehicles'], as: 'garage_auditor', status: 200, trips: 1 },
  { send: ['POST', '/rpc/isolation_serializable', {}], status: 200, trips: 1 },
  // Errors
  { send: ['POST', '/tags', { name: 'fast' }], status: 409, trips: 1 },
  { send: ['POST', '/rpc/raise_state', { state: '40001' }], status: 500, trips: 1 },
  { send: ['GET', '/vehicles?unknown=eq.1'], status: 400, trips: 1 },
  // No query is needed if the response is known.
  { send: ['GET', '/unknown'], status: 404, trips: 0 },
  { send: ['POST', '/notes', '{'], status: 400, trips: 0 },
  { send: ['OPTIONS', '/notes'], status: 200, trips: 0 },
  // The returned rows decide on commit or rollback.
  { send: ['POST', '/notes', { message: 'x' }], accept: object, status: 201, trips: 2 },
  { send: ['PATCH', '/notes', { level: 3 }], accept: object, status: 406, trips: 2 },
  { send: ['PATCH', '/notes?level=eq.99', { level: 3 }], prefer: strict, status: 204, trips: 2 },
  { send: ['DELETE', '/notes?level=eq.99'], prefer: strict, status: 204, trips: 2 },
  { send: ['PUT', '/tags?name=eq.fast', { name: 'fast' }], status: 204, trips: 2 },
  { send: ['PUT', '/tags?name=eq.fast', { name: 'other' }], status: 400, trips: 2 },
  { send: ['POST', '/rpc/delete_fittings', { vehicle: 9 }], prefer: strict, status: 200, trips: 2 },
]

const cases = [
  ['prepared statements', {}],
  ['no prepared statements', { PGRST_DB_PREPARED_STATEMENTS: 'false' }],
  ['a function before every request', { PGRST_DB_PRE_REQUEST: 'hidden.before_request' }],
] as const

for (const [title, environment] of cases) {
  t.test(title, async (t) => {
    const counter = await countRoundTrips(t, database.uri('garage_server', 'garage'))
    // No LISTEN connection, no service with work of its own, and a single connection for requests, so that only the request's
    // round trips are counted.
    const { call, url } = await startApplication(t, counter.uri, {
      ...writesSettings,
      ...environment,
      SERVICES: 'rest',
      PGRST_DB_SCHEMAS: 'garage',
      PGRST_DB_TX_END: 'commit-allow-override',
      PGRST_DB_CHANNEL_ENABLED: 'false',
      PGRST_DB_POOL: '1',
    })
    await call('GET', '/rest/v1/tags')
    for (const round of ['cold', 'warm']) {
      for (const row of rows) await check(t, row, round)
    }

    async function check(t: Test, row: Row, round: string) {
      const { status, trips } = row
      const request = await requestOf(row)
      const ask = async () => {
        counter.take()
        const answer = await send(`${url}/rest/v1`, request)
        return { status: answer.status, trips: counter.take() }
      }
      let found = await ask()
      // On a busy machine, a statement that is known by now may be moved to another connection, and the gate of writes be opened.
      for (let time = 0; round === 'warm' && time < 10 && found.trips !== trips; time++) found = await ask()
      t.strictSame(found, { status, trips }, `${request.method} ${request.path} ${round}`)
    }
  })
}
