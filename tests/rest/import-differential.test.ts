// The same rows as a JSON array, as newline-delimited JSON and as imported CSV: table and response are equal.
import t from 'tap'
import {
  createImportDatabase,
  inPieces,
  ndjson,
  send,
  startImportApi,
  type ImportAnswer,
} from '../support/import-database.ts'

const database = await createImportDatabase(t)
const json = await startImportApi(t, database)
/** CSV above 512 bytes is imported. */
const small = await startImportApi(t, database, { restBodyLimit: 512 })

type Cell = string | null
type Case = {
  readonly name: string
  readonly path: string
  readonly prefer?: string
  readonly accept?: string
  readonly user?: string
  /** The columns, and the rows; a row may leave out its last columns in JSON only. */
  readonly keys: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  /** Run before the case. */
  readonly before?: string
  /** Whether CSV is left out: return=representation is refused for CSV above the limit. */
  readonly noCsv?: boolean
}

const items = ['id', 'name', 'price']

const cases: readonly Case[] = [
  {
    name: 'rows',
    path: '/items',
    keys: items,
    rows: [
      ['1', 'a', '1.50'],
      ['2', 'b', '3'],
    ],
  },
  { name: 'one row', path: '/items', keys: items, rows: [['1', 'a', '1.50']] },
  { name: 'no rows', path: '/items', keys: items, rows: [] },
  { name: 'null', path: '/items', keys: items, rows: [['1', 'a', null]] },
  {
    name: 'quotes and line ends',
    path: '/items',
    keys: items,
    rows: [
      ['1', 'say "hi",\nthen\r\ngo', '1'],
      ['2', ' ', '2'],
    ],
  },
  { name: 'other letters', path: '/items', keys: items, rows: [['1', 'Häuser 👍 \u2028', '1']] },
  { name: 'odd names', path: '/$odd', keys: ['a b', 'quote"d', 'ü'], rows: [['x', 'y', '1']] },
  {
    name: 'headers only, one row',
    path: '/items',
    prefer: 'return=headers-only',
    keys: items,
    rows: [['1', 'a', '1']],
  },
  {
    name: 'headers only, two rows',
    path: '/items',
    prefer: 'return=headers-only',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '2'],
    ],
  },
  { name: 'identity', path: '/numbered', prefer: 'return=headers-only', keys: ['name'], rows: [['a']] },
  {
    name: 'minimal',
    path: '/items',
    prefer: 'return=minimal, count=exact',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '2'],
    ],
  },
  {
    name: 'representation',
    path: '/items',
    prefer: 'return=representation',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '2'],
    ],
    noCsv: true,
  },
  {
    name: 'some columns',
    path: '/items?select=name,twice:price::text&order=id.desc',
    prefer: 'return=representation, count=exact',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '2'],
    ],
    noCsv: true,
  },
  {
    name: 'embedded',
    path: '/items?select=id,parents(id)',
    prefer: 'return=representation',
    keys: ['id', 'name', 'parent'],
    rows: [
      ['1', 'a', '2'],
      ['2', 'b', null],
    ],
    noCsv: true,
  },
  {
    name: 'CSV as the result',
    path: '/items?select=id',
    prefer: 'return=headers-only',
    accept: 'text/csv',
    keys: items,
    rows: [['1', 'a', '1']],
  },
  {
    name: 'a single object',
    path: '/items',
    accept: 'application/vnd.pgrst.object+json',
    prefer: 'return=representation',
    keys: items,
    rows: [['1', 'a', '1']],
    noCsv: true,
  },
  {
    name: 'two as a single object',
    path: '/items',
    accept: 'application/vnd.pgrst.object+json',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '2'],
    ],
  },
  {
    name: 'defaults',
    path: '/items',
    prefer: 'missing=default',
    keys: ['id', 'name'],
    rows: [
      ['1', 'a'],
      ['2', 'b'],
    ],
  },
  {
    name: 'defaults of named columns',
    path: '/items?columns=id,name,price',
    prefer: 'missing=default',
    keys: ['id', 'name'],
    rows: [['1', 'a']],
    noCsv: true,
  },
  { name: 'named columns', path: '/items?columns=id,name', keys: items, rows: [['1', 'a', '1']], noCsv: true },
  {
    name: 'merge',
    path: '/items',
    prefer: 'resolution=merge-duplicates',
    keys: items,
    rows: [
      ['1', 'new', '1'],
      ['2', 'b', '2'],
    ],
    before: "insert into items values (1, 'old')",
  },
  {
    name: 'merge without a new row',
    path: '/items',
    prefer: 'resolution=merge-duplicates',
    keys: items,
    rows: [['1', 'new', '1']],
    before: "insert into items values (1, 'old')",
  },
  {
    name: 'ignore',
    path: '/items',
    prefer: 'resolution=ignore-duplicates',
    keys: items,
    rows: [
      ['1', 'new', '1'],
      ['2', 'b', '2'],
    ],
    before: "insert into items values (1, 'old')",
  },
  {
    name: 'on_conflict',
    path: '/numbered?on_conflict=name',
    prefer: 'resolution=merge-duplicates',
    keys: ['name'],
    rows: [['a'], ['b']],
    before: "insert into numbered (name) values ('a')",
  },
  {
    name: 'rollback',
    path: '/items',
    prefer: 'tx=rollback, return=headers-only',
    keys: items,
    rows: [['1', 'a', '1']],
  },
  { name: 'strict', path: '/items', prefer: 'handling=strict, unknown=yes', keys: items, rows: [['1', 'a', '1']] },
  {
    name: 'a view with a trigger',
    path: '/labels',
    keys: ['id', 'label'],
    rows: [
      ['1', 'A'],
      ['2', 'B'],
    ],
  },
  {
    name: 'own rows',
    path: '/notes',
    user: 'ann',
    keys: ['id', 'owner'],
    rows: [
      ['1', 'ann'],
      ['2', 'ann'],
    ],
  },
  {
    name: 'own rows, read again',
    path: '/notes',
    user: 'ann',
    prefer: 'return=representation',
    keys: ['id', 'owner'],
    rows: [['1', 'ann']],
    noCsv: true,
  },
  {
    name: 'a row of another user',
    path: '/notes',
    user: 'ann',
    keys: ['id', 'owner'],
    rows: [
      ['1', 'ann'],
      ['2', 'bob'],
    ],
  },
  {
    name: 'rows that refer to each other',
    path: '/trees',
    keys: ['id', 'parent'],
    rows: [
      ['1', '2'],
      ['2', '1'],
    ],
  },
  { name: 'no such column', path: '/items', keys: ['id', 'nme'], rows: [['1', 'a']] },
  { name: 'no such named column', path: '/items?columns=id,nme', keys: items, rows: [['1', 'a', '1']], noCsv: true },
  { name: 'no such table', path: '/itms', keys: items, rows: [['1', 'a', '1']] },
  { name: 'no privilege', path: '/closed', keys: ['id'], rows: [['1']] },
  { name: 'no privilege on a column', path: '/partial', keys: ['id', 'secret'], rows: [['1', 'x']] },
  {
    name: 'a type',
    path: '/items',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', 'much'],
    ],
  },
  {
    name: 'not null',
    path: '/items',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['2', null, '1'],
    ],
  },
  { name: 'check', path: '/items', keys: items, rows: [['1', 'a', '-1']] },
  {
    name: 'unique',
    path: '/items',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['1', 'b', '1'],
    ],
  },
  {
    name: 'foreign key',
    path: '/items',
    keys: ['id', 'name', 'parent'],
    rows: [
      ['1', 'a', '1'],
      ['2', 'b', '9'],
    ],
  },
  { name: 'deferred foreign key', path: '/later', keys: ['id', 'parent'], rows: [['1', '9']] },
  {
    name: 'the same row twice',
    path: '/items',
    prefer: 'resolution=merge-duplicates',
    keys: items,
    rows: [
      ['1', 'a', '1'],
      ['1', 'b', '1'],
    ],
  },
  {
    name: 'a trigger that refuses',
    path: '/labels',
    keys: ['id', 'label'],
    rows: [
      ['1', 'A'],
      ['2', 'BAD'],
    ],
  },
  { name: 'the character NUL', path: '/items', keys: items, rows: [['1', 'a\0b', '1']] },
  { name: 'an invalid parameter', path: '/items?select=id,(', keys: items, rows: [['1', 'a', '1']] },
]

