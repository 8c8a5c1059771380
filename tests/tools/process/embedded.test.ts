import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import {
  FolderInUse,
  startEmbedded,
  useEmbedded,
  type EmbeddedDatabase,
} from '../../../server/postgres/embedded/embedded.ts'
import { birthOf } from '../../../server/postgres/embedded/running-process.ts'
import { asUser, databaseUser } from '../../../server/postgres/embedded/system-user.ts'
import { rowhouse } from '../../support/command.ts'

// Many databases are created and started here, possibly in parallel with other tests.

const isRoot = process.getuid?.() === 0
const quiet = { log: () => undefined }

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'rowhouse-embedded-'))
  await chmod(made, 0o711)
  t.teardown(() => rm(made, { recursive: true, force: true }))
  return join(made, 'data')
}

async function ask(uri: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: uri })
  await client.connect()
  try {
    const { rows } = await client.query<{ answer: unknown }>(text)
    return rows[0]?.answer
  } finally {
    await client.end()
  }
}

const postmasterPid = async (dataDir: string): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

const isAlive = async (pid: number): Promise<boolean> => (await birthOf(pid)) !== null

async function eventually(holds: () => Promise<boolean>, within = 60_000): Promise<boolean> {
  const deadline = Date.now() + within
  while (Date.now() < deadline) {
    if (await holds()) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

/** All processes that work in a folder: Postgres's postmaster and its backends. */
async function processesIn(path: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) =>
      (await readlink(`/proc/${pid}/cwd`).catch(() => '')).startsWith(path) ? [Number(pid)] : [],
    ),
  )
  return found.flat()
}

type Owner = { readonly process: ChildProcess; readonly port: number; readonly ended: Promise<string> }

/** Starts `embedded-owner.ts` in a new process group, and waits until its database runs. */
async function startOwner(dataDir: string): Promise<Owner> {
  const owner = spawnOwner(dataDir)
  const [line] = await new Promise<[Buffer]>((resolve, reject) => {
    owner.stdout.once('data', (data: Buffer) => resolve([data]))
    owner.once('exit', () => reject(new Error('the owner ended')))
  })
  const { port } = JSON.parse(line.toString()) as { port: number }
  const ended = new Promise<string>((resolve) => owner.once('exit', (code, signal) => resolve(String(code ?? signal))))
  return { process: owner, port, ended }
}

const spawnOwner = (dataDir: string) =>
  spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(new URL('../../support/embedded-owner.ts', import.meta.url)), dataDir],
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  )

