// The scanner of large JSON bodies accepts what JSON.parse accepts, and finds the keys that parsing finds.
import t from 'tap'
import { jsonRows } from '../../../server/rest/request/json-rows.ts'
import { parsePayload } from '../../../server/rest/request/payload.ts'
import { decodeMediaType } from '../../../server/rest/media-type.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const create = { kind: 'mutate', relation: { schema: 's', name: 't' }, mutation: 'create' } as const

/** The keys of a body, or its error: as a small body is read, and as a large one. */
function both(text: string): readonly [unknown, unknown] {
  const body = Buffer.from(text)
  const small = (): unknown => {
    try {
      const { payload, columns } = parsePayload(body, decodeMediaType('application/json'), undefined, create)
      return payload?.kind === 'json' && payload.text === '[]' ? 'no rows' : columns
    } catch (error) {
      return error instanceof Error ? error.message : error
    }
  }
  const large = (): unknown => {
    const scanning = jsonRows(body)
    let step = scanning.next()
    while (!step.done) step = scanning.next()
    const rows = step.value
    if (!rows) return 'Empty or invalid json'
    if (rows.kind === 'scalar' || rows.count === 0) return 'no rows'
    return rows.areAlike ? rows.keys : 'All object keys must match'
  }
  return [small(), large()]
}

t.test('generated bodies', async (t) => {
  const { pick, some, below } = seededRandom(testSeed(41))
  const names = ['"a"', '"b"', '"a"', '"\\u0061"', '"10"', '"9"', '"__proto__"', '"é"', '"\\"\\\\"', '"👍"'] as const
  const scalars = [
    ...[
      '0',
      '-0',
      '-1.5e+3',
      '1E5',
      '10',
      '1.0',
      'true',
      'false',
      'null',
      '""',
      '"x y"',
      '"\\ud83d\\ude00"',
      '"\\/\\b\\u000A"',
    ],
    ...[
      '01',
      '+1',
      '.5',
      '1.',
      '1e',
      '-',
      'nul',
      'truex',
      '"',
      "'a'",
      '"\\x"',
      '"\\u12"',
      '"\\ud800"',
      '"\\ude00"',
      '"\t"',
      '',
    ],
  ] as const
  const space = (): string => pick(['', '', '', ' ', '\n\t', '\r'])
  const value = (depth: number): string => {
    const inner = (): string => `${space()}${value(depth - 1)}${space()}`
    const choice = depth > 0 ? below(4) : 0
    if (choice < 2) return scalars[below(below(8) === 0 ? scalars.length : 13)] ?? ''
    if (choice === 2) return `[${some(0, 3, inner).join(',')}]`
    return object(depth)
  }
  const object = (depth: number): string =>
    `{${some(0, 3, () => `${space()}${pick(names)}${space()}:${space()}${value(depth - 1)}`).join(',')}}`
  let valid = 0
  for (let round = 0; round < 20_000; round++) {
    const whole = pick([() => value(3), () => object(2), () => `[${some(0, 3, () => object(1)).join(',')}]`])()
    // Some have a fault anywhere.
    const at = below(whole.length + 1)
    const text =
      below(4) === 0 ? whole.slice(0, at) + pick(['', ',', ']', '}', '"', ':', '0', ' ']) + whole.slice(at + 1) : whole
    const [small, large] = both(text)
    if (small !== 'Empty or invalid json') valid += 1
    if (JSON.stringify(small) !== JSON.stringify(large)) t.strictSame(large, small, JSON.stringify(text))
  }
  t.ok(valid > 5000, `${valid} are valid`)
  t.strictSame(both(`${'['.repeat(300_000)}${']'.repeat(300_000)}`), Array(2).fill('All object keys must match'))
  t.strictSame(both(`[${'{"a":1},'.repeat(100_000)}{"a":2}]`), [['a'], ['a']])
})
