// Reading limits: names, values, defaults; and the stricter of two limits.
import t from 'tap'
import type { Identity } from '../../../server/identity/identity.ts'
import { exactClaims } from '../../../server/identity/jwt/exact-claims.ts'
import { parseLimits, stricterLimit, type Limits } from '../../../server/identity/limits.ts'
import { costCheck, costError } from '../../../server/rest/extensions/limits/cost-check.ts'
import { checkEmbedDepth } from '../../../server/rest/plan/embed-depth.ts'
import { RateLimiter } from '../../../server/rest/extensions/limits/rate-limiter.ts'
import { DatabaseCounts, LocalCounts } from '../../../server/rest/extensions/limits/counts.ts'

t.test('values', (t) => {
  const rate = 'a number from 0.001 to 1000000'
  const burst = 'a whole number from 1 to 1000000'
  const rows: readonly (readonly [
    pairs: Readonly<Record<string, string>>,
    limits: Limits | undefined,
    problems?: string[],
  ])[] = [
    [{}, undefined],
    [
      { max_rows: '10', max_cost: '0', max_embed_depth: ' 2 ' },
      { maxRows: 10, maxCost: 0, maxEmbedDepth: 2 },
    ],
    [
      { max_rows: 'none', max_cost: 'NONE' },
      { maxRows: null, maxCost: null },
    ],
    [{ max_rows: '' }, undefined],
    [{ max_rows: '-1' }, undefined, ['max_rows = -1: allowed is a whole number or none']],
    [{ max_rows: '1e3' }, undefined, ['max_rows = 1e3: allowed is a whole number or none']],
    [
      { max_rows: '99999999999999999999' },
      undefined,
      ['max_rows = 99999999999999999999: allowed is a whole number or none'],
    ],
    [{ max_requests_per_second: '5' }, { rate: { perSecond: 5, burst: 5 } }],
    [{ max_requests_per_second: '0.2' }, { rate: { perSecond: 0.2, burst: 1 } }],
    [{ max_requests_per_second: '2.5', max_request_burst: '7' }, { rate: { perSecond: 2.5, burst: 7 } }],
    [{ max_user_requests_per_second: '3' }, { userRate: { perSecond: 3, burst: 3 } }],
    [{ max_requests_per_second: '0' }, undefined, [`max_requests_per_second = 0: allowed is ${rate}`]],
    [{ max_requests_per_second: 'none' }, undefined, [`max_requests_per_second = none: allowed is ${rate}`]],
    [
      { max_requests_per_second: '5', max_request_burst: '0' },
      { rate: { perSecond: 5, burst: 5 } },
      [`max_request_burst = 0: allowed is ${burst}`],
    ],
    [{ max_request_burst: '5' }, undefined, ['max_request_burst = 5: has no effect without max_requests_per_second']],
    [{ max_cosst: '5' }, undefined, ['max_cosst: there is no such limit; did you mean max_cost?']],
    [{ constructor: '5' }, undefined, ['constructor: there is no such limit']],
  ]
  for (const [pairs, limits, problems = []] of rows) {
    t.strictSame(parseLimits(Object.entries(pairs)), { limits, problems }, JSON.stringify(pairs))
  }
  t.end()
})

t.test('the stricter of two limits', (t) => {
  const rows = [
    [undefined, undefined, undefined],
    [undefined, 5, 5],
    [5, undefined, 5],
    [null, undefined, null],
    [null, 5, 5],
    [5, null, 5],
    [null, null, null],
    [3, 5, 3],
    [0, 5, 0],
  ] as const
  for (const [one, other, expected] of rows) t.equal(stricterLimit(one, other), expected)
  t.end()
})

