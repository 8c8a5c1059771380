// Lists of objects at `/storage/v1`: every parameter and error, pages, and large buckets.
import t from 'tap'
import { startStorageService, storageFault, storageFaults as faults, type TestStorage } from '../support/storage.ts'
import { exchangeRows, type StorageRow } from '../support/storage-rows.ts'
import { byBytes, listed } from '../support/storage-list.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

const id = (place: number): string => `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`
const time = (place: number): string => `2026-01-01T00:00:00.${String(place).padStart(3, '0')}Z`

/** Inserts objects without bytes. Their times are milliseconds apart, later ones are less recent. */
async function insertObjects({ database }: TestStorage, bucket: string, names: readonly string[]): Promise<void> {
  await database.query(`insert into storage.buckets (id, name) values ($1, $1) on conflict do nothing`, [bucket])
  await database.query(
    `insert into storage.objects (id, bucket_id, name, metadata, created_at, updated_at, last_accessed_at)
     select ('00000000-0000-4000-8000-' || lpad(place::text, 12, '0'))::uuid, $1, name, '{"size": 1}',
       timestamptz '2026-01-01Z' + place * interval '1 ms', timestamptz '2026-01-01Z' + (900 - place) * interval '1.0004 ms',
       timestamptz '2026-01-01Z'
     from unnest($2::text[]) with ordinality as names (name, place)`,
    [bucket, names],
  )
}

const names = ['b.txt', 'a/1', 'a/2', 'a/b/1', 'C.txt', 'c.md', '100%/x', 'x_y', 'xzy', 'a.png']

const folder = (name: string) => ({
  ...{ name, id: null, updated_at: null, created_at: null, last_accessed_at: null },
  metadata: null,
})
const object = (place: number, name: string) => ({
  ...{ name, id: id(place), updated_at: new Date(Date.parse(time(0)) + (900 - place) * 1.0004).toISOString() },
  ...{ created_at: time(place), last_accessed_at: time(0), metadata: { size: 1 } },
})

const invalid = (message: string) => faults.validation(message)
const choice = 'must be equal to one of the allowed values'

t.test('POST /object/list', async (t) => {
  const storage = await startStorageService(t)
  await insertObjects(storage, 'files', names)
  const list = (body: unknown, bucket = 'files', ...more: [as?: null]): StorageRow[1] => [
    ...(['POST', `/object/list/${bucket}`, body] as const),
    ...more,
  ]
  await exchangeRows(t, storage.ask, [
    [
      'all of a bucket',
      list({ prefix: '' }),
      [
        folder('100%'),
        object(10, 'a.png'),
        folder('a'),
        object(1, 'b.txt'),
        object(6, 'c.md'),
        object(5, 'C.txt'),
        object(8, 'x_y'),
        object(9, 'xzy'),
      ],
    ],
    ['a folder', list({ prefix: 'a' }), [object(2, '1'), object(3, '2'), folder('b')]],
    ['a folder with slash', list({ prefix: 'a/' }), [object(2, '1'), object(3, '2'), folder('b')]],
    ['in another case', list({ prefix: 'A' }), [object(2, '1'), object(3, '2'), folder('b')]],
    ['a folder of a folder', list({ prefix: 'a/b' }), [object(4, '1')]],
    ['search in any case', list({ prefix: '', search: 'c' }), [object(6, 'c.md'), object(5, 'C.txt')]],
    ['search in a folder', list({ prefix: 'a', search: '2' }), [object(3, '2')]],
    ['search into a folder', list({ prefix: '', search: 'a/1' }), [object(2, 'a/1')]],
    ['search is no pattern', list({ prefix: '', search: 'x_' }), [object(8, 'x_y')]],
    ['percent is no pattern', list({ prefix: '', search: '%' }), []],
    ['backslash is no escape', list({ prefix: '', search: 'x\\_' }), []],
    ['prefix with a percent sign', list({ prefix: '100%' }), [object(7, 'x')]],
    ['limit and offset', list({ prefix: '', limit: 2, offset: 1 }), [object(10, 'a.png'), folder('a')]],
    ['offset beyond the end', list({ prefix: '', offset: 2 ** 40 }), []],
    ['large limit', list({ prefix: 'a/b', limit: 2 ** 40 }), [object(4, '1')]],
    [
      'descending',
      list({ prefix: '', sortBy: { column: 'name', order: 'desc' }, limit: 3 }),
      [object(9, 'xzy'), object(8, 'x_y'), object(5, 'C.txt')],
    ],
    [
      'by creation',
      list({ prefix: '', sortBy: { column: 'created_at' }, limit: 4 }),
      [folder('100%'), folder('a'), object(1, 'b.txt'), object(5, 'C.txt')],
    ],
    [
      'by change, descending',
      list({ prefix: '', sortBy: { column: 'updated_at', order: 'desc' }, limit: 4 }),
      [folder('a'), folder('100%'), object(1, 'b.txt'), object(5, 'C.txt')],
    ],
    [
      'by access',
      list({ prefix: 'a', sortBy: { column: 'last_accessed_at' } }),
      [folder('b'), object(2, '1'), object(3, '2')],
    ],
    [
      'patterns are none when sorted by time',
      list({ prefix: '', search: 'x_', sortBy: { column: 'created_at' } }),
      [object(8, 'x_y')],
    ],
    ['no such folder', list({ prefix: 'nothing' }), []],
    ['no such bucket', list({ prefix: '' }, 'nothing'), []],
    ['unknown members', list({ prefix: 'a/b', more: true }), [object(4, '1')]],
    ['no prefix', list({}), invalid("body must have required property 'prefix'")],
    ['null is an empty text', list({ prefix: null, search: null, limit: '2', offset: 1000 }), []],
    ['prefix is no text', list({ prefix: {} }), invalid('body/prefix must be string')],
    ['an invalid bucket', list({ prefix: '' }, 'a%2Fb'), faults.bucketName],
    ['limit 0', list({ prefix: '', limit: 0 }), invalid('body/limit must be >= 1')],
    ['limit is no integer', list({ prefix: '', limit: 1.5 }), invalid('body/limit must be integer')],
    ['negative offset', list({ prefix: '', offset: -1 }), invalid('body/offset must be >= 0')],
    ['other column', list({ prefix: '', sortBy: { column: 'id' } }), invalid(`body/sortBy/column ${choice}`)],
    ['no column', list({ prefix: '', sortBy: {} }), invalid("body/sortBy must have required property 'column'")],
    [
      'other order',
      list({ prefix: '', sortBy: { column: 'name', order: 'up' } }),
      invalid(`body/sortBy/order ${choice}`),
    ],
    ['NUL', list({ prefix: 'a\0' }), invalid('body/prefix must match pattern "^[^\\u0000]*$"')],
    ['without credentials', list({ prefix: '' }, 'files', null), faults.noToken],
  ])
})

