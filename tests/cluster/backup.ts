// Backups of the embedded database under kills at random moments, with the built program. Run it with `npm run test:backup`.
//
// Rounds (`ROUNDS`, default 12): a writer commits row after row and notes when each was acknowledged. A backup, or nothing,
// runs beside it. Then the server and the database are killed, and sometimes the backup or a restore. The database is
// restored to a random time, and must have exactly the rows that were committed before, without the old data folder at
// least those that were acknowledged `bound` milliseconds before the kill. Then PostgreSQL 17 is upgraded (`--no-upgrade`
// leaves it out, because it downloads a package), and `archive.ts` checks full disks, `--keep` and pg_verifybackup.
import { spawn, type ChildProcess } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { makeCluster } from '../../server/postgres/embedded/cluster.ts'
import { addressesOf, ensureSecrets, startWithRetries } from '../../server/postgres/embedded/embedded.ts'
import { databaseUser } from '../../server/postgres/embedded/system-user.ts'
import { withOldBinaries } from '../../server/tools/backups/old-binaries.ts'
import { rowhouse, type Ran } from '../support/command.ts'
import { main } from '../support/program.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { checkArchive } from './archive.ts'
import { startChecks } from './checks.ts'

const rounds = Number(process.env.ROUNDS ?? 12)
const seed = testSeed()
const random = seededRandom(seed).next
/** Milliseconds before a kill in which what is acknowledged may be missing in the archive. */
const bound = 1000

const root = await mkdtemp(join(tmpdir(), 'rowhouse-backup-rounds-'))
await chmod(root, 0o711)
const env = {
  DATA_DIR: join(root, 'data'),
  BACKUP_DIR: join(root, 'backups'),
  SERVICES: 'rest',
  PGRST_SERVER_PORT: '0',
}

const { check, end } = startChecks()

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR|BACKUP_DIR)/.test(name),
  ),
)

/** Starts a command that will be killed. */
const start = (args: readonly string[], settings: Readonly<Record<string, string>> = env): ChildProcess =>
  spawn(process.execPath, [main, ...args], { env: { ...inherited, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] })

const endOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })

async function serve(): Promise<ChildProcess> {
  const child = start(['serve'])
  let text = ''
  for (const output of [child.stdout, child.stderr])
    output?.setEncoding('utf8').on('data', (part: string) => (text += part))
  for (let time = 0; !text.includes('"event":"listening"') || !text.includes('Archiving the write-ahead log'); time++) {
    if (child.exitCode !== null || time > 1200) throw new Error(`the server did not start:\n${text}`)
    await pause(50)
  }
  return child
}

const succeed = (ran: Ran, what: string): Ran => {
  if (ran.code !== 0) throw new Error(`${what} failed: ${ran.err}${ran.out}`)
  return ran
}

type Row = {
  readonly id: number
  /** Milliseconds of the server's clock before the row was inserted, and after it was acknowledged. */
  readonly before: number
  readonly after: number
}

async function connect(): Promise<pg.Client> {
  const { out } = succeed(await rowhouse(['url'], env), 'url')
  const client = new pg.Client({ connectionString: out.trim() })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

let lastId = 0

/** Inserts rows one by one until the connection is lost. */
async function write(client: pg.Client, rows: Row[]): Promise<void> {
  try {
    for (;;) {
      const id = ++lastId
      const before = Date.now()
      await client.query('insert into ledger values ($1, repeat($2, 2000))', [id, 'x'])
      rows.push({ id, before, after: Date.now() })
      await pause(random() < 0.1 ? 20 : 1)
    }
  } catch {
    await client.end().catch(() => undefined)
  }
}

async function killDatabase(dataDir = env.DATA_DIR): Promise<void> {
  const file = join(dataDir, 'postgres/postmaster.pid')
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0])
  if (pid > 0) process.kill(pid, 'SIGKILL')
}

/** The rows of the database as ids, ascending. */
async function stored(): Promise<readonly number[]> {
  const { out } = succeed(
    await rowhouse(['psql', '--builtin', '-A', '-t', '-c', 'select id from ledger order by id'], env),
    'psql',
  )
  return out.split('\n').filter(Boolean).map(Number)
}

/** What a restore must give: the rows that were acknowledged before `time`, and none that was begun after `end`. */
function compare(found: readonly number[], expected: readonly Row[], time: number, what: string, end = time): void {
  const present = new Set(found)
  const missing = expected.filter(({ id, after }) => after < time && !present.has(id))
  const tooMany = expected.filter(({ id, before }) => before > end && present.has(id))
  check(
    missing.length === 0 && tooMany.length === 0,
    `${what}: ${found.length} rows, ${missing.length} missing, ${tooMany.length} too many`,
  )
}

