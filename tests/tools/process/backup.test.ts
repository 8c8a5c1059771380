// `rowhouse backup` and `rowhouse restore --to` with the program, and with kills.
import { appendFile, chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { rowhouse } from '../../support/command.ts'
import { freePort } from '../../support/free-port.ts'
import { says, startProgram, type Program } from '../../support/program.ts'
import { until } from '../../support/until.ts'

type Installation = {
  readonly env: Readonly<Record<string, string>>
  readonly dataDir: string
  readonly backupDir: string
}

async function install(t: Test): Promise<Installation> {
  const root = await mkdtemp(join(tmpdir(), 'rowhouse-backup-'))
  await chmod(root, 0o711)
  t.teardown(() => rm(root, { recursive: true, force: true, maxRetries: 5 }))
  const [dataDir, backupDir] = [join(root, 'data'), join(root, 'backups')]
  return { env: { DATA_DIR: dataDir, BACKUP_DIR: backupDir, SERVICES: 'rest' }, dataDir, backupDir }
}

/** Starts the server, and waits until it archives. */
async function serve(t: Test, env: Installation['env']): Promise<Program> {
  const program = startProgram(t, env)
  await program.line(says('listening'))
  await program.line(says('wal-archive'))
  return program
}

async function connect(t: Test, { env }: Installation): Promise<pg.Client> {
  const { out } = await rowhouse(['url'], env)
  const client = new pg.Client({ connectionString: out.trim() })
  client.on('error', () => undefined)
  await client.connect()
  t.teardown(() => client.end().catch(() => undefined))
  return client
}

const now = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query<{ time: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`,
  )
  return rows[0]?.time ?? ''
}

type ArchiveAnswer = {
  readonly status: number
  readonly body: {
    readonly status: string
    readonly ageSeconds: number
    readonly behindBytes: number
    readonly failures: number
    readonly error?: string
  }
}

/** What the admin server says about the archive. */
async function archiveOf(admin: string): Promise<ArchiveAnswer> {
  const response = await fetch(`${admin}/archive`)
  return { status: response.status, body: (await response.json()) as ArchiveAnswer['body'] }
}

/** The codes of what `rowhouse doctor` finds about the backups. */
async function doctorFinds({ env }: Installation): Promise<readonly string[]> {
  const { out } = await rowhouse(['doctor', '--json'], env)
  const { findings } = JSON.parse(out) as {
    readonly findings: readonly { readonly area: string; readonly code: string }[]
  }
  return findings.filter(({ area, code }) => area === 'backup' || code === 'replication_slot').map(({ code }) => code)
}

async function killDatabase({ dataDir }: Installation): Promise<void> {
  const pid = Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
}

const idsOf = async ({ env }: Installation): Promise<string> => {
  const { out, err } = await rowhouse(
    ['psql', '--builtin', '-A', '-t', '-c', 'select string_agg(id::text, $$ $$ order by id) from ledger'],
    env,
  )
  return out.trim() || err
}

t.test('restores to a moment, although server and database are killed', async (t) => {
  const installation = await install(t)
  const { env, dataDir, backupDir } = installation
  const adminPort = String(await freePort())
  const admin = `http://127.0.0.1:${adminPort}`
  const program = await serve(t, { ...env, PGRST_ADMIN_SERVER_PORT: adminPort, SERVER_WORKERS: '2' })
  const client = await connect(t, installation)
  await client.query('create table ledger (id integer primary key)')
  await client.query('insert into ledger values (1)')
  const made = await rowhouse(['backup', '--json'], env)
  t.equal(made.code, 0, made.err)
  t.match(await rowhouse(['restore', '--to', 'latest'], env), { code: 1, err: /is in use by another rowhouse/ })
  t.ok(await until(async () => (await archiveOf(admin)).status === 200))
  const archived = await archiveOf(admin)
  t.match(archived.body, { status: 'archiving', failures: 0, gaps: 0 })
  t.ok(archived.body.ageSeconds < 30, `age ${archived.body.ageSeconds} s`)

  await rename(backupDir, `${backupDir}-away`)
  await client.query('insert into ledger values (2)')
  const failure = await program.line((line) => says('wal-archive')(line) && line.level === 'error')
  t.match(failure.msg, /is not archived to .*; the database keeps \d+ MiB; retrying/, 'a missing folder is reported')
  t.equal((await program.call('GET', '/ready')).status, 200, 'and the server goes on')
  t.ok(await until(async () => (await archiveOf(admin)).body.error !== undefined))
  const stopped = await archiveOf(admin)
  t.match(stopped, { status: 503, body: { status: 'stopped', error: /ENOENT/ } })
  t.ok(stopped.body.failures > 0)
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  t.match(metrics, /^rowhouse_archive_connected\{worker="0"\} 0$/m)
  t.match(metrics, /^rowhouse_archive_failures_total\{worker="0"\} [1-9]/m)
  t.match(metrics, /^rowhouse_archive_bytes_total\{worker="0"\} [1-9]\d{3}/m)
  t.strictSame([...(await doctorFinds(installation))].sort(), ['archive_stopped', 'no_base_backup'])
  await rename(`${backupDir}-away`, backupDir)
  await program.line((line) => says('wal-archive')(line) && line.level === 'info', program.logged().length)
  t.ok(await until(async () => (await archiveOf(admin)).status === 200), 'the archive goes on')

  const time = await now(client)
  await client.query('insert into ledger values (3)')
  await killDatabase(installation)
  program.kill('SIGKILL')
  await program.ended
  // A backup that was interrupted.
  const { name } = JSON.parse(made.out) as { name: string }
  await cp(join(backupDir, 'base', name), join(backupDir, 'base', '29991231T000000.000Z.partial'), { recursive: true })

  t.match(await rowhouse(['restore', '--to', time], env), { code: 0, out: /before-restore-/ })
  t.equal(await idsOf(installation), '1 2', 'exactly what was committed before the time')
  const aside = (await readdir(dataDir)).filter((entry) => entry.startsWith('before-restore-'))
  t.equal(aside.length, 1, 'the replaced database is kept')
  t.equal((await stat(backupDir)).mode & 0o077, 0, 'only the owner can read backups')

  const last = await serve(t, env)
  await rename(backupDir, `${backupDir}-away`)
  last.kill('SIGTERM')
  const unwritten = await last.line((line) => says('wal-archive')(line) && line.level === 'error')
  t.match(unwritten.msg, /the next start continues/, 'what cannot be written at the end is reported, too')
  await last.ended
  await rename(`${backupDir}-away`, backupDir)

  await appendFile(join(backupDir, 'base', name, 'postgres/global/pg_filenode.map'), 'x')
  t.match(await rowhouse(['restore', '--to', time], env), { code: 1, err: /pg_filenode.map has changed/ })
})

