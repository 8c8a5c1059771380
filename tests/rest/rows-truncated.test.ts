// `Rows-Truncated` says that `db-max-rows` has cut rows off, and only then.
import t from 'tap'
import { createPagedDatabase, startPaged } from '../support/paged-rest.ts'
import { keyset, linksOf } from '../support/page-walk.ts'

const database = await createPagedDatabase(t)
const limited = await startPaged(t, database, { dbMaxRows: 4 })
const unlimited = await startPaged(t, database)

t.test('answers that are cut short', async (t) => {
  const csv = { Accept: 'text/csv' }
  const rows: readonly (readonly [path: string, rows: number, isCut: boolean, headers?: Record<string, string>])[] = [
    ['/cursors', 4, true],
    ['/cursors?limit=9', 4, true],
    ['/cursors?limit=5', 4, true],
    ['/cursors?limit=4', 4, false],
    ['/cursors?limit=2', 2, false],
    ['/cursors?limit=0', 0, false],
    ['/cursors?id=lt.5', 4, false],
    ['/cursors?id=lt.2', 1, false],
    ['/cursors?offset=1', 4, false],
    ['/cursors?offset=9', 0, false],
    ['/items?offset=2', 4, true],
    ['/items?offset=33', 4, false],
    ['/cursors?offset=9223372036854775807', 0, false],
    ['/items?select=id,clients!inner(id)&clients.id=eq.1', 4, true],
    ['/items?select=id,clients!inner(id)&clients.id=eq.99', 0, false],
    ['/items?select=id&clients=is.null', 4, true],
    ['/items?select=flag,count()', 2, false],
    ['/items?select=id,count()', 4, true],
    ['/items?select=kind,count()&kind=not.is.null', 3, false],
    ['/items', 4, true, { Prefer: 'count=exact' }],
    ['/items', 4, true, { Prefer: 'count=planned' }],
    ['/rpc/from_id?minimum=1', 4, true],
    ['/rpc/from_id?minimum=100', 4, true],
    ['/rpc/from_id?minimum=101', 4, false],
    ['/rpc/from_id?minimum=102', 3, false],
    ['/rpc/from_id?minimum=1&id=gt.99&offset=1', 4, false],
    ['/rpc/risky', 4, true],
    ['/rpc/risky?limit=3', 3, false],
    ['/rpc/numbers', 4, true],
    ['/rpc/outline?minimum=6', 4, false],
    ['/rpc/echo?cursor=x', 1, false],
    ['/items?limit=3', 3, false, keyset],
    ['/items', 4, true, keyset],
    ['/items?limit=100', 4, true, keyset],
    ['/cursors?id=gt.1', 4, false, keyset],
  ]
  for (const [given, count, isCut, headers = {}] of rows) {
    const path = given.includes('clients=is.null') ? given.replace('select=id', 'select=id,clients(id)') : given
    for (let time = 0; time < 3; time++) {
      const response = await limited(path, headers)
      const body: unknown = await response.json()
      t.ok(response.ok, `${path} ${JSON.stringify(body).slice(0, 200)}`)
      t.equal(Array.isArray(body) ? body.length : 1, count, path)
      t.equal(response.headers.get('rows-truncated'), isCut ? 'max-rows=4' : null, path)
    }
    const text = await limited(path, { ...headers, ...csv })
    if (text.ok) t.equal(text.headers.get('rows-truncated'), isCut ? 'max-rows=4' : null, `${path} as CSV`)
    const head = await limited(path, headers, 'HEAD')
    t.equal(head.headers.get('rows-truncated'), isCut ? 'max-rows=4' : null, `HEAD ${path}`)
    const free = await unlimited(path, headers)
    t.equal(free.headers.get('rows-truncated'), null)
    await free.body?.cancel()
  }
})

t.test('db-max-rows is the size of a page without a limit', async (t) => {
  const response = await limited('/cursors', keyset)
  const { next = '' } = linksOf(response.headers.get('link'), '/cursors')
  const rest = await limited(next)
  t.strictSame(await rest.json(), [{ id: 5, cursor: 'c5' }])
  t.equal(rest.headers.get('rows-truncated'), null)
})

t.test('a function that is cut is called once', async (t) => {
  await database.query(`
    create sequence calls;
    create function called() returns setof int volatile language plpgsql as
      $$ begin perform nextval('calls'); return query select generate_series(1, 9); end $$;
    grant all on sequence calls to ${database.role}`)
  const ask = await startPaged(t, database, { dbMaxRows: 4 })
  const response = await ask('/rpc/called', {}, 'POST')
  t.strictSame(await response.json(), [1, 2, 3, 4])
  t.equal(response.headers.get('rows-truncated'), 'max-rows=4')
  t.strictSame((await database.query('select last_value from calls')).rows, [{ last_value: '1' }])
})

t.test('the header is exposed to pages of other origins', async (t) => {
  const exposed = async (path: string, headers = {}): Promise<string> =>
    (await limited(path, { Origin: 'http://page.test', ...headers })).headers.get('access-control-expose-headers') ?? ''
  t.match(await exposed('/items'), /, Range-Unit, Rows-Truncated, ETag$/)
  t.match(await exposed('/items', keyset), /, Range-Unit, Link, Rows-Truncated, ETag$/)
  t.match(await exposed('/items?limit=1'), /, Range-Unit, ETag$/)
})