t.test('a new database is created and started', async (t) => {
  const dataDir = await folder(t)
  const lines: string[] = []
  const embedded = await startEmbedded({ dataDir, log: (line) => lines.push(line) })
  t.teardown(() => embedded.stop())
  const { adminUri, authenticatorUri, port } = embedded

  t.strictSame(lines, ['Creating a new database; this happens only once'])
  const answers: [string, string, unknown][] = [
    [adminUri, 'select current_user::text as answer', 'postgres'],
    [authenticatorUri, 'select current_user::text as answer', 'authenticator'],
    [authenticatorUri, `select rolinherit or rolsuper as answer from pg_roles where rolname = current_user`, false],
    [adminUri, `select current_setting('listen_addresses') as answer`, '127.0.0.1'],
    [adminUri, `select current_setting('unix_socket_directories') as answer`, ''],
    [adminUri, `select current_setting('fsync') as answer`, 'on'],
    [adminUri, `select string_agg(distinct auth_method, ',') as answer from pg_hba_file_rules`, 'scram-sha-256'],
    [
      adminUri,
      `select datlocale || ' ' || pg_encoding_to_char(encoding) as answer from pg_database where datname = 'postgres'`,
      'C.UTF-8 UTF8',
    ],
    [adminUri, `select string_agg(c, '' order by c) as answer from unnest('{a,Z,é,z}'::text[]) c`, 'Zazé'],
  ]
  for (const [uri, query, expected] of answers) t.strictSame(await ask(uri, query), expected, query)

  t.test('wrong passwords and addresses other than 127.0.0.1 are refused', async (t) => {
    await t.rejects(ask(`postgresql://postgres:wrong@127.0.0.1:${port}/postgres`, 'select'), { code: '28P01' })
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of others) {
      await t.rejects(ask(adminUri.replace('127.0.0.1', address), 'select'), { code: 'ECONNREFUSED' }, address)
    }
  })

  t.test('secrets are readable by the owner only', async (t) => {
    t.equal((await stat(join(dataDir, 'secrets.json'))).mode & 0o777, 0o600)
    t.equal((await stat(join(dataDir, 'postgres.log'))).mode & 0o777, 0o600)
    t.equal((await stat(join(dataDir, 'postgres'))).mode & 0o777, 0o700)
    const secrets = Object.values(embedded.secrets)
    t.equal(new Set(secrets).size, 4)
    for (const secret of secrets) t.match(secret, /^[\w-]{43}$/)
    const command = await readFile(`/proc/${await postmasterPid(dataDir)}/cmdline`, 'utf8').catch(() => '')
    const environment = await readFile(`/proc/${await postmasterPid(dataDir)}/environ`, 'utf8').catch(() => '')
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    for (const secret of secrets) t.notOk([command, environment, log].some((text) => text.includes(secret)))
  })

  t.test('a folder can be used by one process at a time', async (t) => {
    await t.rejects(startEmbedded({ dataDir, ...quiet }), {
      name: 'FolderInUse',
      pid: process.pid,
      message: `The data folder ${dataDir} is in use by another rowhouse (process ${process.pid}). Stop that one first, or choose another folder with DATA_DIR.`,
    })
    t.equal(await ask(adminUri, 'select 1 as answer'), 1, 'and the first one keeps running')
  })

  t.test('other processes can use the database temporarily', async (t) => {
    const used = await useEmbedded({ dataDir, ...quiet })
    t.match(used, { started: false, port, adminUri })
    await used.stop()
    t.match(await rowhouse(['types'], { DATA_DIR: dataDir }), { code: 0, out: /\n {2}public: \{/, err: '' })
    t.equal(await ask(adminUri, 'select 1 as answer'), 1, 'without stopping the database')
  })
})

// Creating a database takes long, so the tests below pass on an intact one.
const shared = await folder(t)

t.test('data, passwords and secrets survive 20 restarts, and no process is left', async (t) => {
  const dataDir = shared
  let embedded = await startEmbedded({ dataDir, ...quiet })
  const { secrets } = embedded
  await ask(embedded.adminUri, 'create table public.kept (n int)')
  for (let n = 1; n <= 20; n++) {
    await ask(embedded.adminUri, `insert into public.kept values (${n})`)
    await embedded.stop()
    t.strictSame(await processesIn(dataDir), [], `stop ${n}`)
    embedded = await startEmbedded({ dataDir, ...quiet })
  }
  t.equal(await ask(embedded.adminUri, 'select sum(n)::int as answer from public.kept'), 210)
  t.equal(await ask(embedded.authenticatorUri, 'select 1 as answer'), 1)
  t.strictSame(embedded.secrets, secrets)
  await Promise.all([embedded.stop(), embedded.stop()])
  await embedded.ended
  t.strictSame(await processesIn(dataDir), [])
  t.strictSame((await readdir(dataDir)).sort(), ['lock.21', 'postgres', 'postgres.log', 'secrets.json'])
  t.match(
    await rowhouse(['types', '--watch', '--output', join(dataDir, 'types.ts')], { DATA_DIR: dataDir }),
    { code: 1, out: '', err: 'The embedded database is not running. Start it with `rowhouse serve`.\n' },
    'a command that watches does not start it, which would keep the server from starting',
  )
})

