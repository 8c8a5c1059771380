// `rowhouse check` on a database that answers with given objects: options, output and exit codes.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../server/config/config.ts'
import { arrayText, finding } from '../../../server/tools/check/finding.ts'
import { fixMigration, fixParts, writeFixMigration } from '../../../server/tools/check/fix-migration.ts'
import { githubAnnotation } from '../../../server/tools/check/github-annotations.ts'
import { parseIgnoreList } from '../../../server/tools/check/ignore-list.ts'
import type { DatabaseOperations, Dependencies } from '../../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../../server/tools/command-line/program.ts'
import { catalogueRows, extensionTable, type GivenObjects } from '../../support/check-catalogue.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-check-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

/** An extension in public is a warning; a table without a primary key a note. */
const objects: GivenObjects = {
  database: {
    extensions: [
      {
        name: 'ci"text',
        quoted: '',
        schema: 'public',
        isRelocatable: true,
        installed: '1',
        default: '1',
        isOutdated: false,
      },
    ],
  },
  relations: [
    { ...extensionTable, rls: false },
    { ...extensionTable, oid: 2, name: 'actors', quoted: 'public.actors', isOfExtension: false },
  ],
}

type Ran = { readonly code: number; readonly out: string; readonly err: string }

async function check(...args: string[]): Promise<Ran> {
  let [out, err] = ['', '']
  const given: Partial<Dependencies> = {
    print: (text) => void (out += text),
    printError: (text) => void (err += text),
    withDatabaseSettings: () =>
      Promise.resolve({
        ...{ dbSchemas: ['public'], dbExtraSearchPath: [], dbAnonRole: null, services: [] },
      } as unknown as Config),
    withDatabase: (_config, _wish, use) =>
      use({
        query: (text: string) => Promise.resolve({ rows: catalogueRows(text, objects) }),
      } as unknown as DatabaseOperations),
  }
  const code = await runProgram(['check', ...args], given as Dependencies)
  return { code, out, err }
}

const ignoring = async (name: string, ...entries: unknown[]): Promise<string> => {
  const file = join(folder, name)
  await writeFile(file, JSON.stringify({ ignore: entries }))
  return file
}
const codes = ({ out }: Ran): string[] =>
  (JSON.parse(out) as { lints: { code: string }[] }).lints.map(({ code }) => code)

t.test('the findings in words', async (t) => {
  const { code, out, err } = await check()
  t.strictSame([code, err], [1, ''])
  t.equal(
    out,
    `WARN extension_in_public  public.ci"text
    The functions and types of the extension are in a schema of the API, where roles can call them.
    > create schema if not exists extensions;
    > grant usage on schema extensions to public;
    > alter extension "ci""text" set schema extensions;
    Add the schema extensions to the search_path of roles and functions that use it.
    https://supabase.com/docs/guides/database/database-linter?lint=0014_extension_in_public

INFO no_primary_key  public.actors
    Without a primary key, clients cannot address, embed or upsert single rows, and replication compares whole rows.
    > alter table public.actors add column id bigint generated always as identity primary key;
    If columns identify a row already: alter table public.actors add primary key (…);
    https://supabase.com/docs/guides/database/database-linter?lint=0004_no_primary_key

INFO exposed_table_without_rls  public.films
    Row-level security is off in an exposed schema, so the first role that gets a privilege can use every row.
    > alter table "public"."films" enable row level security;

Found 1 warning, 2 notes.

Exposed: 2 relations and 0 functions (--exposed lists them with their roles).
`,
  )
  const withTable = await check('--exposed')
  t.match(
    withTable.out,
    /^WARN extension_in_public [^]*\nFound 1 warning, 2 notes\.\n\nEXPOSED [^]*\npublic\.films[^\n]*\n {2}! row-level security is off\n[^]*\n1 finding \(!\) in 1 of 2 exposed objects\.\n$/,
    'findings first, then the table',
  )
})

