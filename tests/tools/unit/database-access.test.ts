// The parts of `rowhouse psql`, `url`, `dump` and `audit` that need no database.
import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { separatePsqlArguments } from '../../../server/tools/command-line/psql-command.ts'
import { inputFrom, writeWhole } from '../../../server/tools/database-access/dump-file.ts'
import { connectionUrl, libpqEnvironment } from '../../../server/postgres/connection/libpq-environment.ts'
import { LineReader } from '../../../server/tools/database-access/line-reader.ts'
import { findPsql, shellArguments } from '../../../server/tools/database-access/psql.ts'
import { describeError, describeNotice } from '../../../server/tools/database-access/shell/error-report.ts'
import { namePattern } from '../../../server/tools/database-access/shell/name-pattern.ts'
import { ResultTable, type Format } from '../../../server/tools/database-access/shell/result-table.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-access-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const aligned: Format = { expanded: false, unaligned: false, tuplesOnly: false }
const columns = [
  { name: 'id', dataTypeID: 23 },
  { name: 'text', dataTypeID: 25 },
]

t.test('results', async (t) => {
  const table: [name: string, format: Partial<Format>, rows: (string | null)[][], expected: string][] = [
    ['no rows', {}, [], ' id | text \n----+------\n(0 rows)\n\n'],
    ['one row', {}, [['1', 'a']], ' id | text \n----+------\n  1 | a\n(1 row)\n\n'],
    ['null', {}, [['1', null]], ' id |  text  \n----+--------\n  1 | (null)\n(1 row)\n\n'],
    ['wide characters', {}, [['1', '漢字'], ['2', '👩‍👩‍👧'], ['3', 'é|']], ' id | text \n----+------\n  1 | 漢字\n  2 | 👩‍👩‍👧\n  3 | é|\n(3 rows)\n\n'], // prettier-ignore
    ['several lines', {}, [['1', 'a\nbc']], ' id | text \n----+------\n  1 | a   +\n    | bc\n(1 row)\n\n'],
    ['sequences of a terminal', {}, [['1', '\u001b[31m\u202e\t']], ' id |        text        \n----+--------------------\n  1 | \\x1B[31m\\u202E\\x09\n(1 row)\n\n'], // prettier-ignore
    ['expanded', { expanded: true }, [['1', 'a\nb'], ['2', null]], '-[ RECORD 1 ]\nid   | 1\ntext | a\n     | b\n-[ RECORD 2 ]\nid   | 2\ntext | (null)\n\n'], // prettier-ignore
    ['expanded, no rows', { expanded: true }, [], '(0 rows)\n\n'],
    ['unaligned', { unaligned: true }, [['1', 'a'], ['2', null]], 'id|text\n1|a\n2|\n(2 rows)\n'], // prettier-ignore
    ['for scripts', { unaligned: true, tuplesOnly: true }, [['1', 'a'], ['2', null]], '1|a\n2|\n'], // prettier-ignore
    ['rows only', { tuplesOnly: true }, [['1', 'a']], '  1 | a\n\n'],
  ]
  for (const [name, format, rows, expected] of table) {
    const result = new ResultTable(columns, { ...aligned, ...format })
    t.equal(rows.map((row) => result.part([row])).join('') + result.end(), expected, name)
  }
  const result = new ResultTable(columns, aligned)
  t.equal(result.part([['1', 'abcdef'], ['20', 'a']]), ' id |  text  \n----+--------\n  1 | abcdef\n 20 | a\n') // prettier-ignore
  t.equal(result.part([['300', 'ab']]), ' 300 | ab\n', 'in parts')
  t.equal(result.end(), '(3 rows)\n\n')
})

