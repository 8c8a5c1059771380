// How `rowhouse check` reads node trees and SQL: nothing in a name, string or comment is taken for syntax.
import t from 'tap'
import { canonical, isNode, nodesOf, readNodeTree, textConstant } from '../../../server/catalogue/node-tree.ts'
import {
  callsIn,
  hasUnqualifiedNames,
  mayHaveEffects,
  wrapCalls,
  writtenTables,
} from '../../../server/tools/check/sql-source.ts'
import { stringValue, tokensOf } from '../../../server/text/sql-tokens.ts'

t.test('node trees', (t) => {
  const tree = readNodeTree(
    '{OPEXPR :opno 98 :args ({VAR :varno 1 :varattno 2 :location 7} {CONST :consttype 25 :constisnull false ' +
      ':constvalue 7 [ 28 0 0 0 97 39 -61 -92 ]}) :colnames ("a\\ \\(b\\}" ":x") :aliasname :name :none <> :set (b 1 2) :location 3}',
  )
  if (!isNode(tree)) throw new Error('no node')
  t.equal(tree.tag, 'OPEXPR')
  t.strictSame(tree.fields.get('colnames'), ['"a\\ \\(b\\}"', '":x"'])
  t.equal(tree.fields.get('aliasname'), ':name', 'a value may begin like a field')
  t.equal(tree.fields.get('none'), null)
  t.strictSame(tree.fields.get('set'), ['b', '1', '2'])
  t.strictSame(
    [...nodesOf(tree)].map(({ tag }) => tag),
    ['OPEXPR', 'VAR', 'CONST'],
  )
  t.strictSame([...nodesOf(tree)].map(textConstant), [undefined, undefined, "a'ä"])
  t.notMatch(canonical(tree), 'location')
  for (const text of ['', '{', '{A :b', '{A b}', ')', '{A :b 1} 2', '({A})}'])
    t.throws(() => readNodeTree(text), Error, text)
  t.end()
})

t.test('tokens of SQL', (t) => {
  const text = `select "A ""b""", E'it\\'s', 'it''s' -- auth.uid()\n/* a /* nested */ auth.uid() */ $x$ 'f()' $x$ $1 ünï 1.5e3 'open`
  t.strictSame(
    tokensOf(text).map((token) => `${token.kind} ${token.kind === 'string' ? stringValue(token) : token.text}`),
    [
      ...[
        'word select',
        'quoted A "b"',
        'symbol ,',
        "string it's",
        'symbol ,',
        "string it's",
        "string  'f()' ",
        'parameter $1',
      ],
      ...['word ünï', 'number 1.5e3', 'string open'],
    ],
  )
  t.strictSame(callsIn(`a.b(1), "C" (2), coalesce(x.y, 'd()') /* e() */ from f.g`), [
    { schema: 'a', name: 'b' },
    { schema: null, name: 'C' },
    { schema: null, name: 'coalesce' },
  ])
  t.strictSame(
    writtenTables(`insert into a.b values ('insert into c'); update "D" set x = 1; -- update e\n select "update" f`),
    [
      { schema: 'a', name: 'b' },
      { schema: null, name: 'D' },
    ],
  )
  t.end()
})

t.test('calls are wrapped once, and only calls', (t) => {
  const isUid = ({ schema, name }: { schema: string | null; name: string }): boolean =>
    schema === 'auth' && name === 'uid'
  const table: [string, string][] = [
    ['(a = auth.uid())', '(a = ( SELECT auth.uid()))'],
    ['(a = ( SELECT auth.uid() AS uid))', '(a = ( SELECT auth.uid() AS uid))'],
    [`(a = 'auth.uid()'::text)`, `(a = 'auth.uid()'::text)`],
    [
      `("auth.uid()" = auth.uid() OR b = "auth"."uid"())`,
      `("auth.uid()" = ( SELECT auth.uid()) OR b = ( SELECT "auth"."uid"()))`,
    ],
    ['x.auth.uid() = auth.uid(f(1), (2))', 'x.auth.uid() = ( SELECT auth.uid(f(1), (2)))'],
    ['auth.uid', 'auth.uid'],
    ['auth.uid(', 'auth.uid('],
  ]
  for (const [text, expected] of table) t.equal(wrapCalls(text, isUid), expected, text)
  t.end()
})

t.test('what the body of a function does', (t) => {
  const unqualified: [string, boolean][] = [
    ['select a.f(x) from a.t where b in (select c from a.u)', false],
    ['select f(x)', true],
    ['select 1 from t', true],
    [`select '1 from t', "from" -- from t`, false],
    ['insert into t values (1)', true],
  ]
  for (const [text, expected] of unqualified) t.equal(hasUnqualifiedNames(text), expected, text)
  const effects: [string, boolean][] = [
    ['begin return 1; end', false],
    [`select 'delete', "update" -- insert`, false],
    ['begin Delete from t; end', true],
    ['begin execute x; end', true],
  ]
  for (const [text, expected] of effects) t.equal(mayHaveEffects(text), expected, text)
  t.end()
})