t.test('lists by name, by time and by key contain the same entries', async (t) => {
  const storage = await startStorageService(t)
  const mixed = [
    'dir/1',
    'Dir/2',
    'dir/a/1',
    'dir/A/2',
    'dir/b.txt',
    'dir/B.txt',
    'DIR',
    'Zoë/1',
    'zoë/2',
    '二/1',
    'zz/1',
  ]
  await insertObjects(storage, 'mixed', mixed)
  type Listed = { readonly name: string; readonly id: string | null }
  const shown = (entries: readonly Listed[]): string[] =>
    entries.map(({ name, id }) => (id === null ? `${name.replace(/\/$/, '')}/` : name)).sort(byBytes)
  const as = 'service_role'
  for (const folder of ['', 'dir/', 'Dir/', 'dir/a/', 'dir/A/', 'Zoë/', 'zoë/']) {
    const lists = await Promise.all(
      (['name', 'created_at', 'updated_at', 'last_accessed_at'] as const).flatMap((column) =>
        (['asc', 'desc'] as const).map(async (order) => {
          const body = { prefix: folder, sortBy: { column, order } }
          return shown((await storage.ask('POST', '/object/list/mixed', { as, body })).json as Listed[])
        }),
      ),
    )
    const body = { prefix: folder, with_delimiter: true }
    const page = (await storage.ask('POST', '/object/list-v2/mixed', { as, body })).json as {
      readonly folders: readonly Listed[]
      readonly objects: readonly Listed[]
    }
    const byKey = shown([...page.folders, ...page.objects].map((it) => ({ ...it, name: it.name.slice(folder.length) })))
    t.strictSame(
      byKey,
      listed(mixed, { prefix: folder })
        .map((name) => name.slice(folder.length))
        .sort(byBytes),
    )
    for (const list of lists) t.strictSame(list, byKey, folder)
  }
  const paged: string[] = []
  for (let offset = 0; offset < 12; offset += 2) {
    const body = { prefix: '', limit: 2, offset }
    paged.push(...shown((await storage.ask('POST', '/object/list/mixed', { as, body })).json as Listed[]))
  }
  t.strictSame(paged.sort(byBytes), listed(mixed, { prefix: '' }).sort(byBytes), 'page by page')
  const separator = { prefix: '', search: 'dIR\u0001DIR' }
  t.strictSame((await storage.ask('POST', '/object/list/mixed', { as, body: separator })).json, [])
})

