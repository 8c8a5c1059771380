// The functions of the schema `storage` that list objects, under row-level security: compared with a simple computation.
import pg from 'pg'
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'
import { byBytes, listed } from '../support/storage-list.ts'

const database = await createMigratedDatabase()

const [ann, bob] = ['317eadce-631a-4429-a0bb-f19a7a517b4a', '4d56e902-f0a0-4662-8448-a4d9e643c142']

/** Names that are hard to sort, and to compare with patterns. */
const names = [
  ...['a', 'a!', 'a.txt', 'a/1', 'a/2', 'a/b/c', 'a0', 'A', 'A/x', 'B.TXT', 'b.txt', 'b/c/d/e', 'B/y'],
  ...['100%', '100%/x', '100a', 'x_y/1', 'xzy/1', 'x_y', 'back\\slash/1', 'back\\slash', 'backXslash/2'],
  ...[
    'é',
    'É/1',
    'e\u0301',
    'ß/1',
    'ẞ',
    'İ/1',
    'i̇/2',
    '😀/1',
    '😀',
    '\u{10ffff}/1',
    '\u{10ffff}',
    '\ud7ff/1',
    '\ue000',
  ],
  // Folders and objects that differ only in case.
  ...[
    'dir/1',
    'Dir/2',
    'dir/3',
    'DIR/sub/1',
    'Dir/Sub/2',
    'Dir/sub/3',
    'dIR',
    'Mixed/Case/1',
    'mixed/case/2',
    'mixed/Case/3',
  ],
  ...['folder/', 'folder/x', 'deep/1/2/3/4/5', 'deep/1/2', 'deep/1-2', 'deep/1', "quo'te/1", 'spa ce/1', '/root', '//'],
]

/** Folders have other names than objects. */
const unlike = ['a', 'a.txt', 'a-b/1', 'a-b/2', 'b!', 'b/c/1', 'b/d', 'c', 'ca/1', 'd/1', 'e.txt', 'f/1']

await database.query(
  `insert into storage.buckets (id, name) select name, name from unnest(array['one', 'two', 'three']) as name`,
)
await database.query(`insert into storage.objects (bucket_id, name) select 'three', unnest($1::text[])`, [unlike])
await database.query(
  `insert into storage.objects (bucket_id, name, created_at, updated_at, last_accessed_at)
   select 'one', name, timestamptz '2026-01-01' + (place * 7919 % 100) * interval '1 ms',
     timestamptz '2026-02-01' + (place % 3) * interval '1 day', timestamptz '2026-03-01' - place * interval '1 hour'
   from unnest($1::text[]) with ordinality as names (name, place)`,
  [names],
)
await database.query(`insert into storage.objects (bucket_id, name) values ('two', 'a'), ('two', 'other/1')`)
await database.query(
  `insert into storage.objects (bucket_id, name)
   select 'one', folder || '/' || name from unnest($1::text[]) as folder, unnest(array['1.png', 'sub/2.png']) as name`,
  [[ann, bob]],
)
await database.query(
  `create policy own_folder on storage.objects for select to authenticated
   using (bucket_id = 'one' and (storage.foldername(name))[1] = (select auth.uid()::text))`,
)

const all = [...names, ...[ann, bob].flatMap((user) => [`${user}/1.png`, `${user}/sub/2.png`])]

type Row = Readonly<Record<string, unknown>>

const client = new pg.Client({ connectionString: database.authenticatorUri })
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
})

/** Runs a statement for a role. */
async function as(role: string, sub: string | undefined, text: string, values: unknown[]): Promise<Row[]> {
  await client.query('begin')
  await client.query("select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)", [
    role,
    JSON.stringify({ role, sub }),
  ])
  const { rows } = await client.query<Row>(text, values)
  await client.query('rollback')
  return rows
}

const prefixes = [
  '',
  'a',
  'a/',
  'A',
  'A/',
  'b',
  '100%',
  '%',
  '_',
  'x_',
  'back\\',
  '\\',
  'é',
  'ß',
  '😀',
  '\u{10ffff}',
  '/',
]

t.test('storage.list_objects_with_delimiter', async (t) => {
  for (const prefix of [...prefixes, 'folder/', 'deep/', 'deep/1', '\ud7ff', ann]) {
    for (const order of ['asc', 'desc']) {
      const rows = await as(
        'service_role',
        undefined,
        `select * from storage.list_objects_with_delimiter('one', $1, '/', 1000, '', '', $2)`,
        [prefix, order],
      )
      t.strictSame(
        rows.map(({ id, name }) => (id === null ? `${String(name)}/` : name)),
        listed(all, { prefix, isDescending: order === 'desc' }),
        `${prefix} ${order}`,
      )
    }
  }
})

