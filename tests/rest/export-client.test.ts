// Streamed responses through supabase-js, `rowhouse/client` and curl: the examples of the README, broken-off responses, the
// log and the metrics of the program, and its memory.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createClient } from '@supabase/supabase-js'
import { rows } from 'rowhouse/client'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { readmeSection, runSection } from '../support/readme-section.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.notes (id int primary key, owner text, text text);
  insert into public.notes select i, case when i % 2 = 0 then 'ann' else 'bob' end, repeat('note ', 10) || i
    from generate_series(1, 20000) i;
  alter table public.notes enable row level security;
  create policy own on public.notes to authenticated using (owner = current_setting('request.jwt.claims')::json->>'sub');
  grant select on public.notes to authenticated;
  create view public.broken as select 1 / (30000 - i) as n from (select generate_series(1, 100000) i) g;
  create view public.many as select i, repeat('m', 100) as text from (select generate_series(1, 300000) i) g;
  create function public.up_to(most int) returns setof int stable language sql as $$ select generate_series(1, most) $$;
  grant select on public.broken, public.many to authenticated`)
const { url, logged } = await startApplication(t, database.authenticatorUri)
const clientOf = async (user: string) => {
  const token = await signToken({ role: 'authenticated', sub: user })
  return createClient(url, token, {
    accessToken: () => Promise.resolve(token),
    realtime: { transport: class {} as never },
  })
}
const client = await clientOf('ann')

const collect = async <Row>(source: AsyncIterable<Row>): Promise<Row[]> => {
  const found: Row[] = []
  for await (const row of source) found.push(row)
  return found
}

t.test('the examples of the README', async (t) => {
  const token = await signToken({ role: 'authenticated', sub: 'ann' })
  const printed = await runSection('export-curl', { URL: url, TOKEN: token })
  t.equal(printed.split('\n').length, 10_001)
  t.strictSame(Object.keys(JSON.parse(printed.slice(0, printed.indexOf('\n'))) as object), ['id', 'text'])
  // What a module imports, a function is given.
  const source = readmeSection('export').replace(/^import .*\n/m, '')
  const { default: example } = (await import(
    `data:text/javascript,${encodeURIComponent(`export default async (client, rows) => { ${source}; return { found, data } }`)}`
  )) as { default: (given: typeof client, read: typeof rows) => Promise<{ found: unknown[]; data: string }> }
  const { found, data } = await example(client, rows)
  t.equal(found.length, 10_000)
  t.strictSame(found[0], { id: 2, text: 'note note note note note note note note note note 2' })
  t.equal(data.split('\n').length, 10_001)
  t.match(data, /^id,text\n2,/)
})

t.test('rows() of tables and functions, of two users', async (t) => {
  const [ann, bob] = await Promise.all(
    ['ann', 'bob'].map(async (user) => {
      const own = await clientOf(user)
      return collect(rows<{ readonly owner: string }>(own.from('notes').select('owner')))
    }),
  )
  t.ok(ann?.length === 10_000 && ann.every(({ owner }) => owner === 'ann'))
  t.ok(bob?.length === 10_000 && bob.every(({ owner }) => owner === 'bob'))
  t.strictSame(await collect(rows(client.rpc('up_to', { most: 3 }))), [1, 2, 3])
  t.strictSame(await collect(rows(client.rpc('up_to', { most: 3 }, { get: true }))), [1, 2, 3])
  t.strictSame(await collect(rows(client.from('notes').select('id').lt('id', 0))), [])
})

t.test('rows() rejects errors and broken-off responses', async (t) => {
  await t.rejects(collect(rows(client.from('missing').select())), { name: 'RowsError', status: 404, code: 'PGRST205' })
  const found: unknown[] = []
  const failure = await (async () => {
    for await (const row of rows(client.from('broken').select())) found.push(row)
  })().catch((error: unknown) => error)
  t.match(failure, { name: 'RowsError', status: undefined })
  t.ok(found.length < 30_000)
  await t.rejects(collect(rows(Promise.resolve({ data: null }))), { name: 'TypeError', message: /takes a query/ })
})

t.test('leaving the loop ends the statement', async (t) => {
  for await (const row of rows<{ readonly i: number }>(client.from('many').select())) {
    t.equal(row.i, 1)
    break
  }
  const ended = await until(() => logged().some(({ event, error }) => event === 'export-ended' && error !== undefined))
  t.ok(ended)
})

t.test('the log has a line with rows and bytes', async (t) => {
  const lines = logged().filter(({ event }) => event === 'export-ended')
  t.match(
    lines.find(({ error }) => error === undefined),
    { level: 'info', path: '/rest/v1/notes', rows: 10_000, bytes: Number, duration: Number, requestId: String },
  )
  t.match(
    lines.find(({ path }) => path === '/rest/v1/broken'),
    { level: 'warn', error: { message: 'division by zero' } },
  )
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

t.test('memory does not depend on the number of rows', async (t) => {
  const token = await signToken({ role: 'authenticated', sub: 'ann' })
  const read = async (): Promise<number> => {
    const response = await fetch(`${url}/rest/v1/many?select=text`, {
      headers: { Authorization: `Bearer ${token}`, Accept: 'text/csv', 'Accept-Encoding': 'identity' },
    })
    let bytes = 0
    let most = 0
    let next = 0
    const reader = response.body?.getReader()
    for (;;) {
      const part = await reader?.read()
      if (part?.value === undefined) break
      bytes += (part.value as Uint8Array).length
      if (bytes < next) continue
      next += 5_000_000
      collectGarbage()
      most = Math.max(most, process.memoryUsage().external)
    }
    t.equal(bytes, 'text\n'.length + 300_000 * 101 - 1)
    return most
  }
  collectGarbage()
  const before = process.memoryUsage().external
  // The body has 30 MB, of which client and server keep a few.
  const used = (await read()) - before
  t.ok(used < 20 * 1024 * 1024, `${used} bytes`)
})
