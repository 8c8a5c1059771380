// The place in the body that an error of a nested write is about.
import t from 'tap'
import { ApiError } from '../../../server/rest/errors.ts'
import { locateError } from '../../../server/rest/extensions/nested-writes/nested-path.ts'
import { unknownField } from '../../../server/rest/plan/field-resolution.ts'
import type { RowsStep } from '../../../server/rest/extensions/nested-writes/nested-write.ts'
import { cpuTime } from '../../support/cpu-time.ts'

const stepOf = (texts: readonly string[]): RowsStep => ({
  kind: 'rows',
  level: { number: 0, into: { schema: 'store', name: 'lines' }, keys: [], isKept: false },
  place: '/lines/*',
  rows: texts.map((text, number) => ({ number, path: `/lines/${number}`, text })),
  columns: ['sku', 'price'].map((name) => unknownField({ name, jsonPath: [] })),
  links: [],
  conflict: null,
  isFirst: true,
  isRoot: false,
  applyDefaults: false,
  onlyUnknown: false,
  onlyPaired: null,
})

const error = (code: string, message: string, details: string | null = null): ApiError =>
  new ApiError({ code, status: 400, message, details })

t.test('many quotation marks in a value take time in proportion to the body', (t) => {
  /** Least processor time for a body of `size` rows, and ten times as many quotation marks. */
  const cost = (size: number): number => {
    const value = '"a'.repeat(10 * size)
    const rows = Array.from({ length: size }, (_, row) => `{"sku":"s${row}","price":1}`)
    const step = stepOf([...rows, JSON.stringify({ sku: 'last', price: value })])
    const locate = () => locateError(error('22P02', `invalid input syntax for type numeric: "${value}"`), step)
    t.equal(locate().details, `/lines/${size}/price`)
    return Math.min(...[1, 2, 3].map(() => cpuTime(locate)))
  }
  const [small, large] = [cost(1250), cost(5000)]
  // Comparing each row with each part of the message would take sixteen times as long.
  t.ok(large < 10 * small + 30, `${small} ms, ${large} ms`)
  t.end()
})

t.test('keys in details', (t) => {
  const step = stepOf(['{"sku":"a","price":1}', '{"sku":"x)=(y, z","price":2}', '{"sku":"b","price":null}'])
  const details = (key: string): unknown => locateError(error('23503', 'violates', key), step).details
  t.equal(details('Key (sku)=(x)=(y, z) is not present.'), '/lines/1: Key (sku)=(x)=(y, z) is not present.')
  t.equal(details('Key (sku, price)=(a, 1) exists.'), '/lines/0: Key (sku, price)=(a, 1) exists.')
  t.equal(details('Key (other)=(1) exists.'), '/lines: Key (other)=(1) exists.')
  t.equal(details('nothing'), '/lines: nothing')
  const { details: missing } = locateError(error('23502', 'null value in column "price" of relation "lines"'), step)
  t.equal(missing, '/lines/2/price')
  t.end()
})