/** All entries, three at a time. */
async function pagesOf(from: string, order: string, cursorOf: (last: Row | undefined) => string): Promise<string[]> {
  const found: string[] = []
  let after = ''
  for (;;) {
    const rows = await as('service_role', undefined, `select id, name from ${from}`, [after, order])
    if (rows.length === 0 || found.length > 1000) return found
    found.push(...rows.map(({ id, name }) => (id === null ? `${String(name)}/` : String(name))))
    after = cursorOf(rows.at(-1))
  }
}

t.test('pages are the list', async (t) => {
  for (const order of ['asc', 'desc']) {
    const isDescending = order === 'desc'
    const exact = (last: Row | undefined): string => String(last?.name) + (last?.id === null ? '/' : '')
    t.strictSame(
      await pagesOf(`storage.list_objects_with_delimiter('one', '', '/', 3, '', $1, $2)`, order, exact),
      listed(all, { prefix: '', isDescending }),
      order,
    )
    const nameOnly = (last: Row | undefined): string => String(last?.name)
    t.strictSame(
      await pagesOf(`storage.search_v2('', 'three', 3, 1, $1, $2)`, order, nameOnly),
      listed(unlike, { prefix: '', isDescending }),
      `${order}, names only`,
    )
    const found = await pagesOf(`storage.search_v2('a', 'one', 1, 1, $1, $2)`, order, nameOnly)
    t.equal(new Set(found).size, found.length, 'nothing is repeated if an object has the name of a folder')
  }
})

t.test('storage.search ignores case, and names are relative to the prefix', async (t) => {
  for (const [prefix, search] of [
    ...prefixes.map((prefix) => [prefix, ''] as const),
    ...([
      ['', 'B'],
      ['a/', 'b'],
      ['deep/', '1'],
      ['DEEP/1/', '2'],
      ['', 'É'],
      ['', '%'],
      ['', 'd'],
      ['', 'DIR'],
      ['Dir/', 's'],
      ['dIr/', ''],
      ['dIr/SUB/', ''],
      ['MIXED/CASE/', ''],
      ['mixed/', 'CASE/'],
      ['nothing/', ''],
      ['dir/nothing/', ''],
      ['//', ''],
    ] as const),
  ]) {
    for (const order of ['asc', 'desc']) {
      const rows = await as(
        'service_role',
        undefined,
        `select * from storage.search($1, 'one', 1000, 1, 0, $2, 'name', $3)`,
        [prefix, search, order],
      )
      t.strictSame(
        rows.map(({ id, name }) => (id === null ? `${String(name)}/` : name)),
        listed(all, { prefix: prefix + search, isDescending: order === 'desc', ignoresCase: true }).map((name) =>
          Array.from(name).slice(Array.from(prefix).length).join(''),
        ),
        `${prefix} ${search} ${order}`,
      )
    }
  }
  const pages: unknown[] = []
  for (let offset = 0; ; offset += 4) {
    const rows = await as('service_role', undefined, `select name from storage.search('', 'one', 4, 1, $1)`, [offset])
    if (rows.length === 0) break
    pages.push(...rows.map(({ name }) => name))
  }
  const whole = await as('service_role', undefined, `select name from storage.search('', 'one', 1500)`, [])
  t.strictSame(
    pages,
    whole.map(({ name }) => name),
    'by offset',
  )
})

t.test('sorted by times', async (t) => {
  const search = (column: string, order: string, limit = 1000, offset = 0): Promise<Row[]> =>
    as(
      'service_role',
      undefined,
      `select name, id is null as is_folder, created_at, updated_at, last_accessed_at
       from storage.search('', 'one', $3, 1, $4, '', $1, $2)`,
      [column, order, limit, offset],
    )
  for (const column of ['created_at', 'updated_at', 'last_accessed_at']) {
    for (const order of ['asc', 'desc']) {
      const rows = await search(column, order)
      const folders = rows.filter(({ is_folder }) => is_folder).map(({ name }) => String(name))
      t.strictSame(
        rows.slice(0, folders.length).map(({ name }) => name),
        [...folders].sort((a, b) => (order === 'asc' ? byBytes(a, b) : byBytes(b, a))),
        'folders come first',
      )
      const times = rows.slice(folders.length).map((row) => (row[column] as Date).getTime())
      t.strictSame(
        times,
        [...times].sort((a, b) => (order === 'asc' ? a - b : b - a)),
        `${column} ${order}`,
      )
      const pages = []
      for (let offset = 0; offset < rows.length; offset += 5) pages.push(...(await search(column, order, 5, offset)))
      t.strictSame(pages, rows, 'by offset')
    }
  }
  for (const column of ['created_at', 'updated_at']) {
    for (const order of ['asc', 'desc']) {
      const page = (limit: number, after: string, moment: string): Promise<Row[]> =>
        as(
          'service_role',
          undefined,
          `select *, storage.json_time(${column}) as moment
           from storage.search_v2('', 'one', $1, 1, $2, $3, $4, $5)`,
          [limit, after, order, column, moment],
        )
      const whole = await page(1000, '', '')
      const found: Row[] = []
      for (;;) {
        const last = found.at(-1)
        const after = last ? String(last.name) + (last.id === null ? '/' : '') : ''
        const rows = await page(4, after, last ? String(last.moment) : '')
        if (rows.length === 0 || found.length > 1000) break
        found.push(...rows)
      }
      t.strictSame(found, whole, `pages by ${column} ${order}`)
      t.equal(whole.length, listed(all, { prefix: '' }).length)
    }
  }
})