t.test('POST /object/list-v2', async (t) => {
  const storage = await startStorageService(t)
  await insertObjects(storage, 'files', names)
  const list = (body: unknown, bucket = 'files'): StorageRow[1] => ['POST', `/object/list-v2/${bucket}`, body]
  const last = { hasNext: false, folders: [] }
  const keyed = (place: number, name: string, key = name) => ({ key, ...object(place, name) })
  const cursor = (text: string): string => Buffer.from(text).toString('base64')
  const badCursor = storageFault(400, 'InvalidParameter', 'Invalid Parameter continuation token', 'InvalidParameter')
  await exchangeRows(t, storage.ask, [
    [
      'by prefix',
      list({ prefix: 'a/' }),
      { ...last, objects: [object(2, 'a/1'), object(3, 'a/2'), object(4, 'a/b/1')] },
    ],
    ['prefix within a name', list({ prefix: 'x_' }), { ...last, objects: [object(8, 'x_y')] }],
    ['in the same case', list({ prefix: 'A' }), { ...last, objects: [] }],
    [
      'with delimiter',
      list({ with_delimiter: true }),
      {
        hasNext: false,
        folders: [
          { key: '100%', ...folder('100%/') },
          { key: 'a', ...folder('a/') },
        ],
        objects: [
          keyed(5, 'C.txt'),
          keyed(10, 'a.png'),
          keyed(1, 'b.txt'),
          keyed(6, 'c.md'),
          keyed(8, 'x_y'),
          keyed(9, 'xzy'),
        ],
      },
    ],
    [
      'with delimiter in a folder',
      list({ prefix: 'a/', with_delimiter: true }),
      {
        hasNext: false,
        folders: [{ key: 'b', ...folder('a/b/') }],
        objects: [keyed(2, 'a/1', '1'), keyed(3, 'a/2', '2')],
      },
    ],
    [
      'prefix without slash',
      list({ prefix: 'a', with_delimiter: true }),
      { hasNext: false, folders: [{ key: 'a', ...folder('a/') }], objects: [keyed(10, 'a.png')] },
    ],
    [
      'first page',
      list({ prefix: 'a', limit: 1 }),
      {
        hasNext: true,
        nextCursor: cursor('l:a.png'),
        nextCursorKey: 'a.png',
        folders: [],
        objects: [object(10, 'a.png')],
      },
    ],
    [
      'next page',
      list({ prefix: 'a', limit: 1, cursor: cursor('l:a.png') }),
      {
        hasNext: true,
        nextCursor: cursor('l:a/1\no:asc'),
        nextCursorKey: 'a/1',
        folders: [],
        objects: [object(2, 'a/1')],
      },
    ],
    [
      'a page that ends with a folder',
      list({ prefix: 'a', limit: 1, with_delimiter: true, sortBy: { column: 'name', order: 'desc' } }),
      {
        hasNext: true,
        nextCursor: cursor('l:a/\no:desc\nc:name'),
        nextCursorKey: 'a',
        folders: [{ key: 'a', ...folder('a/') }],
        objects: [],
      },
    ],
    [
      'by time',
      list({ limit: 1, sortBy: { column: 'created_at', order: 'desc' } }),
      {
        hasNext: true,
        nextCursor: cursor(`l:a.png\no:desc\nc:created_at\na:${time(10)}`),
        nextCursorKey: 'a.png',
        folders: [],
        objects: [object(10, 'a.png')],
      },
    ],
    [
      'the cursor decides the order',
      list({ limit: 1, sortBy: { column: 'name' }, cursor: cursor(`l:a.png\no:desc\nc:created_at\na:${time(10)}`) }),
      {
        hasNext: true,
        nextCursor: cursor(`l:xzy\no:desc\nc:created_at\na:${time(9)}`),
        nextCursorKey: 'xzy',
        folders: [],
        objects: [object(9, 'xzy')],
      },
    ],
    ['limit above 1000', list({ prefix: 'x_', limit: 5000 }), { ...last, objects: [object(8, 'x_y')] }],
    ['no such bucket', list({}, 'nothing'), { ...last, objects: [] }],
    ['no such bucket, by folders', list({ with_delimiter: true }, 'nothing'), { ...last, objects: [] }],
    ['limit 0', list({ limit: 0 }), invalid('body/limit must be >= 1')],
    ['by access', list({ sortBy: { column: 'last_accessed_at' } }), invalid(`body/sortBy/column ${choice}`)],
    ['delimiter is no boolean', list({ with_delimiter: '/' }), invalid('body/with_delimiter must be boolean')],
    ['cursor is no text', list({ cursor: {} }), invalid('body/cursor must be string')],
    ['cursor is null', list({ cursor: null, prefix: 'nothing', with_delimiter: 'true' }), { ...last, objects: [] }],
    ['an invalid bucket', list({}, '%C3%BC'), faults.bucketName],
    ...[
      'nonsense',
      cursor('x:1'),
      cursor('l:a\nz'),
      cursor('l:a\no:up'),
      cursor('l:a\nc:id'),
      cursor("a:' or 1"),
      '=',
    ].map((text) => [`cursor ${text}`, list({ cursor: text }), badCursor] as const),
  ])
})

