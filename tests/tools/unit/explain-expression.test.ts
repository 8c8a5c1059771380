// Taking apart expressions of policies, as PostgreSQL prints them.
import t from 'tap'
import {
  columnsIn,
  lookupsOf,
  parseCondition,
  testsOf,
  truthOf,
  withValues,
} from '../../../server/catalogue/printed-condition.ts'
import { tokensOf } from '../../../server/text/sql-tokens.ts'

const uid = '( SELECT auth.uid() AS uid)'

const conditions: readonly (readonly [expression: string, kind: string, tests: readonly string[]])[] = [
  [`(${uid} = user_id)`, 'test', [`${uid} = user_id`]],
  [`((a = 1) AND (b = 2))`, 'and', ['a = 1', 'b = 2']],
  [`((a = 1) OR ((b = 2) AND (c = 3)))`, 'or', ['a = 1', 'b = 2', 'c = 3']],
  ['true', 'test', ['true']],
  ['(NOT (a AND b))', 'test', ['NOT (a AND b)']],
  ['( SELECT (f() AND g()) AS x)', 'test', ['( SELECT (f() AND g()) AS x)']],
  ['CASE WHEN (a AND b) THEN c ELSE (d OR e) END', 'test', ['CASE WHEN (a AND b) THEN c ELSE (d OR e) END']],
  [
    '(EXISTS ( SELECT FROM public.t WHERE ((t.a = 1) AND (t.b = 2))))',
    'test',
    ['EXISTS ( SELECT FROM public.t WHERE ((t.a = 1) AND (t.b = 2)))'],
  ],
  [`((name = 'a) AND (b'::text) AND ("x) OR (" = 1))`, 'and', [`name = 'a) AND (b'::text`, `"x) OR (" = 1`]],
  ['((a)', 'test', ['((a)']],
]

for (const [expression, kind, tests] of conditions) {
  t.test(`tests of ${expression}`, (t) => {
    const condition = parseCondition(expression)
    t.equal(condition.kind, kind)
    t.strictSame(testsOf(condition), tests)
    t.end()
  })
}

const truths: readonly (readonly [results: Readonly<Record<string, boolean | null>>, truth: boolean | null])[] = [
  [{ a: true, b: true, c: false }, true],
  [{ a: true, b: false, c: false }, false],
  [{ a: null, b: true, c: false }, null],
  [{ a: null, b: false, c: false }, false],
  [{ a: null, b: null, c: true }, true],
]

t.test('the truth of (a and b) or c', (t) => {
  const condition = parseCondition('((a AND b) OR c)')
  for (const [results, truth] of truths) {
    t.equal(
      truthOf(condition, (test) => results[test] ?? null),
      truth,
      JSON.stringify(results),
    )
  }
  t.end()
})

const lookups: readonly (readonly [expression: string, found: readonly string[], resolved: string])[] = [
  [`(${uid} = user_id)`, ['select auth.uid()'], "('V' = user_id)"],
  ['(auth.uid() = user_id)', ['auth.uid()'], "('V' = user_id)"],
  [`((auth.jwt() ->> 'aal'::text) = 'aal2'::text)`, [`(auth.jwt() ->> 'aal'::text)`], "('V' = 'aal2')"],
  [
    `(((current_setting('request.jwt.claims'::text, true))::json ->> 'sub'::text) = (owner)::text)`,
    [`((current_setting('request.jwt.claims'::text, true))::json ->> 'sub'::text)`],
    "('V' = (owner)::text)",
  ],
  [
    `(org IN ( SELECT tenancy.organisations('admin'::text) AS organisations))`,
    [`select tenancy.organisations('admin'::text)`],
    "(org IN 'V')",
  ],
  ['(org = ANY (ARRAY( SELECT app.mine() AS mine)))', ['select app.mine()'], "(org = ANY (ARRAY'V'))"],
  ['(app.may_read(id))', [], '(app.may_read(id))'],
  ['(id IN ( SELECT projects.id FROM public.projects))', [], '(id IN ( SELECT projects.id FROM public.projects))'],
  ['(lower(email) = app.email())', ['app.email()'], "(lower(email) = 'V')"],
  ["(at > (now() - '1 day'::interval))", ['now()'], "(at > ('V' - '1 day'::interval))"],
  ['(x = (y)::timestamp with time zone)', [], '(x = (y)::timestamp with time zone)'],
  [`("auth"."uid"() = "user id")`, ['"auth"."uid"()'], `('V' = "user id")`],
  [`(name = 'auth.uid()'::text)`, [], `(name = 'auth.uid()')`],
]

for (const [expression, found, resolved] of lookups) {
  t.test(`look-ups of ${expression}`, (t) => {
    t.strictSame(
      lookupsOf(expression).map(({ text }) => text),
      found,
    )
    t.equal(
      withValues(expression, () => "'V'"),
      resolved,
    )
    t.end()
  })
}

t.test('lists are the right sides of IN and ANY', (t) => {
  t.strictSame(
    lookupsOf(`((a IN ( SELECT f.g() AS g)) AND (b = ( SELECT f.h() AS h)))`).map(({ isList }) => isList),
    [true, false],
  )
  t.end()
})

t.test('columns that an expression mentions', (t) => {
  const columns = ['author', 'Full name', 'status', 'lower', 'id', 'task_id']
  const found = (text: string): readonly string[] => columnsIn(text, 'comments', columns)
  t.strictSame(found(`((author = 1) AND (lower("Full name") = 'status'::text) AND status(x))`), ['author', 'Full name'])
  t.strictSame(found('(task_id IN ( SELECT tasks.id FROM public.tasks))'), ['task_id'])
  t.strictSame(found('(EXISTS ( SELECT FROM public.tasks WHERE (tasks.id = comments.task_id)))'), ['task_id'])
  t.end()
})

t.test('tokens', (t) => {
  const texts = (sql: string): string[] => tokensOf(sql).map(({ text }) => text)
  t.strictSame(texts(`a -- b\n+ /* c /* d */ e */ "F""g".H`), ['a', '+', 'F"g', '.', 'h'])
  t.strictSame(texts(`$$ x; $$ || $t$ $$ $t$ || E'a\\'b' || 'it''s' || $1`), [
    ...['$$ x; $$', '||', '$t$ $$ $t$', '||', `E'a\\'b'`, '||', `'it''s'`, '||', '$1'],
  ])
  t.strictSame(texts(`1.5e3::int <-> x*-- y`), ['1.5e3', '::', 'int', '<->', 'x', '*'])
  t.strictSame(texts(`'open`), [`'open`])
  t.strictSame(texts('/* open'), [])
  t.end()
})
