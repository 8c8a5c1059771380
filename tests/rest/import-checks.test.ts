// What else decides about an import: cost limits, readable columns, preferences, policies, and tables of other kinds. The
// responses are those to the same rows as a JSON array.
import t, { type Test } from 'tap'
import {
  createImportDatabase,
  ndjson,
  send,
  startImportApi,
  type ImportAnswer,
  type ImportApi,
} from '../support/import-database.ts'

const database = await createImportDatabase(t)
const { role } = database
await database.query(`
  create table public.keys (a int, b text, note text default 'none', double int generated always as (a * 2) stored,
    primary key (a, b));
  create table public.parts (id int, day date not null, text text, primary key (id, day)) partition by range (day);
  create table public.parts_old partition of public.parts for values from (minvalue) to ('2020-01-01');
  create table public.parts_new partition of public.parts for values from ('2020-01-01') to (maxvalue);
  create view public.cheap as select id, name, price from public.items where price < 10 with check option;
  create table public.hidden (id int primary key, name text, secret text default 'secret');
  create table public.counted (id int primary key);
  create table public.counts (statements int, rows int);
  create function public.count_rows() returns trigger language plpgsql security definer as $$
    begin insert into public.counts select 1, count(*) from added; return null; end $$;
  create trigger count_rows after insert on public.counted referencing new table as added
    for each statement execute function public.count_rows();
  create function public.refuse() returns void language plpgsql as $$
    begin
      if current_setting('request.headers')::json ->> 'x-user' = 'refused' then
        raise exception 'refused' using errcode = 'PT403';
      end if;
    end $$;
  grant all on public.keys, public.parts, public.cheap, public.counted to ${role};
  grant insert on public.hidden to ${role};
  grant select (id, name) on public.hidden to ${role}`)
const tables = ['items', 'keys', 'parts', 'hidden', 'notes', 'counted', 'counts'] as const

const contents = async (): Promise<unknown> =>
  Promise.all(tables.map(async (name) => (await database.query(`select * from ${name} x order by x::text`)).rows))

/** What is compared: the tag of a write has the number of its transaction. */
const comparable = ({ status, headers, body }: ImportAnswer): unknown => {
  const ignored = ['etag', 'content-length', 'transfer-encoding']
  const others = Object.fromEntries(Object.entries(headers).filter(([name]) => !ignored.includes(name)))
  const isError = typeof body === 'object' && body !== null && 'code' in body
  return { status, headers: others, body: isError ? { ...body, line: undefined } : body }
}

type Case = readonly [name: string, path: string, rows: readonly object[], headers?: Readonly<Record<string, string>>]

async function compareAll(t: Test, api: ImportApi, cases: readonly Case[]): Promise<void> {
  for (const [name, path, rows, headers] of cases) {
    const outcome = async (type: string, body: string) => {
      await database.query(`truncate ${tables.join(', ')}; insert into public.keys (a, b) values (1, 'x')`)
      const answer = await send(api.url, path, type, body, headers)
      return { answer: comparable(answer), tables: await contents() }
    }
    const expected = await outcome('application/json', JSON.stringify(rows))
    const found = await outcome(ndjson, rows.map((row) => JSON.stringify(row)).join('\n'))
    t.strictSame(found, expected, name)
  }
}

const representation = { Prefer: 'return=representation' }

t.test('tables and preferences', async (t) => {
  const api = await startImportApi(t, database, { dbPreRequest: { schema: 'public', name: 'refuse' } })
  const item = (id: number, more: object = {}) => ({ id, name: `item ${id}`, price: id, ...more })
  await compareAll(t, api, [
    ['a key of two columns', '/keys', [{ a: 1, b: 'x', note: 'new' }], { Prefer: 'resolution=merge-duplicates' }],
    [
      'a conflict without a resolution',
      '/keys',
      [
        { a: 2, b: 'x' },
        { a: 1, b: 'x' },
      ],
    ],
    [
      'ignored duplicates',
      '/keys',
      [{ a: 1, b: 'x' }],
      { Prefer: 'resolution=ignore-duplicates, return=representation' },
    ],
    ['a generated column', '/keys', [{ a: 1, b: 'y', double: 3 }]],
    [
      'missing=default',
      '/keys?columns=a,b,note',
      [
        { a: 5, b: 'y' },
        { a: 6, b: 'z', note: 'given' },
      ],
      { Prefer: 'missing=default, return=representation' },
    ],
    [
      'different keys of named columns',
      '/keys?columns=a,b,note',
      [
        { a: 5, b: 'y' },
        { note: 'n', b: 'z', a: 6 },
      ],
      representation,
    ],
    [
      'partitions',
      '/parts',
      [
        { id: 1, day: '2019-05-05' },
        { id: 2, day: '2021-05-05' },
      ],
      representation,
    ],
    ['a view with a check option', '/cheap', [item(1), item(2)], representation],
    ['a row that the view refuses', '/cheap', [item(1), item(11)]],
    ['a trigger of the statement fires once', '/counted', Array.from({ length: 3000 }, (_, id) => ({ id }))],
    ['max-affected', '/items', [item(1), item(2)], { Prefer: 'handling=strict, max-affected=1' }],
    ['strict', '/items', [item(1)], { Prefer: 'handling=strict, return=representation, count=exact' }],
    ['unknown preference', '/items', [item(1)], { Prefer: 'handling=strict, nonsense' }],
    ['tx=rollback', '/items', [item(1)], { Prefer: 'tx=rollback, return=representation' }],
    ['the pre-request function refuses', '/items', [item(1)], { 'X-User': 'refused' }],
    ['an execution plan', '/items', [item(1)], { Accept: 'application/vnd.pgrst.plan+json' }],
  ])
})

