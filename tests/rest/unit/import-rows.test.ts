// The readers of imported bodies: rows, line numbers and faults, in pieces of any size.
import t, { type Test } from 'tap'
import { ApiError, errors } from '../../../server/rest/errors.ts'
import { ImportProgress, type ImportEvent } from '../../../server/rest/extensions/imports/import-progress.ts'
import { CsvReader } from '../../../server/rest/extensions/imports/csv-rows.ts'
import { csvPayload } from '../../../server/rest/request/csv.ts'
import type { RowReader, RowReaderOptions } from '../../../server/rest/extensions/imports/import-rows.ts'
import { NdjsonReader } from '../../../server/rest/extensions/imports/ndjson.ts'
import { arraySize, CopyData } from '../../../server/rest/extensions/imports/copy-data.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

type Read = { rows: (readonly [number, unknown])[]; keys: readonly string[]; fault?: string; line?: number | undefined }

type Open = (options: RowReaderOptions) => RowReader
const csv: Open = (options) => new CsvReader(options)
const ndjson: Open = (options) => new NdjsonReader(options)

/** Reads a body in pieces of some size. */
async function read(
  open: Open,
  body: string | Buffer,
  size: number,
  more: Partial<RowReaderOptions> = {},
): Promise<Read> {
  const result: Read = { rows: [], keys: [] }
  const reader = open({
    rowLimit: 1000,
    keysAreNamed: false,
    onRow: (row) => {
      if (result.rows.length === 0) result.keys = row.keys()
      result.rows.push([row.line, JSON.parse(row.json.toString())])
    },
    tooLarge: (line) => errors.importRow(1000, line),
    ...more,
  })
  const bytes = Buffer.from(body)
  try {
    for (let at = 0; at < bytes.length; at += size) await reader.push(bytes.subarray(at, at + size))
    await reader.end()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { ...result, fault: `${error.status} ${error.code} ${error.message}`, line: error.line }
  }
  return result
}

/** Reads a body whole and in small pieces, which makes no difference. */
async function same(t: Test, open: Open, body: string | Buffer, more: Partial<RowReaderOptions> = {}): Promise<Read> {
  const whole = await read(open, body, 1e6, more)
  for (const size of [1, 3]) t.strictSame(await read(open, body, size, more), whole, `pieces of ${size}`)
  return whole
}

const mismatch = '400 PGRST102 All object keys must match'
const noJson = '400 PGRST102 Empty or invalid json'
const noObject = '400 PGRST102 Each line must be a JSON object'

t.test('lines of JSON', async (t) => {
  const table: readonly (readonly [string | Buffer, Read])[] = [
    ['', { rows: [], keys: [] }],
    ['\n \r\n\t\n', { rows: [], keys: [] }],
    ['{"b":1,"a":2}', { rows: [[1, { b: 1, a: 2 }]], keys: ['a', 'b'] }],
    [
      '{"a":1}\n{"a":2}\n',
      {
        rows: [
          [1, { a: 1 }],
          [2, { a: 2 }],
        ],
        keys: ['a'],
      },
    ],
    [
      '\n{"a":1}\r\n\r\n  {"a":2}  ',
      {
        rows: [
          [2, { a: 1 }],
          [4, { a: 2 }],
        ],
        keys: ['a'],
      },
    ],
    [
      '{}\n{}',
      {
        rows: [
          [1, {}],
          [2, {}],
        ],
        keys: [],
      },
    ],
    ['{"ä":"👍"}', { rows: [[1, { ä: '👍' }]], keys: ['ä'] }],
    [
      '{"a":1,"b":1}\n{"b":2,"a":2}',
      {
        rows: [
          [1, { a: 1, b: 1 }],
          [2, { a: 2, b: 2 }],
        ],
        keys: ['a', 'b'],
      },
    ],
    ['{"a":1}\n\n{"a":', { rows: [[1, { a: 1 }]], keys: ['a'], fault: noJson, line: 3 }],
    ['{"a":1}\n{"b":1}\n{"a":1}', { rows: [[1, { a: 1 }]], keys: ['a'], fault: mismatch, line: 2 }],
    ['{"a":1}\n{"a":1,"b":1}', { rows: [[1, { a: 1 }]], keys: ['a'], fault: mismatch, line: 2 }],
    ['[{"a":1}]', { rows: [], keys: [], fault: noObject, line: 1 }],
    ['{"a":1}\n7', { rows: [[1, { a: 1 }]], keys: ['a'], fault: noObject, line: 2 }],
    ['null', { rows: [], keys: [], fault: noObject, line: 1 }],
    ['{"a":1} {"a":2}', { rows: [], keys: [], fault: noJson, line: 1 }],
    ['\ufeff{"a":1}', { rows: [], keys: [], fault: noJson, line: 1 }],
    [Buffer.from('7b2261223a22ff227d', 'hex'), { rows: [], keys: [], fault: noJson, line: 1 }],
    [String.raw`{"a":"\ud800"}`, { rows: [], keys: [], fault: noJson, line: 1 }],
    [
      `{"a":1}\n{"a":"${'x'.repeat(1000)}"}`,
      { rows: [[1, { a: 1 }]], keys: ['a'], fault: '413 PGRSTX72 A row of the body is too large', line: 2 },
    ],
  ]
  for (const [body, expected] of table) t.strictSame(await same(t, ndjson, body), expected, String(body).slice(0, 40))
  const named = await same(t, ndjson, '{"a":1}\n{"b":2}', { keysAreNamed: true })
  t.strictSame(
    named.rows,
    [
      [1, { a: 1 }],
      [2, { b: 2 }],
    ],
    'named keys may differ',
  )
})

