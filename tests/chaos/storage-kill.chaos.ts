// The server and its database are killed at random moments during uploads: what was acknowledged is there whole, and
// nothing is half visible.
import { createHash, randomInt } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Database } from '../../server/postgres/database.ts'
import { startEmbedded } from '../../server/postgres/embedded/embedded.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { FileStore } from '../../server/services/storage/backends/file-store.ts'
import { storageDatabase } from '../../server/services/storage/storage-database.ts'
import { sweep } from '../../server/services/storage/sweep.ts'
import { jwtSecret } from '../support/application.ts'
import { startProgram } from '../support/program.ts'
import { askStorage, type AskStorage } from '../support/storage.ts'
import { until } from '../support/until.ts'

// Each round starts the program, and recovers the database.
t.setTimeout(600_000)

const service = { as: 'service_role' } as const

const parent = await mkdtemp(join(tmpdir(), 'rowhouse-storage-'))
await chmod(parent, 0o711)
t.teardown(() => rm(parent, { recursive: true, force: true }))
const dataDir = join(parent, 'data')

const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')

/** The uploads to one name. */
type History = {
  /** MD5s in the order in which the uploads began. */
  readonly attempts: string[]
  /** Number of attempts that cannot have been replaced by an older one. */
  acknowledged: number
}
const histories = new Map<string, History>()

/** Uploads to one name, one after another, until the server is gone. */
async function upload(ask: AskStorage, name: string, isOver: () => boolean): Promise<void> {
  const history = histories.get(name) ?? { attempts: [], acknowledged: 0 }
  histories.set(name, history)
  while (!isOver()) {
    const body = Buffer.from(`${name} ${history.attempts.length} `.repeat(randomInt(1, 20_000)))
    history.attempts.push(md5(body))
    const status = await ask('PUT', `/object/b/${name}`, { ...service, body }).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) history.acknowledged = history.attempts.length
    else await pause(20)
  }
}

async function check(t: Test, ask: AskStorage): Promise<void> {
  const wrong: string[] = []
  for (const [name, { attempts, acknowledged }] of histories) {
    const { status, bytes, headers } = await ask('GET', `/object/public/b/${name}`)
    if (status !== 200 && acknowledged > 0) wrong.push(`${name} is lost`)
    if (status !== 200) continue
    const possible = attempts.slice(Math.max(acknowledged - 1, 0))
    if (!possible.includes(md5(bytes))) wrong.push(`${name} has other bytes than were acknowledged`)
    if (headers.get('etag') !== `"${md5(bytes)}"`) wrong.push(`${name} is not whole`)
  }
  t.strictSame(wrong, [])
}

const postmasterPid = async (): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

const filesIn = async (path: string): Promise<number> =>
  (await readdir(join(dataDir, 'storage', path), { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  ).length

for (const [round, victim] of (['server', 'database', 'server', 'database'] as const).entries()) {
  t.test(`round ${round + 1}: the ${victim} is killed`, async (t) => {
    const program = startProgram(t, { DATA_DIR: dataDir, PGRST_JWT_SECRET: jwtSecret })
    await program.line(({ event }) => event === 'listening')
    const ask = askStorage(program.url())
    t.ok(await until(async () => (await ask('GET', '/bucket', service)).status === 200), 'the server is ready')
    await ask('POST', '/bucket', { ...service, body: { name: 'b', public: true } })
    await check(t, ask)
    let isOver = false
    const uploads = Array.from({ length: 6 }, (_, index) => upload(ask, `o${round}-${index}`, () => isOver))
    // Some names are used by all rounds.
    uploads.push(upload(ask, 'shared', () => isOver))
    const acknowledged = (): number => [...histories.values()].reduce((sum, it) => sum + it.acknowledged, 0)
    const before = acknowledged()
    t.ok(await until(() => acknowledged() > before + 5), 'uploads are acknowledged')
    await pause(randomInt(0, 300))
    if (victim === 'database') {
      process.kill(await postmasterPid(), 'SIGKILL')
      await pause(randomInt(0, 300))
    }
    program.kill('SIGKILL')
    isOver = true
    await Promise.all([program.ended, ...uploads])
  })
}

t.test('afterwards', async (t) => {
  const program = startProgram(t, { DATA_DIR: dataDir, PGRST_JWT_SECRET: jwtSecret })
  await program.line(({ event }) => event === 'listening')
  const ask = askStorage(program.url())
  t.ok(await until(async () => (await ask('GET', '/bucket', service)).status === 200))
  await check(t, ask)
  program.kill('SIGTERM')
  await program.ended

  const embedded = await startEmbedded({ dataDir, log: () => undefined })
  const database = new Database(
    createPool(
      { connectionString: embedded.authenticatorUri },
      { dbPool: 2, dbPoolAcquisitionTimeout: 10, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
    ),
  )
  try {
    const store = new FileStore(join(dataDir, 'storage'))
    const context = { store, database: storageDatabase(database, () => false), warn: (text: string) => t.fail(text) }
    const orphans = await sweep(context, new Date(Date.now() + 1000))
    t.comment(`${orphans} orphans`)
    const present = [...histories.values()].filter(({ attempts }) => attempts.length > 0).length
    t.equal(await filesIn('incoming'), 0, 'no remnants of interrupted uploads')
    t.ok((await filesIn('objects')) <= present, 'at most one version of each object')
  } finally {
    await database.close()
    await embedded.stop()
  }
})