t.test('errors with line and caret', async (t) => {
  const failure = (fields: object): Error => Object.assign(new Error('no'), { severity: 'ERROR', ...fields })
  const table: [statement: string, fields: object, expected: string][] = [
    ['select x', { position: '8' }, 'ERROR:  no\nLINE 1: select x\n               ^\n'],
    ['select\n  漢, x', { position: '13' }, 'ERROR:  no\nLINE 2:   漢, x\n              ^\n'],
    ['select 👍, x', { position: '11' }, 'ERROR:  no\nLINE 1: select 👍, x\n                   ^\n'],
    ['\tx', { position: '2' }, 'ERROR:  no\nLINE 1:  x\n         ^\n'],
    ['x', { severity: 'FATAL', detail: 'd', hint: 'h', where: 'w' }, 'FATAL:  no\nDETAIL:  d\nHINT:  h\nCONTEXT:  w\n'],
  ]
  for (const [statement, fields, expected] of table) t.equal(describeError(failure(fields), statement), expected)
  const long = `select ${'a, '.repeat(100)}x${', b'.repeat(100)}`
  const [, line = '', caret = ''] = describeError(failure({ position: '308' }), long).split('\n')
  t.ok(line.length < 90 && line.startsWith('LINE 1: ...') && line.endsWith('...'))
  t.equal(line[caret.length - 1], 'x')
  t.equal(describeError('lost', 'x'), 'ERROR:  lost\n')
  t.equal(describeNotice({ severity: 'WARNING', message: 'm', hint: 'h' }), 'WARNING:  m\nHINT:  h\n')
})

t.test('patterns of names', async (t) => {
  const table: [text: string, schema: string | undefined, name: string][] = [
    ['Tasks', undefined, '^(tasks)$'],
    ['"Tasks"', undefined, '^(Tasks)$'],
    ['public.t*', '^(public)$', '^(t.*)$'],
    ['*.t?', '^(.*)$', '^(t.)$'],
    ['auth.', '^(auth)$', '^(.*)$'],
    ['"a.b"."c*""$"', '^(a\\.b)$', '^(c\\*"\\$)$'],
    ['a|b$', undefined, '^(a\\|b\\$)$'],
  ]
  for (const [text, schema, name] of table) t.strictSame(namePattern(text), { schema, name }, text)
})

t.test('addresses for other programs', async (t) => {
  const env = { PGUSER: 'anna', PGPASSWORD: 'a b', PGSSLMODE: 'require', HOME: '/home/anna', PATH: '/bin', PGX: '' }
  const table: [uri: string, env: Record<string, string>, url: string, variables: object][] = [
    [
      'postgresql://postgres:p%40%2F@127.0.0.1:5433/postgres',
      {},
      'postgresql://postgres:p%40%2F@127.0.0.1:5433/postgres',
      { PGUSER: 'postgres', PGPASSWORD: 'p@/', PGHOST: '127.0.0.1', PGPORT: '5433', PGDATABASE: 'postgres' },
    ],
    ['postgresql://', env, 'postgresql://anna:a%20b@?sslmode=require', { ...env, PATH: undefined }],
    [
      "host=/var/run/postgresql dbname='a b' user=o'hara",
      {},
      "postgresql://o'hara@%2Fvar%2Frun%2Fpostgresql/a%20b",
      { PGHOST: '/var/run/postgresql', PGDATABASE: 'a b', PGUSER: "o'hara" },
    ],
    [
      'postgresql://u@a:1,b:2/d?target_session_attrs=read-write&keepalives_idle=5',
      {},
      'postgresql://u@a:1,b:2/d?target_session_attrs=read-write&keepalives_idle=5',
      { PGHOST: 'a,b', PGPORT: '1,2', PGTARGETSESSIONATTRS: 'read-write' },
    ],
    ['postgresql://u@[::1]:5/d', {}, 'postgresql://u@[::1]:5/d', { PGHOST: '::1' }],
  ]
  for (const [uri, given, url, variables] of table) {
    t.equal(connectionUrl({ uri, env: given }), url)
    t.match(libpqEnvironment({ uri, env: given }), variables, uri)
  }
  const uri = 'postgresql://u:secret@h/d?options=-c%20a%3Db'
  t.equal(connectionUrl({ uri, env: {} }, { password: false }), 'postgresql://u@h/d?options=-c%20a%3Db')
  const withRole = connectionUrl({ uri, env: {} }, { role: 'my role' })
  t.equal(new URL(withRole).searchParams.get('options'), '-c a=b -c role=my\\ role')
})

