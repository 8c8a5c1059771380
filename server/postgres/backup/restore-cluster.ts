// Restores the embedded database to a moment: the copy of a base backup replays the log of the archive up to there.
// https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-PITR-RECOVERY
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { parseLsn } from '../../common/wal-position.ts'
import { findBinaries, type Binaries } from '../embedded/binaries.ts'
import { clusterName, findCluster, settleDraft, withDraft, type Draft } from '../embedded/cluster.ts'
import { openDataFolder } from '../embedded/data-folder.ts'
import { addressesOf, prepareLog, startWithRetries } from '../embedded/embedded.ts'
import { EmbeddedDatabaseError } from '../embedded/embedded-error.ts'
import { lockFolder } from '../embedded/folder-lock.ts'
import { endOrphan } from '../embedded/postmaster.ts'
import { finishReplacing, replaceData, stage } from '../embedded/replaced-data.ts'
import { ensureSecrets } from '../embedded/secrets.ts'
import { databaseUser, type SystemUser } from '../embedded/system-user.ts'
import { BackupError } from './backup-error.ts'
import { verifyManifest } from './backup-manifest.ts'
import { backupCluster, backupSecrets, baseFolder, listBackups } from './base-backup.ts'
import { copyDurably } from './durable-file.ts'
import { inParallel } from './in-parallel.ts'
import { planRestore, type RestorePlan } from './restore-plan.ts'
import type { RestoreTime } from './restore-time.ts'
import { listSegments, readArchive, readHistory, walFolder, writeArchive, type ArchiveState } from './wal-archive.ts'
import { historyName, parseHistory, segmentName, segmentStart, type TimelinePart } from './wal-segment.ts'
import { startReceiver } from './wal-receiver.ts'
import { archiveBytes } from './wal-writer.ts'

const run = promisify(execFile)

export type RestoreOptions = {
  readonly dataDir: string
  /** Backup folder. */
  readonly folder: string
  /** Undefined for the latest state. */
  readonly to: RestoreTime | undefined
  /** Whether the database will go on with the archive in `folder`, so that the new timeline is added to it. */
  readonly continuesArchive: boolean
  readonly relocatedDataDir?: string
  readonly log: (message: string) => void
}

export type Restored = {
  /** Name of the backup. */
  readonly backup: string
  readonly timeline: number
  /** Time of the last transaction, as the server logged it; null without any after the backup. */
  readonly lastTransaction: string | null
  /** Folder in the data folder with what was there before; null if there was nothing. */
  readonly aside: string | null
}

/** Milliseconds that recovery may take. */
const recoveryTimeout = 24 * 3600 * 1000

/**
 * Restores into the data folder. What is there is moved aside when the restored database is complete.
 *
 * @throws FolderInUse while a server uses the data folder; BackupError; EmbeddedDatabaseError; the operating system's error
 */
export async function restoreCluster(options: RestoreOptions): Promise<Restored> {
  const { folder, to, log } = options
  const dataDir = await openDataFolder(resolve(options.dataDir))
  const locks = [await lockFolder(dataDir)]
  try {
    await finishReplacing(dataDir)
    const existing = await findCluster(dataDir)
    if (existing !== null && dirname(existing) !== dataDir) locks.push(await lockFolder(dirname(existing)))
    const user = await databaseUser(existing, options.relocatedDataDir)
    const binaries = await findBinaries(user)
    if (existing !== null) {
      await endOrphan(existing, log)
      if (options.continuesArchive) await archiveRest(existing, { dataDir, folder, binaries, user, log })
    }
    const plan = await readPlan(folder, to)
    if (plan.backup.majorVersion !== binaries.majorVersion) {
      throw new BackupError(
        `The backup was made by PostgreSQL ${plan.backup.majorVersion}, which PostgreSQL ${binaries.majorVersion} cannot restore. ` +
          'Restore it with the version of rowhouse that made it, then run `rowhouse upgrade-database`.',
      )
    }
    const backup = join(baseFolder(folder), plan.backup.name)
    log(`Checking the backup ${plan.backup.name}`)
    await verifyManifest(join(backup, backupCluster))
    return await withDraft(dataDir, user, async (draft) => {
      await fillDraft(draft, plan, folder, user)
      log(`Replaying the log up to ${plan.until?.text ?? 'its end'}`)
      const recovered = await recover(draft, plan, { binaries, user, backup, log })
      if (options.continuesArchive) await archiveTimeline(folder, draft.cluster, recovered)
      const aside = await replace(draft, backup, existing !== null, log)
      const { timeline, lastTransaction } = recovered
      return { backup: plan.backup.name, timeline, lastTransaction, aside }
    })
  } finally {
    for (const release of locks) await release()
  }
}

type ExistingOptions = RecoveryTools & { readonly dataDir: string; readonly folder: string }

/**
 * Adds to the archive what the database that is about to be replaced has not yet sent there. If it does not start, the
 * archive remains as it is.
 */
