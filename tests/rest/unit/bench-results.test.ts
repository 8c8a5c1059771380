// Evaluation of the benchmark's measurements.
import t from 'tap'
import { differenceOf, faultOf } from '../../bench/agreement.ts'
import { parseOptions } from '../../bench/options.ts'
import type { Answer } from '../../bench/request.ts'
import { alignedTable, figure, resultsTable, verdictsTable } from '../../bench/results-table.ts'
import { median, overallVerdicts, ratiosOf, verdictsOf, type Sample, type WorkloadResult } from '../../bench/results.ts'
import { growthOf } from '../../bench/soak.ts'
import { chosenWorkloads, type Workload } from '../../bench/workloads.ts'

const sample = (perSecond: number, p99: number, more: Partial<Sample> = {}): Sample => ({
  perSecond,
  p50: 1,
  p99,
  cpuMicroseconds: 100,
  databaseMicroseconds: 40,
  cpuSeconds: 2,
  peakBytes: 100 * 2 ** 20,
  ...more,
})

const oneRow: WorkloadResult = {
  workload: 'one-row',
  refused: undefined,
  rowhouse: [sample(15000, 3), sample(16000, 4, { peakBytes: 170 * 2 ** 20 }), sample(100, 90)],
  postgrest: [
    sample(2000, 10, { cpuMicroseconds: 250, databaseMicroseconds: 120 }),
    sample(1900, 8, { cpuMicroseconds: 150, databaseMicroseconds: 80 }),
  ],
  pgbench: [60_000],
}

t.test('medians', async (t) => {
  for (const [values, expected] of [
    [[], undefined],
    [[3], 3],
    [[9, 1, 5], 5],
    [[4, 1, 2, 100], 3],
  ] as const) {
    t.equal(median(values), expected, JSON.stringify(values))
  }
})

t.test('ratios are those of the medians', async (t) => {
  t.strictSame(ratiosOf(oneRow), { perSecond: 15000 / 1950, p99: 4 / 9, cpu: 0.5, database: 0.4, ceiling: 0.25 })
  t.strictSame(ratiosOf({ ...oneRow, postgrest: [], pgbench: [] }), {
    perSecond: undefined,
    p99: undefined,
    cpu: undefined,
    database: undefined,
    ceiling: undefined,
  })
})

t.test('targets', async (t) => {
  t.strictSame(
    verdictsOf(oneRow).map(({ what, reached }) => [what, reached]),
    [
      ['one-row: requests/s', true],
      ['one-row: p99', true],
      ['one-row: of pgbench', false],
      ['one-row: CPU per request', true],
    ],
  )
  t.strictSame(
    verdictsOf({ ...oneRow, workload: 'not-found', postgrest: [] }).map(({ reached }) => reached),
    [undefined, undefined],
    'a missing measurement neither reaches nor misses the target',
  )
  t.match(verdictsOf({ ...oneRow, workload: 'newest-20' }).at(-1), {
    what: 'newest-20: CPU of the database',
    value: 0.4,
    reached: true,
  })
  t.strictSame(verdictsOf({ ...oneRow, workload: 'report' }), [])
  t.strictSame(
    overallVerdicts([oneRow], 0.9).map(({ value, reached }) => [value, reached]),
    [
      [170, false],
      [0.9, true],
    ],
    'the peak is the highest of all rounds',
  )
})

t.test('tables', async (t) => {
  t.equal(alignedTable([['a', 'b'], ['long', '1000'], ['c']]), 'a        b\nlong  1000\nc')
  t.strictSame([undefined, 12345.6, 99.96, 3.14159, 0].map(figure), ['–', '12346', '100.0', '3.14', '0.00'])
  const refused = { ...oneRow, workload: 'report', refused: 'it broke', rowhouse: [] } as const
  const alone = { ...oneRow, workload: 'not-found', postgrest: [], pgbench: [] } as const
  const [titles = '', first = '', second = '', third = ''] = resultsTable([oneRow, refused, alone]).split('\n')
  t.match(titles, /^workload +req\/s +PostgREST +ratio/)
  t.match(
    first,
    /^one-row +15000 +1950 +7\.69× +1\.00 \/ 1\.00 +4\.00 \/ 9\.00 +0\.44× .* 40\.0 \/ 100 .* 60000 +0\.25× +missed$/,
  )
  t.match(second, /^report +refused$/)
  t.match(third, /^not-found +15000 +– +– +1\.00 +4\.00 /)
  t.match(verdictsTable(verdictsOf(oneRow)), /^one-row: of pgbench +0\.25 × +at least 0\.4 × +MISSED$/m)
})