t.test('values keep their bytes', async (t) => {
  const api = await startImportApi(t, database)
  const rows = [
    String.raw`{"id":1,"name":"\u2028\\n\"\t","price":12345678901234567890.123456789012345,"tags":{"b":1.10,"a":-0,"b":2}}`,
    String.raw`{"name":"__proto__","id":2,"price":1e-30,"tags":{"__proto__":1,"constructor":null}}`,
    ` {"id":3,\t"name":"a","price":-0.0,"tags":[9007199254740993,1E400]} `,
    `{"id":4,"name":"${'ä'.repeat(5000)}","price":0,"tags":${'['.repeat(500)}${']'.repeat(500)}}`,
    String.raw`{"id":5,"id":6,"name":"twice","price":1,"tags":null}`,
  ]
  const written = async (type: string, body: string): Promise<unknown> => {
    await database.query('truncate items')
    t.equal((await send(api.url, '/items', type, body)).status, 201)
    return (await database.query('select id, name, price::text, tags::text from items order by id')).rows
  }
  const expected = await written('application/json', `[${rows.join(',')}]`)
  t.strictSame(await written(ndjson, rows.join('\n')), expected)
  t.match(expected, [
    { price: '12345678901234567890.123456789012345' },
    {},
    { tags: /9007199254740993/ },
    {},
    { id: 6 },
  ])
  for (const key of ['__proto__', 'constructor', 'toString']) {
    const row = `{"id":1,"${key}":1}`
    const answers = await Promise.all([
      send(api.url, '/items', 'application/json', `[${row}]`),
      send(api.url, '/items', ndjson, row),
    ])
    t.match(
      answers,
      [
        { status: 400, body: { code: 'PGRST204' } },
        { status: 400, body: { code: 'PGRST204' } },
      ],
      key,
    )
  }
})

t.test('the columns that the role may read', async (t) => {
  const api = await startImportApi(t, database, { dbSelectReadableColumns: true })
  const rows = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
  ]
  await compareAll(t, api, [
    ['all columns', '/hidden', rows, representation],
    ['some columns', '/hidden?select=name', rows, representation],
    ['a hidden column', '/hidden?select=secret', rows, representation],
  ])
  await database.query(`revoke select (name) on public.hidden from ${role}; truncate hidden`)
  const answer = await send(
    api.url,
    '/hidden',
    ndjson,
    rows.map((row) => JSON.stringify(row)).join('\n'),
    representation,
  )
  t.match(answer, { status: 201, body: [{ id: 1, name: undefined }, { id: 2 }] }, 'a privilege was revoked')
  await database.query(`grant select (name) on public.hidden to ${role}`)
})

t.test('the cost of the statement is limited, with the rows that have arrived', async (t) => {
  const api = await startImportApi(t, database, { dbMaxCost: 150, dbPlanEnabled: true })
  await database.query('truncate items')
  const lines = (length: number): string =>
    Array.from({ length }, (_, id) => JSON.stringify({ id, name: 'some name', price: 1 })).join('\n')
  t.equal((await send(api.url, '/items', ndjson, lines(20))).status, 201)
  await database.query('truncate items')
  const refused = await send(api.url, '/items', ndjson, lines(20_000))
  t.match(refused, { status: 403, body: { code: 'PGRSTX81', line: undefined } })
  t.strictSame((await database.query('select from items')).rows, [], 'nothing is written')
  const plan = await send(api.url, '/items', ndjson, lines(20_000), { Accept: 'application/vnd.pgrst.plan+json' })
  t.equal(plan.status, 200, 'a plan costs nothing')
})

t.test('two users: each writes and sees only own rows', async (t) => {
  const api = await startImportApi(t, database)
  const rows = [
    { id: 1, owner: 'ann' },
    { id: 2, owner: 'bob' },
  ]
  await compareAll(t, api, [
    ['own row', '/notes', rows.slice(0, 1), { 'X-User': 'ann', ...representation }],
    ['a row of another user', '/notes', rows, { 'X-User': 'ann' }],
    ['nobody', '/notes', rows.slice(0, 1), representation],
  ])
  await database.query("truncate notes; insert into notes values (2, 'bob', 'of bob')")
  const taken = await send(api.url, '/notes', ndjson, '{"id":2,"owner":"ann","text":"of ann"}', {
    'X-User': 'ann',
    Prefer: 'resolution=merge-duplicates',
  })
  t.match(taken, { status: 403, body: { code: '42501', line: 1 } }, 'an upsert does not take a row over')
  t.strictSame((await database.query('select owner, text from notes')).rows, [{ owner: 'bob', text: 'of bob' }])
})