async function archiveRest(existing: string, { dataDir, folder, binaries, user, log }: ExistingOptions): Promise<void> {
  if (!(await readArchive(folder))) return
  try {
    const logFile = await prepareLog(dataDir)
    const postmaster = await startWithRetries({ binaries, cluster: existing, user, logFile })
    try {
      const { adminUri } = addressesOf(await ensureSecrets(dataDir), postmaster.port)
      const failed: unknown[] = []
      const receiver = startReceiver({
        uri: adminUri,
        folder,
        onEvent: (event) => void (event.kind === 'failing' && failed.push(event.error)),
      })
      await receiver.finish()
      await postmaster.stop()
      await receiver.finished()
      if (failed.length > 0) throw failed[0]
    } finally {
      await postmaster.stop()
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    log(`The existing database cannot complete the archive, which remains as it is: ${why}`)
  }
}

/** @throws BackupError when there is no way to the time */
async function readPlan(folder: string, to: RestoreTime | undefined): Promise<RestorePlan> {
  const archive = await readArchive(folder)
  const segments = archive ? await listSegments(folder, archive.segmentSize) : []
  const histories = new Map<number, readonly TimelinePart[]>()
  for (const { timeline } of archive?.timelines ?? []) histories.set(timeline, await readHistory(folder, timeline))
  const backups = (await listBackups(folder)).filter(
    ({ systemIdentifier }) => !archive || systemIdentifier === archive.systemIdentifier,
  )
  return planRestore(to, { folder, backups, archive, segments, historyOf: (timeline) => histories.get(timeline) ?? [] })
}

/** Copies the backup, and the log of the archive, to where recovery finds them. */
async function fillDraft(draft: Draft, plan: RestorePlan, folder: string, user: SystemUser | null): Promise<void> {
  const { cluster } = draft
  await copyTree(join(baseFolder(folder), plan.backup.name, backupCluster), cluster)
  await rm(join(cluster, 'backup_manifest'), { force: true })
  const target = join(cluster, 'pg_wal')
  const present = new Set(await readdir(target))
  for (const { name } of plan.segments) {
    const complete = name.slice(0, 24)
    if (present.has(complete)) continue
    await copyDurably(join(walFolder(folder), name), join(target, complete))
    await truncate(join(target, complete), plan.backup.segmentSize)
  }
  if (plan.timeline !== undefined) {
    for (const name of await readdir(walFolder(folder))) {
      if (name.endsWith('.history') && !present.has(name)) {
        await copyDurably(join(walFolder(folder), name), join(target, name))
      }
    }
  }
  await (await open(join(cluster, 'recovery.signal'), 'wx', 0o600)).close()
  await chmod(cluster, 0o700)
  if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, cluster])
}

/** Copies a folder. Recovery flushes the copies to disk, because it finds that the server was not shut down. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  const files: string[] = []
  for (const entry of await readdir(from, { withFileTypes: true, recursive: true })) {
    const path = relative(from, join(entry.parentPath, entry.name))
    if (entry.isDirectory()) await mkdir(join(to, path), { recursive: true, mode: 0o700 })
    else files.push(path)
  }
  await inParallel(files, async (path) => {
    await copyFile(join(from, path), join(to, path))
    await chmod(join(to, path), 0o600)
  })
}

type Recovered = {
  readonly timeline: number
  readonly history: string
  /** How far the log of the new timeline is written. */
  readonly position: bigint
  readonly segmentSize: number
  readonly lastTransaction: string | null
}

type RecoveryTools = {
  readonly binaries: Binaries
  readonly user: SystemUser | null
  readonly log: (message: string) => void
}

type RecoveryOptions = RecoveryTools & {
  /** Folder of the backup. */
  readonly backup: string
}

/** Starts the server, which replays the log and begins a new timeline, and stops it again. */
async function recover(draft: Draft, plan: RestorePlan, options: RecoveryOptions): Promise<Recovered> {
  if (!plan.until) return recoverTo(draft, plan, undefined, options)
  try {
    return await recoverTo(draft, plan, plan.until, options)
  } catch (error) {
    const isShort = error instanceof EmbeddedDatabaseError && error.message.includes(endedBefore)
    if (!isShort) throw error
    if (plan.missing !== undefined) {
      throw new BackupError(
        `The archive lacks the segment ${plan.missing} of the log, which was written before ${plan.until.text}. Restore to an earlier time.`,
        { cause: error },
      )
    }
    // Nothing was committed from there to the given time, of which the archive has everything.
    return recoverTo(draft, plan, undefined, options)
  }
}

/** What the server says when it has seen no transaction after the time where it should stop. */
const endedBefore = 'recovery ended before configured recovery target was reached'

