// Any input results in a request or a clear error, within a short time.
import t from 'tap'
import { ApiError } from '../../../server/rest/errors.ts'
import { maxNesting } from '../../../server/rest/request/combinators.ts'
import { parseApiRequest } from '../../../server/rest/request/parse-api-request.ts'
import { cpuTime } from '../../support/cpu-time.ts'
import { testSeed } from '../../support/seeded-random.ts'

/** The code of an error; undefined for a valid request. Any other error fails the test. */
function outcome(query: string, headers: [string, string][] = [], body = ''): string | undefined {
  try {
    parseApiRequest(
      { method: body === '' ? 'GET' : 'POST', path: '/t', query, headers, body: Buffer.from(body, 'latin1') },
      {
        dbSchemas: ['public'],
        dbTxEnd: 'commit',
        openapiMode: 'follow-privileges',
        dbRootSpec: null,
        urlIgnoreTrailingText: false,
      },
    )
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return error.code
    throw error
  }
  return undefined
}

t.test('deep nesting', async (t) => {
  const logic = (depth: number) => `or=${'(and'.repeat(depth)}(a.eq.1)${')'.repeat(depth)}`
  const select = (depth: number) => `select=${'a('.repeat(depth)}b${')'.repeat(depth)}`
  for (const depth of [1, 10, maxNesting - 1]) {
    t.equal(outcome(logic(depth)), undefined, `logic, ${depth} levels`)
    t.equal(outcome(select(depth)), undefined, `select, ${depth} levels`)
  }
  for (const depth of [maxNesting + 1, 10_000, 100_000]) {
    t.equal(outcome(logic(depth)), 'PGRST100', `logic, ${depth} levels`)
    t.equal(outcome(select(depth)), 'PGRST100', `select, ${depth} levels`)
    t.equal(outcome(`select=${'...a('.repeat(depth)}`), 'PGRST100', `open spreads, ${depth} levels`)
    t.equal(outcome(`and=${'(not.or'.repeat(depth)}`), 'PGRST100', `open logic, ${depth} levels`)
  }
  const open = '(and'.repeat(maxNesting)
  t.throws(
    () =>
      parseApiRequest(
        { method: 'GET', path: '/t', query: `or=${open}`, headers: [], body: Buffer.alloc(0) },
        {
          dbSchemas: ['public'],
          dbTxEnd: 'commit',
          openapiMode: 'follow-privileges',
          dbRootSpec: null,
          urlIgnoreTrailingText: false,
        },
      ),
    {
      code: 'PGRST100',
      status: 400,
      message: `"failed to parse logic tree (${open})" (line 1, column ${maxNesting * 4})`,
      details: `nested too deeply: at most ${maxNesting} levels are allowed`,
    },
  )
})

