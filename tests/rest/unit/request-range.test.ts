// limit, offset and Range -> row ranges, or PGRST103 and PGRST114.
import t from 'tap'
import { readInteger } from '../../../server/rest/request/integer.ts'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'
import { topLevelRange, type RowRange } from '../../../server/rest/request/range.ts'

t.test('integers', async (t) => {
  const rows: [string, bigint | undefined][] = [
    ['0', 0n],
    ['-0', 0n],
    ['007', 7n],
    ['-5', -5n],
    [' 5\t\n\u00a0\u2003', 5n],
    ['- 5', -5n],
    ['(5)', 5n],
    [' ( ( -5 ) ) ', -5n],
    ['0x1F', 31n],
    ['-0XfF', -255n],
    ['0o17', 15n],
    ['0b101', 5n],
    ['12345678901234567890123', 12345678901234567890123n],
    ['', undefined],
    ['-', undefined],
    ['--5', undefined],
    ['+5', undefined],
    ['5.0', undefined],
    ['5e3', undefined],
    ['5 6', undefined],
    ['1_000', undefined],
    ['-(5)', undefined],
    ['(5', undefined],
    ['5)', undefined],
    ['()', undefined],
    ['0x', undefined],
    ['0o8', undefined],
    ['0b2', undefined],
    ['٣', undefined],
    ['５', undefined],
    ['5\ufeff', undefined],
    ['5\0', undefined],
    ['Infinity', undefined],
    [`${'('.repeat(20_000)}5${')'.repeat(20_000)}`, 5n],
    [`5${' '.repeat(60_000)}6`, undefined],
  ]
  for (const [text, value] of rows) t.equal(readInteger(text), value, text.slice(0, 40))
})

t.test('the top level', async (t) => {
  const all = { offset: 0, limit: null }
  const rows: [string, string | undefined, RowRange | string][] = [
    ['', undefined, all],
    ['limit=5', undefined, { offset: 0, limit: 5 }],
    ['offset=5', undefined, { offset: 5, limit: null }],
    ['limit=5&offset=10', undefined, { offset: 10, limit: 5 }],
    ['limit=5&limit=6', undefined, { offset: 0, limit: 6 }],
    ['limit=0', undefined, { offset: 0, limit: 0 }],
    ['limit=0&offset=0', undefined, { offset: 0, limit: 0 }],
    ['limit=0&offset=5', undefined, 'negative limit'],
    ['limit=-1', undefined, 'negative limit'],
    ['offset=-1', undefined, all],
    ['limit=5&offset=-2', undefined, { offset: 0, limit: 3 }],
    ['limit=2&offset=-2', undefined, { offset: 0, limit: 0 }],
    ['limit=2&offset=-5', undefined, 'negative limit'],
    ['limit=x', undefined, all],
    ['limit=', undefined, all],
    ['limit', undefined, all],
    ['offset=x', undefined, all],
    ['limit=x&offset=5', undefined, 'negative limit'],
    ['limit=x&offset=0', undefined, { offset: 0, limit: 0 }],
    ['limit=9007199254740993', undefined, { offset: 0, limit: 9007199254740993n }],
    ['limit=9223372036854775807', undefined, { offset: 0, limit: 9223372036854775807n }],
    ['limit=9223372036854775808', undefined, { offset: 0, limit: 9223372036854775808n }],
    ['limit=1&offset=9223372036854775807', undefined, { offset: 9223372036854775807n, limit: 1 }],
    ['limit=9223372036854775808', '1-3', { offset: 1, limit: 3 }],
    ['', '9007199254740990-9007199254740993', { offset: 9007199254740990, limit: 4 }],
    ['limit=-99999999999999999999', undefined, 'negative limit'],
    ['', '0-9', { offset: 0, limit: 10 }],
    ['', '5-', { offset: 5, limit: null }],
    ['', '5-5', { offset: 5, limit: 1 }],
    ['', '1-0', 'lower above upper'],
    ['', '9007199254740995-9007199254740993', 'lower above upper'],
    ['limit=0', '1-0', { offset: 0, limit: 0 }],
    ['', 'items=0-9', all],
    ['', '-5', all],
    ['', ' 0-9', all],
    ['', '0-9,20-29', all],
    ['limit=5', '0-9', { offset: 0, limit: 5 }],
    ['limit=50', '5-9', { offset: 5, limit: 5 }],
    ['limit=10&offset=5', '0-9', { offset: 5, limit: 5 }],
    ['limit=5&offset=20', '0-9', 'negative limit'],
    ['limit=0', '5-9', { offset: 0, limit: 0 }],
  ]
  for (const [query, header, expected] of rows) {
    const name = `${query} ${header ?? ''}`
    const read = () => topLevelRange('GET', parseQueryParams(query, false).ranges, header)
    if (typeof expected !== 'string') t.strictSame(read(), expected, name)
    else {
      const details =
        expected === 'negative limit'
          ? 'Limit should be greater than or equal to zero.'
          : 'The lower boundary must be lower than or equal to the upper boundary in the Range header.'
      t.throws(read, { code: 'PGRST103', status: 416, details }, name)
    }
  }
})

t.test('methods', async (t) => {
  for (const method of ['HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS'])
    t.strictSame(topLevelRange(method, new Map(), '1-0'), { offset: 0, limit: null }, `${method} has no Range header`)
  const put = (query: string) => topLevelRange('PUT', parseQueryParams(query, false).ranges, undefined)
  for (const query of ['limit=1', 'offset=1', 'limit=0']) t.throws(() => put(query), { code: 'PGRST114' }, query)
  for (const query of ['offset=0', 'offset=-1', 'limit=x']) t.strictSame(put(query), { offset: 0, limit: null }, query)
  t.throws(() => put('limit=-1'), { code: 'PGRST103' })
})

t.test('embeds', async (t) => {
  const ranges = (query: string) => Object.fromEntries(parseQueryParams(query, false).ranges)
  t.strictSame(ranges('a.limit=3&a.offset=2&b.c.offset=1&d.limit=0&limit=7'), {
    'a.limit': { offset: 2, limit: 3 },
    'b.c.limit': { offset: 1, limit: null },
    'd.limit': { offset: 0, limit: 0 },
    limit: { offset: 0, limit: 7 },
  })
  t.strictSame(ranges('a.limit=-3&b.offset=-2'), {
    'a.limit': { offset: 0, limit: -3 },
    'b.limit': { offset: -2, limit: null },
  })
  t.strictSame(ranges('__proto__.limit=3')['__proto__.limit'], { offset: 0, limit: 3 })
})

t.test('numbers that PostgreSQL rejects keep their digits', async (t) => {
  const range = parseQueryParams(`a.limit=${'9'.repeat(60_000)}&a.offset=-${'9'.repeat(60_000)}`, false).ranges.get(
    'a.limit',
  )
  t.equal(String(range?.limit), '9'.repeat(60_000))
  t.equal(String(range?.offset), `-${'9'.repeat(60_000)}`)
})
