// Errors, sizes, changes of the schema that the server does not know of, batches and repetitions, while the server encodes the rows
// that writes return: nothing takes effect twice, and responses stay those of a service for which Postgres writes the JSON.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createDatabase } from '../support/database.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import type { SentRequest } from '../support/sent-request.ts'
import { startWritesComparison } from '../support/written-rows.ts'

const counts = countEncodedResults()
const { compare, rows, callers } = await startWritesComparison(t)
const [ann = ''] = callers

const write = (method: string, path: string, body: unknown, more: SentRequest['headers'] = {}): SentRequest => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json', Prefer: 'return=representation', Authorization: ann, ...more },
  body: JSON.stringify(body),
})

/** Sends a request to both services. Checks that they respond alike, and whether the server has encoded the rows. */
async function check(t: Test, request: SentRequest, status: number, isEncoded = true): Promise<void> {
  const before = counts.results
  const found = await compare(request)
  if (found.difference !== undefined) t.fail(found.difference.slice(0, 4000))
  t.equal(found.status, status, `${request.method} ${request.path}`)
  t.equal(counts.results > before, isEncoded, isEncoded ? 'is encoded' : 'is not encoded')
}

const many = (count: number, of: (n: number) => object): object[] => Array.from({ length: count }, (_, n) => of(n))

t.test('an error at the first, a middle and the last row', async (t) => {
  for (const at of [0, 250, 499]) {
    const body = many(500, (n) => ({ id: 1000 + n, note: n === at ? 'no' : 'x'.repeat(n) }))
    for (let time = 0; time < 3; time++) await check(t, write('POST', '/children?select=*', body), 400, false)
  }
  t.equal((await rows('children'))[0].includes('1000'), false)
  await check(
    t,
    write(
      'POST',
      '/children?select=*',
      many(500, (n) => ({ id: 1000 + n, note: 'x' })),
    ),
    201,
  )
  await check(
    t,
    write(
      'POST',
      '/children?select=*',
      many(500, (n) => ({ id: 1499 - n, note: 'x' })),
    ),
    409,
    false,
  )
})

t.test('rows of any size', async (t) => {
  let id = 100
  for (const [letter, times] of [
    ['x', 70_000],
    ['x', 2_900_000],
    ['\u0001', 500_000],
    ['"', 3_000_000],
  ] as const)
    await check(t, write('POST', '/sized?select=id,note,lists', { id: id++, letter, times }), 201)
  const large = many(30, (n) => ({ id: id + n, letter: n % 2 ? 'x' : '\n', times: n === 20 ? 2_800_000 : 100_000 }))
  await check(t, write('POST', '/sized?select=*', large), 201)
  const single = { Accept: 'application/vnd.pgrst.object+json' }
  await check(t, write('PATCH', '/sized?id=eq.101', { times: 2_800_001 }, single), 200)
  await check(t, write('PATCH', '/sized?id=gte.110&select=id,note', { letter: '"' }, single), 406)
  await check(t, write('DELETE', '/sized?id=gte.100&select=note,id', undefined), 200)
})

t.test('no row', async (t) => {
  await check(t, write('POST', '/things?select=*', []), 201)
  await check(t, write('PATCH', '/things?id=eq.-1&select=*', { note: 'x' }), 200)
  await check(t, write('DELETE', '/things?id=eq.-1&select=*', undefined), 200)
})

t.test('what sets headers, or needs other data than rows', async (t) => {
  await check(t, write('POST', '/stamped', { id: 50, note: 'teapot' }), 418)
  await check(t, write('POST', '/loud', { id: 50 }), 201)
  await check(t, write('POST', '/ruled', { id: 50 }), 400, false)
  await check(t, write('POST', '/aliased', { id: 50, _postgrest_t: 'x' }), 201, false)
  await check(t, write('POST', '/parents', { id: 50, size: '(1,2)' }), 201)
  await check(t, write('POST', '/parents?select=a:size,id,boxes,b:size', { id: 52, size: '(1,)', boxes: '{(3,4),(1,2);(5,6),(0,0)}' }), 201) // prettier-ignore
  await check(t, write('POST', '/parents?select=id', { id: 51 }), 201)
  await check(t, write('POST', '/pairs?select=c', { a: 50, b: 1, c: 'x' }), 201)
  await check(t, write('POST', '/pairs?select=c,b,a', { a: 51, b: 1, c: 'x' }), 201)
  await check(t, write('POST', '/owned', { id: 1, owner: 'ann' }, { Prefer: 'return=representation, resolution=merge-duplicates' }), 200) // prettier-ignore
  await check(t, write('POST', '/owned', { id: 50, owner: 'bob' }), 403, false)
})

t.test('the requests of a batch, the last of which may fail', async (t) => {
  for (const last of ['x', 'x', 'no', 'x']) {
    const requests = many(12, (n) => ({
      id: `p${n}`,
      method: 'POST',
      url: n === 11 ? '/children' : '/keyless',
      headers: { prefer: 'return=representation' },
      body: n === 11 ? { id: counts.results + 5000, note: last } : many(n, (m) => ({ n: m, note: `${n} "${m}"` })),
    }))
    const before = counts.results
    const { difference, status } = await compare(write('POST', '/$batch', { requests }))
    t.equal(difference, undefined)
    t.equal(status, last === 'no' ? 400 : 200)
    t.equal(counts.results - before, last === 'no' ? 11 : 12)
  }
  const [one, other] = await rows('keyless')
  t.equal(one, other)
})

