import t from 'tap'
import { conditionsOf, whereSql } from '../../../server/rest/sql/filter.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import type { PlannedLogicTree } from '../../../server/rest/plan/field.ts'
import { equals, field, inSchema, where } from '../../support/plans.ts'

const key = (text: string, arrow: '->' | '->>' = '->') => ({ arrow, operand: { kind: 'key', text } }) as const
const index = (text: string, arrow: '->' | '->>' = '->') => ({ arrow, operand: { kind: 'index', text } }) as const

type Row = readonly [title: string, tree: PlannedLogicTree, text: string, values: readonly string[]]

const c = '"api"."items"."c"'
const rows: readonly Row[] = [
  ['eq', where('c', equals("x' or 1=1")), `${c} = $1`, ["x' or 1=1"]],
  ['not', where('c', equals('x'), true), `NOT ${c} = $1`, ['x']],
  [
    'any',
    where('c', { kind: 'quantifiable', operator: 'gte', quantifier: 'any', value: '{1,2}' }),
    `${c} >= ANY($1)`,
    ['{1,2}'],
  ],
  [
    'like turns asterisks into wildcards, also of arrays',
    where('c', { kind: 'quantifiable', operator: 'like', quantifier: 'all', value: '{*a*,b}' }),
    `${c} like ALL($1)`,
    ['{%a%,b}'],
  ],
  [
    'match leaves asterisks alone',
    where('c', { kind: 'quantifiable', operator: 'match', quantifier: null, value: 'a*' }),
    `${c} ~ $1`,
    ['a*'],
  ],
  ['neq', where('c', { kind: 'simple', operator: 'neq', value: '1' }), `${c} <> $1`, ['1']],
  ['cs', where('c', { kind: 'simple', operator: 'cs', value: '{1}' }), `${c} @> $1`, ['{1}']],
  ['adj', where('c', { kind: 'simple', operator: 'adj', value: '(1,2)' }), `${c} -|- $1`, ['(1,2)']],
  ['in', where('c', { kind: 'in', values: ['a,b', 'c"d', ''] }), `${c} = ANY ($1) `, ['{"a,b","c\\"d",""}']],
  ['in nothing', where('c', { kind: 'in', values: [''] }), `${c} = ANY('{}') `, []],
  ['is null', where('c', { kind: 'is', value: 'null' }), `${c} IS NULL`, []],
  ['is not null', where('c', { kind: 'is', value: 'not_null' }), `${c} IS NOT NULL`, []],
  ['not is unknown', where('c', { kind: 'is', value: 'unknown' }, true), `NOT ${c} IS UNKNOWN`, []],
  ['isdistinct', where('c', { kind: 'isdistinct', value: 'x' }), `${c} IS DISTINCT FROM $1`, ['x']],
  [
    'full-text search of a column that is no tsvector',
    where(field('c', { toTsVector: { language: 'french' } }), {
      kind: 'fts',
      operator: 'plfts',
      language: 'french',
      value: 'amusant',
    }),
    `to_tsvector($1, ${c}) @@ plainto_tsquery($2, $3) `,
    ['french', 'french', 'amusant'],
  ],
  [
    'full-text search of a tsvector',
    where('c', { kind: 'fts', operator: 'wfts', language: null, value: 'a -b' }),
    `${c} @@ websearch_to_tsquery($1) `,
    ['a -b'],
  ],
  [
    'JSON path',
    where(field('c', { jsonPath: [key("k'"), index('-1', '->>')] }), equals('x')),
    `${c}->$1->>$2::int = $3`,
    ["k'", '-1', 'x'],
  ],
  [
    'JSON path of a column that is no JSON',
    where(field('c', { jsonPath: [key('k', '->>')], toJson: true }), equals('x')),
    `to_jsonb(${c})->>$1 = $2`,
    ['k', 'x'],
  ],
  [
    'representation',
    where(field('c', { transform: '"api"."parse"' }), equals('#fff')),
    `${c} = "api"."parse"($1)`,
    ['#fff'],
  ],
  [
    'representation of many',
    where(field('c', { transform: '"api"."parse"' }), { kind: 'in', values: ['a', 'b'] }),
    `${c} = ANY ((SELECT "api"."parse"(unnest($1::text[])))) `,
    ['{"a","b"}'],
  ],
  [
    'representations do not apply to patterns',
    where(field('c', { transform: '"api"."parse"' }), {
      kind: 'quantifiable',
      operator: 'ilike',
      quantifier: null,
      value: '*x',
    }),
    `${c} ilike $1`,
    ['%x'],
  ],
  [
    'logic',
    {
      kind: 'logic',
      negated: true,
      operator: 'or',
      operands: [
        where('a', equals('1')),
        {
          kind: 'logic',
          negated: false,
          operator: 'and',
          operands: [where('b', equals('2')), where('c', equals('3'))],
        },
      ],
    },
    'NOT ("api"."items"."a" = $1 OR ("api"."items"."b" = $2 AND "api"."items"."c" = $3))',
    ['1', '2', '3'],
  ],
  [
    'an embed that found nothing',
    { kind: 'filter', filter: { kind: 'null-embed', negated: false, aggregateAlias: 'a"b' } },
    '"a""b" IS NOT DISTINCT FROM NULL',
    [],
  ],
  [
    'an embed that found something',
    { kind: 'filter', filter: { kind: 'null-embed', negated: true, aggregateAlias: 'x' } },
    '"x" IS DISTINCT FROM NULL',
    [],
  ],
]

for (const [title, tree, text, values] of rows) {
  t.test(title, async (t) => {
    const statement = render(whereSql(conditionsOf(inSchema('items'), [tree])))
    t.strictSame(statement, { text: ` WHERE ${text}`, values })
  })
}

t.test('without conditions there is no WHERE', async (t) => {
  t.strictSame(render(whereSql([])), { text: '', values: [] })
})

t.test('values are always parameters', async (t) => {
  for (const value of ["'", '"', ';--', '$1', '\\', 'x'.repeat(65_536), '🐘', '$$']) {
    const { text, values } = render(
      conditionsOf(inSchema('items'), [where('c', equals(value)), where('c', { kind: 'in', values: [value] })]),
    )
    t.equal(text, `${c} = $1${c} = ANY ($2) `)
    t.equal(values[0], value)
  }
})
