// Keyset pages whose rows the server writes as JSON are those for which Postgres does, byte for byte, with the same links.
import t, { type Test } from 'tap'
import { createPagedDatabase } from '../support/paged-rest.ts'
import { linksOf } from '../support/page-walk.ts'
import {
  countEncodedResults,
  startRowsComparison,
  untilCached,
  type RowsComparison,
} from '../support/rows-comparison.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { bearer } from '../support/token.ts'

const database = await createPagedDatabase(t)
const { role } = database
await database.query(`
  create table divisors (id int primary key, divisor int not null);
  insert into divisors select n, 1 from generate_series(1, 1000) n;
  create view quotients as select id, 1 / divisor as quotient from divisors;
  create view names_of_columns as select id, name as pgrst_number, 'e' as edges, 1 as total, 'p' as pgrst_page,
    'h' as pgrst_head, 't' as pgrst_term_1 from clients;
  create view named_as_rows as select id, name as _postgrest_t from clients;
  create table letters (id int primary key, owner text, text text);
  insert into letters select n, case n % 2 when 0 then 'ann' else 'bob' end, 'letter ' || n from generate_series(1, 40) n;
  alter table letters enable row level security;
  create policy own on letters using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
  grant select on all tables in schema public to ${role}`)

/** Whether statements share connections, as soon as their shape is cached. */
let isSharing = false
trustAllStatements(() => isSharing)
const counts = countEncodedResults()
const keyset = { Prefer: 'pagination=keyset' }

type Headers = Readonly<Record<string, string>>

const start = (t: Pick<Test, 'teardown'>, env: Headers = {}, connections = 1): Promise<RowsComparison> =>
  startRowsComparison(
    t,
    database.adminUri,
    { PGRST_DB_ANON_ROLE: role, PGRST_DB_AGGREGATES_ENABLED: 'true', ...env },
    connections,
  )

/** Requests a page until its shape is cached, compares the responses, and returns the links of the last. */
async function page(
  t: Test,
  comparison: RowsComparison,
  path: string,
  headers: Headers,
  connection = 0,
): Promise<Readonly<Record<string, string>>> {
  const request = { method: 'GET', path, headers }
  for (let time = 0; time <= untilCached; time++) {
    const found = await comparison.difference(request, connection)
    if (found !== undefined) t.fail(found)
  }
  const [{ headers: received }] = await comparison.ask(request, connection)
  return linksOf(received.find(([name]) => name === 'link')?.[1] ?? null, path)
}

/** Follows links there and back. @returns the number of pages */
async function walk(
  t: Test,
  comparison: RowsComparison,
  path: string,
  headers: Headers,
  connection = 0,
): Promise<number> {
  let pages = 1
  let links = await page(t, comparison, path, { ...keyset, ...headers }, connection)
  for (const direction of ['next', 'prev']) {
    for (let link = links[direction]; link !== undefined && pages < 200; link = links[direction], pages++)
      links = await page(t, comparison, link, headers, connection)
  }
  return pages
}

const counted = { Prefer: 'pagination=keyset, count=exact' }

type Walk = readonly [path: string, headers?: Headers]

const encoded: readonly Walk[] = [
  ['/items?limit=9&select=id,name,at,day,score,amount,raw,tags,uid,flag&order=day,at.desc', counted],
  ['/items?limit=9&order=score.nullsfirst&select=id,score,length,span'],
  ['/items?limit=9&select=id,data,about,kind,code&order=kind.desc,code'],
  ['/items?limit=9&select=a:id,a:name,id&order=title'],
  ['/items?limit=9&select=id,client:clients(id,name)&order=client(name).desc,id'],
  ['/items?limit=9&select=id,...clients!inner(client:name)&clients.id=gt.1', counted],
  ['/clients?limit=2&select=name,items(id,flag)&order=name'],
  ['/names?limit=11&order=id.desc'],
  ['/names_of_columns?limit=2&order=id', counted],
  ['/names_of_columns?limit=1&order=id.desc&select=*,id'],
  ['/pairs?limit=4&select=note'],
  ['/accounts?limit=3', counted],
  ['/cursors'],
  ['/cursors', counted],
  ['/cursors?id=gt.99', counted],
  ['/cursors?limit=1', { Accept: 'application/vnd.pgrst.object+json' }],
  ['/rpc/from_id?minimum=3&limit=9&select=id,at', counted],
  ['/rpc/outline?minimum=1&limit=4&order=n.desc', counted],
]