t.test('arguments', async (t) => {
  const separated: [string, string][] = [
    ['serve --json', 'serve --json'],
    ['psql', 'psql --'],
    ['psql -c x --json', 'psql -- -c x --json'],
    ['psql --role anon --config f -v a=b', 'psql --role anon --config f -- -v a=b'],
    ['psql --role=anon --builtin --version', 'psql --role=anon --builtin -- --version'],
    ['psql --help', 'psql --help --'],
    ['types psql', 'types psql'],
  ]
  for (const [given, expected] of separated) t.equal(separatePsqlArguments(given.split(' ')).join(' '), expected)

  const none = { actions: [], expanded: false, unaligned: false, tuplesOnly: false, quiet: false, stopsOnError: false }
  t.strictSame(shellArguments([]), none)
  t.strictSame(shellArguments(['-XAtq', '-c', 'a', '-f', 'b', '-cd', '-v', 'ON_ERROR_STOP=1', '-x']), {
    actions: [
      { kind: 'command', value: 'a' },
      { kind: 'file', value: 'b' },
      { kind: 'command', value: 'd' },
    ],
    expanded: true,
    unaligned: true,
    tuplesOnly: true,
    quiet: true,
    stopsOnError: true,
  })
  for (const args of [['-v', 'a=b'], ['--csv'], ['-L', 'x'], ['other'], ['-c']]) {
    t.throws(() => shellArguments(args), { message: /psql is not installed; rowhouse's own client understands -c, -f/ })
  }
  t.equal(await findPsql({ PATH: `${folder}:/nowhere` }), undefined)
  t.equal(await findPsql({}), undefined)
  await writeFile(join(folder, 'psql'), '#!/bin/sh\n', { mode: 0o755 })
  t.equal(await findPsql({ PATH: `/nowhere:${folder}` }), join(folder, 'psql'))
})

t.test('lines end at line feeds only, wherever chunks end', async (t) => {
  const text = 'a\r\n\n\u2028b\nlong line\nlast'
  for (const size of [1, 2, 3, 100]) {
    const bytes = Buffer.from(text)
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const reader = new LineReader(Readable.from(chunks) as AsyncIterable<Buffer>)
    const lines: string[] = []
    for (let line = await reader.next(); line; line = await reader.next()) lines.push(line.toString())
    t.strictSame(lines, ['a\r', '', '\u2028b', 'long line', 'last'], `chunks of ${size}`)
  }
})

t.test('a file gets its name when it is complete', async (t) => {
  const file = join(folder, 'dump.sql')
  await writeWhole(file, async (output) => void output.write('one'))
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const before = await readdir(folder)
  await t.rejects(
    writeWhole(file, (output) => (output.write('two'), Promise.reject(new Error('stopped')))),
    { message: 'stopped' },
  )
  t.equal(await readFile(file, 'utf8'), 'one', 'the former file is intact')
  t.strictSame(await readdir(folder), before, 'nothing is left')
  await t.rejects(
    writeWhole(join(folder, 'none/x'), () => Promise.resolve()),
    { code: 'ENOENT' },
  )
  await t.rejects(inputFrom(join(folder, 'none')), { code: 'ENOENT' })

  await symlink(file, join(folder, 'link.sql'))
  await writeWhole(join(folder, 'link.sql'), async (output) => void output.write('one'))
  t.ok((await lstat(join(folder, 'link.sql'))).isSymbolicLink(), 'the target of a link is written')
  await symlink('/dev/null', join(folder, 'null.sql'))
  await writeWhole(join(folder, 'null.sql'), async (output) => void output.write('one'))
  t.ok((await stat(join(folder, 'null.sql'))).isCharacterDevice(), 'a device stays one')

  await writeWhole(join(folder, 'dump.sql.gz'), async (output) => void output.write('three'))
  for (const [name, expected] of [
    ['dump.sql', 'one'],
    ['dump.sql.gz', 'three'],
  ] as const) {
    // prettier-ignore
    const chunks: Buffer[] = []
    for await (const chunk of await inputFrom(join(folder, name))) chunks.push(chunk)
    t.equal(Buffer.concat(chunks).toString(), expected)
  }
  await writeFile(join(folder, 'broken.gz'), gzipSync('a'.repeat(1000)).subarray(0, 20))
  const input = await inputFrom(join(folder, 'broken.gz'))
  await t.rejects(
    async () => {
      for await (const chunk of input) t.ok(chunk)
    },
    { code: 'Z_BUF_ERROR' },
  )
})
