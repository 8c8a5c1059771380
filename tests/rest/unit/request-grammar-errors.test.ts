// Invalid query strings -> PGRST100 with Parsec's position and message.
import t from 'tap'
import { ApiError } from '../../../server/rest/errors.ts'
import { groupingParameters } from '../../../server/rest/extensions/distinct/groupings.ts'
import { cursorParameter } from '../../../server/rest/extensions/keyset-pages/page-request.ts'
import type { TrailingText } from '../../../server/rest/request/parser.ts'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

type Fault = { message: string; details: unknown; hint?: unknown }

function fault(query: string, argumentsAllowed = false, trailing: TrailingText = 'rejected'): Fault | undefined {
  try {
    parseQueryParams(query, argumentsAllowed, false, trailing, [groupingParameters, cursorParameter])
  } catch (error) {
    if (error instanceof ApiError && error.code === 'PGRST100' && error.status === 400) {
      const { message, details, hint } = error
      return { message, details, ...(hint === null ? {} : { hint }) }
    }
    throw error
  }
  return undefined
}

const query = (name: string, value: string): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`

/** A parse error: [name, value, column, details]. */
const tables: Record<string, [string, string, number, string][]> = {
  filter: [
    ['a', 'noop.0', 1, 'unexpected "o" expecting "not" or operator (eq, gt, ...)'],
    ['a', 'eq', 3, 'unexpected end of input expecting operator (eq, gt, ...)'],
    ['a', '', 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)'],
    ['a', 'not', 4, 'unexpected end of input expecting delimiter (.)'],
    ['a', 'not.', 5, 'unexpected end of input expecting operator (eq, gt, ...)'],
    ['a', 'nota.eq.1', 4, 'unexpected "a" expecting delimiter (.)'],
    ['a', 'not.noop.1', 5, 'unexpected "n" expecting operator (eq, gt, ...)'],
    ['a', 'not.not.eq.1', 5, 'unexpected "n" expecting operator (eq, gt, ...)'],
    ['a', 'EQ.1', 1, 'unexpected "E" expecting "not" or operator (eq, gt, ...)'],
    ['a', 'eq(some).1', 4, 'unexpected "s" expecting operator (eq, gt, ...)'],
    ['a', 'eq().1', 4, 'unexpected ")" expecting operator (eq, gt, ...)'],
    ['a', 'eq(any', 7, 'unexpected end of input expecting operator (eq, gt, ...)'],
    ['a', 'neq(any).1', 4, 'unexpected "(" expecting operator (eq, gt, ...)'],
    ['a', 'fts().x', 5, 'unexpected ")" expecting operator (eq, gt, ...)'],
    ['a', 'fts(en.glish).x', 7, 'unexpected "." expecting operator (eq, gt, ...)'],
    ['a', 'in.1,2', 4, 'unexpected "1" expecting "("'],
    ['a', 'in(1)', 3, 'unexpected "(" expecting operator (eq, gt, ...)'],
    ['a', 'in.(1', 6, 'unexpected end of input expecting "," or ")"'],
    ['a', 'in.("a,b"', 10, 'unexpected end of input expecting "," or ")"'],
    ['a', 'is.nil', 5, 'unexpected "i" expecting isVal: (null, not_null, true, false, unknown)'],
    ['a', 'is.', 4, 'unexpected end of input expecting isVal: (null, not_null, true, false, unknown)'],
    ['a', 'is.nope', 6, 'unexpected "p" expecting isVal: (null, not_null, true, false, unknown)'],
    ['a', 'is(any).null', 3, 'unexpected "(" expecting operator (eq, gt, ...)'],
    ['a', 'isdistinct', 11, 'unexpected end of input expecting operator (eq, gt, ...)'],
    ['a', 'like', 5, 'unexpected end of input expecting operator (eq, gt, ...)'],
    ['a', 'é', 1, 'unexpected "\\233" expecting "not" or operator (eq, gt, ...)'],
    ['a', '😀', 1, 'unexpected "\\128512" expecting "not" or operator (eq, gt, ...)'],
    ['a', '"', 1, 'unexpected "\\"" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\\', 1, 'unexpected "\\\\" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\n', 1, 'unexpected "\\n" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\t', 1, 'unexpected "\\t" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\u0000', 1, 'unexpected "\\NUL" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\u007f', 1, 'unexpected "\\DEL" expecting "not" or operator (eq, gt, ...)'],
    ['a', '\u0085', 1, 'unexpected "\\133" expecting "not" or operator (eq, gt, ...)'],
  ],
  'tree path': [
    [':a', 'eq.1', 1, 'unexpected ":" expecting field name (* or [a..z0..9_$])'],
    ['', 'eq.1', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['.a', 'eq.1', 1, 'unexpected "." expecting field name (* or [a..z0..9_$])'],
    ['a.', 'eq.1', 3, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['"a', 'eq.1', 3, 'unexpected end of input expecting "\\\\" or "\\""'],
    ['"a\\', 'eq.1', 4, 'unexpected end of input'],
    [
      'a->',
      'eq.1',
      4,
      'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
    ],
    [
      'a->>',
      'eq.1',
      5,
      'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
    ],
    ['a->-', 'eq.1', 5, 'unexpected end of input expecting digit'],
    ['a->"x', 'eq.1', 6, 'unexpected end of input expecting "\\\\" or "\\""'],
    ['😀.a', 'eq.1', 1, 'unexpected "\\128512" expecting field name (* or [a..z0..9_$])'],
    ['a-', 'eq.1', 3, 'unexpected end of input expecting ">", letter or digit'],
    ['a.->b', 'eq.1', 3, 'unexpected "-" expecting field name (* or [a..z0..9_$])'],
    [':x.order', 'a', 1, 'unexpected ":" expecting field name (* or [a..z0..9_$])'],
  ],
  'select parameter': [
    ['select', 'id,', 4, 'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"'],
    ['select', 'id,,name', 4, 'unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"'],
    ['select', ' ', 2, 'unexpected end of input expecting "*", field name (* or [a..z0..9_$]) or "count()"'],
    [
      'select',
      'a b!c',
      4,
      'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    [
      'select',
      'id,clients(name[])',
      16,
      'unexpected \'[\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    [
      'select',
      'id,clients(name',
      16,
      'unexpected end of input expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    ['select', 'a:b:c', 4, 'unexpected "c" expecting "::"'],
    ['select', 'a:', 3, 'unexpected end of input expecting ":" or field name (* or [a..z0..9_$])'],
    ['select', 'a::', 4, 'unexpected end of input expecting letter or digit'],
    ['select', 'a:::text', 4, 'unexpected ":" expecting letter or digit'],
    ['select', 'a->>-78xy', 8, 'unexpected \'x\' expecting digit, "->", "::", ".", "," or end of input'],
    ['select', 'a->>--34', 6, 'unexpected "-" expecting digit'],
    ['select', 'a.sum', 6, 'unexpected end of input expecting "()"'],
    ['select', 'a.total()', 3, 'unexpected "t" expecting "sum", "avg", "count", "max" or "min"'],
    ['select', 'a.sum()::', 10, 'unexpected end of input expecting letter or digit'],
    [
      'select',
      'count(x)',
      6,
      'unexpected \'(\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    [
      'select',
      'count()x',
      6,
      'unexpected \'(\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    ['select', '...clients(*', 13, 'unexpected end of input expecting ")", "," or end of input'],
    ['select', 'x:...clients(*)', 3, 'unexpected "." expecting ":" or field name (* or [a..z0..9_$])'],
    [
      'select',
      'clients!(*)',
      8,
      'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    [
      'select',
      'clients!a!b!c(*)',
      8,
      'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
    ],
    ['select', 'a->b(*)', 5, 'unexpected \'(\' expecting "-", "->>", "->", "::", ".", ")", "," or end of input'],
    ['select', '地,🚗', 3, 'unexpected "\\128663" expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"'],
    ['select', '"a', 3, 'unexpected end of input expecting "\\\\" or "\\""'],
    ['select', '"a"b', 4, 'unexpected \'b\' expecting "->>", "->", "::", ".", ")", "," or end of input'],
    ['select', 'a,\nb:', 3, 'unexpected "\\n" expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"'],
    ['select', 'a,\tb:', 11, 'unexpected end of input expecting ":" or field name (* or [a..z0..9_$])'],
    ['select', 'a.b', 3, 'unexpected "b" expecting "sum", "avg", "count", "max" or "min"'],
    ['select', 'a-', 3, 'unexpected end of input expecting ">", letter or digit'],
    [
      'select',
      'a->b->',
      7,
      'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
    ],
    ['select', 'a->(b)', 4, 'unexpected "(" expecting "-", digit or any non reserved character different from: .,>()'],
  ],
  order: [
    ['order', '', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['order', 'a.ac', 3, 'unexpected "c" expecting "asc", "desc", "nullsfirst" or "nullslast"'],
    ['order', 'a.descc', 7, 'unexpected \'c\' expecting delimiter (.), "," or end of input'],
    ['order', 'a.desc.nullslasttt', 17, 'unexpected \'t\' expecting "," or end of input'],
    ['order', 'a.desc.nls', 8, 'unexpected "l" expecting "nullsfirst" or "nullslast"'],
    ['order', 'a.desc.asc', 8, 'unexpected "a" expecting "nullsfirst" or "nullslast"'],
    ['order', 'a,', 3, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['order', ',a', 1, 'unexpected "," expecting field name (* or [a..z0..9_$])'],
    [
      'order',
      'c(a,b)',
      2,
      'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
    ],
    [
      'order',
      'c(a).up',
      2,
      'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
    ],
    [
      'order',
      'c(a',
      2,
      'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
    ],
    ['order', 'a->>.asc', 5, 'unexpected "." expecting "-", digit or any non reserved character different from: .,>()'],
    ['order', 'a.desc.nullslast ', 17, 'unexpected \' \' expecting "," or end of input'],
    [
      'order',
      'a b!',
      4,
      'unexpected \'!\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
    ],
    [
      'order',
      '1:2',
      2,
      'unexpected \':\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
    ],
  ],
  'logic tree': [
    [
      'or',
      '()',
      4,
      'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
    ],
    ['or', ')(', 3, 'unexpected ")" expecting "("'],
    ['or', '', 3, 'unexpected end of input expecting "("'],
    ['or', '(a.eq.1', 10, 'unexpected end of input expecting "," or ")"'],
    [
      'or',
      '(a.eq.1,)',
      11,
      'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
    ],
    [
      'or',
      '(,a.eq.1)',
      4,
      'unexpected "," expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
    ],
    ['or', '(a.in.1,2,b.eq.3)', 9, 'unexpected "1" expecting "("'],
    ['and', '(ord(a.eq.1,b.eq.1),c.eq.2)', 7, 'unexpected "d" expecting "("'],
    ['or', '(a.eq.1,not.xor(b.eq.2))', 15, 'unexpected "x" expecting logic operator (and, or)'],
    ['or', '(a.eq.1,not.and)', 18, 'unexpected ")" expecting "("'],
    ['or', '(a)', 5, 'unexpected ")" expecting letter, digit, "-", "->>", "->" or delimiter (.)'],
    ['or', '(a.)', 6, 'unexpected ")" expecting "not" or operator (eq, gt, ...)'],
    ['or', '(a.foo.1)', 6, 'unexpected "f" expecting "not" or operator (eq, gt, ...)'],
    ['or', '(a.is.maybe)', 9, 'unexpected "m" expecting isVal: (null, not_null, true, false, unknown)'],
    ['not.or', '(a)', 9, 'unexpected ")" expecting letter, digit, "-", "->>", "->" or delimiter (.)'],
    ['x:y.or', '(a.eq.1)', 2, 'unexpected "(" expecting letter, digit, "-", "->>", "->" or delimiter (.)'],
    [
      'or',
      '(not)',
      7,
      'unexpected ")" expecting letter, digit, "-", "->>", "->", delimiter (.) or negation operator (not)',
    ],
    ['or', '(not.a)', 8, 'unexpected ")" expecting logic operator (and, or)'],
    ['or', '(地.x.1)', 6, 'unexpected "x" expecting "not" or operator (eq, gt, ...)'],
  ],
  'columns parameter': [
    ['columns', '', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['columns', 'a,', 3, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['columns', 'a b,:', 5, 'unexpected ":" expecting field name (* or [a..z0..9_$])'],
    ['columns', '"a', 3, 'unexpected end of input expecting "\\\\" or "\\""'],
  ],
  'on_conflict parameter': [
    ['on_conflict', '', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])'],
    ['on_conflict', 'a,,b', 3, 'unexpected "," expecting field name (* or [a..z0..9_$])'],
    ['on_conflict', '(a)', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'],
  ],
}

for (const [what, rows] of Object.entries(tables))
  t.test(`failed to parse ${what}`, async (t) => {
    for (const [name, value, column, details] of rows) {
      const shown = what === 'tree path' ? name : value
      const message = `"failed to parse ${what} (${shown})" (line 1, column ${column})`
      for (const trailing of ['rejected', 'ignored'] as const)
        t.strictSame(fault(query(name, value), false, trailing), { message, details }, `${name}=${value} ${trailing}`)
    }
  })

t.test('line breaks and tabs in values', async (t) => {
  t.strictSame(fault(query('or', '(a.eq.\n\n\t1,b.x)')), {
    message: '"failed to parse logic tree ((a.eq.\n\n\t1,b.x))" (line 3, column 13)',
    details: 'unexpected "x" expecting "not" or operator (eq, gt, ...)',
  })
})

/** Text after a complete value, which PostgREST ignores: [name, value, what is parsed, column]. */
const trailing: readonly (readonly [string, string, string, number])[] = [
  ['select', ',id', 'select parameter', 1],
  ['select', 'clients(name))', 'select parameter', 14],
  ['select', 'id)zzz', 'select parameter', 3],
  ['select', '*!hint', 'select parameter', 2],
  ['select', '🚗', 'select parameter', 1],
  ['or', '(a.eq.1)x', 'logic tree', 11],
  ['and', '(name.eq.file (1),owner.eq.bob)', 'logic tree', 21],
  ['and', '(a.eq.1),(b.eq.2)', 'logic tree', 12],
  ['not.or', '(a.in.(1)),b.eq.2', 'logic tree', 17],
  ['or)x.and', '(a.eq.1)', 'logic path', 3],
  ['and', '(a.in.("x"y,z))', 'logic tree', 14],
  ['and', '(a.eq."x"y)', 'logic tree', 13],
  ['a', 'in.(1)x', 'filter', 7],
  ['a', 'not.in.(1),(2)', 'filter', 11],
  ['a', 'in.("say "hi", bob")', 'filter', 11],
  ['a', 'in.("a,b"")', 'filter', 10],
  ['a', 'in.(""a,b")', 'filter', 7],
  ['a', 'is.nullx', 'filter', 8],
  ['a', 'is.not_null or true', 'filter', 12],
  ['a)b', 'eq.1', 'tree path', 2],
  ['"a"b', 'eq.1', 'tree path', 4],
  ['a)b.order', 'id', 'tree path', 2],
  ['columns', 'a)b', 'columns parameter', 2],
  ['on_conflict', 'a(b)', 'on_conflict parameter', 2],
]

t.test('text after a complete value is rejected with its position, or ignored', async (t) => {
  for (const [name, value, what, column] of trailing)
    for (const argumentsAllowed of [false, true]) {
      const shown = what === 'tree path' || what === 'logic path' ? name : value
      const rejected = fault(query(name, value), argumentsAllowed)
      t.equal(rejected?.message, `"failed to parse ${what} (${shown})" (line 1, column ${column})`, `${name}=${value}`)
      t.match(rejected?.details, /^unexpected /, `${name}=${value}`)
      t.match(rejected?.hint, /double quotes/, `${name}=${value}`)
      t.equal(fault(query(name, value), argumentsAllowed, 'ignored'), undefined, `${name}=${value} ignored`)
    }
})

t.test('a rejected cast of a filter has a hint of its own', (t) => {
  for (const name of ['a::int', 'a->>b::int', 'x.a->b->>c::numeric'])
    t.match(fault(query(name, 'gt.9'))?.hint, /^A filter has no cast/, name)
  t.end()
})

t.test('any text after a complete value is rejected', async (t) => {
  const complete = [
    ['select', 'id,clients(name)'],
    ['order', 'id.desc.nullslast'],
    ['or', '(a.eq.1,b.in.(2,3))'],
    ['a', 'in.(1,"2")'],
    ['a', 'is.null'],
    ['columns', '"a"'],
    ['on_conflict', '"a"'],
  ] as const
  // A comma continues most values, a blank before a name belongs to it.
  const texts = [
    ')',
    '))',
    '(',
    ')(',
    ')junk',
    '"',
    '":',
    '}',
    '\\',
    ';',
    '&',
    '\n',
    '\u0000',
    '\u2028',
    '🚗',
    '%',
    "'",
  ]
  for (const [name, value] of complete) {
    t.equal(fault(query(name, value)), undefined, `${name}=${value}`)
    for (const text of texts) t.ok(fault(query(name, value + text)), `${name}=${value}${text}`)
  }
})

t.test('quotes that do not begin a value are part of it', async (t) => {
  for (const value of ['in.(a"b)', 'in.("a)', 'in.(a"b,"c")', 'in.( "a",b)'])
    for (const trailing of ['rejected', 'ignored'] as const)
      t.equal(fault(query('a', value), false, trailing), undefined, value)
})

t.test('an argument of a function may be any text', async (t) => {
  for (const value of ['1)x', 'a"b', '(1),(2)', 'isnull', 'in(1)x'])
    t.equal(fault(query('a', value), true), undefined, value)
})

t.test('of several errors, the first is reported', async (t) => {
  const faults = ['on_conflict=:', 'a=x', 'select=a:', 'columns=:', 'or=x(', 'order=:']
  const names = ['on_conflict parameter', 'filter', 'select parameter', 'columns parameter', 'logic tree', 'order']
  for (let count = faults.length; count > 0; count -= 1) {
    const message = fault(faults.slice(0, count).join('&'))?.message ?? ''
    t.ok(message.startsWith(`"failed to parse ${names[count - 1] ?? ''} (`), message)
  }
})

