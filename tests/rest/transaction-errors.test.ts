// Database errors: the HTTP status of each SQLSTATE, and errors that set their own status.
// https://docs.postgrest.org/en/stable/references/errors.html
import t from 'tap'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit' })

/** One SQLSTATE for each line of the documentation's table, and some that could be confused with another line. */
const statuses: readonly (readonly [state: string, status: number])[] = [
  ['01000', 400],
  ['02000', 400],
  ['03000', 400],
  ['08000', 503],
  ['08P01', 503],
  ['09000', 500],
  ['0A000', 400],
  ['0L000', 403],
  ['0LP01', 403],
  ['0P000', 403],
  ['20000', 400],
  ['21000', 500],
  ['22000', 400],
  ['22012', 400],
  ['22023', 400],
  ['23000', 400],
  ['23502', 400],
  ['23503', 409],
  ['23505', 409],
  ['23514', 400],
  ['24000', 400],
  ['25000', 500],
  ['25006', 405],
  ['25P02', 500],
  ['26000', 400],
  ['27000', 400],
  ['28000', 403],
  ['28P01', 403],
  ['2B000', 400],
  ['2BP01', 400],
  ['2D000', 500],
  ['2F000', 400],
  ['34000', 400],
  ['38000', 500],
  ['38004', 500],
  ['39000', 500],
  ['39P01', 500],
  ['3B000', 500],
  ['3B001', 500],
  ['3D000', 400],
  ['3F000', 400],
  ['40000', 500],
  ['40001', 500],
  ['40P01', 500],
  ['42000', 400],
  ['42501', 401],
  ['42601', 400],
  ['42703', 400],
  ['42883', 404],
  ['42P01', 404],
  ['42P17', 500],
  ['44000', 400],
  ['53000', 503],
  ['53300', 503],
  ['53400', 500],
  ['54000', 500],
  ['54001', 500],
  ['55000', 500],
  ['55P03', 500],
  ['57000', 500],
  ['57014', 500],
  ['57P01', 503],
  ['57P02', 500],
  ['58000', 500],
  ['58P01', 500],
  ['72000', 400],
  ['F0000', 500],
  ['F0001', 500],
  ['HV000', 500],
  ['HV00B', 500],
  ['P0000', 500],
  ['P0001', 400],
  ['P0002', 500],
  ['P0004', 500],
  ['XX000', 500],
  ['XX001', 500],
  ['ZZ123', 400],
  ['PTABC', 500],
  ['PGRSX', 400],
]

t.test('every SQLSTATE has a status', (t) =>
  exchangeAll(
    t,
    url,
    statuses.map(([state, status]): Exchange => ({
      send: ['POST', '/rpc/raise_state', { state, message: `m ${state}`, detail: 'd', hint: 'h' }],
      status,
      body: fault(state, `m ${state}`, 'd', 'h'),
      also: {
        'WWW-Authenticate': status === 401 ? 'Bearer' : null,
        'Proxy-Status': `PostgREST; error=${state}`,
      },
    })),
  ),
)

const raise = (state: string, message: string): Exchange['send'] => ['POST', '/rpc/raise_bare', { state, message }]

t.test('statuses that depend on more than the SQLSTATE', (t) =>
  exchangeAll(t, url, [
    {
      send: raise('42501', 'no'),
      as: 'garage_clerk',
      status: 403,
      body: fault('42501', 'no'),
      also: { 'WWW-Authenticate': null },
    },
    {
      name: 'a token of the anonymous role is anonymous',
      send: raise('42501', 'no'),
      as: 'garage_anon',
      status: 401,
      body: fault('42501', 'no'),
      also: { 'WWW-Authenticate': 'Bearer' },
    },
    {
      send: raise('21000', 'UPDATE requires a WHERE clause'),
      status: 400,
      body: fault('21000', 'UPDATE requires a WHERE clause'),
    },
    {
      send: raise('22023', 'role "x" does not exist'),
      status: 401,
      body: fault('22023', 'role "x" does not exist'),
      also: { 'WWW-Authenticate': 'Bearer' },
    },
    {
      send: raise('42883', 'function xmlagg(json) does not exist'),
      status: 406,
      body: fault('42883', 'function xmlagg(json) does not exist'),
    },
    {
      name: 'an unknown role',
      send: ['GET', '/tags'],
      as: 'nobody',
      status: 401,
      body: fault('22023', 'role "nobody" does not exist'),
      also: { 'WWW-Authenticate': 'Bearer' },
    },
    {
      name: 'a role that may not be switched to',
      send: ['GET', '/tags'],
      as: 'postgres',
      status: 403,
      body: fault('42501', 'permission denied to set role "postgres"'),
    },
    { send: raise('PT402', 'Payment Required'), status: 402, body: fault('PT402', 'Payment Required') },
    { send: raise('PT200', 'fine'), status: 200, body: fault('PT200', 'fine') },
    { send: raise('PT999', 'odd'), status: 999, body: fault('PT999', 'odd') },
    { send: raise('PT401', 'who'), status: 401, body: fault('PT401', 'who'), also: { 'WWW-Authenticate': 'Bearer' } },
  ]),
)