t.test('which statements have their cost checked', (t) => {
  const text = (main: string): string | undefined => costCheck([{ text: main, values: ['v'] }], 5)?.statements[0]?.text
  t.equal(text('WITH a AS (SELECT $1) SELECT'), 'EXPLAIN (FORMAT JSON) WITH a AS (SELECT $1) SELECT')
  t.equal(text('EXPLAIN (FORMAT TEXT) SELECT $1'), undefined)
  t.equal(text('EXPLAIN (FORMAT TEXT, ANALYZE, VERBOSE) SELECT $1'), 'EXPLAIN (FORMAT JSON) SELECT $1')
  const rowsOf = (cost: unknown) => [[Buffer.from(JSON.stringify([{ Plan: { 'Total Cost': cost } }]))]]
  t.equal(costError(rowsOf(5), 5), undefined)
  t.match(costError(rowsOf(5.01), 5), { code: 'PGRSTX81', message: /is 5.01, and the limit is 5$/ })
  t.match(costError([...rowsOf(3), ...rowsOf(2.1)], 5), { code: 'PGRSTX81', message: /is 5.1, and the limit is 5$/ })
  t.throws(() => costError([], 5))
  t.throws(() => costError([...rowsOf(1), []], 5))
  const check = costCheck(
    [
      { text: 'SELECT 1', values: [] },
      { text: 'SELECT 2', values: [] },
    ],
    5,
  )?.check
  t.match(check?.([rowsOf(3), rowsOf(4)]), { code: 'PGRSTX81' })
  t.throws(() => check?.([rowsOf(3)]), 'a statement without a cost')
  t.throws(() => costError(rowsOf('1'), 5))
  t.end()
})

t.test('the embed that is too deep is the first one', (t) => {
  type Tree = { alias: string | null; relationName: string; embeds: Tree[] }
  const tree = (relationName: string, ...embeds: Tree[]): Tree => ({ alias: null, relationName, embeds })
  const deep = tree('root', tree('a', tree('b', tree('c'))), tree('d', tree('e')))
  const check = (limit: number | null) => () => {
    checkEmbedDepth(deep as unknown as Parameters<typeof checkEmbedDepth>[0], limit)
  }
  t.doesNotThrow(check(null))
  t.doesNotThrow(check(3))
  t.throws(check(2), { message: "The embed 'a.b.c' is too deep: the limit is 2" })
  t.throws(check(1), { message: "The embed 'a.b' is too deep: the limit is 1" })
  t.throws(check(0), { message: "The embed 'a' is too deep: the limit is 0" })
  t.end()
})

t.test('each part of a batch counts, and a refused one counts against no limit', async (t) => {
  const limiter = new RateLimiter(new LocalCounts(() => 0), () => 0)
  const identity = { role: 'r', claims: { sub: 'u' } }
  const rate = (burst: number) => ({ perSecond: 1, burst })
  const limits = { ofRole: { rate: rate(10), userRate: rate(4) }, key: { keyId: 'k', limits: { rate: rate(20) } } }
  const take = async (count: number) => limiter.take(limits, identity, count)
  t.match(await take(3), {
    error: undefined,
    headers: [
      ['RateLimit-Policy', '"key";q=20;w=20, "user";q=4;w=4, "role";q=10;w=10'],
      ['RateLimit', '"key";r=17;t=1, "user";r=1;t=1, "role";r=7;t=1'],
    ],
  })
  t.match(await take(2), {
    error: { status: 429, headers: [['Retry-After', '1']] },
    headers: [{}, ['RateLimit', '"user";r=1;t=1']],
  })
  t.match(await take(5), { error: { status: 429, hint: 'Send at most 4 at once.', headers: [] } })
  t.match(await take(1), {
    error: undefined,
    headers: [{}, ['RateLimit', '"key";r=16;t=1, "user";r=0;t=1, "role";r=6;t=1']],
  })
  t.equal(await limiter.take({ ofRole: { maxRows: 1 }, key: undefined }, identity), undefined)
})