const quote = (cell: Cell): string => (cell === null ? 'NULL' : `"${cell.replaceAll('"', '""')}"`)

/** The body in each form. Blank lines make the CSV large enough to be imported. */
function bodiesOf({ keys, rows }: Case) {
  const objects = rows.map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index] ?? null])))
  return {
    json: JSON.stringify(objects),
    ndjson: objects.map((row) => JSON.stringify(row)).join('\n'),
    csv: [keys.map(quote).join(','), ...rows.map((row) => row.map(quote).join(','))].join('\r\n') + '\n'.repeat(600),
  }
}

const tables = ['items', 'numbered', 'notes', 'trees', 'later', 'partial', '"$odd"'] as const

async function contents(): Promise<unknown> {
  const all: Record<string, unknown> = {}
  for (const table of tables) all[table] = (await database.query(`select * from ${table} x order by x::text`)).rows
  return all
}

/** Leaves out the line of an error, and what depends on its size. */
function comparable({ status, headers, body }: ImportAnswer) {
  const isError = typeof body === 'object' && body !== null && 'code' in body
  // The tag of a write has the number of its transaction.
  const ignored = isError ? ['content-length', 'transfer-encoding', 'etag'] : ['transfer-encoding', 'etag']
  const kept = Object.entries(headers).filter(([name]) => !ignored.includes(name))
  return { status, headers: Object.fromEntries(kept), body: isError ? { ...body, line: undefined } : body }
}

for (const [index, row] of cases.entries()) {
  void t.test(row.name, async (t) => {
    const headers = {
      ...(row.prefer === undefined ? {} : { Prefer: row.prefer }),
      ...(row.accept === undefined ? {} : { Accept: row.accept }),
      ...(row.user === undefined ? {} : { 'X-User': row.user }),
    }
    const bodies = bodiesOf(row)
    const run = async (sent: () => Promise<ImportAnswer>) => {
      await database.query(`truncate ${tables.join(', ')} restart identity; ${row.before ?? ''}`)
      return { response: comparable(await sent()), tables: await contents() }
    }
    const expected = await run(() => send(json.url, row.path, 'application/json', bodies.json, headers))
    const lines = await run(() => send(json.url, row.path, ndjson, bodies.ndjson, headers))
    t.strictSame(lines, expected, 'ndjson')
    const isFirst = index < 8
    if (isFirst) {
      const pieces = await run(() => send(json.url, row.path, ndjson, inPieces(bodies.ndjson, 7), headers))
      t.strictSame(pieces, expected, 'ndjson without a length')
    }
    if (row.noCsv === true) return
    const records = await run(() => send(small.url, row.path, 'text/csv', bodies.csv, headers))
    t.strictSame(records, expected, 'CSV')
    if (!isFirst) return
    const chunked = await run(() => send(small.url, row.path, 'text/csv', inPieces(bodies.csv, 100), headers))
    t.strictSame(chunked, expected, 'CSV without a length')
  })
}
