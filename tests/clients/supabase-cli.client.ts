// Supabase's command line with migrations and seeds: what it and this program apply to one database, in turn and at once.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { withClient } from '../support/database.ts'
import { scenario } from './support/scenario.ts'
import { startPostgres, versions, type Postgres } from './support/postgres.ts'
import { createProject, type SupabaseProject } from './support/supabase-project.ts'

let databases = 0
function nextName(): string {
  databases += 1
  return `project_${databases}`
}

type Walk = (t: Test, project: SupabaseProject, uri: string, postgres: Postgres) => Promise<void>

const query = async (uri: string, sql: string): Promise<readonly unknown[]> =>
  withClient(uri, async (client) =>
    (await client.query<Record<string, unknown>>(sql)).rows.flatMap((row) => Object.values(row)),
  )

/** Versions of the files and of the database, as both programs list them: `1=1`, `2=-` if it is not applied. */
async function listed({ supabase, rowhouse }: SupabaseProject, uri: string): Promise<readonly string[]> {
  const { out, err } = await supabase(['migration', 'list', `--remote=${uri}`, '--output-format', 'json'])
  if (!out.startsWith('{')) throw new Error(`${out}${err}`)
  const { migrations } = JSON.parse(out) as { migrations: { local: string; remote: string }[] }
  const theirs = migrations.map(({ local, remote }) => `${local || '-'}=${remote || '-'}`)
  const { files } = JSON.parse((await rowhouse(['migrate', 'status', '--json'], uri)).out) as {
    files: { name: string; state: string }[]
  }
  const ours = files.map(({ name, state }) => {
    const version = /^\d+/.exec(name)?.[0] ?? ''
    const isApplied = state.startsWith('applied')
    return `${state === 'file missing' ? '-' : version}=${isApplied || state === 'file missing' ? version : '-'}`
  })
  if (String(ours) !== String(theirs)) throw new Error(`${String(ours)} and ${String(theirs)}`)
  return theirs
}

