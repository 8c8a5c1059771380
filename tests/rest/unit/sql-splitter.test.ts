import t from 'tap'
import { SqlSplitter, type OpenElement, type SqlPiece } from '../../../server/text/sql-splitter.ts'
import { splitStatements } from '../../../server/text/sql-statements.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

/** All statements of a text. The last one may lack its semicolon. */
function splitSql(text: string): readonly Extract<SqlPiece, { kind: 'statement' }>[] {
  const splitter = new SqlSplitter()
  const pieces = text.split('\n').flatMap((line) => splitter.push(line))
  const last = splitter.end()
  return [...pieces, ...(last ? [last] : [])].filter((piece) => piece.kind === 'statement')
}

t.test('statements end at semicolons outside of quotations, comments, parentheses and bodies', (t) => {
  const table: [sql: string, expected: readonly [line: number, text: string][]][] = [
    ['', []],
    [' ; ;\n;', []],
    ['select 1', [[1, 'select 1']]],
    ['select 1; select 2;', [[1, 'select 1'], [1, 'select 2']]], // prettier-ignore
    ["select ';'; select 2", [[1, "select ';'"], [1, 'select 2']]], // prettier-ignore
    ["select 'it''s;'", [[1, "select 'it''s;'"]]],
    ["select 'a\n;b';", [[1, "select 'a\n;b'"]]],
    ["select '\\'; select 2", [[1, "select '\\'"], [1, 'select 2']]], // prettier-ignore
    ["select e'\\';'; select 2", [[1, "select e'\\';'"], [1, 'select 2']]], // prettier-ignore
    ["select E'a''\\';b'; x", [[1, "select E'a''\\';b'"], [1, 'x']]], // prettier-ignore
    // The letter belongs to the name of the type.
    ["select date'2020-01-01\\'; x", [[1, "select date'2020-01-01\\'"], [1, 'x']]], // prettier-ignore
    ['select ";""\\;" from t; x', [[1, 'select ";""\\;" from t'], [1, 'x']]], // prettier-ignore
    ['select $$;$$; x', [[1, 'select $$;$$'], [1, 'x']]], // prettier-ignore
    ['select $a$ ; $$ ; $b$ ; $a$; x', [[1, 'select $a$ ; $$ ; $b$ ; $a$'], [1, 'x']]], // prettier-ignore
    ['select $é1$;$é1$', [[1, 'select $é1$;$é1$']]],
    ['do $x$\nbegin;\nend $x$;\nselect 1', [[1, 'do $x$\nbegin;\nend $x$'], [4, 'select 1']]], // prettier-ignore
    // Names may contain the sign, and parameters begin with it.
    ['select a$b$;select c$b$', [[1, 'select a$b$'], [1, 'select c$b$']]], // prettier-ignore
    ['select $1;select $2', [[1, 'select $1'], [1, 'select $2']]], // prettier-ignore
    ['-- a; b\nselect 1; -- c;\n', [[2, 'select 1']]],
    ['/* a; /* b; */ ; */ select 1 /* ; */ + 2;', [[1, 'select 1 /* ; */ + 2']]],
    ['/*\n;\n*/\n\n  select 1', [[5, 'select 1']]],
    ['select 1 -- it\'s "\n;', [[1, 'select 1 -- it\'s "']]],
    ['select 4 - -1; select 2--1;\n;', [[1, 'select 4 - -1'], [1, 'select 2--1;']]], // prettier-ignore
    ['create rule r as on insert to t do (select 1; select 2); x', [
      [1, 'create rule r as on insert to t do (select 1; select 2)'],
      [1, 'x'],
    ]], // prettier-ignore
    ['create or replace function f() returns int\nbegin atomic select case when true then 1 end; end; x', [
      [1, 'create or replace function f() returns int\nbegin atomic select case when true then 1 end; end'],
      [2, 'x'],
    ]], // prettier-ignore
    ['create table "begin" (begin int); begin; end; x', [
      [1, 'create table "begin" (begin int)'],
      [1, 'begin'],
      [1, 'end'],
      [1, 'x'],
    ]], // prettier-ignore
    // A name that is no reserved word.
    ['create function begin() returns int language sql as $$$$; x', [
      [1, 'create function begin() returns int language sql as $$$$'],
      [1, 'x'],
    ]], // prettier-ignore
    ['create function f() returns int begin atomic select t.end, 1 as end from t; end; x', [
      [1, 'create function f() returns int begin atomic select t.end, 1 as end from t; end'],
      [1, 'x'],
    ]], // prettier-ignore
    // The second part of the string has escapes as well.
    ["select E'a' -- b\n'\\';b'; x", [[1, "select E'a' -- b\n'\\';b'"], [2, 'x']]], // prettier-ignore
    ["select E'a', '\\'; x", [[1, "select E'a', '\\'"], [1, 'x']]], // prettier-ignore
    ['select 1\r\n;\r\nselect 2', [[1, 'select 1'], [3, 'select 2']]], // prettier-ignore
    ['select \\x; y', [[1, 'select \\x'], [1, 'y']]], // prettier-ignore
  ]
  for (const [sql, expected] of table) {
    t.strictSame(
      splitSql(sql).map(({ line, text }) => [line, text]),
      expected,
      JSON.stringify(sql),
    )
  }
  t.end()
})

