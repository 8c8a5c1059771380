// Tools of the development mode: migrations and policy tests, for the owner of the project only.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { connect, startMcpServer, type McpApplication } from '../support/mcp.ts'
import { bearer } from '../support/token.ts'

const folder = await mkdtemp(join(tmpdir(), 'rowhouse-mcp-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const migrations = join(folder, 'migrations')
await mkdir(migrations)

/** A server that takes itself for one of the development mode. */
const development = (env: Environment = {}): Promise<McpApplication> =>
  startMcpServer(t, '', {
    ROWHOUSE_EMBEDDED: 'true',
    MIGRATIONS_DIR: migrations,
    MCP_MODE: 'read-write',
    ...env,
  })
const secret = { authorization: await bearer('service_role') }

t.test('a migration is a new file in the folder, and never another one', async (t) => {
  const { url } = await development()
  const owner = await connect(t, url, secret)
  t.ok((await owner.tools()).includes('write_migration'))
  const written = await owner.call('write_migration', { name: 'create_tasks', sql: 'create table tasks (id int);' })
  const { path } = written.data as { path: string }
  t.match(path, /\/migrations\/\d{14}_create_tasks\.sql$/)
  t.equal(await readFile(path, 'utf8'), 'create table tasks (id int);\n')
  await owner.call('write_migration', { name: 'create_tasks', sql: 'select 2' })
  t.equal((await readdir(migrations)).length, 2)
  t.equal(await readFile(path, 'utf8'), 'create table tasks (id int);\n', 'the first one is unchanged')
  for (const name of ['../x', '..', 'a/b', '/etc/x', 'a\\b', 'x\u0000', '1234', '', 'x'.repeat(101), 'a\nb', 'C:x']) {
    t.ok((await owner.call('write_migration', { name, sql: 'select 1' })).isError, JSON.stringify(name))
  }
  t.equal((await readdir(migrations)).length, 2)
  t.strictSame(await readdir(folder), ['migrations'])
  const user = await connect(t, url, { authorization: await bearer('authenticated') })
  t.match(await user.call('write_migration', { name: 'x', sql: 'select 1' }), {
    isError: true,
    text: /needs a secret key/,
  })
  t.match(await user.call('run_policy_tests'), { isError: true, text: /needs a secret key/ })
})

t.test('without a right to write, in production and in read-only mode, nothing is written', async (t) => {
  const blocked = join(folder, 'blocked')
  await writeFile(blocked, '')
  const withoutFolder = await connect(t, (await development({ MIGRATIONS_DIR: join(migrations) })).url, secret)
  await rm(migrations, { recursive: true })
  await writeFile(migrations, 'a file in the place of the folder')
  t.ok((await withoutFolder.call('write_migration', { name: 'x', sql: 'select 1' })).isError)
  await rm(migrations)
  await mkdir(migrations)
  for (const env of [{ NODE_ENV: 'production' }, { MCP_MODE: 'read-only' }, { PGRST_SERVER_HOST: '0.0.0.0' }]) {
    const owner = await connect(t, (await development(env)).url, secret)
    t.notOk((await owner.tools()).includes('write_migration'), JSON.stringify(env))
    t.match(await owner.call('write_migration', { name: 'x', sql: 'select 1' }), {
      isError: true,
      text: /is not available/,
    })
  }
  t.strictSame(await readdir(migrations), [])
})

t.test('by default, nothing is written', async (t) => {
  const { url } = await startMcpServer(t, 'create table public.notes (id int); grant all on public.notes to anon;')
  const agent = await connect(t, url, { authorization: await bearer('anon') })
  t.strictSame(await agent.tools(), ['describe_schema', 'read_rows'])
  for (const tool of ['preview_write', 'confirm_write']) {
    const write = { method: 'POST', path: '/notes', body: { id: 1 }, confirm_token: 'x' }
    t.match(await agent.call(tool, write), { isError: true, text: /MCP_MODE is read-only/ })
  }
})

t.test('policy tests are run, and say which have failed', async (t) => {
  const project = join(folder, 'project')
  await mkdir(join(project, 'migrations'), { recursive: true })
  await mkdir(join(project, 'policy-tests'))
  await writeFile(
    join(project, 'migrations', '001_notes.sql'),
    `create table public.notes (id int primary key);
     alter table public.notes enable row level security;
     create policy even on public.notes for select to anon using (id % 2 = 0);
     grant select on public.notes to anon;`,
  )
  await writeFile(join(project, 'seed.sql'), 'insert into public.notes select generate_series(1, 4)')
  const test = (name: string, rows: number): string =>
    `  - name: ${name}\n    as: anon\n    request: GET /rest/v1/notes\n    rows: ${rows}\n`
  await writeFile(
    join(project, 'policy-tests', 'notes.yaml'),
    `tests:\n${test('even notes', 2)}${test('all notes', 4)}`,
  )
  const { url } = await development({ MIGRATIONS_DIR: join(project, 'migrations'), DATA_DIR: join(folder, 'data') })
  const owner = await connect(t, url, secret)
  const run = await owner.call('run_policy_tests')
  t.match(run, { isError: false, own: { passed: 1, failed: 1 }, data: { failed: [{ name: 'all notes' }] } })
  t.match(await owner.call('run_policy_tests', { filter: 'even' }), { own: { passed: 1, failed: 0 } })
  await writeFile(join(project, 'policy-tests', 'notes.yaml'), 'tests: 5')
  t.ok((await owner.call('run_policy_tests')).isError)
})
