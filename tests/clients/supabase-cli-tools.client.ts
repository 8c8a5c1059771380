// Supabase's command line beside migrations: tools on a database, and on files, functions and keys of a running server.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { withClient } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres, versions } from './support/postgres.ts'
import { scenario } from './support/scenario.ts'
import { startServer } from './support/server.ts'
import { createProject, type SupabaseProject } from './support/supabase-project.ts'

const execute = promisify(execFile)

/** Names of tables that end a literal, an identifier or a line of a terminal. */
const hostile = [`'); drop table public.notes; --`, '"; drop table public.notes; --', '\u001b[31mred\u001b]0;pwn\u0007']

const statistics = ['db-stats', 'outliers', 'calls', 'cache-hit']
const inspections = [
  ...['replication-slots', 'locks', 'blocking', 'index-stats', 'collation-drift', 'long-running-queries', 'bloat'],
  ...['role-stats', 'vacuum-stats', 'table-stats', 'traffic-profile', 'toast-sizes', 'xid-age', 'index-usage'],
  ...['index-sizes', 'table-sizes', 'unused-indexes', 'table-record-counts', 'seq-scans', 'role-configs'],
  'role-connections',
]

async function inspect(t: Test, { supabase, folder }: SupabaseProject, uri: string): Promise<void> {
  const remote = `--remote=${uri}`
  for (const name of inspections) t.match(await supabase(['inspect', 'db', name, remote]), { code: 0 }, name)
  const { out } = await supabase(['inspect', 'db', 'table-stats', remote, '--output-format', 'json'])
  t.match(out, /"public\.notes"/)
  t.notMatch(out, '\u001b', 'control characters are escaped in JSON')
  for (const name of statistics) {
    t.match(await supabase(['inspect', 'db', name, remote]), { code: 1, err: /pg_stat_statements/ }, name)
  }
  await withClient(uri, (client) => client.query('create extension pg_stat_statements schema extensions'))
  for (const name of statistics) t.match(await supabase(['inspect', 'db', name, remote]), { code: 0 }, name)
  t.match(await supabase(['inspect', 'report', remote, '--output-dir', join(folder, 'report')]), { code: 0 })
}

async function compare(
  t: Test,
  { supabase, rowhouse, folder }: SupabaseProject,
  from: string,
  to: string,
): Promise<void> {
  t.match(await rowhouse(['migrate'], from), { code: 0 })
  const change = 'alter table public.notes add column done boolean not null default false, enable row level security'
  await withClient(to, (client) => client.query(change))
  const file = join(folder, 'change.sql')
  const diff = ['db', 'diff', '--schema', 'public', '--from', from, '--to', to]
  t.match(await supabase([...diff, '--output', file]), { code: 0 })
  const sql = await readFile(file, 'utf8')
  t.match(sql, /ADD COLUMN "done" boolean NOT NULL DEFAULT false/)
  t.notMatch(sql, /rowhouse|DROP/)
  await withClient(from, (client) => client.query(sql))
  // What it says about TLS is in the output, too.
  const { code, out } = await supabase(diff)
  t.equal(code, 0)
  t.notMatch(out, /ALTER|CREATE|DROP/)
}

/** Runs the script of `db dump` if this machine has a pg_dump that is not older than the database. */
async function dump(t: Test, { supabase }: SupabaseProject, uri: string, majorVersion: number): Promise<void> {
  const { out, code } = await supabase(['db', 'dump', `--remote=${uri}`, '--schema', 'public', '--dry-run'])
  t.equal(code, 0)
  const installed = await execute('pg_dump', ['--version']).then(
    ({ stdout }) => Number(/ (\d+)/.exec(stdout)?.[1]),
    () => 0,
  )
  if (installed < majorVersion) return
  const { stdout } = await execute('bash', ['-c', out])
  t.match(stdout, /CREATE TABLE IF NOT EXISTS "public"\."notes"/)
  t.notMatch(stdout, /rowhouse/)
}