t.test('the message of a custom status is the reason phrase', async (t) => {
  const response = await fetch(`${url}/rest/v1/rpc/raise_bare`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ state: 'PT402', message: 'Out of petrol' }),
  })
  t.equal(response.statusText, 'Out of petrol')
})

const pgrst = (message: unknown, detail?: unknown): Exchange['send'] => {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return detail === undefined
    ? raise('PGRST', text(message))
    : ['POST', '/rpc/raise_state', { state: 'PGRST', message: text(message), detail: text(detail) }]
}
const unreadable = 'Could not parse JSON in the "RAISE SQLSTATE \'PGRST\'" error'
const messageHint =
  "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
const detailHint =
  "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."
const badMessage = (text: string) =>
  fault('PGRST121', unreadable, `Invalid JSON value for MESSAGE: '${text}'`, messageHint)
const badDetail = (text: string) =>
  fault('PGRST121', unreadable, `Invalid JSON value for DETAIL: '${text}'`, detailHint)
const said = { code: '123', message: 'ABC' }

t.test('errors that contain the whole response', (t) =>
  exchangeAll(t, url, [
    {
      send: pgrst(
        { ...said, details: 'DEF', hint: 'XYZ' },
        { status: 332, status_text: 'My Status', headers: { 'X-One': '1', 'x-two': '2' } },
      ),
      status: 332,
      body: fault('123', 'ABC', 'DEF', 'XYZ'),
      also: { 'X-One': '1', 'X-Two': '2', 'Proxy-Status': 'PostgREST; error=123' },
    },
    { send: pgrst(said, { status: 400, headers: {} }), status: 400, body: fault('123', 'ABC') },
    {
      send: pgrst(said, { status: 401, headers: {} }),
      status: 401,
      body: fault('123', 'ABC'),
      also: { 'WWW-Authenticate': null },
    },
    { send: pgrst('no JSON', { status: 400, headers: {} }), status: 500, body: badMessage('no JSON') },
    { send: pgrst({ code: '1' }, { status: 400, headers: {} }), status: 500, body: badMessage('{"code":"1"}') },
    { send: pgrst(said, 'no JSON'), status: 500, body: badDetail('no JSON') },
    { send: pgrst(said, { status: 400 }), status: 500, body: badDetail('{"status":400}') },
    { send: pgrst(said, { headers: {} }), status: 500, body: badDetail('{"headers":{}}') },
    {
      send: pgrst(said),
      status: 500,
      body: fault('PGRST121', unreadable, 'DETAIL is missing in the RAISE statement', detailHint),
    },
  ]),
)

t.test('an error rolls back everything, and nothing is retried', async (t) => {
  const { call, url, database } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit' })
  await database.query('alter sequence garage.counter restart')
  await database.query(`create function garage.count_and_fail(state text) returns void language plpgsql as $$
    begin perform nextval('garage.counter'); raise exception using errcode = state, message = 'no'; end $$`)
  // Sequences are not rolled back, so this one counts the executions of the function.
  await database.query('select pg_notify($1, $2)', ['pgrst', 'reload schema'])
  for (let tries = 0; tries < 2000; tries++) {
    const { status } = await call('POST', '/rest/v1/rpc/count_and_fail', { body: { state: '40001' } })
    if (status === 500) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { rows } = await database.query('select last_value::int as runs from garage.counter')
  t.strictSame(rows, [{ runs: 1 }])
  await exchangeAll(t, url, [
    { send: ['POST', '/rpc/raise_after_write', { state: '40001' }], status: 500, body: fault('40001', 'no') },
    { send: ['POST', '/rpc/raise_after_write', { state: '40P01' }], status: 500, body: fault('40P01', 'no') },
    { send: ['GET', '/tags?name=eq.half done'], status: 200, range: '*/*', body: [] },
  ])
})
