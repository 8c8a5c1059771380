// Rows are encoded alike, wherever the chunks end in which they arrive.
import { Duplex } from 'node:stream'
import type pg from 'pg'
import t from 'tap'
import { PipelineQuery } from '../../../server/postgres/protocol/pipeline-query.ts'
import { RowsRefused } from '../../../server/postgres/protocol/rows-run.ts'
import { StatementCache } from '../../../server/postgres/protocol/statement-cache.ts'
import { SharedRowsPlan } from '../../../server/rest/encode/rows-plan.ts'
import type { RawRow, RowsRequest } from '../../../server/rest/row-transfer.ts'

const message = (code: string, ...parts: readonly Buffer[]): Buffer => {
  const head = Buffer.alloc(5, code)
  head.writeInt32BE(4 + parts.reduce((sum, { length }) => sum + length, 0), 1)
  return Buffer.concat([head, ...parts])
}
const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const int32 = (value: number): Buffer => Buffer.from([value >> 24, value >> 16, value >> 8, value])

const columns = [
  ['id', 23],
  ['näme', 25],
  ['moment', 1184],
  ['tags', 1009],
] as const
const description = message(
  'T',
  int16(columns.length),
  ...columns.flatMap(([name, type]) => [Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), Buffer.alloc(8)]),
)
const row = (...fields: readonly (string | null)[]): Buffer =>
  message(
    'D',
    int16(fields.length),
    ...fields.flatMap((field) =>
      field === null ? [int32(-1)] : [int32(Buffer.byteLength(field)), Buffer.from(field)],
    ),
  )
const ready = message('Z', Buffer.from('I'))
const done = message('C', Buffer.from('SELECT 1\0'))
const failure = message('E', Buffer.from('SERROR\0C22012\0Mdivision by zero\0\0'))

const rows = [
  row('1', 'a "b"\n\u0001ü', '2024-01-01 00:00:00+00', '{a,NULL,"b \\"c\\""}'),
  row('-2', '', '0044-03-15 12:00:00.5+05:53:28 BC', '[0:1]={{"",x}}'),
  row(null, null, null, null),
]
const expected =
  `[{"id":1,"näme":"a \\"b\\"\\n\\u0001ü","moment":"2024-01-01T00:00:00+00:00","tags":["a",null,"b \\"c\\""]}, \n ` +
  `{"id":-2,"näme":"","moment":"0044-03-15T12:00:00.5+05:53:28 BC","tags":[["","x"]]}, \n ` +
  `{"id":null,"näme":null,"moment":null,"tags":null}]`

const form = { body: 'array', isScalar: false, pageTotal: 'rows', tableTotal: 'none', hasVersion: false } as const

type Outcome = {
  readonly error: Error | undefined
  readonly bodies: readonly (string | undefined)[]
  /** How often the rows were too many. */
  readonly excesses: number
}

/** Runs transactions against chunks of a server, which describes the columns to each of them. */
async function run(chunks: readonly Buffer[], transactions: number): Promise<readonly Outcome[]> {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  // What `pg` reads: the last message of the pipeline.
  stream.on('data', () => undefined)
  const query = new PipelineQuery(new StatementCache(), () => undefined)
  const ends = Array.from({ length: transactions }, () => {
    const plan = new SharedRowsPlan('select rows', form, { types: new Set(), arrays: new Set() })
    const request: RowsRequest = { plan, values: [], isGivenUp: false }
    return new Promise<Outcome>((resolve) => {
      let excesses = 0
      query.add({
        parts: [[{ text: 'select json', values: [], rows: request }]],
        usesRows: true,
        onExcess: () => excesses++,
        settle: (error: Error | undefined, results: RawRow[][]): void =>
          resolve({ error, bodies: results.map(([first]) => first?.at(-1)?.toString()), excesses }),
      })
    })
  })
  query.submit({ stream } as unknown as pg.Connection)
  for (const chunk of chunks) stream.emit('data', chunk)
  query.handleReadyForQuery()
  return Promise.all(ends)
}

const begin = Buffer.concat([message('1'), message('t', int16(0)), description, message('2')])
const whole = Buffer.concat([begin, ...rows, done, ready])
const failed = Buffer.concat([begin, ...rows.slice(0, 2), failure, ready])

t.test('one chunk, and single bytes', async (t) => {
  t.strictSame(await run([whole], 1), [{ error: undefined, bodies: [expected], excesses: 0 }])
  const bytes = Array.from(whole, (byte) => Buffer.from([byte]))
  t.strictSame(await run(bytes, 1), [{ error: undefined, bodies: [expected], excesses: 0 }])
})

t.test('a chunk that ends at each byte', async (t) => {
  for (let at = 1; at < whole.length; at++) {
    const [outcome] = await run([whole.subarray(0, at), whole.subarray(at)], 1)
    if (outcome?.bodies[0] !== expected) t.fail(`at byte ${at}: ${String(outcome?.bodies[0])}`)
  }
  t.pass(`${whole.length} places`)
})

t.test('an error after rows, and the rows of the next transaction, with a chunk that ends at each byte', async (t) => {
  const both = Buffer.concat([failed, whole])
  for (let at = 1; at < both.length; at++) {
    const [first, second] = await run([both.subarray(0, at), both.subarray(at)], 2)
    if (!first?.error?.message.includes('division by zero')) t.fail(`at byte ${at}: ${String(first?.error)}`)
    if (second?.bodies[0] !== expected) t.fail(`at byte ${at}: ${String(second?.bodies[0])}`)
  }
  t.pass(`${both.length} places`)
})

t.test('chunks in which several transactions begin and end', async (t) => {
  const all = Buffer.concat([whole, failed, whole, whole])
  for (let size = 1; size < 200; size++) {
    const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
      all.subarray(index * size, (index + 1) * size),
    )
    const outcomes = await run(chunks, 4)
    const bodies = outcomes.map((outcome) => outcome.bodies[0])
    if (JSON.stringify(bodies) !== JSON.stringify([expected, undefined, expected, expected]))
      t.fail(`chunks of ${size} bytes: ${JSON.stringify(bodies)}`)
  }
  t.pass('199 sizes')
})

t.test('rows that are too many are given up once', async (t) => {
  const large = Array.from({ length: 40 }, () => row('1', 'x'.repeat(100_000), null, null))
  const all = Buffer.concat([begin, ...large, done, ready, whole])
  const chunks = Array.from({ length: Math.ceil(all.length / 65_536) }, (_, index) =>
    all.subarray(index * 65_536, (index + 1) * 65_536),
  )
  const [first, second] = await run(chunks, 2)
  t.match(first?.error, RowsRefused)
  t.equal(first?.excesses, 1)
  t.strictSame(second, { error: undefined, bodies: [expected], excesses: 0 })
})