t.test('arguments of a function', async (t) => {
  t.equal(fault('a=x&b=noop.1&c=eq', true), undefined)
  t.strictSame(fault('a=in.x', true), {
    message: '"failed to parse filter (in.x)" (line 1, column 4)',
    details: 'unexpected "x" expecting "("',
  })
})

t.test('invalid UTF-8', async (t) => {
  for (const text of ['a=eq.%FF', '%C3=eq.1', 'select=%ED%A0%80', 'a=eq.\xff', 'a=eq.%C0%80'])
    t.strictSame(fault(text), { message: 'The query string is not valid UTF-8', details: 'unexpected bytes' }, text)
})

t.test('the errors of a long list are those of a short one', async (t) => {
  // What precedes the last element is not traced, which must not affect the error.
  const lists: readonly (readonly [name: string, start: string, element: string])[] = [
    ['select', '', 'id,'],
    ['select', 'clients(', 'a:data->b::text,'],
    ['select', '...clients(', '"x y".sum(),'],
    ['order', '', 'id.asc,'],
    ['order', '', 'clients(id).desc.nullslast,'],
    ['and', '(', 'id.eq.1,'],
    ['or', '(', 'order.in.(1,"2"),'],
    ['or', '(', 'not.and(a.eq.{1},b.is.null),'],
    ['columns', '', 'a-b,'],
    ['on_conflict', '', '"a",'],
    ['id', 'in.(', '1,'],
    ['having', 'or.(', 'id.sum().gt.1,'],
    ['distinct', 'on.(', 'id,'],
  ]
  const tokens = [
    ...[
      'a',
      'order',
      'android',
      'not',
      'count()',
      '*',
      '.',
      ',',
      '(',
      ')',
      '"',
      '\\',
      '-',
      '->',
      '->>',
      ':',
      '::',
      '!',
    ],
    ...['...', '{', '}', ' ', '\n', 'eq.', 'in.(', 'is.null', 'is.x', 'fts(a).', 'asc', 'nullsfirst', '1', 'é', '🚗'],
  ] as [string, ...string[]]
  const { pick, some } = seededRandom(testSeed(7))
  let faults = 0
  for (const [name, start, element] of lists) {
    for (let round = 0; round < 400; round++) {
      const end = some(1, 6, () => pick(tokens)).join('')
      const [short, long] = [1, 40].map((length) => fault(query(name, start + element.repeat(length) + end)))
      if (short) faults++
      t.equal(long?.details, short?.details, `${name}=${start}${element}${end}`)
    }
  }
  t.ok(faults > 2000, `${faults} faults`)
})

t.test('lists with more items than PostgreSQL accepts are refused', async (t) => {
  const [most, more] = [Array(2000).fill('id').join(), Array(2001).fill('id').join()]
  for (const [name, wrap] of [
    ['select', (list: string) => list],
    ['select', (list: string) => `clients(${list})`],
    ['order', (list: string) => list],
    ['distinct', (list: string) => `on.(${list})`],
  ] as const) {
    t.equal(fault(query(name, wrap(most))), undefined)
    t.strictSame(fault(query(name, wrap(more))), {
      message: `The ${name} parameter has too many items`,
      details: 'At most 2000 are allowed.',
    })
  }
})
