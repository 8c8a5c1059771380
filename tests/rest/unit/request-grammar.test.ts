// Query strings -> parsed values.
import t from 'tap'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'

const encode = (text: string): string => encodeURIComponent(text)
const field = (name: string, ...path: string[]) => ({
  name,
  jsonPath: path.map((step) => {
    const [, arrow, text] = /^(->>?)(.*)$/s.exec(step) ?? []
    return { arrow, operand: { kind: /^[+-]\d+$/.test(text ?? '') ? 'index' : 'key', text } }
  }),
})
const column = (name: string, extra: object = {}) => ({
  kind: 'field',
  field: field(name),
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
  ...extra,
})
const embed = (relation: string, select: unknown[], extra: object = {}) => ({
  kind: 'embed',
  relation,
  alias: null,
  hint: null,
  joinType: null,
  select,
  ...extra,
})
const spread = (relation: string, select: unknown[], extra: object = {}) => ({
  kind: 'spread',
  relation,
  hint: null,
  joinType: null,
  select,
  ...extra,
})

t.test('select', async (t) => {
  const rows: [string, unknown[]][] = [
    ['', []],
    ['*', [column('*')]],
    ['id,name', [column('id'), column('name')]],
    [' id , name ', [column('id'), column('name')]],
    ['first name,with-dash,$,_,1', ['first name', 'with-dash', '$', '_', '1'].map((name) => column(name))],
    ['ünï,地,𝒳', [column('ünï'), column('地'), column('𝒳')]],
    ['"a,b","🚗"', [column('a,b'), column('🚗')]],
    ['__proto__,constructor', [column('__proto__'), column('constructor')]],
    [String.raw`"a\"b\\c"`, [column('a"b\\c')]],
    ['" x "', [column(' x ')]],
    ['id:key', [column('key', { alias: 'id' })]],
    ['"n:m":key', [column('key', { alias: 'n:m' })]],
    ['key::text', [column('key', { cast: 'text' })]],
    ['key::double precision', [column('key', { cast: 'double precision' })]],
    ['a:b::int', [column('b', { alias: 'a', cast: 'int' })]],
    ['data->a', [column('data', { field: field('data', '->a') })]],
    ['data->a->>0', [column('data', { field: field('data', '->a', '->>+0') })]],
    ['x:data->-1::int', [column('data', { field: field('data', '->-1'), alias: 'x', cast: 'int' })]],
    ['data->!@#$%^&*_a', [column('data', { field: field('data', '->!@#$%^&*_a') })]],
    ['data->"k.e,y"', [column('data', { field: field('data', '->k.e,y') })]],
    ['data->a-b', [column('data', { field: field('data', '->a-b') })]],
    ['count()', [column('*', { aggregate: 'count' })]],
    ['n:count()::text', [column('*', { aggregate: 'count', aggregateCast: 'text', alias: 'n' })]],
    ['count', [column('count')]],
    ['price.sum()', [column('price', { aggregate: 'sum' })]],
    [
      't:price::int.avg()::text',
      [column('price', { aggregate: 'avg', cast: 'int', aggregateCast: 'text', alias: 't' })],
    ],
    [
      'a.max(),b.min(),c.count()',
      [column('a', { aggregate: 'max' }), column('b', { aggregate: 'min' }), column('c', { aggregate: 'count' })],
    ],
    ['clients(*)', [embed('clients', [column('*')])]],
    ['clients()', [embed('clients', [])]],
    ['c:clients!fk!inner(id)', [embed('clients', [column('id')], { alias: 'c', hint: 'fk', joinType: 'inner' })]],
    ['clients!left!fk(id)', [embed('clients', [column('id')], { hint: 'fk', joinType: 'left' })]],
    ['clients!a!b(id)', [embed('clients', [column('id')], { hint: 'a' })]],
    ['clients!"my hint"(id)', [embed('clients', [column('id')], { hint: 'my hint' })]],
    ['...clients!inner(id)', [spread('clients', [column('id')], { joinType: 'inner' })]],
    [
      'id,a(b(c(d)),e),f',
      [column('id'), embed('a', [embed('b', [embed('c', [column('d')])]), column('e')]), column('f')],
    ],
    ['a(...b(c),d.sum())', [embed('a', [spread('b', [column('c')]), column('d', { aggregate: 'sum' })])]],
  ]
  for (const [text, select] of rows)
    t.strictSame(parseQueryParams(`select=${encode(text)}`, false).select, select, text)
  t.strictSame(parseQueryParams('', false).select, [column('*')], 'absent')
  t.strictSame(parseQueryParams('select', false).select, [column('*')], 'without a value')
  t.strictSame(parseQueryParams('select=a&select=b', false).select, [column('a')], 'the first one is used')
})

