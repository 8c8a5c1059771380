// The line that the error of an import names: rows are staged as arrays, of which the database says only that one fails.
import t from 'tap'
import { createImportDatabase, ndjson, send, startImportApi } from '../support/import-database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const database = await createImportDatabase(t)
await database.query(`
  create table public.sizes (id int primary key check (id <> 13), size int not null, text text);
  create table public.copies (number int generated always as identity, id int, size int, text text);
  grant all on public.sizes, public.copies to ${database.role}`)
const api = await startImportApi(t, database)
/** CSV above 200,000 bytes is imported. */
const small = await startImportApi(t, database, { restBodyLimit: 200_000 })

const { below, pick, chance } = seededRandom(testSeed(186))

type Row = { readonly id: number; readonly size: number | string | null; readonly text: string }
type Body = { readonly text: string; readonly lines: readonly number[] }

/** Texts of any size: some rows are larger than an array of several rows. */
const texts = ['', 'ä', 'x'.repeat(100), ',[]{}"\\', 'y'.repeat(9000), '\u2028\u0085'] as const
const rowsOf = (length: number): Row[] =>
  Array.from({ length }, (_, index) => ({ id: 1000 + index, size: index, text: chance(0.02) ? texts[4] : pick(texts) }))

function asNdjson(rows: readonly Row[]): Body {
  let text = ''
  let line = 1
  const lines = rows.map((row) => {
    const blank = chance(0.05) ? pick([1, 2, 9000]) : 0
    text += `${pick(['\n', ' \r\n']).repeat(blank)}${pick(['', '  '])}${JSON.stringify(row)}${pick(['\n', '\r\n', ' \n'])}`
    line += blank + 1
    return line - 1
  })
  return { text, lines }
}

function asCsv(rows: readonly Row[]): Body {
  let text = 'id,size,text\r\n'
  let line = 2
  const lines = rows.map((row) => {
    const more = below(3)
    const begin = line
    text += `${row.id},${row.size ?? 'NULL'},"${row.text.replaceAll('"', '""')}${'\n'.repeat(more)}"\n`
    line += more + 1
    return begin
  })
  return { text: text + '\n'.repeat(Math.max(200_001 - text.length, 0)), lines }
}

t.test('the row of a fault at any place', async (t) => {
  for (let round = 0; round < 12; round++) {
    const rows = rowsOf(400)
    const at = pick([0, 399, below(400), below(400)])
    const [fault, code] = pick<readonly [fault: Partial<Row>, code: string]>([
      [{ size: 'much' }, '22P02'],
      [{ size: null }, '23502'],
      [{ id: 13 }, '23514'],
      [{ text: 'a\0b' }, '22P05'],
    ])
    rows[at] = { ...rows[at]!, ...fault }
    const isCsv = round % 3 === 2
    const { text, lines } = isCsv ? asCsv(rows) : asNdjson(rows)
    const answer = await send(isCsv ? small.url : api.url, '/sizes', isCsv ? 'text/csv' : ndjson, text)
    t.match(answer.body, { code: code, line: lines[at] }, `round ${round}: row ${at}`)
  }
})

t.test('two faults of a body: the first of those that the error is about', async (t) => {
  const rows = rowsOf(300)
  rows[40] = { ...rows[40]!, size: null }
  rows[41] = { ...rows[41]!, size: 'much' }
  rows[250] = { ...rows[250]!, size: 'much' }
  const { text, lines } = asNdjson(rows)
  const answer = await send(api.url, '/sizes', ndjson, text)
  const { code, line } = answer.body as { readonly code: string; readonly line: number }
  // The values of an array are converted before the first of its rows is written.
  t.equal(line, lines[code === '22P02' ? 41 : 40], code)
})

t.test('a row that an earlier row of the body conflicts with', async (t) => {
  const rows = rowsOf(600)
  rows[599] = { ...rows[599]!, id: 1003 }
  const { text, lines } = asNdjson(rows)
  const insert = await send(api.url, '/sizes', ndjson, text)
  t.match(insert.body, { code: '23505', line: lines[599] })
  const upsert = await send(api.url, '/sizes', ndjson, text, { Prefer: 'resolution=merge-duplicates' })
  t.match(upsert.body, { code: '21000', line: lines[599] })
})

t.test('without a fault all rows are written once, in their order', async (t) => {
  for (const isCsv of [false, true]) {
    await database.query('truncate public.copies restart identity')
    const rows = rowsOf(900)
    const { text } = isCsv ? asCsv(rows.map((row) => ({ ...row, text: row.text.trimEnd() }))) : asNdjson(rows)
    const answer = await send(isCsv ? small.url : api.url, '/copies', isCsv ? 'text/csv' : ndjson, text)
    t.equal(answer.status, 201)
    const written = await database.query(
      `select id, size, rtrim(text, E'\\n') as text from public.copies order by number`,
    )
    t.strictSame(written.rows, isCsv ? rows.map((row) => ({ ...row, text: row.text.trimEnd() })) : rows)
  }
})