t.test('a user is whatever `sub` is, with all of its digits', async (t) => {
  const token = (payload: string): Identity => {
    const claims = JSON.parse(payload) as Identity['claims']
    const exact = exactClaims(payload, 'r')
    return { role: 'r', claims, ...(exact === undefined ? {} : { claimsText: exact }) }
  }
  const users: readonly (readonly string[])[] = [
    ['{"sub":"42"}', '{"sub":"\\u0034\\u0032","iat":12345678901234567890}'],
    ['{"sub":42}', '{"iat":1,"sub" : 42}'],
    ['{"sub":9007199254740993}'],
    ['{"sub":9007199254740992}'],
    ['{"sub":1e400}'],
    ['{"sub":true}'],
    ['{"sub":"true"}'],
    [
      '{"sub":{"id":1,"of":["a","b"]}}',
      '{"sub":{"of":["a", "b"],"id":1}}',
      '{"sub":{"of":["a","\\u0062"],"id":1},"exp":1e9}',
    ],
    ['{"sub":{"id":12345678901234567890}}'],
    ['{"sub":{"id":12345678901234567891}}'],
    ['{"sub":"{\\"id\\":12345678901234567891}"}'],
    ['{"sub":"{\\"json\\":\\"n42\\"}"}'],
    ['{"sub":["a"]}'],
    [`{"sub":${JSON.stringify('x'.repeat(5000))}}`],
    [`{"sub":${JSON.stringify(`${'x'.repeat(4999)}y`)}}`],
    ['{}', '{"sub":null}', '{"other":12345678901234567890}'],
  ]
  const subjects = new Set<string>()
  const counts = new LocalCounts(() => 0)
  const limiter = new RateLimiter(
    {
      take: (subject, ...more) => {
        subjects.add(subject)
        return counts.take(subject, ...more)
      },
      putBack: (...all) => counts.putBack(...all),
    },
    () => 0,
  )
  const limits = { ofRole: { userRate: { perSecond: 0.01, burst: 3 } }, key: undefined }
  for (const payloads of users) {
    let granted = 0
    for (let each = 0; each < 6; each++) {
      const decision = await limiter.take(limits, token(payloads[each % payloads.length] ?? ''))
      if (decision?.error === undefined) granted++
    }
    t.equal(granted, 3, `one user: ${payloads.join(', ').slice(0, 100)}`)
  }
  t.equal(subjects.size, users.length, 'each counts apart')
  t.ok(
    [...subjects].every(({ length }) => length <= 600),
    'and fits into an index',
  )
})

t.test('without counts in the database, each process counts on its own', async (t) => {
  const warnings: string[] = []
  let asked = 0
  const failing = new DatabaseCounts(
    () => {
      asked++
      return Promise.reject(Object.assign(new Error('no function'), { code: '42883' }))
    },
    (message) => warnings.push(message),
  )
  const rate = { perSecond: 0.001, burst: 3 }
  t.equal((await failing.take('a', rate, 2)).granted, 2)
  t.equal((await failing.take('a', rate, 2)).granted, 1)
  t.equal((await failing.take('b', rate, 2)).granted, 2)
  t.equal(asked, 1, 'the database is not asked again at once')
  t.equal(warnings.length, 1)
  t.match(
    warnings[0],
    /^each process counts requests on its own \(no function\): run sql\/migrations\/000011_limits\.sql/,
  )
  const lost = new DatabaseCounts(
    () => Promise.reject(new Error('lost')),
    (message) => warnings.push(message),
  )
  await t.rejects(lost.take('a', rate, 1), { message: 'lost' })
  t.equal(warnings.length, 1)
})

t.test('a statement that meets that of another process runs again', async (t) => {
  const codes = ['40001', '40P01', '40001']
  const counts = new DatabaseCounts(
    () => {
      const code = codes.shift()
      if (code !== undefined) return Promise.reject(Object.assign(new Error('at the same time'), { code }))
      return Promise.resolve([{ granted: 1, remaining: 4.5 }])
    },
    () => undefined,
  )
  t.strictSame(await counts.take('a', { perSecond: 1, burst: 5 }, 1), { granted: 1, left: 4.5 })
  const always = new DatabaseCounts(
    () => Promise.reject(Object.assign(new Error('at the same time'), { code: '40001' })),
    () => undefined,
  )
  await t.rejects(always.take('a', { perSecond: 1, burst: 5 }, 1), { code: '40001' }, 'not for ever')
})