const quantifiable = (operator: string, value: string, quantifier: string | null = null) => ({
  kind: 'quantifiable',
  operator,
  quantifier,
  value,
})
const simple = (operator: string, value: string) => ({ kind: 'simple', operator, value })
const fts = (operator: string, value: string, language: string | null = null) => ({
  kind: 'fts',
  operator,
  language,
  value,
})
const list = (...values: string[]) => ({ kind: 'in', values })
const is = (value: string) => ({ kind: 'is', value })

t.test('operators', async (t) => {
  const rows: [string, object, boolean?][] = [
    ...['eq', 'gt', 'gte', 'lt', 'lte', 'like', 'ilike', 'match', 'imatch'].flatMap(
      (operator): [string, object, boolean?][] => [
        [`${operator}.x`, quantifiable(operator, 'x')],
        [`${operator}(any).{a,b}`, quantifiable(operator, '{a,b}', 'any')],
        [`not.${operator}(all).{a,b}`, quantifiable(operator, '{a,b}', 'all'), true],
      ],
    ),
    ...['neq', 'cs', 'cd', 'ov', 'sl', 'sr', 'nxr', 'nxl', 'adj'].flatMap((operator): [string, object, boolean?][] => [
      [`${operator}.x`, simple(operator, 'x')],
      [`not.${operator}.x`, simple(operator, 'x'), true],
    ]),
    ...['fts', 'plfts', 'phfts', 'wfts'].flatMap((operator): [string, object, boolean?][] => [
      [`${operator}.a & b`, fts(operator, 'a & b')],
      [`not.${operator}(english).a`, fts(operator, 'a', 'english'), true],
    ]),
    ['eq.', quantifiable('eq', '')],
    ['eq.eq.eq', quantifiable('eq', 'eq.eq')],
    ['eq."x"', quantifiable('eq', '"x"')],
    ['eq.(1,2)', quantifiable('eq', '(1,2)')],
    ["eq.'; drop table x; --", quantifiable('eq', "'; drop table x; --")],
    ['eq.\u0000\n\t', quantifiable('eq', '\u0000\n\t')],
    ['eq.🚗\u{10ffff}', quantifiable('eq', '🚗\u{10ffff}')],
    ['in.(1,2,3)', list('1', '2', '3')],
    ['not.in.(1)', list('1'), true],
    ['in.()', list('')],
    ['in.( a , b )', list('a ', ' b ')],
    ['in.("a,b","c)d",e"f)', list('a,b', 'c)d', 'e"f')],
    ['in.("x"y,z)', list('"x"y', 'z')],
    [String.raw`in.("\"","\\",\a)`, list('"', '\\', String.raw`\a`)],
    ['in.(1) and more', list('1')],
    ['is.null', is('null')],
    ['is.NULL', is('null')],
    ['is.not_null', is('not_null')],
    ['not.is.True', is('true'), true],
    ['is.false', is('false')],
    ['is.unknown', is('unknown')],
    ['is.nullable', is('null')],
    ['isdistinct.x', { kind: 'isdistinct', value: 'x' }],
    ['not.isdistinct.null', { kind: 'isdistinct', value: 'null' }, true],
    ['fts(my conf).x', fts('fts', 'x', 'my conf')],
  ]
  for (const [text, operation, negated = false] of rows)
    t.strictSame(
      parseQueryParams(`a=${encode(text)}`, false, false, 'ignored').filters,
      [{ path: [], value: { field: field('a'), negated, operation } }],
      text,
    )
})