/** Composite types, a name that stands for the rows, a planned count and another media type need Postgres. */
const aggregated: readonly Walk[] = [
  ['/items?limit=9&order=name.desc'],
  ['/rpc/from_id?minimum=3&limit=7&order=name'],
  ['/named_as_rows?limit=3&order=id'],
  ['/items?limit=9&select=id', { Prefer: 'pagination=keyset, count=planned' }],
  ['/items?limit=20&select='],
  ['/cursors?limit=2', { Accept: 'application/vnd.pgrst.object+json' }],
  ['/cursors?limit=2', { Accept: 'text/csv' }],
]

for (const sharing of [false, true]) {
  t.test(`walks on ${sharing ? 'shared connections' : 'connections of their own'}`, async (t) => {
    isSharing = sharing
    const comparison = await start(t)
    for (const [path, headers = {}] of encoded) {
      const before = counts.results
      const pages = await walk(t, comparison, path, headers)
      const isWalk = path.includes('limit=') && headers.Accept === undefined
      t.ok(pages > (isWalk ? 2 : 0), `${path}: ${pages} pages`)
      t.ok(counts.results >= before + pages, `${path}: ${counts.results - before} results are encoded`)
    }
    for (const [path, headers = {}] of aggregated) t.ok((await walk(t, comparison, path, headers)) > 0, path)
  })
}

t.test('the rows that db-max-rows allows', async (t) => {
  isSharing = true
  const comparison = await start(t, { PGRST_DB_MAX_ROWS: '9' })
  const before = counts.results
  for (const path of ['/items', '/items?limit=20&order=name', '/items?limit=4', '/rpc/from_id?minimum=1', '/cursors'])
    for (const headers of [{}, counted]) await walk(t, comparison, path, headers)
  t.ok(counts.results > before)
})

t.test('rows that are deleted after the link to them was made', async (t) => {
  isSharing = false
  const comparison = await start(t)
  await database.query('create table passing as select id from generate_series(1, 9) id')
  await database.query(`alter table passing add primary key (id); grant select on passing to ${role}`)
  await database.query("notify pgrst, 'reload schema'")
  let links: Readonly<Record<string, string>> = {}
  for (let time = 0; links.next === undefined && time < 100; time++) {
    const [{ headers }] = await comparison.ask({ method: 'GET', path: '/passing?limit=3', headers: keyset })
    links = linksOf(headers.find(([name]) => name === 'link')?.[1] ?? null, '/passing?limit=3')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.ok(links.next)
  const exact = { Prefer: 'count=exact' }
  await database.query('delete from passing where id = 3')
  t.ok((await page(t, comparison, links.next ?? '', exact)).prev, 'a page after a row that is missing')
  await database.query('delete from passing where id > 3')
  const { prev } = await page(t, comparison, links.next ?? '', exact)
  t.ok(prev, 'an empty page has the link to the one before it')
  await page(t, comparison, prev ?? '', exact)
  await database.query('delete from passing')
  await page(t, comparison, links.next ?? '', exact)
})

t.test('an error at the first, a middle and the last row, and at the row after the page', async (t) => {
  for (const sharing of [false, true]) {
    isSharing = sharing
    const comparison = await start(t)
    for (const at of [0, 1, 500, 999, 1000, 0]) {
      await database.query('update divisors set divisor = case id when $1 then 0 else 1 end', [at])
      for (const path of [
        '/quotients?order=id&limit=999',
        '/quotients?order=id.desc&limit=1000',
        '/quotients?order=id',
      ])
        await page(t, comparison, path, keyset)
      const [{ status, body }] = await comparison.ask({ method: 'GET', path: '/quotients?order=id', headers: keyset })
      t.equal(status, at === 0 ? 200 : 400)
      t.equal(body.includes('22012'), at > 0)
    }
  }
})

t.test('two users at once on one connection', async (t) => {
  isSharing = true
  const comparison = await start(t, { PGRST_DB_POOL: '1' }, 2)
  const users = await Promise.all(['ann', 'bob'].map((sub) => bearer(role, { sub })))
  await Promise.all(
    users.map(async (authorization, index) => {
      for (let time = 0; time < 5; time++)
        t.ok((await walk(t, comparison, '/letters?limit=3', { Authorization: authorization }, index)) > 10)
    }),
  )
  const [{ body }] = await comparison.ask({
    method: 'GET',
    path: '/letters?select=owner&limit=100',
    headers: { ...keyset, Authorization: users[0] ?? '' },
  })
  t.strictSame(new Set((JSON.parse(body) as { owner: string }[]).map(({ owner }) => owner)), new Set(['ann']))
})