t.test('after its owner was killed, the database can be started again', async (t) => {
  const dataDir = shared
  const owner = await startOwner(dataDir)
  const orphan = await postmasterPid(dataDir)
  const used = await useEmbedded({ dataDir, ...quiet })
  t.equal(used.port, owner.port)
  await ask(used.adminUri, 'create table public.killed_owner as select 1 as answer')
  await t.rejects(startEmbedded({ dataDir, ...quiet }), FolderInUse)

  owner.process.kill('SIGKILL')
  t.equal(await owner.ended, 'SIGKILL')
  t.ok(await isAlive(orphan), 'its server is still running')

  const lines: string[] = []
  const next = await startEmbedded({ dataDir, log: (line) => lines.push(line) })
  t.strictSame(lines, [
    `Stopping the PostgreSQL server (process ${orphan}) that was left running when rowhouse was killed`,
  ])
  t.notOk(await isAlive(orphan))
  t.equal(await ask(next.adminUri, 'select answer from public.killed_owner'), 1)
  await next.stop()
})

t.test('the owner learns that its server was killed', async (t) => {
  const dataDir = shared
  const first = await startEmbedded({ dataDir, ...quiet })
  await ask(first.adminUri, 'create table public.killed_server as select 1 as answer')
  // The database alone must not keep Node running.
  const stay = setInterval(() => undefined, 1000)
  process.kill(await postmasterPid(dataDir), 'SIGKILL')
  await first.ended
  clearInterval(stay)
  t.pass('the owner is notified')
  await first.stop()
  const next = await startEmbedded({ dataDir, ...quiet })
  t.equal(await ask(next.adminUri, 'select answer from public.killed_server'), 1)
  await next.stop()
})

t.test('the database stops when its owner ends', async (t) => {
  const dataDir = shared
  const before = (await readFile(join(dataDir, 'postgres.log'), 'utf8')).length
  const ways: [string, (owner: ChildProcess) => unknown, string][] = [
    ['SIGTERM', (owner) => owner.kill('SIGTERM'), '0'],
    ['SIGHUP', (owner) => owner.kill('SIGHUP'), '0'],
    // The terminal sends one signal on Ctrl-C, and npm a second one.
    ['SIGINT to the group, twice', ({ pid }) => [1, 2].map(() => process.kill(-(pid ?? 0), 'SIGINT')), '0'],
    ['process.exit', (owner) => owner.stdin?.write('exit\n'), '3'],
  ]
  for (const [name, end, code] of ways) {
    const owner = await startOwner(dataDir)
    const server = await postmasterPid(dataDir)
    // A connected client does not delay the shutdown.
    const client = new pg.Client((await useEmbedded({ dataDir, ...quiet })).adminUri)
    client.on('error', () => undefined)
    await client.connect()
    end(owner.process)
    t.equal(await owner.ended, code, name)
    t.ok(await eventually(async () => !(await isAlive(server))), `${name}: no server is running`)
  }
  const log = (await readFile(join(dataDir, 'postgres.log'), 'utf8')).slice(before)
  t.match(log, /received fast shutdown request/)
  t.notMatch(log, /was not properly shut down|immediate shutdown/, 'it shut down properly each time')
})

t.test('a pid file with the pid of an unrelated process is ignored', async (t) => {
  const dataDir = shared
  await (await startEmbedded({ dataDir, ...quiet })).stop()
  const stranger = spawn('sleep', ['60'])
  t.teardown(() => stranger.kill())
  const cluster = join(dataDir, 'postgres')
  const lines = [stranger.pid, cluster, 1, 5432, '', '127.0.0.1', '1 1', 'ready']
  await writeFile(join(cluster, 'postmaster.pid'), `${lines.join('\n')}\n`)
  const next = await startEmbedded({ dataDir, ...quiet })
  t.equal(await ask(next.adminUri, 'select 1 as answer'), 1)
  t.equal(stranger.exitCode, null)
  t.ok(await isAlive(stranger.pid ?? 0), 'the other process is not killed')
  await next.stop()
})