t.test('growth ignores the first quarter', async (t) => {
  t.equal(growthOf([10, 20, 100, 100, 100, 100, 150, 150]), 1.5)
  t.equal(growthOf([]), undefined)
})

const [workload] = chosenWorkloads(['insert-full'])
const answer = (status: number, body: unknown, more: Partial<Answer> = {}): Answer => ({
  status,
  contentType: 'application/json; charset=utf-8',
  contentRange: '*/*',
  text: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
})

t.test('unexpected responses are reported', async (t) => {
  if (!workload) throw new Error('no workload')
  const error: Workload = { ...workload, status: 404, answer: 'error', rows: undefined }
  const rows: readonly (readonly [Workload, Answer, RegExp | undefined])[] = [
    [workload, answer(201, [{ id: 1 }]), undefined],
    [workload, answer(200, [{ id: 1 }]), /^answered 200 instead of 201: \[/],
    [workload, answer(201, []), /^answered 0 rows instead of 1$/],
    [workload, answer(201, ''), /^answered no rows instead of 1$/],
    [error, answer(404, { code: 'PGRST205', message: 'x' }), undefined],
    [error, answer(404, 'Not Found'), /^gave no error as JSON: Not Found$/],
  ]
  for (const [of, it, expected] of rows) {
    const fault = faultOf(it, of)
    if (expected === undefined) t.equal(fault, undefined, it.text)
    else t.match(fault, expected)
  }
})

t.test('differing responses are reported', async (t) => {
  if (!workload) throw new Error('no workload')
  const one = answer(201, [{ id: 'a', created_at: 'x', label: 'l' }])
  const reading = { ...workload, writes: false }
  t.equal(differenceOf(one, answer(201, [{ id: 'b', created_at: 'y', label: 'l' }]), workload), undefined)
  t.match(differenceOf(one, answer(201, [{ id: 'b', created_at: 'x', label: 'l' }]), reading), /^bodies /)
  t.match(differenceOf(one, answer(201, [{ id: 'a', created_at: 'x', label: 'm' }]), workload), /^bodies /)
  t.match(differenceOf(one, { ...one, contentRange: '0-0/*' }, workload), /^content ranges \*\/\* and 0-0\/\*$/)
  t.match(differenceOf(one, { ...one, contentType: null }, workload), /^content types .* and null$/)
})

t.test('options are parsed', async (t) => {
  t.match(parseOptions([]), { rounds: 3, seconds: 4, rows: 1_000_000, only: [], mode: 'compare', alone: false })
  t.match(parseOptions(['--quick', '--rounds', '5', '--soak']), { rounds: 5, seconds: 1, mode: 'soak' })
  t.match(parseOptions(['--env', 'A=b=c', '--profile', 'p']), { env: { A: 'b=c' }, profile: 'p', alone: true })
  t.match(parseOptions(['--commit-delay', '1000']), { commitDelay: 1000, fsync: false })
  t.equal(parseOptions(['--help', '--rows', 'x']), undefined)
  for (const [args, message] of [
    [['--rounds', '0'], '--rounds must be a whole number from 1 on'],
    [['--seconds', '1.5'], '--seconds must be a whole number from 1 on'],
    [['--rows', '1001'], '--rows must be a multiple of 1000, of at least 400000'],
    [['--generator', 'ab'], '--generator is wrk or autocannon'],
    [['--env', '=x'], '--env must be NAME=VALUE'],
    [['--soak', '--startup'], '--soak and --startup are different things: one at a time'],
    [['--wat'], /Unknown option/],
  ] as const) {
    t.throws(() => parseOptions(args), { message }, args.join(' '))
  }
  t.throws(() => chosenWorkloads(['one-row', 'two-rows']), {
    message: /^There is no workload two-rows\. There are: one-row,/,
  })
})