t.test('levels', async (t) => {
  const table: [string[], number, string[]][] = [
    [[], 1, ['extension_in_public', 'no_primary_key', 'exposed_table_without_rls']],
    [['--level', 'warn'], 1, ['extension_in_public']],
    [['--level', 'Error'], 1, []],
    [['--fail-on', 'error'], 0, ['extension_in_public', 'no_primary_key', 'exposed_table_without_rls']],
    [['--fail-on', 'info', '--level', 'error'], 1, []],
    [['--fail-on', 'never'], 0, ['extension_in_public', 'no_primary_key', 'exposed_table_without_rls']],
  ]
  for (const [args, code, expected] of table) {
    const ran = await check('--json', ...args)
    t.equal(ran.code, code, args.join(' '))
    t.strictSame(codes(ran), expected, args.join(' '))
  }
  t.match(await check('--level', 'high'), { code: 1, err: /Allowed are info, warn and error\./ })
  t.match(await check('--fail-on', 'high'), { code: 1, err: /Allowed are info, warn, error and never\./ })
  t.match(await check('--github', '--json'), {
    code: 2,
    err: '{"error":"--github and --json are two formats: choose one."}\n',
  })
})

t.test('dismissed findings appear with --all', async (t) => {
  t.notMatch((await check()).out, 'rls_enabled_no_policy')
  const { out } = await check('--all')
  t.match(out, /INFO rls_enabled_no_policy {2}public\.actors\n[^>]*Dismissed: No role of the API has a privilege/)
  t.match(out, /Found 1 warning, 2 notes, 1 dismissed\.\n/)
  t.match(JSON.parse((await check('--all', '--json')).out), {
    dismissed: [{ code: 'rls_enabled_no_policy', dismissed: /^No role/ }],
  })
})

t.test('ignored findings', async (t) => {
  const films = { code: 'exposed_table_without_rls', object: 'public.films', reason: 'A list of public films.' }
  const extension = { code: 'extension_in_public', reason: 'Old.', key: 'extension_in_public_ci"text' }
  const gone = { code: 'duplicate_index', object: 'public.films', reason: 'Being rebuilt.' }
  const file = await ignoring('check.json', films, extension, gone)
  const { code, out } = await check('--ignore', file)
  t.equal(code, 0, 'notes do not fail')
  t.notMatch(out, '!', 'the table does not flag them either')
  t.match(out, /Nothing to ignore any more: duplicate_index public\.films\n\nFound 1 note, 2 ignored\.\n/)
  const json = JSON.parse((await check('--ignore', file, '--json')).out) as unknown
  t.match(json, {
    findings: 1,
    ignored: [
      { code: 'extension_in_public', ignored: 'Old.' },
      { code: 'exposed_table_without_rls', ignored: 'A list of public films.' },
    ],
    unusedIgnores: [gone],
  })
  const github = await check('--ignore', file, '--github')
  t.match(github.out, /^::warning file=[^:]*check\.json::Nothing to ignore any more: duplicate_index public\.films$/m)
  const one = await ignoring('one.json', { ...films, key: 'another' })
  t.match(codes(await check('--ignore', one, '--json')), [
    'extension_in_public',
    'no_primary_key',
    'exposed_table_without_rls',
  ])
})

