// The archive of the embedded database with the built program: its disk becomes full, old backups are removed, and PostgreSQL's
// own program verifies a backup. Part of `npm run test:backup`; `ROUNDS=0 npm run test:backup -- --no-upgrade` runs only this.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  statfs,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { rowhouse } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { says, startProgram, type Program } from '../support/program.ts'
import { until } from '../support/until.ts'

type Check = (isRight: boolean, text: string) => void
type Environment = Readonly<Record<string, string>>

type Installation = {
  readonly root: string
  readonly env: Environment & { readonly DATA_DIR: string; readonly BACKUP_DIR: string }
  readonly program: Program
  readonly client: pg.Client
  /** Address of the admin server. */
  readonly admin: string
  /** Kills server and database, and removes the data folder. */
  readonly lose: () => Promise<void>
  readonly stop: () => Promise<void>
}

async function install(backupDir: (root: string) => string): Promise<Installation> {
  const root = await mkdtemp(join(tmpdir(), 'rowhouse-archive-'))
  await chmod(root, 0o711)
  const port = String(await freePort())
  const env = {
    ...{ DATA_DIR: join(root, 'data'), BACKUP_DIR: backupDir(root), SERVICES: 'rest' },
    ...{ PGRST_ADMIN_SERVER_PORT: port },
  }
  const closings: (() => unknown)[] = []
  const program = startProgram({ teardown: (close: () => unknown) => void closings.unshift(close) }, env)
  await program.line(says('listening'))
  await program.line(says('wal-archive'))
  const { out } = await rowhouse(['url'], env)
  const client = new pg.Client({ connectionString: out.trim() })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('create table ledger (id integer primary key, text text)')
  return {
    ...{ root, env, program, client, admin: `http://127.0.0.1:${port}` },
    lose: async () => {
      const text = await readFile(join(env.DATA_DIR, 'postgres/postmaster.pid'), 'utf8')
      program.kill('SIGKILL')
      process.kill(Number(text.split('\n')[0]), 'SIGKILL')
      await program.ended
      await pause(500)
      await rm(env.DATA_DIR, { recursive: true, force: true, maxRetries: 5 })
    },
    stop: async () => {
      await client.end().catch(() => undefined)
      for (const close of closings) await close()
      await rm(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

type Archive = {
  readonly status: string
  readonly ageSeconds: number
  readonly behindBytes: number
  readonly failures: number
  readonly error?: string
}

const archiveOf = async ({ admin }: Installation): Promise<Archive> =>
  (await (await fetch(`${admin}/archive`)).json()) as Archive

/** The ids of the rows in the database, which is started for this. */
async function stored(env: Environment): Promise<ReadonlySet<number>> {
  const { out } = await rowhouse(['psql', '--builtin', '-A', '-t', '-c', 'select id from ledger'], env)
  return new Set(out.split('\n').filter(Boolean).map(Number))
}

const mebibyte = 1024 * 1024

/** The disk of BACKUP_DIR becomes full while rows are written, and has room again. */
async function fillDisk(check: Check): Promise<void> {
  const mount = await mkdtemp(join(tmpdir(), 'rowhouse-disk-'))
  if (process.getuid?.() !== 0 || spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', mount]).status !== 0) {
    console.log('# skipped: a full disk, because only root can mount one')
    return
  }
  const installation = await install(() => join(mount, 'backups')).catch((error: unknown) => {
    execFileSync('umount', [mount])
    throw error
  })
  const { env, client, program } = installation
  try {
    const first = await rowhouse(['backup'], env)
    check(first.code === 0, `a backup on a disk with room ${first.err}`)
    const filler = join(mount, 'filler')
    const { bavail, bsize } = await statfs(mount)
    await writeFile(filler, Buffer.alloc(bavail * bsize - 4 * mebibyte))
    let id = 0
    const write = async (count: number): Promise<void> => {
      for (const end = id + count; id < end;) {
        // Random, so that it is not compressed.
        await client.query(
          `insert into ledger select $1, string_agg(md5(random()::text), '') from generate_series(1, 8000)`,
          [++id],
        )
      }
    }
    await write(150)
    const isStopped = await until(async () => (await archiveOf(installation)).error?.includes('ENOSPC') === true)
    const stopped = await archiveOf(installation)
    check(isStopped && stopped.status === 'stopped', `a full disk stops the archive: ${JSON.stringify(stopped)}`)
    await write(50)
    check((await program.call('GET', '/ready')).status === 200, `the server goes on: ${id} rows are acknowledged`)
    check((await fetch(`${installation.admin}/archive`)).status === 503, '/archive is 503')
    const logged = program.logged().filter((line) => says('wal-archive')(line) && line.level === 'error')
    check(logged.length === 1, `the log says so, once a minute: ${String(logged[0]?.msg)}`)
    await pause(1000)
    const { out } = await rowhouse(['doctor', '--json'], env)
    const { findings } = JSON.parse(out) as { findings: readonly { code: string; what: string }[] }
    const finding = findings.find(({ code }) => code === 'archive_stopped')
    check(finding !== undefined, `the doctor says so: ${finding?.what}`)
    const refused = await rowhouse(['backup'], env)
    check(refused.code === 1 && refused.err.includes('ENOSPC'), `a backup fails: ${refused.err.trim()}`)
    const { out: listed } = await rowhouse(['backup', '--list', '--json'], env)
    check((JSON.parse(listed) as { backups: unknown[] }).backups.length === 1, 'and leaves the one before')
    // Counted at each attempt to go on, every five seconds.
    const keeps = await until(async () => (await archiveOf(installation)).behindBytes > 20 * mebibyte)
    const { behindBytes } = await archiveOf(installation)
    check(keeps, `the database keeps ${Math.round(behindBytes / mebibyte)} MiB`)

    await rm(filler)
    const since = performance.now()
    const isBack = await until(async () => {
      const { status, ageSeconds } = await archiveOf(installation)
      return status === 'archiving' && ageSeconds < 10
    })
    const seconds = ((performance.now() - since) / 1000).toFixed(1)
    check(isBack, `the archive is complete again ${seconds} s after there is room`)
    const text = await (await fetch(`${installation.admin}/metrics`)).text()
    check(
      /^rowhouse_archive_connected 1$/m.test(text) && /^rowhouse_archive_gaps_total 0$/m.test(text),
      'without a gap',
    )
    await write(20)
    await pause(1000)
    await installation.lose()
    const restored = await rowhouse(['restore', '--to', 'latest'], env)
    check(restored.code === 0, `a restore from the archive alone ${restored.err}`)
    const found = await stored(env)
    check(found.size === id, `nothing is lost: ${found.size} of ${id} rows`)
  } finally {
    await installation.stop()
    execFileSync('umount', ['-l', mount])
    await rm(mount, { recursive: true, force: true })
  }
}

/** `--keep` removes what is old, and nothing that the rest needs; a backup is verified by pg_verifybackup. */
async function keepBackups(check: Check): Promise<void> {
  const installation = await install((root) => join(root, 'backups'))
  const { env, client } = installation
  try {
    const base = join(env.BACKUP_DIR, 'base')
    const segments = async (): Promise<readonly string[]> =>
      (await readdir(join(env.BACKUP_DIR, 'wal'))).filter((name) => /^[\dA-F]{24}$/.test(name)).sort()
    const names: string[] = []
    const times: number[] = []
    for (let round = 1; round <= 4; round++) {
      await client.query('insert into ledger values ($1)', [round])
      await client.query('select pg_switch_wal()')
      const { out, err, code } = await rowhouse(['backup', '--json', ...(round === 4 ? ['--keep', '2'] : [])], env)
      if (code !== 0) throw new Error(`backup failed: ${err}`)
      const { name, stoppedAt, removed } = JSON.parse(out) as {
        readonly name: string
        readonly stoppedAt: string
        readonly removed: { readonly backups: number; readonly segments: number }
      }
      names.push(name)
      times.push(Date.parse(stoppedAt))
      if (round === 4) {
        check(removed.backups === 2, `--keep 2 of 4 backups removes ${removed.backups}`)
        check(removed.segments > 0, `and ${removed.segments} segments of the log`)
      } else check(removed.backups === 0, `backup ${round} without --keep removes nothing`)
    }
    check((await readdir(base)).sort().join() === names.slice(2).join(), 'the two newest are left')
    const { out } = await rowhouse(['backup', '--list', '--json'], env)
    const { backups } = JSON.parse(out) as { readonly backups: readonly { readonly name: string }[] }
    check(backups.map(({ name }) => name).join() === names.slice(2).join(), '--list shows them')
    const { start } = JSON.parse(await readFile(join(base, names[2] ?? '', 'backup.json'), 'utf8')) as { start: string }
    const oldest = (await segments())[0] ?? ''
    const needed = BigInt(start) / BigInt(16 * mebibyte)
    check(BigInt(`0x${oldest.slice(16)}`) === needed, `the log begins with the older one: ${oldest}`)
    await verifyBackup(check, join(base, names[3] ?? '', 'postgres'), installation.root)

    await client.query('insert into ledger values (5)')
    await pause(1000)
    const end = new Date().toISOString()
    await pause(6000)
    await installation.lose()
    const tooEarly = await rowhouse(['restore', '--to', new Date(times[0] ?? 0).toISOString()], env)
    check(tooEarly.code === 1, `a time before them cannot be restored: ${tooEarly.err.trim()}`)
    const between = await rowhouse(['restore', '--to', new Date(times[2] ?? 0).toISOString()], env)
    check(between.code === 0, `the time of the older one can ${between.err}`)
    check([...(await stored(env))].sort().join() === '1,2,3', 'with the rows of that time')
    check((await rowhouse(['restore', '--to', end], env)).code === 0, 'and then a time after the newer one')
    check([...(await stored(env))].sort().join() === '1,2,3,4,5', 'with all rows')
  } finally {
    await installation.stop()
  }
}

/** Newest first. */
const verifiers = ['18', '17', '16', '15', '14'].map((version) => ({
  version: Number(version),
  path: `/usr/lib/postgresql/${version}/bin/pg_verifybackup`,
}))

/**
 * Checks the files of a backup with pg_verifybackup, which must also notice a damaged one. Programs before PostgreSQL 17 read
 * version 1 of the manifest, which lacks the identifier of the system; they do not verify the log of a newer version in any case.
 */
async function verifyBackup(check: Check, backup: string, root: string): Promise<void> {
  const verifier = verifiers.find(({ path }) => existsSync(path))
  if (!verifier) {
    console.log('# skipped: pg_verifybackup is not installed')
    return
  }
  const folder = join(root, 'verified')
  await mkdir(folder, { mode: 0o700 })
  await cp(backup, folder, { recursive: true })
  if (verifier.version < 17) {
    const path = join(folder, 'backup_manifest')
    const text = await readFile(path, 'utf8')
    const older = text
      .slice(0, text.lastIndexOf('"Manifest-Checksum"'))
      .replace('"PostgreSQL-Backup-Manifest-Version": 2', '"PostgreSQL-Backup-Manifest-Version": 1')
      .replace(/"System-Identifier": \d+,\n/, '')
    const checksum = createHash('sha256').update(older).digest('hex')
    await writeFile(path, `${older}"Manifest-Checksum": "${checksum}"}\n`)
  }
  const verify = () => spawnSync(verifier.path, ['--no-parse-wal', folder], { encoding: 'utf8' })
  const good = verify()
  check(
    good.status === 0,
    `pg_verifybackup of PostgreSQL ${verifier.version}: ${good.stdout.trim()}${good.stderr.trim()}`,
  )
  await appendFile(join(folder, 'global/pg_filenode.map'), 'x')
  const damaged = verify()
  check(
    damaged.status !== 0 && damaged.stderr.includes('pg_filenode.map'),
    `and it notices a damaged file: ${damaged.stderr.trim().split('\n')[0]}`,
  )
  await rename(join(folder, 'base'), join(folder, 'away'))
  check(verify().status !== 0, 'and missing ones')
  await rm(folder, { recursive: true })
}

/** Runs all checks. */
export async function checkArchive(check: Check): Promise<void> {
  await keepBackups(check)
  await fillDisk(check)
}
