// `rowhouse check` as a program: its guide's example, from findings to a migration that mends them.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parseIgnoreList } from '../../../server/tools/check/ignore-list.ts'
import { ownLints } from '../../../server/tools/check/lint-facts.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { command } from '../../support/program.ts'
import { guideText, readmeSection, withProgram } from '../../support/readme-section.ts'

const guide = guideText('server/tools/check/README.md')

t.test("the guide's example", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-check-'))
  const database = await createMigratedDatabase()
  t.teardown(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  await database.query(readmeSection('check-sql'))
  await mkdir(join(folder, 'migrations'))
  await writeFile(join(folder, 'migrations', '001_notes.sql'), '-- The table exists.\nselect 1;\n')
  // Findings are left, or statements were left out.
  const expected = (line: string): string =>
    line.endsWith('--yes') ? `${line} || test $? = 1` : line.endsWith('--fix') ? `${line} || test $? = 3` : line
  const script = withProgram(readmeSection('check'), command())
    .trim()
    .split('\n')
    .map((line) => expected(line.trim()))
    .join('\n')
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: database.authenticatorUri, MIGRATION_DATABASE_URL: database.adminUri },
  })
  const codes = [...stdout.matchAll(/^(?:ERROR|WARN|INFO) (\w+) {2}public\.notes$/gm)].map(([, code]) => code)
  const lints = ['auth_rls_initplan', 'policy_column_writable', 'policy_column_without_index']
  t.strictSame(codes, [...lints, 'policy_column_writable'])
  t.match(
    stdout,
    new RegExp(
      [
        /Not written without --yes, because they change what roles may do today:\n/,
        / {2}policy_column_writable {2}public\.notes\n/,
        / {4}authenticated: insert on table public\.notes: rows by own -> rows by own, by another condition\n/,
        / {4}authenticated: update on table public\.notes: rows by own -> rows by own, by another condition\n/,
        /[^]*Wrote migrations\/002_check_fixes\.sql\. Read it before you apply it\.\n/,
        /[^]*002_check_fixes\.sql\n[^]*Written, with these changes of what roles may do:\n/,
        /[^]*Wrote migrations\/003_check_fixes\.sql\.[^]*003_check_fixes\.sql\n[^]*Found nothing\.\n/,
      ]
        .map(({ source }) => source)
        .join(''),
    ),
  )
  t.strictSame((await readdir(join(folder, 'migrations'))).sort(), [
    '001_notes.sql',
    '002_check_fixes.sql',
    '003_check_fixes.sql',
  ])
  const { rows } = await database.query(`select qual, with_check from pg_policies where tablename = 'notes'`)
  t.strictSame(rows, [
    {
      qual: '(owner = ( SELECT auth.uid() AS uid))',
      with_check: `((body <> ''::text) AND (owner = ( SELECT auth.uid() AS uid)))`,
    },
  ])
})

t.test('policy tests say what statements change', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-check-'))
  const database = await createMigratedDatabase()
  t.teardown(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  // The mend of function_search_path_mutable changes no rights, but what the name in the body means for this caller.
  const sql = `create schema hidden; grant usage on schema hidden to anon;
    create function hidden.secret() returns int language sql return 1;
    create function public.named() returns int language plpgsql stable as 'begin return secret(); end';
    create function public.outer_one() returns int language plpgsql stable set search_path = hidden as 'begin return public.named(); end';
    grant execute on all functions in schema hidden, public to anon;`
  await database.query(sql)
  await mkdir(join(folder, 'migrations'))
  await mkdir(join(folder, 'policy-tests'))
  await writeFile(join(folder, 'migrations', '001_functions.sql'), sql)
  await writeFile(
    join(folder, 'policy-tests', 'rules.yaml'),
    'tests:\n  - { name: it answers, as: anon, request: GET /rest/v1/rpc/outer_one, status: 200 }\n',
  )
  const run = (...args: string[]): Promise<{ code: unknown; stdout: string }> => {
    const [program = '', ...before] = command()
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: database.authenticatorUri,
      MIGRATION_DATABASE_URL: database.adminUri,
    }
    return new Promise((resolve) => {
      execFile(program, [...before, 'check', '--fix', ...args], { cwd: folder, env }, (error, stdout) =>
        resolve({ code: error?.code ?? 0, stdout }),
      )
    })
  }
  const asked = await run()
  t.match(asked, {
    code: 3,
    stdout: /Policy tests that answer differently with the statements:\n {2}it answers: passes -> .*status/,
  })
  t.match(asked.stdout, /\nNo migration was written\.\n/)
  const agreed = await run('--yes', '--json')
  t.match(JSON.parse(agreed.stdout), {
    migration: 'migrations/002_check_fixes.sql',
    policyTests: { different: [{ name: 'it answers', before: null }], error: null },
  })
})

t.test('the guide describes all lints of our own, and a list of ignored findings', (t) => {
  for (const code of Object.keys(ownLints)) t.match(guide, `\`${code}\``)
  t.equal(parseIgnoreList(readmeSection('check-ignore'), 'guide').length, 1)
  t.end()
})