async function describe(t: Test, { supabase, rowhouse }: SupabaseProject, uri: string): Promise<void> {
  const remote = `--remote=${uri}`
  const types = await supabase(['gen', 'types', remote])
  t.match(types.out, /"?notes"?: \{\s+Row: \{/)
  t.match((await rowhouse(['types'], uri)).out, /notes: \{\s+Row: \{/)
  t.match((await supabase(['gen', 'types', remote, '--lang', 'go'])).out, /type PublicNotesSelect struct/)
  t.match((await supabase(['gen', 'types', remote, '--lang', 'python'])).out, /class PublicNotes/)
  t.match((await supabase(['db', 'query', remote, '--read-only', 'select 6 * 7 as answer'])).out, /42/)
  t.match(await supabase(['db', 'query', remote, '--read-only', 'delete from notes']), { code: 1, err: /read-only/ })
  t.match(
    (await supabase(['db', 'advisors', remote])).out,
    /Table `public\.notes` is public, but RLS has not been enabled/,
  )
  t.match(await supabase(['db', 'lint', remote]), { code: 1, err: /plpgsql_check/ })
  t.match(await supabase(['test', 'db', remote]), { code: 1, err: /pgtap/i })
}

async function reset(t: Test, { supabase, rowhouse }: SupabaseProject, uri: string): Promise<void> {
  const exist = async (): Promise<unknown> =>
    withClient(uri, (client) =>
      client.query(
        "select to_regclass('auth.users') is not null as auth, to_regclass('public.notes') is not null as notes",
      ),
    ).then(({ rows: [row] }: { rows: unknown[] }) => row)
  t.match(await supabase(['db', 'reset', `--remote=${uri}`]), { code: 1, err: /schema "auth" does not exist/ })
  t.strictSame(await exist(), { auth: false, notes: false }, 'as the guide warns')
  t.match(await rowhouse(['migrate'], uri), { code: 0 })
  t.strictSame(await exist(), { auth: true, notes: true })
}

for (const binaries of versions) {
  const done = `PostgreSQL ${binaries.majorVersion}: \`inspect\`, \`gen types\`, \`db diff --from --to\`, \`db dump --dry-run\`, \`db query\`, \`db advisors\`, \`db reset\``
  await scenario(t, 'supabase', done, async (t, { run }) => {
    const postgres = await startPostgres(t, binaries)
    const project = await createProject(t, { run })
    await project.write({
      'migrations/001_notes.sql': 'create table public.notes (id int primary key, owner uuid default auth.uid());',
    })
    const uri = await postgres.create('tools')
    t.match(await project.rowhouse(['migrate'], uri), { code: 0 })
    await t.test('describe', async (t) => describe(t, project, uri))
    await t.test('compare', async (t) => compare(t, project, await postgres.create('shadow'), uri))
    await t.test('dump', async (t) => dump(t, project, uri, binaries.majorVersion))
    await withClient(uri, async (client) => {
      for (const name of hostile)
        await client.query(`create table public.${client.escapeIdentifier(name)} (id int primary key)`)
    })
    await t.test('inspect', async (t) => inspect(t, project, uri))
    t.match(await project.rowhouse(['migrate', 'status'], uri), { code: 0, out: /001_notes\.sql\s+applied/ })
    await t.test('reset', async (t) => reset(t, project, uri))
    return 'other commands of `db` and `test db` need Docker, `db lint` an extension'
  })
}

const done = '`storage`, `seed buckets`, `functions new`, `gen signing-key`, `gen bearer-jwt`'
await scenario(t, 'supabase', done, async (t, { run, folder: installation }) => {
  const project = await createProject(t, { run })
  const { supabase, write, folder } = project
  // As npm install leaves it.
  await symlink(join(installation, 'node_modules'), join(folder, 'node_modules'))
  const keys = '[auth]\nsigning_keys_path = "./signing_keys.json"\n'
  await write({ 'config.toml': `project_id = "p"\n${keys}`, 'signing_keys.json': '[]' })
  t.match(await supabase(['gen', 'signing-key', '--append']), { code: 0 })
  for (const auth of ['none', 'apikey', 'user']) {
    t.match(await supabase(['functions', 'new', `hello-${auth}`, '--auth', auth]), { code: 0 })
  }
  const server = await startServer(t, {
    env: {
      SERVICES: 'rest,auth,storage,functions',
      // Functions know the address of the server by its setting.
      PGRST_SERVER_PORT: String(await freePort()),
      FUNCTIONS_DIR: join(folder, 'supabase/functions'),
      GOTRUE_JWT_KEYS: await readFile(join(folder, 'supabase/signing_keys.json'), 'utf8'),
    },
  })
  const { url, publishableKey: apikey, secretKey } = server

  await t.test('keys', async (t) => {
    const token = (await supabase(['gen', 'bearer-jwt', '--role', 'service_role'])).out.trim()
    const response = await fetch(`${url}/rest/v1/todos`, { headers: { authorization: `Bearer ${token}` } })
    t.equal(response.status, 200)
  })

  await t.test('functions', async (t) => {
    const call = async (name: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const options = { method: 'POST', headers, body: '{"name":"Ann"}' }
      const response = await fetch(`${url}/functions/v1/${name}`, options)
      return { status: response.status, body: await response.json() }
    }
    const hello = { status: 200, body: { message: 'Hello Ann!' } }
    t.match(await call('hello-none', {}), hello)
    t.match(await call('hello-apikey', { apikey }), hello)
    t.match(await call('hello-apikey', { apikey: 'sb_publishable_wrong' }), { status: 401 })
    await server.addUser('ann@example.org', 'a long password')
    const signIn = await fetch(`${url}/auth/v1/token?grant_type=password`, {
      method: 'POST',
      headers: { apikey, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ann@example.org', password: 'a long password' }),
    })
    const { access_token: token } = (await signIn.json()) as { access_token: string }
    const asAnn = { apikey, authorization: `Bearer ${token}` }
    t.match(await call('hello-user', asAnn), { status: 200, body: { message: 'Hello ann@example.org!' } })
    t.match(await call('hello-user', { apikey }), { status: 401 })
  })

  await t.test('files', async (t) => {
    const bucket = '[storage.buckets.images]\npublic = false\nobjects_path = "./images"\n'
    await write({
      'config.toml': `project_id = "p"\n[api]\nport = ${new URL(url).port}\n${keys}${bucket}`,
      'images/a.txt': 'a',
      'images/sub/b.txt': 'b',
    })
    const withKey = { SUPABASE_AUTH_SERVICE_ROLE_KEY: secretKey }
    t.match(
      await supabase(['seed', 'buckets'], { SUPABASE_AUTH_SERVICE_ROLE_KEY: apikey }),
      { code: 1 },
      'no secret key',
    )
    t.match(await supabase(['seed', 'buckets'], withKey), { code: 0 })
    const place = await mkdtemp(join(tmpdir(), 'rowhouse-files-'))
    t.teardown(() => rm(place, { recursive: true, force: true }))
    await writeFile(join(place, 'c.txt'), 'c')
    const storage = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await supabase(['storage', ...args, '--experimental'], withKey)
      t.equal(code, 0, `${args.join(' ')}: ${err}`)
      return out
    }
    await storage('cp', join(place, 'c.txt'), 'ss:///images/c.txt')
    await storage('mv', 'ss:///images/c.txt', 'ss:///images/d.txt')
    await storage('cp', 'ss:///images/d.txt', join(place, 'got.txt'))
    t.equal(await readFile(join(place, 'got.txt'), 'utf8'), 'c')
    const paths = async (): Promise<readonly string[]> =>
      (await storage('ls', '-r', 'ss:///images'))
        .split('\n')
        .filter((line) => line.startsWith('/'))
        .sort()
    t.strictSame(await paths(), ['/images/a.txt', '/images/d.txt', '/images/sub/b.txt'])
    await storage('rm', 'ss:///images/d.txt')
    await storage('rm', '-r', 'ss:///images/sub')
    t.strictSame(await paths(), ['/images/a.txt'])
  })
})
