// Keyset pages of the whole service: the lines of the README, supabase-js, a base path behind a proxy, and index ranges.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { WebSocket } from 'ws'
import { pages, PageError } from 'rowhouse/client'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { linksOf } from '../support/page-walk.ts'
import { readmeSection, runSection } from '../support/readme-section.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.notes (id int primary key, owner text, rank int, text text);
  insert into public.notes select n, (array['ann', 'bob'])[n % 2 + 1], n % 3, 't' || n from generate_series(1, 14) n;
  create index on public.notes (rank, id);
  alter table public.notes enable row level security;
  create policy own on public.notes to authenticated using (owner = current_setting('request.jwt.claims')::json->>'sub');
  grant select on public.notes to authenticated;
  create table public.ranks (id int primary key, rank int, at timestamptz);
  insert into public.ranks select n, nullif(n % 1000, 0), now() + n * interval '1 s' from generate_series(1, 50000) n;
  create index on public.ranks (rank, id);
  create index on public.ranks (rank desc nulls last, id);
  create index on public.ranks (at desc nulls last, id desc nulls last);
  grant select on public.ranks to authenticated;
  create function public.of_rank(wanted int) returns setof public.ranks stable language sql as
    $$ select * from ranks where rank = wanted $$`)
await database.query('vacuum analyze public.ranks')
const { call, url } = await startApplication(t, database.authenticatorUri, { PGRST_DB_PLAN_ENABLED: 'true' })
const second = await startApplication(t, database.authenticatorUri)
const token = await signToken({ role: 'authenticated', sub: 'bob' })
const headers = { Authorization: `Bearer ${token}` }
const client = createClient(url, token, {
  auth: { persistSession: false, autoRefreshToken: false },
  realtime: { transport: WebSocket as never },
  accessToken: () => Promise.resolve(token),
})

t.test('the lines of the README', async (t) => {
  const printed = await runSection('keyset-curl', { URL: url, TOKEN: token })
  t.match(printed, /^link: <\?limit=2&order=rank\.desc&select=id,text&cursor=[\w-]+>; rel="next"\r?$/im)
  const source = readmeSection('keyset').replace(/^import .*\n/m, '')
  const found: { id: number }[] = []
  const module = (await import(
    `data:text/javascript,${encodeURIComponent(`export default async (client, pages, found) => { ${source} }`)}`
  )) as { default: (...given: readonly unknown[]) => Promise<void> }
  await module.default(client, pages, found)
  t.strictSame(
    found.map(({ id }) => id),
    [3, 9, 1, 7, 13, 5, 11],
  )
})

t.test('supabase-js', async (t) => {
  const query = () => client.from('notes').select('id', { count: 'exact' }).order('rank', { ascending: false }).limit(3)
  const { data, count } = await query().setHeader('Prefer', 'pagination=keyset, count=exact')
  t.strictSame([data, count], [[{ id: 11 }, { id: 5 }, { id: 13 }], 7])
  const sizes: number[] = []
  for await (const rows of pages(query())) sizes.push(rows.length)
  t.strictSame(sizes, [3, 3, 1])
  const called: unknown[] = []
  for await (const rows of pages(client.rpc('of_rank', { wanted: 7 }, { get: true }).select('id').limit(20)))
    called.push(...rows)
  t.equal(called.length, 50)
  for await (const rows of pages(query())) {
    t.equal(rows.length, 3)
    break
  }
  await t.rejects(
    async () => {
      for await (const rows of pages(client.from('notes').select('id').order('nothing').limit(1)))
        t.fail(JSON.stringify(rows))
    },
    new PageError(400, { message: 'column notes.nothing does not exist' }),
  )
  const write = client.from('notes').insert({ id: 99 }).select()
  await t.rejects(pages(write).next(), TypeError)
})

t.test('links hold in all processes with the same secret, and under any path', async (t) => {
  const path = '/rest/v1/notes?select=id&limit=3'
  const first = await call('GET', path, { headers: { ...headers, Prefer: 'pagination=keyset' } })
  const { next = '' } = linksOf(first.headers.get('link'), path)
  t.match(next, /^\/rest\/v1\/notes\?limit=3&select=id&cursor=/)
  t.match(await second.call('GET', next, { headers }), { status: 200, body: [{ id: 7 }, { id: 9 }, { id: 11 }] })
  t.match(linksOf(first.headers.get('link'), '/proxied/notes?select=id').next, /^\/proxied\/notes\?/)
  const anonymous = await call('GET', next)
  t.equal(anonymous.status, 401, 'a cursor is no credential')
})

type Node = { readonly 'Node Type': string; readonly Plans?: readonly Node[]; readonly [member: string]: unknown }

const nodesOf = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

t.test('a page deep in the table reads a range of an index', async (t) => {
  for (const order of ['id.desc', 'rank', 'rank.desc', 'at.desc.nullslast', 'rank.desc.nullslast,id']) {
    const path = `/rest/v1/ranks?select=id&order=${order}&limit=10`
    const far = await call('GET', path.replace('limit=10', 'limit=40000'), {
      headers: { ...headers, Prefer: 'pagination=keyset' },
    })
    const { next = '' } = linksOf(far.headers.get('link'), path)
    const target = next.replace('limit=40000', 'limit=10')
    const explained = await call('GET', target, {
      headers: { ...headers, Accept: 'application/vnd.pgrst.plan+json; options=analyze|buffers' },
    })
    t.equal(explained.status, 200, explained.text.slice(0, 300))
    const [{ Plan: plan }] = explained.body as [{ Plan: Node }]
    const read = nodesOf(plan).filter(
      (node) => String(node['Node Type']).includes('Scan') && node['Relation Name'] === 'ranks',
    )
    t.ok(read.length > 0)
    t.ok(
      read.every((node) => String(node['Node Type']).startsWith('Index')),
      `${order}: ${read.map((node) => node['Node Type']).join()}`,
    )
    const rows = read.reduce((sum, node) => sum + Number(node['Actual Rows']) * Number(node['Actual Loops']), 0)
    const removed = read.reduce((sum, node) => sum + Number(node['Rows Removed by Filter'] ?? 0), 0)
    t.ok(rows <= 40 && removed <= 10, `${order}: reads ${rows} rows and discards ${removed}`)
  }
})