t.test('a killed server whose parent does not notice its end', async (t) => {
  const dataDir = shared
  const cluster = join(dataDir, 'postgres')
  await (await startEmbedded({ dataDir, ...quiet })).stop()
  // The shell leaves its child to a program that never waits for it. The child ends after that.
  const command = ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60']
  const parent = spawn('/bin/sh', command, { ...asUser(await databaseUser(null)), stdio: 'pipe' })
  t.teardown(() => parent.kill())
  const pid = Number(String(await once(parent.stdout, 'data')))
  const isIn = (id: number | undefined, file: string, text: string) => async (): Promise<boolean> =>
    (await readFile(`/proc/${id}/${file}`, 'utf8')).includes(text)
  t.ok(await eventually(isIn(parent.pid, 'comm', 'sleep')))
  parent.stdin.end()
  t.ok(await eventually(isIn(pid, 'stat', ' Z ')))
  const lines = [pid, cluster, 1, 5432, '', '127.0.0.1', '1 1', 'ready']
  await writeFile(join(cluster, 'postmaster.pid'), `${lines.join('\n')}\n`)
  const next = await startEmbedded({ dataDir, ...quiet })
  t.equal(await ask(next.adminUri, 'select 1 as answer'), 1)
  await next.stop()
})

t.test('an interrupted first start can be repeated', async (t) => {
  const dataDir = await folder(t)
  const owner = spawnOwner(dataDir)
  const drafts = async (): Promise<string[]> =>
    (await readdir(dataDir).catch(() => [])).filter((name) => name.startsWith('making-'))
  t.ok(await eventually(async () => (await drafts()).length > 0))
  const ended = new Promise((resolve) => owner.once('exit', resolve))
  owner.kill('SIGKILL')
  await ended
  t.notOk((await readdir(dataDir)).includes('postgres'))
  const next = await startEmbedded({ dataDir, ...quiet })
  t.equal(await ask(next.adminUri, 'select 1 as answer'), 1)
  t.strictSame(await drafts(), [])
  await next.stop()
})

t.test('a start can be aborted', async (t) => {
  const dataDir = await folder(t)
  const reason = new Error('never mind')
  for (const delay of [0, 100, 500, 800]) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(reason), delay)
    const started = await startEmbedded({ dataDir, ...quiet, signal: controller.signal }).catch(
      (error: unknown) => error,
    )
    if (started === reason) t.strictSame(await processesIn(dataDir), [], `after ${delay} ms`)
    else await (started as EmbeddedDatabase).stop()
  }
  const next = await startEmbedded({ dataDir, ...quiet })
  t.equal(await ask(next.adminUri, 'select 1 as answer'), 1)
  await next.stop()
})

t.test('unusable folders are rejected', async (t) => {
  const cases: [string, (dataDir: string) => Promise<unknown>, RegExp][] = [
    [
      'another major version',
      (d) => write(d, 'postgres/PG_VERSION', '16\n'),
      /created by PostgreSQL 16, which PostgreSQL 18 cannot read.*DATA_DIR/,
    ],
    [
      'another kind of folder',
      (d) => write(d, 'postgres/holiday.jpg', ''),
      /contains files, but no PostgreSQL database.*DATA_DIR/,
    ],
    [
      'a link that leads nowhere',
      async (d) => (await mkdir(d), symlink('/nowhere/postgres', join(d, 'postgres'))),
      /no longer exists/,
    ],
    [
      'damaged secrets',
      (d) => write(d, 'secrets.json', '{"superuserPassword":"x"}'),
      /secrets\.json does not contain valid secrets/,
    ],
    ['secrets that are no JSON', (d) => write(d, 'secrets.json', 'x'), /secrets\.json does not contain valid secrets/],
    ['a file in its place', (d) => writeFile(d, ''), /^DATA_DIR: the data folder .* cannot be used/],
  ]
  for (const [name, prepare, message] of cases) {
    const dataDir = await folder(t)
    await prepare(dataDir)
    await t.rejects(startEmbedded({ dataDir, ...quiet }), { name: 'EmbeddedDatabaseError', message }, name)
  }
})