t.test('names of filters', async (t) => {
  const rows: [string, string[], object][] = [
    ['a', [], field('a')],
    ['b.a', ['b'], field('a')],
    ['c.b.a', ['c', 'b'], field('a')],
    ['data->x->>0', [], field('data', '->x', '->>+0')],
    ['b.data->"x.y"', ['b'], field('data', '->x.y')],
    ['"a.b"', [], field('a.b')],
    ['"a.b".c', ['a.b'], field('c')],
    ['first name', [], field('first name')],
    ['a-b', [], field('a-b')],
    ['ñ.地', ['ñ'], field('地')],
    ['__proto__', [], field('__proto__')],
    ['a:ignored', [], field('a')],
  ]
  for (const [key, path, value] of rows) {
    const params = parseQueryParams(`${encode(key)}=eq.1`, false, false, 'ignored')
    t.strictSame(
      params.filters,
      [{ path, value: { field: value, negated: false, operation: quantifiable('eq', '1') } }],
      key,
    )
    t.strictSame([...params.filterKeys], [key])
  }
  t.strictSame(parseQueryParams('a&b&c=eq.1', false).filters.length, 1, 'without a value it is not a filter')
  t.strictSame(parseQueryParams('a=eq.1&a=eq.2', false).filters.length, 2, 'repeated')
})

t.test('a cast behind a value of JSON is skipped', (t) => {
  for (const [key, path, value] of [
    ['data->x::int', [], field('data', '->x')],
    ['data->x->0::Float8', [], field('data', '->x', '->+0')],
    ['b.data->"x::y"::text', ['b'], field('data', '->x::y')],
  ] as const)
    t.strictSame(
      parseQueryParams(`${encode(key)}=eq.1`, false).filters,
      [{ path, value: { field: value, negated: false, operation: quantifiable('eq', '1') } }],
      key,
    )
  for (const key of ['data->>x::int', 'x::int', 'data->x::', 'data->x::int)', 'data->x::int::text', 'data->x:int'])
    t.throws(() => parseQueryParams(`${encode(key)}=eq.1`, false), { code: 'PGRST100' }, key)
  t.end()
})

t.test('arguments of a function', async (t) => {
  const params = parseQueryParams('a=5&b=eq.1&c.d=x&"e f"=&g=not&limit=3&h', true)
  t.strictSame(params.routineArguments, [
    ['a', '5'],
    ['d', 'x'],
    ['e f', ''],
    ['g', 'not'],
  ])
  t.strictSame(
    params.filters.map(({ value }) => value.field.name),
    ['b'],
  )
  t.strictSame([...params.filterKeys], ['a', 'b', 'c.d', '"e f"', 'g'])
})

