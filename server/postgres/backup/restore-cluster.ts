// Restores the embedded database to a moment: the copy of a base backup replays the log of the archive up to there.
// https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-PITR-RECOVERY
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, open, readdir, readFile, rm, truncate } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries } from '../embedded/binaries.ts'
import { clusterName, findCluster, settleDraft, withDraft, type Draft } from '../embedded/cluster.ts'
import { openDataFolder } from '../embedded/data-folder.ts'
import { lockFolder } from '../embedded/folder-lock.ts'
import { endOrphan } from '../embedded/postmaster.ts'
import { finishReplacing, replaceData, stage } from '../embedded/replaced-data.ts'
import { databaseUser, type SystemUser } from '../embedded/system-user.ts'
import { archiveRest, archiveTimeline } from './archive-additions.ts'
import { BackupError } from './backup-error.ts'
import { manifestName, verifyManifest } from './backup-manifest.ts'
import { backupCluster, backupSecrets, baseFolder, listBackups } from './base-backup.ts'
import { copyDurably } from './durable-file.ts'
import { inParallel } from '../../common/in-parallel.ts'
import { recover } from './recovery.ts'
import { planRestore, type RestorePlan } from './restore-plan.ts'
import type { RestoreTime } from './restore-time.ts'
import { listSegments, readArchive, readHistory, walFolder } from './wal-archive.ts'
import type { TimelinePart } from './wal-segment.ts'

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
  await rm(join(cluster, manifestName), { force: true })
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