t.test('a list of ignored findings that is wrong', async (t) => {
  const table: [string, RegExp][] = [
    ['{', /^list: .*JSON/],
    ['[]', /^list: expected \{"ignore": /],
    ['{"ignore": [], "more": 1}', /^list: expected/],
    ['{"ignore": [1]}', /^list: ignore\[0\] is no object\.$/],
    ['{"ignore": [{"code": "no_primary_key"}]}', /^list: ignore\[0\] needs a reason/],
    ['{"ignore": [{"code": "no_primary_key", "reason": " "}]}', /^list: ignore\[0\] needs a reason/],
    ['{"ignore": [{"reason": "x"}]}', /^list: ignore\[0\]\.code must be the name of a lint\.$/],
    [
      '{"ignore": [{"code": "no_key", "reason": "x"}]}',
      /^list: ignore\[0\]\.code must be the name of a lint; "no_key" is none\.$/,
    ],
    ['{"ignore": [{"code": "toString", "reason": "x"}]}', /"toString" is none\.$/],
    ['{"ignore": [{"code": 1, "reason": "x"}]}', /^list: ignore\[0\]\.code must be a string\.$/],
    ['{"ignore": [{"table": "t", "code": "no_primary_key", "reason": "x"}]}', /has the unknown property "table"\.$/],
  ]
  for (const [text, message] of table) t.throws(() => parseIgnoreList(text, 'list'), { message }, text)
  t.match(await check('--ignore', join(folder, 'none.json')), {
    code: 2,
    out: '',
    err: /^The list of ignored findings cannot be read: ENOENT/,
  })
})

t.test('annotations for GitHub', async (t) => {
  const { code, out } = await check('--github', '--level', 'warn')
  t.equal(code, 1)
  t.strictSame(
    out.split('\n').map((line) => line.slice(0, 60)),
    ['::warning title=Extension in Public%3A public.ci"text::exten', ''],
  )
  const hostile = finding({
    code: 'no_primary_key',
    level: 'ERROR',
    object: { type: 'table', schema: 'a', name: 'b\n::error::x,y:100%\r' },
    key: '',
    reason: 'c\n::set-output name=x::y',
  })
  t.equal(
    githubAnnotation(hostile),
    '::error title=No Primary Key%3A a.b%0A%3A%3Aerror%3A%3Ax%2Cy%3A100%25%0D::no_primary_key: c%0A::set-output name=x::y',
  )
})

t.test('--fix', async (t) => {
  const migrations = join(folder, 'new', 'migrations')
  const { code, out } = await check('--fix', '--migrations', migrations)
  t.equal(code, 1)
  const [file = ''] = await readdir(migrations)
  t.match(file, /^\d{14}_check_fixes\.sql$/)
  t.match(out, `Wrote ${join(migrations, file)}. Read it before you apply it.\n`)
  t.equal(
    await readFile(join(migrations, file), 'utf8'),
    `-- Mends findings of rowhouse check. Read it before you apply it.

-- extension_in_public public.ci"text: The functions and types of the extension are in a schema of the API, where roles can call them.
-- Add the schema extensions to the search_path of roles and functions that use it.
create schema if not exists extensions;
grant usage on schema extensions to public;
alter extension "ci""text" set schema extensions;

-- no_primary_key public.actors: Without a primary key, clients cannot address, embed or upsert single rows, and replication compares whole rows.
-- If columns identify a row already: alter table public.actors add primary key (…);
alter table public.actors add column id bigint generated always as identity primary key;

-- exposed_table_without_rls public.films: Row-level security is off in an exposed schema, so the first role that gets a privilege can use every row.
alter table "public"."films" enable row level security;
`,
  )
  t.match(await check('--yes'), { code: 2, err: '--yes agrees to what --fix writes: give both.\n' })
  const none = await check('--fix', '--level', 'error', '--migrations', join(folder, 'other'), '--json')
  t.match(JSON.parse(none.out), { migration: null })
  t.rejects(readdir(join(folder, 'other')), { code: 'ENOENT' })
  const given = {
    code: 'no_primary_key',
    level: 'INFO',
    object: { type: 'table', schema: null, name: 't\n;drop' },
    key: '',
  } as const
  const twice = finding({ ...given, reason: 'r\nx', fix: 'select 1;\nselect 2;' })
  t.equal(
    fixMigration([twice, { ...twice, fix: 'select 2;\nselect 3;' }, { ...twice, fix: null }])?.replace(/^.*\n\n/, ''),
    '-- no_primary_key t ;drop: r x\nselect 1;\nselect 2;\n\n-- no_primary_key t ;drop: r x\nselect 3;\n',
    'names cannot end a comment, and no statement appears twice',
  )
  const now = new Date('2026-01-31T23:59:58.123Z')
  t.equal(await writeFixMigration(folder, fixParts([twice]), now), join(folder, '20260131235958_check_fixes.sql'))
  t.equal(
    await writeFixMigration(folder, fixParts([twice]), now),
    join(folder, '20260131235959_check_fixes.sql'),
    'no file is replaced',
  )
})

t.test('arrays in the text form of PostgreSQL', (t) => {
  const table: [string[], string][] = [
    [['a', 'b_1'], '{a,b_1}'],
    [['', 'NULL', 'a b', 'c,d', 'e"f\\', '{}'], '{"","NULL","a b","c,d","e\\"f\\\\","{}"}'],
  ]
  for (const [items, text] of table) t.equal(arrayText(items), text)
  t.end()
})