t.test('changes of the schema that the server does not know of', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  await database.query(`
    create type size as (width int, height int);
    create table changing (id int primary key, a text, day date default '2024-02-29');
    create role writer_${database.name}; grant all on changing to writer_${database.name}`)
  t.teardown(() => database.query(`drop owned by writer_${database.name}; drop role writer_${database.name}`))
  const { url } = await startApplication(t, database.adminUri, {
    PGRST_DB_ANON_ROLE: `writer_${database.name}`,
    PGRST_DB_CHANNEL_ENABLED: 'false',
    PGRST_DB_POOL: '1',
    REST_BASE_PATH: '/',
  })
  let id = 0
  const insert = async (): Promise<readonly [number, unknown]> => {
    const response = await fetch(`${url}/changing`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'return=representation' },
      body: JSON.stringify({ id: ++id, a: 'x' }),
    })
    return [response.status, await response.json()]
  }
  const before = counts.results
  for (let time = 0; time < 4; time++) t.strictSame(await insert(), [201, [{ id, a: 'x', day: '2024-02-29' }]])
  t.equal(counts.results, before + 4)
  await database.query('alter table changing add more jsonb default \'{"a": 1}\'')
  for (let time = 0; time < 3; time++)
    t.strictSame(await insert(), [201, [{ id, a: 'x', day: '2024-02-29', more: { a: 1 } }]])
  await database.query('alter table changing drop more, add size size default (1, 2), add more int[] default array[1]')
  for (let time = 0; time < 3; time++)
    t.strictSame(await insert(), [201, [{ id, a: 'x', day: '2024-02-29', size: '(1,2)', more: [1] }]])
  await database.query(`alter table changing drop size, drop more`)
  t.strictSame(await insert(), [201, [{ id, a: 'x', day: '2024-02-29' }]])
  const { rows: written } = await database.query('select count(*)::int as count from changing')
  t.equal(written[0]?.count, id, 'every row was written once')
})

for (const [title, statement] of [
  ['of the database', (database: string) => `alter database "${database}" set datestyle = 'German'`],
  ['of the role', (_: string, role: string) => `alter role "${role}" set datestyle = 'SQL, DMY'`],
] as const) {
  t.test(`another style of dates ${title}`, async (t) => {
    const database = await createDatabase()
    const role = `writer_${database.name}`
    t.teardown(() => database.drop())
    await database.query(`
      create table dated (id int primary key, day date default '2024-02-29', moment timestamptz default '2024-02-29 12:00+00');
      create role ${role}; grant all on dated to ${role}; ${statement(database.name, role)}`)
    t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
    const { url } = await startApplication(t, database.adminUri, { PGRST_DB_ANON_ROLE: role, REST_BASE_PATH: '/' })
    const before = counts.results
    const response = await fetch(`${url}/dated`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Prefer: 'return=representation' },
      body: '{"id":1}',
    })
    t.equal(await response.text(), '[{"id":1,"day":"2024-02-29","moment":"2024-02-29T12:00:00+00:00"}]')
    t.equal(counts.results, before + 1)
  })
}

t.test(
  'clients that hang up while rows arrive leave all of their write or nothing, and none of it to others',
  async (t) => {
    const database = await createDatabase()
    t.teardown(() => database.drop())
    const role = `hanging_${database.name}`
    await database.query(`
    create table papers (batch int, number int, note text, primary key (batch, number));
    create role ${role}; grant all on papers to ${role}`)
    t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
    // All of them use one connection.
    const settings = { PGRST_DB_ANON_ROLE: role, PGRST_DB_POOL: '1', REST_BASE_PATH: '/' }
    const { url } = await startApplication(t, database.adminUri, settings)
    const headers = { 'Content-Type': 'application/json', Prefer: 'return=representation' }
    const size = 300
    const before = counts.results
    const other = async (number: number): Promise<void> => {
      const body = JSON.stringify([{ batch: -1, number, note: `other ${number}` }])
      const response = await fetch(`${url}/papers`, { method: 'POST', headers, body })
      t.equal(await response.text(), `[{"batch":-1,"number":${number},"note":"other ${number}"}]`)
    }
    const hangUp = async (batch: number): Promise<void> => {
      const body = JSON.stringify(many(size, (number) => ({ batch, number, note: 'x'.repeat(5000) })))
      const { socket, closed } = rawRequest(url, `${postHead('/papers', body.length, headers)}${body}`)
      // With the first part of the response, or a while after all was sent.
      if (batch % 2 === 0) socket.once('data', () => socket.destroy())
      else setTimeout(() => socket.destroy(), 5 * batch)
      await closed
    }
    await Promise.all(Array.from({ length: 12 }, (_, n) => [hangUp(n), other(n)]).flat())
    await other(12)
    t.ok(counts.results > before, 'rows were encoded')
    const { rows: found } = await database.query(
      'select batch, count(*)::int as count from papers where batch >= 0 group by batch',
    )
    t.ok(found.length >= 6, 'those that had a response were committed')
    t.strictSame(
      found.filter(({ count }) => count !== size),
      [],
      'whole',
    )
  },
)
