import t from 'tap'
import { pageHeaders, pageOf, skippedBy } from '../../../server/services/auth/admin/page.ts'

t.test('pages of a query', async (t) => {
  const table: readonly (readonly [query: string, number: number, size: number])[] = [
    ['', 1, 50],
    ['page=&per_page=', 1, 50],
    ['page=0&per_page=0', 1, 50],
    ['page=3&per_page=10', 3, 10],
    ['per_page=1000000', 1, 10_000],
  ]
  for (const [query, number, size] of table) t.strictSame(pageOf(new URLSearchParams(query)), { number, size }, query)
  for (const text of ['-1', '1.5', '1e3', 'x', ' 1', '0x1', '99999999999999999999']) {
    for (const name of ['page', 'per_page']) {
      t.throws(() => pageOf(new URLSearchParams({ [name]: text })), {
        status: 400,
        code: 'validation_failed',
        message: /^Bad Pagination Parameters: /,
      })
    }
  }
  t.ok(Number.isSafeInteger(skippedBy(pageOf(new URLSearchParams('page=9999999999999999999&per_page=10000')))))
})

t.test('headers of a page', async (t) => {
  const table: readonly (readonly [path: string, number: number, total: number, link: string])[] = [
    ['/a', 1, 25, '</a?page=2&per_page=10>; rel="next", </a?page=3&per_page=10>; rel="last"'],
    ['/a?page=2&per_page=10', 2, 25, '</a?page=3&per_page=10>; rel="next", </a?page=3&per_page=10>; rel="last"'],
    ['/a?per_page=10&page=3', 3, 25, '</a?page=3&per_page=10>; rel="last"'],
    ['/a?filter=%3E%2C%22', 1, 5, '</a?page=1&per_page=10&filter=%3E%2C%22>; rel="last"'],
    ['/a', 1, 0, '</a?page=0&per_page=10>; rel="last"'],
  ]
  for (const [path, number, total, link] of table) {
    t.strictSame(pageHeaders(path, { number, size: 10 }, total), { 'X-Total-Count': String(total), Link: link }, path)
  }
})