async function recoverTo(
  { cluster, dataDir }: Draft,
  { timeline, backup }: RestorePlan,
  until: RestoreTime | undefined,
  { binaries, user, backup: folder }: RecoveryOptions,
): Promise<Recovered> {
  const logFile = await prepareLog(dataDir)
  const { size } = await stat(logFile).catch(() => ({ size: 0 }))
  const postmaster = await startWithRetries({
    binaries,
    cluster,
    user,
    logFile,
    timeout: recoveryTimeout,
    settings: {
      // Everything that recovery needs is in pg_wal.
      restore_command: 'false',
      recovery_target_timeline: String(timeline ?? backup.timeline),
      recovery_target_action: 'promote',
      // Otherwise the server is ready before recovery has ended.
      hot_standby: 'off',
      ...(until ? { recovery_target_time: until.text } : {}),
    },
  })
  try {
    const { superuserPassword } = await ensureSecrets(join(folder, backupSecrets))
    const described = await describeTimeline(superuserPassword, postmaster.port)
    const history = await readFile(join(cluster, 'pg_wal', historyName(described.timeline)), 'utf8')
    const { buffer } = await readFrom(logFile, size)
    const [, lastTransaction = null] = [...buffer.toString('utf8').matchAll(lastTransactionLine)].at(-1) ?? []
    return { ...described, history, segmentSize: backup.segmentSize, lastTransaction }
  } finally {
    await postmaster.stop()
  }
}

const lastTransactionLine = /last completed transaction was at log time (.+)/g

async function readFrom(path: string, start: number): Promise<{ readonly buffer: Buffer }> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    return await file.read(Buffer.alloc(Math.max(0, size - start)), 0, Math.max(0, size - start), start)
  } finally {
    await file.close()
  }
}

async function describeTimeline(
  superuserPassword: string,
  port: number,
): Promise<Pick<Recovered, 'timeline' | 'position'>> {
  const { adminUri } = addressesOf({ superuserPassword, authenticatorPassword: '' }, port)
  const client = new pg.Client({ connectionString: adminUri })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('checkpoint')
    const { rows } = await client.query<{ timeline: number; lsn: string }>(
      'select (select timeline_id from pg_control_checkpoint()) as timeline, pg_current_wal_flush_lsn()::text as lsn',
    )
    const position = parseLsn(rows[0]?.lsn ?? '')
    if (!rows[0] || position === undefined) throw new Error('the restored server did not describe itself')
    return { timeline: rows[0].timeline, position }
  } finally {
    await client.end()
  }
}

/**
 * Adds the beginning of the new timeline to the archive. Without it, a later restore would continue with the log of the
 * abandoned timeline.
 */
async function archiveTimeline(folder: string, cluster: string, recovered: Recovered): Promise<void> {
  const archive = await readArchive(folder)
  if (!archive) return
  const { timeline, history, position, segmentSize } = recovered
  const wal = walFolder(folder)
  await copyDurably(join(cluster, 'pg_wal', historyName(timeline)), join(wal, historyName(timeline)))
  const fork = parseHistory(timeline, history).at(-2)?.end ?? position
  const start = segmentStart(fork, segmentSize)
  const parts: Buffer[] = []
  for (let lsn = start; lsn < position; lsn += BigInt(segmentSize)) {
    const bytes = await readFile(join(cluster, 'pg_wal', segmentName(timeline, lsn, segmentSize)))
    parts.push(bytes.subarray(0, Number(position - lsn)))
  }
  await archiveBytes(wal, timeline, segmentSize, start, Buffer.concat(parts))
  await writeArchive(folder, withTimeline(archive, timeline))
}

function withTimeline(archive: ArchiveState, timeline: number): ArchiveState {
  const now = new Date()
  const others = archive.timelines.filter((known) => known.timeline !== timeline)
  return { ...archive, timelines: [...others, { timeline, since: now, until: now }] }
}

/** Moves the restored database into its place, with the passwords that belong to it. */
async function replace(
  draft: Draft,
  backup: string,
  hasExisting: boolean,
  log: (message: string) => void,
): Promise<string | null> {
  const { dataDir } = draft
  const { staged, aside } = await stage(dataDir, 'restore')
  const folder = join(dataDir, staged)
  try {
    await settleDraft(draft, join(folder, clusterName), log)
    const isReplaced = await stageSecrets(join(backup, backupSecrets), dataDir, folder)
    await replaceData(dataDir, { staged, aside })
    return hasExisting || isReplaced ? join(dataDir, aside) : null
  } catch (error) {
    log(`The restored database is in ${folder}`)
    throw error
  }
}

/** Stages the passwords of the database if the data folder has others, and other secrets that it lacks. */
async function stageSecrets(from: string, dataDir: string, folder: string): Promise<boolean> {
  let isReplaced = false
  for (const name of await readdir(from)) {
    const current = await readFile(join(dataDir, name), 'utf8').catch(() => undefined)
    const isOther = name === 'secrets.json' && current !== (await readFile(join(from, name), 'utf8'))
    if (current !== undefined && !isOther) continue
    await copyDurably(join(from, name), join(folder, name))
    isReplaced ||= current !== undefined
  }
  return isReplaced
}