t.test('pages are complete, in every order', async (t) => {
  const storage = await startStorageService(t)
  const many = Array.from(
    { length: 60 },
    (_, place) => `${'abcdef'[place % 6] ?? ''}${place % 4 === 0 ? '' : '/'}${place}`,
  )
  await insertObjects(storage, 'many', [...many, 'a', 'a/', 'a!', 'a+0', 'b-', 'b'])
  const all = [...many, 'a', 'a/', 'a!', 'a+0', 'b-', 'b']
  type Page = {
    readonly hasNext: boolean
    readonly nextCursor?: string
    readonly folders: readonly { readonly name: string }[]
    readonly objects: readonly { readonly name: string }[]
  }
  const namesOf = ({ folders, objects }: Page): string[] => [...folders, ...objects].map(({ name }) => name)
  for (const isDelimited of [true, false]) {
    for (const prefix of ['', 'a', 'a/']) {
      for (const column of ['name', 'created_at', 'updated_at']) {
        for (const order of ['asc', 'desc']) {
          const found: string[] = []
          let cursor: string | undefined
          do {
            const body = { prefix, limit: 4, with_delimiter: isDelimited, sortBy: { column, order }, cursor }
            const answer = await storage.ask('POST', '/object/list-v2/many', { as: 'service_role', body })
            const page = answer.json as Page
            found.push(...namesOf(page))
            cursor = page.hasNext ? page.nextCursor : undefined
          } while (cursor !== undefined && found.length < 1000)
          const wanted = isDelimited ? listed(all, { prefix }) : all.filter((name) => name.startsWith(prefix))
          t.strictSame(
            [...found].sort(byBytes),
            [...wanted].sort(byBytes),
            `${prefix} ${column} ${order}${isDelimited ? ' with folders' : ''}`,
          )
          if (column === 'name' && !isDelimited) {
            t.strictSame(found, order === 'asc' ? [...wanted].sort(byBytes) : [...wanted].sort(byBytes).reverse())
          }
        }
      }
    }
  }
})

t.test('lists show what policies permit', async (t) => {
  const storage = await startStorageService(t)
  await insertObjects(storage, 'files', [`${ann}/1`, `${ann}/sub/2`, `${bob}/1`, 'shared/1', 'top'])
  await storage.database.query(
    `create policy own on storage.objects for select to authenticated
     using ((storage.foldername(name))[1] in ((select auth.uid()::text), 'shared'))`,
  )
  const found = async (path: string, as: string, body: object): Promise<unknown> =>
    (await storage.ask('POST', path, { as: as as 'anon', body })).json
  const listedNames = async (as: string, prefix: string): Promise<unknown[]> =>
    ((await found('/object/list/files', as, { prefix })) as { name: string }[]).map(({ name }) => name)
  t.strictSame(await listedNames(ann, ''), [ann, 'shared'])
  t.strictSame(await listedNames(ann, ann), ['1', 'sub'])
  t.strictSame(await listedNames(ann, bob), [])
  t.strictSame(await listedNames('anon', ''), [])
  for (const isDelimited of [true, false]) {
    const page = await found('/object/list-v2/files', bob, { with_delimiter: isDelimited })
    t.match(page, {
      hasNext: false,
      folders: isDelimited ? [{ name: `${bob}/` }, { name: 'shared/' }] : [],
      objects: isDelimited ? [] : [{ name: `${bob}/1` }, { name: 'shared/1' }],
    })
    const forged = Buffer.from(`l:${ann}/`).toString('base64')
    t.match(await found('/object/list-v2/files', bob, { with_delimiter: isDelimited, prefix: ann, cursor: forged }), {
      folders: [],
      objects: [],
    })
  }
})