t.test('row-level security applies', async (t) => {
  const mine = await as('authenticated', ann, `select name, id is null as is_folder from storage.search('', 'one')`, [])
  t.strictSame(mine, [{ name: ann, is_folder: true }])
  const inside = await as('authenticated', ann, `select name from storage.search($1, 'one')`, [`${ann}/`])
  t.strictSame(inside, [{ name: '1.png' }, { name: 'sub' }])
  t.strictSame(await as('authenticated', ann, `select name from storage.search($1, 'one')`, [`${bob}/`]), [])
  t.strictSame(await as('authenticated', ann, `select name from storage.search_v2($1, 'one')`, [`${bob}/`]), [])
  for (const order of ['asc', 'desc']) {
    const rows = await as('authenticated', bob, `select name from storage.search_v2('', 'one', 10, 1, '', $1)`, [order])
    t.strictSame(rows, [{ name: bob }], 'folders of others are not listed')
    const recent = await as(
      'authenticated',
      bob,
      `select name from storage.search_v2('', 'one', 10, 1, '', $1, 'created_at')`,
      [order],
    )
    t.strictSame(recent, [{ name: bob }])
  }
  t.strictSame(await as('anon', undefined, `select name from storage.search('', 'one')`, []), [])
})

t.test('limits', async (t) => {
  await database.query(
    `insert into storage.objects (bucket_id, name) select 'two', 'n' || i from generate_series(1, 2000) as i`,
  )
  for (const call of [
    `search('', 'two', 5000)`,
    `search_v2('', 'two', 5000)`,
    `search('', 'two', 5000, 1, 0, '', 'created_at')`,
  ]) {
    t.equal((await as('service_role', undefined, `select name from storage.${call}`, [])).length, 1500, call)
  }
  t.equal((await as('service_role', undefined, `select from storage.search(null, 'two', null)`, [])).length, 100)
  t.equal((await as('service_role', undefined, `select from storage.search('', 'two', 0)`, [])).length, 0)
  t.equal((await as('service_role', undefined, `select from storage.search('', 'none')`, [])).length, 0)
})

t.test('folders are skipped, and pages begin where they begin', async (t) => {
  await database.query(
    `insert into storage.buckets (id, name) values ('big', 'big');
     insert into storage.objects (bucket_id, name)
     select 'big', 'folder' || i % 100 || '/' || i from generate_series(1, 10000) as i;
     insert into storage.objects (bucket_id, name) select 'big', 'object' || i from generate_series(1, 10000) as i;
     create policy big on storage.objects for select to authenticated
       using (bucket_id = 'big' and (select auth.uid()) is not null);
     analyze storage.objects`,
  )
  /** The rows that this connection has read; those of earlier transactions may be included. */
  const total = async (): Promise<number> => {
    const { rows } = await client.query<{ read: number }>(
      `select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read
       from pg_stat_xact_user_tables where relid = 'storage.objects'::regclass`,
    )
    return rows[0]?.read ?? 0
  }
  /** The number of rows that a call reads for a user with policies. */
  async function rowsRead(call: string): Promise<{ readonly rows: number; readonly read: number }> {
    await client.query('begin')
    const before = await total()
    await client.query("select set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)", [
      JSON.stringify({ role: 'authenticated', sub: ann }),
    ])
    const { rowCount } = await client.query(`select * from storage.${call}`)
    await client.query('reset role')
    const read = (await total()) - before
    await client.query('rollback')
    return { rows: rowCount ?? 0, read }
  }
  const calls: [call: string, rows: number, most: number][] = [
    [`search('folder', 'big', 100)`, 100, 300],
    [`search('', 'big', 100)`, 100, 300],
    [`search('', 'big', 100, 1, 0, '', 'name', 'desc')`, 100, 300],
    [`search('', 'big', 100, 1, 0, 'object99')`, 100, 200],
    [`search('folder7/', 'big', 50)`, 50, 150],
    [`search_v2('', 'big', 100)`, 100, 300],
    [`search_v2('', 'big', 100, 1, 'object5')`, 100, 300],
    [`search_v2('', 'big', 100, 1, 'object5', 'desc')`, 100, 300],
    [`list_objects_with_delimiter('big', '', '/', 1000, '', 'folder50/')`, 1000, 1300],
  ]
  // The sixth execution of a statement may use a plan for all values.
  for (let round = 0; round < 3; round++) {
    for (const [call, rows, most] of calls) {
      const found = await rowsRead(call)
      t.equal(found.rows, rows, call)
      t.ok(found.read <= most, `${call} reads ${found.read} rows`)
    }
  }
})