t.test('restores to a moment after the noted end of an abandoned timeline', async (t) => {
  const installation = await install(t)
  const { env, dataDir, backupDir } = installation
  const first = await serve(t, env)
  const client = await connect(t, installation)
  await client.query('create table ledger (id integer primary key)')
  t.match(await rowhouse(['backup'], env), { code: 0 })
  await client.query('insert into ledger values (1)')
  const time = await now(client)
  await client.query('insert into ledger values (2)')
  first.kill('SIGTERM')
  await first.ended
  // As if the log had arrived after the last note of its end.
  const stateFile = join(backupDir, 'wal/archive.json')
  const state = JSON.parse(await readFile(stateFile, 'utf8')) as { timelines: { since: string; until: string }[] }
  const [timeline] = state.timelines
  t.ok(timeline && timeline.until > time)
  await writeFile(stateFile, JSON.stringify({ ...state, timelines: [{ ...timeline, until: timeline?.since }] }))

  // The machine is lost, and with it what could complete the archive.
  await rename(dataDir, `${dataDir}-lost`)
  t.match(await rowhouse(['restore', '--to', 'latest'], env), { code: 0 })
  const second = await serve(t, env)
  await (await connect(t, installation)).query('insert into ledger values (3)')
  second.kill('SIGTERM')
  await second.ended
  t.equal(await idsOf(installation), '1 2 3')

  t.match(await rowhouse(['restore', '--to', time], env), { code: 0 })
  t.equal(await idsOf(installation), '1')
})