/** Upgrades a database of PostgreSQL 17, with a command that is killed first. */
async function upgrade(): Promise<void> {
  const dataDir = join(root, 'old')
  await mkdir(dataDir, { mode: 0o711 })
  const secrets = await ensureSecrets(dataDir)
  const log = (message: string): void => console.log(`# ${message}`)
  const upgradeEnv = { DATA_DIR: dataDir, SERVICES: 'rest' }
  await withOldBinaries(undefined, log, async (find) => {
    const user = await databaseUser(null)
    const binaries = await find(17, user)
    const cluster = await makeCluster({ dataDir, binaries, user, password: secrets.superuserPassword, log })
    const options = { binaries, cluster, user, logFile: join(dataDir, 'postgres.log') }
    const postmaster = await startWithRetries(options)
    const client = new pg.Client({ connectionString: addressesOf(secrets, postmaster.port).adminUri })
    await client.connect()
    await client.query(`
      create role reader nologin; create role authenticator login noinherit; grant reader to authenticator;
      create table ledger (id integer generated always as identity primary key, text text, at timestamptz default now());
      insert into ledger (text) select repeat('x', 100) from generate_series(1, 50000);
      alter table ledger enable row level security; create policy even on ledger for select to reader using (id % 2 = 0);
      grant select on ledger to reader;
      create function doubled(value integer) returns integer language sql immutable as 'select value * 2';
      create index on ledger (doubled(id)); create materialized view counted as select count(*) from ledger;
      select lo_from_bytea(0, 'large')`)
    await client.end()
    await postmaster.stop()
    const refused = await rowhouse(['psql', '--builtin', '-c', 'select 1'], upgradeEnv)
    check(refused.err.includes('Upgrade it with `rowhouse upgrade-database`'), 'a start says what to do')
    const folder = ['--old-binaries', join(dirname(binaries.postgres), '..')]
    for (let kill = 0; kill < 3; kill++) {
      const upgrading = start(['upgrade-database', ...folder], upgradeEnv)
      await pause(500 + random() * 3000)
      upgrading.kill('SIGKILL')
      await endOf(upgrading)
    }
  })
  const before = performance.now()
  const { out } = succeed(await rowhouse(['upgrade-database'], upgradeEnv), 'upgrade-database')
  console.log(`# ${out.split('\n')[0]} ${Math.round(performance.now() - before)} ms`)
  const statement = `select count(*), max(doubled(id)), (select count from counted), (select count(*) from pg_policies),
    current_setting('server_version_num')::integer / 10000 from ledger`
  const query = ['psql', '--builtin', '-A', '-t', '-c', statement]
  const found = (await rowhouse(query, upgradeEnv)).out.trim()
  check(found === '50000|100000|50000|1|18', `the upgraded database has everything: ${found}`)
  const insert = ['psql', '--builtin', '-A', '-t', '-c', "insert into ledger (text) values ('new') returning id"]
  check(/^50001$/m.test((await rowhouse(insert, upgradeEnv)).out), 'sequences go on')
  check((await rowhouse(['upgrade-database'], upgradeEnv)).out.includes('installed version already'), 'once is enough')
}

console.log(`# seed ${seed}, ${root}`)
let server = await serve()
const setUp = await connect()
await setUp.query('create table ledger (id integer primary key, text text)')
await setUp.end()
succeed(await rowhouse(['backup'], env), 'backup')

/** Rows that the current history of the database has. */
let history: Row[] = []

for (let round = 1; round <= rounds; round++) {
  const rows: Row[] = []
  const client = await connect()
  const began = Date.now()
  const writing = write(client, rows)
  await pause(500 + random() * 2000)
  const interrupted = random() < 0.5 ? start(['backup', '--keep', '3']) : undefined
  await pause(random() * 3000)
  const order = random() < 0.5
  if (order) await killDatabase()
  const killedAt = Date.now()
  server.kill('SIGKILL')
  if (!order) await killDatabase()
  interrupted?.kill('SIGKILL')
  await Promise.all([endOf(server), writing, ...(interrupted ? [endOf(interrupted)] : [])])
  const all = [...history, ...rows]
  if (random() < 0.4) {
    // The machine with the data folder is lost.
    await rename(env.DATA_DIR, `${env.DATA_DIR}-lost-${round}`)
    succeed(await rowhouse(['restore', '--to', 'latest'], env), 'restore')
    const found = await stored()
    compare(found, all, killedAt - bound, `round ${round}, only the archive`, Infinity)
    const present = new Set(found)
    const lost = rows.filter(({ id }) => !present.has(id))
    console.log(
      `# ${lost.length} rows of the last ${lost[0] ? killedAt - lost[0].after : 0} ms were not in the archive`,
    )
    history = all.filter(({ id }) => present.has(id))
    await rm(`${env.DATA_DIR}-lost-${round}`, { recursive: true, force: true })
  } else {
    if (random() < 0.5) {
      const restoring = start(['restore', '--to', 'latest'])
      await pause(random() * 6000)
      restoring.kill('SIGKILL')
      await endOf(restoring)
    }
    const time = Math.round(began + (killedAt - began) * (0.2 + 0.8 * random()))
    succeed(await rowhouse(['restore', '--to', new Date(time).toISOString()], env), 'restore')
    const found = await stored()
    compare(found, all, time, `round ${round}, to ${Math.round(killedAt - time)} ms before the kill`)
    const present = new Set(found)
    history = all.filter(({ id }) => present.has(id))
    if (random() < 0.5) {
      // The wrong time: what was written after it is still in the archive.
      succeed(await rowhouse(['restore', '--to', new Date(killedAt).toISOString()], env), 'second restore')
      const again = await stored()
      compare(again, all, killedAt, `round ${round}, then to the moment of the kill`)
      const known = new Set(again)
      history = all.filter(({ id }) => known.has(id))
    }
    for (const name of await readdir(env.DATA_DIR)) {
      if (name.startsWith('before-restore-')) await rm(join(env.DATA_DIR, name), { recursive: true, force: true })
    }
  }
  server = await serve()
  if (random() < 0.3) succeed(await rowhouse(['backup', '--keep', '3'], env), 'backup')
}
server.kill('SIGTERM')
await endOf(server)
succeed(await rowhouse(['restore', '--to', 'latest'], env), 'restore')
compare(await stored(), history, Date.now(), 'after a clean end, everything is in the archive')
if (!process.argv.includes('--no-upgrade')) await upgrade()
await checkArchive(check)
await rm(root, { recursive: true, force: true })
console.log(`# SEED=${seed} repeats the choices`)
end()