t.test('lines of CSV', async (t) => {
  const table: readonly (readonly [string | Buffer, Read])[] = [
    ['a,b\n1,2\n', { rows: [[2, { a: '1', b: '2' }]], keys: ['a', 'b'] }],
    [
      'a\r\n"x\r\ny"\r\n\r\nNULL',
      {
        rows: [
          [2, { a: 'x\r\ny' }],
          [5, { a: null }],
        ],
        keys: ['a'],
      },
    ],
    ['a\n"NULL"\n""\n', { rows: [[2, { a: null }]], keys: ['a'] }],
    [
      'a\r1\r2',
      {
        rows: [
          [2, { a: '1' }],
          [3, { a: '2' }],
        ],
        keys: ['a'],
      },
    ],
    ['a,b,a\n1,2,3\n', { rows: [[2, { a: '3', b: '2' }]], keys: ['a', 'b'] }],
    [
      'a,b\n"1\n",2\n1,2,3\n',
      {
        rows: [[2, { a: '1\n', b: '2' }]],
        keys: ['a', 'b'],
        fault: '400 PGRST102 Line 4 has more fields than the header',
        line: 4,
      },
    ],
    ['\ufeffa\n1\n', { rows: [[2, { a: '1' }]], keys: ['a'] }],
    ['a\n', { rows: [], keys: [] }],
    ['a', { rows: [], keys: [], fault: '400 PGRST102 parse error (not enough input) at ""', line: 1 }],
    [
      'a,b\n1,2\n3\n',
      {
        rows: [[2, { a: '1', b: '2' }]],
        keys: ['a', 'b'],
        fault: '400 PGRST102 All lines must have same number of fields',
        line: 3,
      },
    ],
    [
      'a\n1\n\n"2',
      {
        rows: [[2, { a: '1' }]],
        keys: ['a'],
        fault: '400 PGRST102 parse error (Failed reading: insufficient input) at ""',
        line: 4,
      },
    ],
    [
      'a\n1\nx"y\n',
      { rows: [[2, { a: '1' }]], keys: ['a'], fault: '400 PGRST102 parse error (Failed reading: satisfy)', line: 3 },
    ],
    [`a\n${'x'.repeat(1010)}\n`, { rows: [], keys: [], fault: '413 PGRSTX72 A row of the body is too large', line: 2 }],
  ]
  for (const [body, expected] of table)
    t.strictSame(await same(t, csv, body), expected, JSON.stringify(String(body).slice(0, 40)))
  const notUtf8 = '400 PGRST102 The CSV is not valid UTF-8'
  for (const bytes of ['ff', 'c3', 'e2 82', 'f0 9f 98', 'c0 af', 'ed a0 80', 'e2 28 a1', '80', 'f8 88 80 80']) {
    const invalid = Buffer.from(bytes.replaceAll(' ', ''), 'hex')
    const body = Buffer.concat([Buffer.from('a\n1\n"ä\n😀"\n3'), invalid])
    for (const tail of ['', '\n4\n']) {
      for (const size of [100, 1, 3]) {
        const broken = await read(csv, Buffer.concat([body, Buffer.from(tail)]), size)
        t.match(broken, { fault: notUtf8, line: 5 }, `${bytes}, in pieces of ${size}`)
      }
    }
  }
  const quoted = await read(csv, Buffer.from('610a2231 0a 0a ff22'.replaceAll(' ', ''), 'hex'), 2)
  t.match(quoted, { fault: notUtf8, line: 2 }, 'the line on which the record begins')
  t.strictSame((await same(t, csv, 'a\näöü€😀\n')).rows, [[2, { a: 'äöü€😀' }]])
})