t.test('long texts', async (t) => {
  const long = 65_536
  const rows: [string, string, string | undefined][] = [
    ['a value', `a=eq.${'x'.repeat(long)}`, undefined],
    ['a value of another script', `a=eq.${'%F0%9F%9A%97'.repeat(long)}`, undefined],
    ['a value without an operator', `a=${'x'.repeat(long)}`, 'PGRST100'],
    ['a name', `${'x'.repeat(long)}=eq.1`, undefined],
    ['a name of blanks', `select=${'+'.repeat(long)}a`, undefined],
    ['spaces only', `select=${'+'.repeat(long)}`, 'PGRST100'],
    ['a name of dashes', `select=${'-'.repeat(long)}a`, 'PGRST100'],
    ['parts and dashes', `select=a${'-a'.repeat(long)}!`, 'PGRST100'],
    ['an unterminated quote', `a=in.(%22${'x'.repeat(long)}`, 'PGRST100'],
    ['backslashes', `a=in.(%22${'\\'.repeat(long)})`, undefined],
    ['many quotes', `a=in.(${'%22'.repeat(long)})`, 'PGRST100'],
    ['a list', `a=in.(${'1,'.repeat(long)}1)`, undefined],
    ['a list that does not end', `a=in.(${'1,'.repeat(long)}`, 'PGRST100'],
    ['conditions', `or=(${'a.eq.1,'.repeat(long)}a.eq.1)`, undefined],
    ['items', `select=${'a,'.repeat(1999)}a`, undefined],
    ['too many items', `select=${'a,'.repeat(long)}a`, 'PGRST100'],
    ['an endless list', `select=${'a,'.repeat(long)}`, 'PGRST100'],
    ['a JSON path', `select=a${'->b'.repeat(long)}`, undefined],
    ['orders', `order=${'a.asc,'.repeat(1999)}a`, undefined],
    ['too many orders', `order=${'a.asc,'.repeat(long)}a`, 'PGRST100'],
    ['parameters', 'a=eq.1&'.repeat(long), undefined],
    ['separators', '&;'.repeat(long), undefined],
    ['percent signs', `a=eq.${'%'.repeat(long)}`, undefined],
    ['digits', `limit=${'9'.repeat(long)}`, undefined],
    ['parentheses', `limit=${'('.repeat(long)}`, undefined],
    ['lines', `a=${'%0A'.repeat(long)}`, 'PGRST100'],
  ]
  for (const [name, query, code] of rows) {
    // Quadratic time would take minutes.
    t.ok(cpuTime(() => t.equal(outcome(query), code, name)) < 5_000, `${name}: processor time`)
  }
  const headers: [string, string][] = [
    ['accept', ','.repeat(long)],
    ['accept', ' ;'.repeat(long)],
    ['accept', `application/vnd.pgrst.plan${';a=b'.repeat(long)}`],
    ['prefer', ','.repeat(long)],
    ['prefer', `a${' '.repeat(long)}b`],
    ['prefer', `max-affected=${'9'.repeat(long)}`],
    ['cookie', ';='.repeat(long)],
    ['range', `${'9'.repeat(long)}-`],
  ]
  for (const [name, value] of headers) {
    t.ok(cpuTime(() => outcome('', [[name, value]])) < 5_000, `${name}: processor time`)
  }
})

t.test('random combinations of tokens of the grammar', async (t) => {
  const seed = testSeed()
  // A linear congruential generator: repeatable, and good enough to choose tokens.
  let state = seed
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const names = [
    'select',
    'order',
    'and',
    'or',
    'not.or',
    'columns',
    'on_conflict',
    'limit',
    'a.offset',
    'a',
    'a.b',
    '',
  ]
  const pieces = [
    ...['a', '*', 'count()', '->', '->>', '::', ':', ',', '.', '(', ')', '!', '...', '"', '\\', '-', '{', '}', ' '],
    ...['eq.', 'in.', 'is.null', 'not.', 'fts(', 'and', 'or', 'asc', 'nullsfirst', '1', '%00', '%0A', '%C3%A9', '%FF'],
    ...['%F0%9F%9A%97', '+', '%', '&', ';', '=', "'", '__proto__', '\xff'],
  ]
  const texts = (from: readonly string[], most: number): string =>
    Array.from({ length: next(most) }, () => from[next(from.length)] ?? '').join('')
  const codes = new Map<string | undefined, number>()
  for (let i = 0; i < 5_000; i += 1) {
    const query = `${names[next(names.length)] ?? ''}=${texts(pieces, 12)}`
    const code = outcome(query, [], next(2) ? texts(['{', '}', '[', ']', '"a"', ':', ',', '1', '\xff'], 8) : '')
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  t.strictSame(
    [...codes.keys()].filter((code) => code !== undefined && !['PGRST100', 'PGRST102', 'PGRST103'].includes(code)),
    [],
  )
  t.ok((codes.get(undefined) ?? 0) > 100, 'some are valid')
  t.ok((codes.get('PGRST100') ?? 0) > 100, 'some are invalid')
})