t.test('and, or', async (t) => {
  const condition = (name: string, operation: object, negated = false) => ({
    kind: 'filter',
    filter: { field: field(name), negated, operation },
  })
  const logic = (operator: string, operands: object[], negated = false) => ({
    kind: 'logic',
    negated,
    operator,
    operands,
  })
  const a = condition('a', quantifiable('eq', '1'))
  const b = condition('b', quantifiable('lt', '2'))
  const rows: [string, string, string[], object][] = [
    ['or', '(a.eq.1,b.lt.2)', [], logic('or', [a, b])],
    ['and', '( a.eq.1 )', [], logic('and', [condition('a', quantifiable('eq', '1 '))])],
    ['not.or', '(a.eq.1)', [], logic('or', [a], true)],
    ['x.y.not.and', '(a.eq.1)', ['x', 'y'], logic('and', [a], true)],
    ['x.or', '(a.eq.1,and(b.lt.2,not.or(a.eq.1)))', ['x'], logic('or', [a, logic('and', [b, logic('or', [a], true)])])],
    ['or', '(and.eq.1)', [], logic('or', [condition('and', quantifiable('eq', '1'))])],
    ['or', '(a.not.eq.1)', [], logic('or', [condition('a', quantifiable('eq', '1'), true)])],
    ['or', '(a.in.(1,"2,3"),b.lt.2)', [], logic('or', [condition('a', list('1', '2,3')), b])],
    ['or', '(a.cs.{1,2},b.lt.2)', [], logic('or', [condition('a', simple('cs', '{1,2}')), b])],
    ['or', '(a.eq."x,(y)",b.lt.2)', [], logic('or', [condition('a', quantifiable('eq', 'x,(y)')), b])],
    ['or', '(a.eq."x"y)', [], logic('or', [condition('a', quantifiable('eq', '"x"y'))])],
    [
      'or',
      '(a.fts(english).x,a.is.NULL)',
      [],
      logic('or', [condition('a', fts('fts', 'x', 'english')), condition('a', is('null'))]),
    ],
    ['or', '(a.eq.)', [], logic('or', [condition('a', quantifiable('eq', ''))])],
    [
      'or',
      '(d->>x.eq(any).{1,2})',
      [],
      logic('or', [
        {
          kind: 'filter',
          filter: { field: field('d', '->>x'), negated: false, operation: quantifiable('eq', '{1,2}', 'any') },
        },
      ]),
    ],
  ]
  for (const [key, text, path, value] of rows)
    t.strictSame(
      parseQueryParams(`${key}=${encode(text)}`, false, false, 'ignored').logic,
      [{ path, value }],
      `${key}=${text}`,
    )
})

t.test('order', async (t) => {
  const term = (value: object, direction: string | null = null, nulls: string | null = null) => ({
    kind: 'field',
    field: value,
    direction,
    nulls,
  })
  const related = (relation: string, value: object, direction: string | null = null, nulls: string | null = null) => ({
    kind: 'relation',
    relation,
    field: value,
    direction,
    nulls,
  })
  const rows: [string, string, string[], object[]][] = [
    ['order', 'a', [], [term(field('a'))]],
    ['order', 'a.asc,b.desc', [], [term(field('a'), 'asc'), term(field('b'), 'desc')]],
    ['order', 'a.nullsfirst', [], [term(field('a'), null, 'nullsfirst')]],
    ['order', ' a.desc.nullslast, b ', [], [term(field('a'), 'desc', 'nullslast'), term(field('b'))]],
    ['order', 'd->x->>1.asc', [], [term(field('d', '->x', '->>+1'), 'asc')]],
    ['order', 'c(a).desc.nullsfirst', [], [related('c', field('a'), 'desc', 'nullsfirst')]],
    ['order', '"x y"(d->k),b', [], [related('x y', field('d', '->k')), term(field('b'))]],
    ['x.y.order', 'a', ['x', 'y'], [term(field('a'))]],
  ]
  for (const [key, text, path, value] of rows)
    t.strictSame(parseQueryParams(`${key}=${encode(text)}`, false).order, [{ path, value }], `${key}=${text}`)
})

t.test('columns and on_conflict', async (t) => {
  const params = (query: string) => {
    const { columns, onConflict } = parseQueryParams(query, false)
    return { columns, onConflict }
  }
  t.strictSame(params(''), { columns: undefined, onConflict: undefined })
  t.strictSame(params('columns=b,a,b'), { columns: ['a', 'b'], onConflict: undefined }, 'sorted, distinct')
  t.strictSame(
    params(`columns=${encode('"x,y" , \ufb01, 𝒳,Z')}`).columns,
    ['Z', 'x,y', '\ufb01', '𝒳'],
    'in the order of code points',
  )
  t.strictSame(params('on_conflict=b,a'), { columns: undefined, onConflict: ['b', 'a'] }, 'as written')
})