t.test('what an open statement waits for', (t) => {
  const table: [lines: readonly string[], waitsFor: OpenElement | undefined][] = [
    [['select 1;'], undefined],
    [['-- done'], undefined],
    [['select 1'], ';'],
    [["select '"], "'"],
    [["select e'\\'"], "'"],
    [['select "'], '"'],
    [['select $a$ $$ '], '$'],
    [['/* '], '*'],
    [['select /* /* */'], '*'],
    [['select (1,', '(2)'], '('],
  ]
  for (const [lines, expected] of table) {
    const splitter = new SqlSplitter()
    for (const line of lines) splitter.push(line)
    t.equal(splitter.isOpen ? splitter.waitsFor : undefined, expected, lines.join('|'))
  }
  t.end()
})

t.test('commands with a backslash', (t) => {
  const splitter = new SqlSplitter({ commands: true })
  t.strictSame(splitter.push('\\d public.t ;'), [{ kind: 'command', text: 'd public.t ;', line: 1 }])
  t.strictSame(splitter.push("select '\\d', $$\\x$$; \\q"), [
    { kind: 'statement', text: "select '\\d', $$\\x$$", line: 2 },
    { kind: 'command', text: 'q', line: 2 },
  ])
  t.strictSame(splitter.push('select 1 \\g'), [{ kind: 'command', text: 'g', line: 3 }])
  t.strictSame(splitter.end(), { kind: 'statement', text: 'select 1', line: 3 })
  splitter.push("select '")
  splitter.reset()
  t.notOk(splitter.isOpen)
  splitter.standardConformingStrings = false
  t.strictSame(splitter.push("select '\\';';"), [{ kind: 'statement', text: "select '\\';'", line: 5 }])
  t.end()
})

t.test('text that comes line by line is split as the whole text', (t) => {
  const { pick, some } = seededRandom(testSeed(23))
  const signs = [
    "'",
    "E'",
    '"',
    '\\',
    '$$',
    '$a$',
    '/*',
    '*/',
    '--',
    '(',
    ')',
    ';',
    'a',
    '1',
    ' ',
    '\n',
    '\r\n',
    '+',
  ] as const
  for (let round = 0; round < 5000; round++) {
    const sql = some(0, 16, () => pick(signs)).join('')
    const texts = (sql: string): string[] => splitStatements(sql).map(({ text }) => text.trimEnd())
    // Line by line, trailing comments are part of a statement, and a comment that does not end is no statement.
    const lines = splitSql(sql).flatMap(({ text }) => texts(text))
    const whole = texts(sql).filter((text) => !text.startsWith('/*'))
    if (JSON.stringify(lines) !== JSON.stringify(whole)) t.strictSame(lines, whole, JSON.stringify(sql))
  }
  t.end()
})
