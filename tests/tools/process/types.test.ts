// `rowhouse types` as a program: its options, a watch that is interrupted, its guide's example, and a compiler on its output.
import { execFile, spawn } from 'node:child_process'
import { copyFile, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { rowhouse } from '../../support/command.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { command, main } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'
import { until } from '../../support/until.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const fixtures = join(root, 'tests/fixtures/types')
const folder = await realpath(await mkdtemp(join(tmpdir(), 'rowhouse-types-')))
const database = await createMigratedDatabase()
t.teardown(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})
const env = { DATABASE_URL: database.authenticatorUri }

t.test('the commands of the guide', async (t) => {
  const script = withProgram(readmeSection('types'), command())
  const { stdout } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  })
  t.equal(stdout, 'Wrote database.types.ts.\ndatabase.types.ts is up to date.\n')
})

t.test('options and exit codes', async (t) => {
  const printed = await rowhouse(['types', '--db-url', database.adminUri])
  t.equal(printed.err, '')
  t.equal(printed.out, await readFile(join(folder, 'database.types.ts'), 'utf8'), 'the role does not matter')
  const auth = await rowhouse(['types', '--schema', 'auth'], env)
  t.match(auth.out, /\n {2}auth: \{\n {4}Tables: \{/)
  t.notMatch(auth.out, /\n {2}public: \{/)
  t.match(await rowhouse(['types', '--schema', 'nowhere'], env), {
    code: 1,
    out: '',
    err: 'schema "nowhere" does not exist\n',
  })
  const file = join(folder, 'old.ts')
  await writeFile(file, printed.out.replace('full_name: string', 'full_name: number'))
  t.match(await rowhouse(['types', '--check', file], env), {
    code: 1,
    out: /\n- +full_name: number \| null\n/,
    err: '',
  })
  t.match(await rowhouse(['types', '--check', file, '--db-url', 'postgres://127.0.0.1:1/none']), {
    code: 2,
    out: '',
    err: /ECONNREFUSED/,
  })
  t.match(await rowhouse(['types'], { DATA_DIR: join(folder, 'none') }), { code: 1, err: /^No database is configured/ })
  await database.query(`alter role authenticator in database ${database.name} set pgrst.db_schemas = 'storage'`)
  t.match((await rowhouse(['types'], env)).out, /\n {2}storage: \{/, 'the exposed schemas are set in the database')
  await database.query(`alter role authenticator in database ${database.name} reset pgrst.db_schemas`)
})

t.test('--watch follows the schema and a lost connection, and ends at SIGINT', async (t) => {
  const file = join(folder, 'watched.ts')
  const child = spawn(process.execPath, [main, 'types', '--watch', '--output', file], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const wrote = (times: number): Promise<boolean> => until(() => out === `Wrote ${file}.\n`.repeat(times))
  t.ok(await wrote(1))
  await database.query('create table public.added (id integer primary key)')
  t.ok(await wrote(2))
  t.match(await readFile(file, 'utf8'), /\n {6}added: \{/)
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and usename = 'authenticator'`,
  )
  await database.query('drop table public.added')
  t.ok(await wrote(3))
  t.notMatch(await readFile(file, 'utf8'), /added/)
  t.match(err, /; trying again\n$/)
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

/** Compiles files in the folder, and returns the messages of the compiler. */
async function compile(names: readonly string[]): Promise<readonly string[]> {
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const program = ts.createProgram(
    names.map((name) => join(folder, name)),
    {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      types: ['node'],
    },
  )
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

t.test('queries on the types compile under strict, and wrong ones do not', async (t) => {
  // Both files are in the folder of the guide's commands, so the fixture gets one of its own name.
  await copyFile(join(fixtures, 'database.types.ts'), join(folder, 'fixture.types.ts'))
  const queries = await readFile(join(fixtures, 'queries.ts'), 'utf8')
  await writeFile(join(folder, 'queries.ts'), queries.replace('./database.types.ts', './fixture.types.ts'))
  const sample = readmeSection('typed-client')
  t.match(sample, /createClient<Database>/)
  await writeFile(join(folder, 'guide.ts'), `${sample}\nvoid names\nvoid labels\n`)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  t.strictSame(await compile(['queries.ts', 'guide.ts']), [])
})
