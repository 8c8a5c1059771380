// Statements are split as PostgreSQL itself splits them: generated texts, as one query and as the statements of our own.
import type pg from 'pg'
import t from 'tap'
import { splitStatements } from '../../server/text/sql-statements.ts'
import { createDatabase, withClient } from '../support/database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const database = await createDatabase()
t.teardown(database.drop)

const blanks = [
  ' ',
  '\n',
  '\t\r\n',
  ' -- ; "\n',
  "--'\r",
  '/* ; */',
  "/* /* ; */ ' $$ */",
  '/**/',
  '/* -- */',
  '/*/**/*/',
]
const expressions = [
  `';'`,
  `'it''s;'`,
  `'\\'`,
  `E'\\';'`,
  `e'\\\\'`,
  `E'a''\\'' -- ;\n  'b\\';c'`,
  `'a'\n';b'`,
  `N'n;'`,
  `U&'\\0061;'`,
  `B'01'`,
  `$$;$$`,
  `$$'$$`,
  `$a$;$$;$a$`,
  `$a$ $b$ ; $b$ $a$`,
  `$é$;$é$`,
  `1 as "a;b"`,
  `2 as "a"";"`,
  `3 as a$b$c`,
  `1/*;*/+/*;*/2`,
  `3 -- ;\n - 1`,
  `4--;\n`,
  `(5)`,
  `(select 6 where ';' = ';')`,
  `case when true then 7 else 8 end`,
  `1 as end`,
  `2 as "begin"`,
  `'😀;' as "😀"`,
  `array[1, 2]`,
  `'{"a;": "b"}'::jsonb -> 'a;'`,
  `1 as begin`,
  `2 as atomic`,
]
const others = [
  `create function pg_temp.f() returns int begin atomic select 1; select case when true then 2 else 3 end; end`,
  `create or replace function pg_temp.g(a int) returns int language sql begin atomic; select a; end`,
  `create or replace function pg_temp.h() returns int return case when true then 1 else 2 end`,
  `CREATE PROCEDURE pg_temp.p() BEGIN ATOMIC insert into t values (1); select t.a as end from t; END`,
  `create function pg_temp.i() returns text language sql as 'select '';'''`,
  `create rule r as on insert to t do also (delete from u where a = 1; delete from u)`,
  `do $do$ begin perform 1; end; $do$`,
  `do $$ begin begin null; end; end $$`,
  `create temp view v as select case when true then 1 end as end`,
  ``,
]

/** What each statement of a text does, without empty ones. */
const outcome = (results: readonly pg.QueryResult[]): readonly unknown[] =>
  results.filter(({ command }) => command !== null && command !== '').map(({ command, rows }) => [command, rows])

t.test('generated texts', async (t) => {
  const random = seededRandom(testSeed(17))
  const one = <T>(choices: readonly T[]): T => choices[random.below(choices.length)] as T
  const blank = (): string => Array.from({ length: random.below(3) }, () => one(blanks)).join('')
  let ran = 0
  await withClient(database.adminUri, async (client) => {
    await client.query('create temp table t (a int); create temp table u (a int)')
    for (let round = 0; round < 300; round++) {
      const statements = Array.from({ length: 1 + random.below(5) }, () =>
        random.below(4) === 0 ? one(others) : `select ${blank()}${one(expressions)}${blank()}, ${one(expressions)}`,
      )
      const text = statements.map((statement) => `${blank()}${statement}${blank()}`).join(';')
      await client.query('begin')
      const whole = await client.query(text).then(
        (result: pg.QueryResult | pg.QueryResult[]) => outcome([result].flat()),
        (error: unknown) => String(error),
      )
      await client.query('rollback; begin')
      const single: pg.QueryResult[] = []
      let failure: string | undefined
      const split = splitStatements(text)
      for (const { text: statement } of split) {
        try {
          single.push(await client.query(statement))
        } catch (error) {
          failure = String(error)
          break
        }
      }
      await client.query('rollback')
      if (typeof whole !== 'string') ran++
      const expected = failure ?? outcome(single)
      if (JSON.stringify(whole) !== JSON.stringify(expected)) {
        t.strictSame(expected, whole, text)
        return
      }
      for (const { text: statement, start } of split) {
        if (!text.startsWith(statement, start)) t.fail(`start of ${statement} in ${text}`)
      }
    }
  })
  t.ok(ran > 200, `${ran} of 300 texts ran without an error`)
})

t.test('texts that PostgreSQL cannot run', (t) => {
  const rows: [string, readonly string[]][] = [
    ['', []],
    [' ;; -- a\n;/* b */', []],
    ["select 'a; select 2", ["select 'a; select 2"]],
    ['select $a$ ; $b$', ['select $a$ ; $b$']],
    ['select 1; /* ; ', ['select 1', '/* ; ']],
    ['select "a;', ['select "a;']],
    ["select E'\\", ["select E'\\"]],
    ['select (1; select 2', ['select (1; select 2']],
    ['select 1); select 2', ['select 1)', 'select 2']],
    ['\\restrict abc\nselect 1;\n\\unrestrict abc\n', ['select 1']],
    ['\\connect x\nselect 1', ['\\connect x\nselect 1']],
    ['create function f() begin atomic select 1; select 2;', ['create function f() begin atomic select 1; select 2;']],
  ]
  for (const [text, expected] of rows) {
    t.strictSame(
      splitStatements(text).map((it) => it.text),
      expected,
      JSON.stringify(text),
    )
  }
  t.end()
})

t.test('rows of copy', (t) => {
  const [copy, next] = splitStatements(
    "copy a (b) from stdin with (delimiter ';'); -- rows\na;b\n\\.x\n\\N\n\\.\r\nselect 1;",
  )
  t.match(copy, { text: "copy a (b) from stdin with (delimiter ';')", rows: 'a;b\n\\.x\n\\N\n' })
  t.match(next, { text: 'select 1' })
  t.strictSame(splitStatements('copy a from stdin;\n1')[0]?.rows, '1', 'the file ends with the rows')
  t.strictSame(splitStatements("copy (select 1 from stdin) to '/dev/null'; select 2").length, 2)
  t.strictSame(splitStatements('select 1 from stdin; select 2').length, 2)
  t.end()
})

t.test('a large text', (t) => {
  const text =
    `insert into a values ('${"x''".repeat(1_000_000)}'); select ${'('.repeat(10_000)}1${')'.repeat(10_000)};`.repeat(2)
  t.equal(splitStatements(text).length, 4)
  t.end()
})