t.test('a folder that the system cannot create is an error', async (t) => {
  // Node's recursive `mkdir` loops forever there, and the process could not even be stopped.
  await t.rejects(startEmbedded({ dataDir: '/proc/rowhouse/data', setting: 'data-dir in rowhouse.conf', ...quiet }), {
    name: 'EmbeddedDatabaseError',
    message:
      /^data-dir in rowhouse\.conf: the data folder \/proc\/rowhouse\/data cannot be used \(.*\)\. Choose another folder\.$/,
  })
})

const write = async (dataDir: string, name: string, text: string): Promise<void> => {
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await writeFile(join(dataDir, name), text)
}

t.test('secrets readable by others are made private', async (t) => {
  const dataDir = shared
  await (await startEmbedded({ dataDir, ...quiet })).stop()
  await chmod(join(dataDir, 'secrets.json'), 0o644)
  await (await startEmbedded({ dataDir, ...quiet })).stop()
  t.equal((await stat(join(dataDir, 'secrets.json'))).mode & 0o777, 0o600)
})

t.test('a start with lost secrets is rejected, and leaves no process', async (t) => {
  await rm(join(shared, 'secrets.json'))
  await t.rejects(startEmbedded({ dataDir: shared, ...quiet }), {
    name: 'EmbeddedDatabaseError',
    message: /does not match the database/,
  })
  t.strictSame(await processesIn(shared), [])
})

t.test('started by root, the database works in a folder that its user cannot reach', { skip: !isRoot }, async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'rowhouse-closed-'))
  const relocatedDataDir = await mkdtemp(join(tmpdir(), 'rowhouse-relocated-'))
  t.teardown(async () => {
    await rm(parent, { recursive: true, force: true })
    await rm(relocatedDataDir, { recursive: true, force: true })
  })
  await chmod(relocatedDataDir, 0o755)
  const dataDir = join(parent, 'data')
  const lines: string[] = []
  const first = await startEmbedded({ dataDir, relocatedDataDir, log: (line) => lines.push(line) })
  await ask(first.adminUri, 'create table public.kept as select 1 as answer')
  const home = (await readdir(relocatedDataDir)).find((name) => name.startsWith('data-')) ?? ''
  t.strictSame(lines.slice(1), [
    `The database is in ${join(relocatedDataDir, home)}, because the user postgres cannot enter ${dataDir}`,
  ])
  t.ok((await lstat(join(dataDir, 'postgres'))).isSymbolicLink())

  t.test('a copy of the data folder refers to the same database, and is refused', async (t) => {
    const copy = join(parent, 'copy')
    await mkdir(copy)
    await symlink(join(relocatedDataDir, home, 'postgres'), join(copy, 'postgres'))
    await t.rejects(startEmbedded({ dataDir: copy, relocatedDataDir, ...quiet }), FolderInUse)
  })

  t.test('the relocated data directory is found again', async (t) => {
    await first.stop()
    const next = await startEmbedded({ dataDir, relocatedDataDir, ...quiet })
    t.equal(await ask(next.adminUri, 'select answer from public.kept'), 1)
    await next.stop()
  })

  t.test('a strict umask does not prevent the start', async (t) => {
    const before = process.umask(0o077)
    t.teardown(() => process.umask(before))
    await chmod(parent, 0o711)
    const embedded = await startEmbedded({ dataDir: join(parent, 'strict/data'), relocatedDataDir, ...quiet })
    t.equal(await ask(embedded.adminUri, 'select 1 as answer'), 1)
    t.notOk((await lstat(join(parent, 'strict/data/postgres'))).isSymbolicLink())
    await embedded.stop()
    await chmod(parent, 0o700)
  })

  t.test('a relocated data folder that others can write to is refused', async (t) => {
    await chmod(relocatedDataDir, 0o777)
    await t.rejects(startEmbedded({ dataDir: join(parent, 'other'), relocatedDataDir, ...quiet }), {
      name: 'EmbeddedDatabaseError',
      message: /who cannot enter .*DATA_DIR/,
    })
  })
})
