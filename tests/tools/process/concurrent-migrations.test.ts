// Processes that migrate the same database at once, or are killed while they do: every migration is applied once.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'
import { migrate } from '../../../server/postgres/migrate.ts'
import { migrateForServing } from '../../../server/postgres/serving-login.ts'
import { connectionConfig } from '../../../server/postgres/connection/pool-config.ts'
import { rowhouse } from '../../support/command.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../../support/database.ts'
import { main, says, startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'

// Programs are started, and a cluster is created.

/** All migrations, but that for servers without the services that have tables in `public`. */
const files = (await readdir(new URL('../../../sql/migrations', import.meta.url)))
  .filter((name) => name !== '000017_public_privileges.sql')
  .sort()

async function emptyDatabase(t: Test): Promise<TestDatabase> {
  // The template comes first: its migration creates the roles of the cluster.
  await (await createMigratedDatabase()).drop()
  const database = await createDatabase()
  t.teardown(database.drop)
  return database
}

async function checkRecord(t: Test, database: TestDatabase): Promise<void> {
  const { rows } = await database.query('select id from rowhouse.migrations where id > 0 order by id')
  t.strictSame(
    rows.map(({ id }) => id),
    files.map((name) => Number(name.slice(0, 6))),
    'every migration is recorded once',
  )
}

const serving = (database: TestDatabase): string => database.uri('authenticator', 'authenticator')

t.test('two processes that migrate', async (t) => {
  const database = await emptyDatabase(t)
  const env = { MIGRATION_DATABASE_URL: database.adminUri, DATABASE_URL: serving(database) }
  const all = await Promise.all([rowhouse(['migrate', '--json'], env), rowhouse(['migrate', '--json'], env)])
  for (const { code, err } of all) t.strictSame([code, err], [0, ''])
  const applied = all.map(({ out }) => (JSON.parse(out) as { applied: string[] }).applied)
  t.strictSame(applied.map(({ length }) => length).sort(), [0, files.length])
  t.strictSame(applied.flat(), files)
  await checkRecord(t, database)
})

t.test('two processes that serve an empty database', async (t) => {
  const database = await emptyDatabase(t)
  const env = {
    MIGRATION_DATABASE_URL: database.adminUri,
    DATABASE_URL: serving(database),
    MIGRATE_ON_START: 'true',
    SESSION_SECRETS: 's'.repeat(32),
  }
  const programs = [startProgram(t, env), startProgram(t, env)]
  for (const program of programs) {
    await program.line(says('listening'))
    t.equal((await program.call('GET', '/ready')).status, 200)
  }
  t.equal(programs.flatMap(({ logged }) => logged().filter(says('migrated'))).length, 1)
  await checkRecord(t, database)
})

t.test('a process that is killed while it migrates', async (t) => {
  const database = await emptyDatabase(t)
  // Waits in the middle of a migration, until this session unlocks.
  const lock = randomBytes(4).readUInt32BE()
  await database.query(`
    create function public.wait() returns event_trigger language plpgsql as $$ begin
      if to_regclass('public.reports') is not null then perform pg_advisory_xact_lock_shared(${lock}); end if;
    end $$;
    create event trigger wait on ddl_command_end when tag in ('CREATE TABLE') execute function public.wait()`)
  const blocker = new pg.Client({ connectionString: database.adminUri })
  await blocker.connect()
  t.teardown(() => blocker.end())
  await blocker.query('select pg_advisory_lock($1)', [lock])

  const env = { ...process.env, MIGRATION_DATABASE_URL: database.adminUri, DATABASE_URL: serving(database) }
  const child = spawn(process.execPath, [main, 'migrate'], { env, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const waits = async (): Promise<boolean> =>
    (await database.query("select from pg_locks where locktype = 'advisory' and objid = $1 and not granted", [lock]))
      .rowCount === 1
  t.ok(await until(waits), 'it is in the middle of a migration')
  child.kill('SIGKILL')
  await ended
  const { rows } = await database.query('select max(id)::int as last from rowhouse.migrations')
  t.equal(
    rows[0]?.last,
    files.findIndex((name) => name.includes('reports')),
    'those before are applied',
  )

  const next = rowhouse(['migrate', '--json'], { ...env, PATH: process.env.PATH ?? '' })
  await blocker.query('select pg_advisory_unlock($1)', [lock])
  const { code, out, err } = await next
  t.strictSame([code, err], [0, ''])
  t.strictSame(
    (JSON.parse(out) as { applied: string[] }).applied,
    files.slice(files.findIndex((name) => name.includes('reports'))),
  )
  await checkRecord(t, database)
})

t.test('the password of the serving role is set by two processes at once', async (t) => {
  const database = await emptyDatabase(t)
  const role = `serving_${database.name}`
  await database.query(`create role ${role} login`)
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  await withClient(database.adminUri, (client) => migrate(client))
  // Each round begins without a password. The updates of one row in the catalogue may collide.
  for (let round = 0; round < 10; round++) {
    await database.query(`alter role ${role} password null`)
    const login = { connection: connectionConfig(database.uri(role, 'secret'), {}), setting: 'DATABASE_URL' }
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () =>
        withClient(database.adminUri, async (client) => (await migrateForServing(client, login)).login.kind),
      ),
    )
    for (const kind of outcomes) t.ok(['works', 'password set'].includes(kind), kind)
  }
})

t.test('a role is granted in another database of the cluster at the same time', async (t) => {
  // A cluster of its own: roles belong to all databases.
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-roles-'))
  await chmod(folder, 0o711)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const embedded = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
  t.teardown(() => embedded.stop())
  const file = await readFile(new URL(`../../../sql/migrations/${files[0]}`, import.meta.url), 'utf8')
  const [, statement = ''] = /^([^]*?)\ncreate schema /.exec(file) ?? []
  await withClient(embedded.adminUri, async (client) => {
    await client.query(statement)
    await client.query('revoke anon from authenticator')
    await client.query('begin')
    await client.query('grant anon to authenticator')
    await withClient(embedded.adminUri, async (other) => {
      const migrating = other.query(statement)
      const waiting = "select from pg_stat_activity where wait_event_type = 'Lock'"
      t.ok(await until(async () => (await client.query(waiting)).rowCount === 1))
      await client.query('commit')
      await t.resolves(migrating)
    })
  })
})