t.test('generated CSV is read like a small body', async (t) => {
  const { below, pick, some } = seededRandom(testSeed(7))
  const fields = ['', 'a', 'NULL', '"q"', '"a,b"', '"x\ny"', '"say ""hi"""', 'ä', ' ', '"', 'a"b'] as const
  for (let round = 0; round < 300; round++) {
    const lines = some(1, 5, () => Array.from({ length: pick([1, 2, 2, 2, 3]) }, () => pick(fields)).join(','))
    const body = lines.map((line) => line + pick(['\n', '\n', '\r\n', '\r'])).join('') + pick(['', 'z', '"'])
    let expected: unknown
    try {
      const payload = csvPayload(Buffer.from(body))
      expected = payload.kind === 'json' ? [JSON.parse(payload.text), payload.keys] : undefined
    } catch (error) {
      expected = 'a fault'
      t.ok(error instanceof ApiError)
    }
    const { rows, keys, fault } = await read(csv, body, 1 + below(9))
    const found = fault === undefined ? [rows.map(([, row]) => row), keys] : 'a fault'
    if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, JSON.stringify(body))
  }
  t.pass('no difference')
})

/** The rows of COPY data: the numbers of the first and the last line, and the array. */
function copied(bytes: Buffer): (readonly [number, number, string])[] {
  const rows: (readonly [number, number, string])[] = []
  const signature = 'PGCOPY\n\xff\r\n\0'
  let at = bytes.toString('latin1', 0, 11) === signature ? 19 : 0
  while (bytes.readInt16BE(at) === 3) {
    const size = bytes.readInt32BE(at + 26)
    const numbers = [at + 6, at + 18].map((start) => Number(bytes.readBigInt64BE(start)))
    rows.push([numbers[0] ?? 0, numbers[1] ?? 0, bytes.toString('utf8', at + 30, at + 30 + size)])
    at += 30 + size
    if (at === bytes.length) return rows
  }
  if (bytes.readInt16BE(at) !== -1 || at + 2 !== bytes.length) throw new Error('the data does not end')
  return rows
}

t.test('data of COPY in binary format', (t) => {
  const data = new CopyData()
  const large = `{"x":"${'x'.repeat(300_000)}"}`
  data.add(1, '{"ä":1}')
  data.add(2, Buffer.from('{}'))
  data.add(5, '{"b":2}')
  data.add(6, large)
  data.add(2 ** 40 + 5, '{}')
  t.strictSame(copied(data.take()), [
    [1, 5, '[{"ä":1}\n,{}\n\n\n,{"b":2}]'],
    [6, 6, `[${large}]`],
    [2 ** 40 + 5, 2 ** 40 + 5, '[{}]'],
  ])
  t.equal(data.length, 0, 'nothing is left')
  for (let line = 1; line <= 1000; line++) data.add(line, '{"number":123456789}')
  data.finish()
  const arrays = copied(data.take())
  t.ok(arrays.every(([, , array]) => array.length <= arraySize))
  t.equal(arrays.length, Math.ceil((1000 * 22) / arraySize), 'arrays are full')
  t.equal(
    arrays.map(([, , array]) => (JSON.parse(array) as unknown[]).length).reduce((sum, rows) => sum + rows),
    1000,
  )
  t.end()
})

t.test('progress is reported by rows and by time', async (t) => {
  let now = 0
  const events: ImportEvent[] = []
  const progress = new ImportProgress(
    'public.items',
    (event) => events.push(event),
    () => now,
  )
  const steps: readonly (readonly [time: number, rows: number, reports: number])[] = [
    [10, 500_000, 0],
    [1000, 600_000, 1],
    [2500, 650_000, 1],
    [2600, 700_000, 2],
    [12_500, 700_001, 2],
    [12_600, 700_002, 3],
  ]
  for (const [time, rows, reports] of steps) {
    now = time
    progress.record(rows, rows * 10)
    t.equal(events.length, reports, `after ${time} ms`)
  }
  progress.end('done')
  t.strictSame(events.at(-1), {
    state: 'done',
    relation: 'public.items',
    rows: 700_002,
    bytes: 7_000_020,
    milliseconds: 12_600,
  })
})