const walks: Readonly<Record<string, Walk>> = {
  'in turn': async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    t.match(await supabase(['migration', 'new', 'first']), { code: 0 })
    const [file = ''] = await readdir(join(project.folder, 'supabase/migrations'))
    t.match(file, /^\d{14}_first\.sql$/)
    // With what policies and foreign keys of a project refer to.
    await write({
      [`migrations/${file}`]:
        'create table public.notes (id int primary key, owner uuid references auth.users default auth.uid());',
    })
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: file })
    const first = file.slice(0, 14)
    t.strictSame(await listed(project, uri), [`${first}=${first}`])

    const names = ['29990101000001_b.sql', `29990101000002_it's "c" $(x);--é.sql`, '29990101000003_d.sql']
    await write({ [`migrations/${names[0]}`]: 'create table public.b (id int); insert into public.b values (1);' })
    const dry = await supabase(['db', 'push', `--remote=${uri}`, '--dry-run'])
    t.match(dry, { code: 0 })
    t.match(dry.out + dry.err, names[0])
    t.strictSame((await listed(project, uri)).at(-1), '29990101000001=-')
    t.match(await supabase(['db', 'push', '--db-url', uri]), { code: 0 }, 'with the option of earlier releases')
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: 'up to date' })

    await write({ [`migrations/${names[1]}`]: 'create table public.c (id int)' })
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: names[1] })
    await write({ [`migrations/${names[2]}`]: 'create table public.d (id int)' })
    t.match(await supabase(['migration', 'up', `--remote=${uri}`]), { code: 0 })
    t.match(await supabase(['migration', 'up', `--remote=${uri}`]), { code: 0 })
    t.strictSame(
      (await listed(project, uri)).map((pair) => pair.split('=')[1]),
      [first, ...[1, 2, 3].map((n) => `2999010100000${n}`)],
    )
    t.strictSame(await query(uri, 'select count(*)::int from b'), [1])
  },

  repaired: async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    const text = (n: number): string => `create table if not exists public.t${n} (id int);`
    await write({ 'migrations/001_a.sql': text(1), 'migrations/002_b.sql': text(2) })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    t.match(await supabase(['migration', 'repair', '002', '--status', 'reverted', `--remote=${uri}`]), { code: 0 })
    t.strictSame(await listed(project, uri), ['001=001', '002=-'])
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: '002_b.sql' })
    await write({ 'migrations/003_c.sql': 'select 1 / 0' })
    t.match(await supabase(['migration', 'repair', '003', '--status', 'applied', `--remote=${uri}`]), { code: 0 })
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: 'up to date' })

    await write({ 'migrations/001_a.sql': 'create table public.t1 (id bigint)' })
    t.match(await rowhouse(['migrate'], uri), { code: 1, err: /001_a\.sql: it was changed after it was applied/ })
    t.match(await supabase(['db', 'push', `--remote=${uri}`]), { code: 0 }, 'it does not look')
    t.match(await supabase(['migration', 'repair', '001', '--status', 'applied', `--remote=${uri}`]), { code: 0 })
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: 'up to date' })
    await write({ 'migrations/002_b.sql': 'create table public.t2 (id bigint)' })
    t.match(await rowhouse(['migrate', '--accept', '002_b.sql'], uri), { code: 0 })
    t.strictSame(await listed(project, uri), ['001=001', '002=002', '003=003'])
  },

  'squashed and fetched': async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    await write({ 'migrations/001_a.sql': '-- About a\ncreate table public.a (id int);\ninsert into a values (1);' })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    t.match(await supabase(['migration', 'squash', `--remote=${uri}`]), { code: 0 })
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: 'up to date' })
    await write({ 'migrations/001_a.sql': '' })
    t.match(await supabase(['migration', 'fetch', `--remote=${uri}`]), { code: 0 })
    const fetched = await readFile(join(project.folder, 'supabase/migrations/001_a.sql'), 'utf8')
    t.match(fetched, /create table public\.a \(id int\);\s+insert into a values \(1\)/)
    t.match(await rowhouse(['migrate'], uri), { code: 0, out: 'up to date' }, 'the same as before')
    t.strictSame(await query(uri, 'select count(*)::int from a'), [1])
  },

  'failing in the middle': async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    await write({
      'migrations/001_a.sql': 'create table public.a (id int)',
      'migrations/002_b.sql': 'insert into a values (1); select 1 / 0;',
      'migrations/003_c.sql': 'create table public.c (id int)',
    })
    t.match(await supabase(['db', 'push', `--remote=${uri}`]), { code: 1, err: /division by zero/ })
    t.strictSame(await listed(project, uri), ['001=001', '002=-', '003=-'])
    t.match(await rowhouse(['migrate'], uri), { code: 1, err: /002_b\.sql:1.*division by zero/ })
    t.strictSame(await listed(project, uri), ['001=001', '002=-', '003=-'])
    await write({ 'migrations/002_b.sql': 'insert into a values (1)' })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    t.strictSame(await query(uri, 'select count(*)::int from a'), [1])
    t.strictSame(await listed(project, uri), ['001=001', '002=002', '003=003'])
  },

  'at the same time': async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    await write({ 'migrations/001_log.sql': 'create table public.log (n int)' })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    const numbers = Array.from({ length: 40 }, (_, n) => String(n + 2).padStart(3, '0'))
    for (const n of numbers) {
      await write({ [`migrations/${n}_n.sql`]: `insert into public.log values (${Number(n)}); select pg_sleep(0.05);` })
    }
    const [ours, theirs] = await Promise.all([
      rowhouse(['migrate'], uri),
      supabase(['db', 'push', `--remote=${uri}`]),
      rowhouse(['migrate'], uri),
    ])
    t.match(ours, { code: 0 })
    t.ok(theirs.code === 0 || /duplicate key value.*schema_migrations_pkey/.test(theirs.err), theirs.err)
    t.strictSame(await query(uri, 'select count(*)::int as n, count(distinct n)::int as numbers from log'), [40, 40])
    t.strictSame(
      await listed(project, uri),
      ['001', ...numbers].map((n) => `${n}=${n}`),
    )
    t.match(await supabase(['db', 'push', `--remote=${uri}`]), { code: 0 })
  },

  seeds: async (t, project, uri) => {
    const { supabase, rowhouse, write } = project
    await write({ 'migrations/001_a.sql': 'create table public.a (id int)', 'seed.sql': 'insert into a values (1);' })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    t.match(await supabase(['db', 'push', '--include-seed', `--remote=${uri}`]), { code: 0 })
    t.match(await rowhouse(['migrate', '--seed'], uri), { code: 0, out: 'up to date' })
    await write({ 'config.toml': '[db.seed]\nenabled = true\nsql_paths = ["./seed.sql", "./seeds/*.sql"]' })
    await write({ 'seeds/more.sql': 'insert into a values (2);' })
    t.match(await rowhouse(['migrate', '--seed'], uri), { code: 0, out: 'more.sql' })
    t.match(await supabase(['db', 'push', '--include-seed', `--remote=${uri}`]), { code: 0 })
    t.strictSame(await query(uri, 'select id from a order by id'), [1, 2])
  },

  'logins with few rights': async (t, project, uri, postgres) => {
    const { supabase, rowhouse, write } = project
    await write({ 'migrations/001_a.sql': 'create table public.a (id int)' })
    t.match(await rowhouse(['migrate'], uri), { code: 0 })
    await withClient(uri, (client) => client.query("alter role authenticator password 'few'"))
    const few = postgres.as(uri, 'authenticator', 'few')
    await write({ 'migrations/002_b.sql': 'create table public.b (id int)' })
    const refused: readonly (readonly string[])[] = [
      ['migration', 'list'],
      ['db', 'push'],
      ['migration', 'repair', '001', '--status', 'reverted'],
      ['migration', 'fetch'],
      ['db', 'query', 'select * from auth.users'],
      ['db', 'query', 'select * from rowhouse.project_migrations'],
      ['db', 'query', "insert into supabase_migrations.schema_migrations values ('002')"],
    ]
    for (const command of refused) {
      t.match(await supabase([...command, `--remote=${few}`]), { code: 1, err: /permission denied/ }, command.join(' '))
    }
    t.match(await supabase(['db', 'reset', `--remote=${few}`]), { code: 1, err: /must be owner of/ })
    t.strictSame(await listed(project, uri), ['001=001', '002=-'])
  },
}

for (const binaries of versions) {
  const done = `PostgreSQL ${binaries.majorVersion}: migrations and seeds in turn and at the same time as \`rowhouse migrate\`, repaired, squashed, fetched, failing ones`
  await scenario(t, 'supabase', done, async (t, { run }) => {
    const postgres = await startPostgres(t, binaries)
    for (const [name, walk] of Object.entries(walks)) {
      await t.test(name, async (t) =>
        walk(t, await createProject(t, { run }), await postgres.create(nextName()), postgres),
      )
    }
  })
}
