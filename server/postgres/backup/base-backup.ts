// Base backups of the embedded database: a copy of its data folder with the log that makes it consistent, and the secrets
// beside it. A backup has its name only when it is complete, verified and on disk.
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseLsn } from '../../common/wal-position.ts'
import { syncFolder } from '../../common/sync-folder.ts'
import type { Client } from '../connection/client.ts'
import { ifMissing } from '../embedded/missing-file.ts'
import { BackupError } from './backup-error.ts'
import { manifestName, verifyManifest, writeManifest } from './backup-manifest.ts'
import { copyCluster, syncFolders, writeCopied } from './copy-cluster.ts'
import { copyDurably } from './durable-file.ts'
import { describeServer } from './server-description.ts'
import { segmentName, segmentStart } from './wal-segment.ts'

export type BaseBackup = {
  /** Name of its folder: the time when it was begun. */
  readonly name: string
  readonly startedAt: Date
  /** Restores to this time and later ones are possible. */
  readonly stoppedAt: Date
  readonly timeline: number
  readonly start: bigint
  readonly stop: bigint
  readonly systemIdentifier: string
  readonly majorVersion: number
  readonly segmentSize: number
  readonly files: number
  readonly bytes: number
}

/** Name of the data folder inside a backup. */
export const backupCluster = 'postgres'
/** Folder with the secrets of the data folder inside a backup. */
export const backupSecrets = 'secrets'
const descriptionName = 'backup.json'
const partial = '.partial'

/** The folder of the base backups inside a backup folder. */
export const baseFolder = (folder: string): string => join(folder, 'base')

export type BackupOptions = {
  /** A connection of the superuser, which does nothing else meanwhile. */
  readonly client: Client
  /** Data folder of the server. */
  readonly cluster: string
  /** Files that belong to the database, such as its passwords. Missing ones are left out. */
  readonly secretFiles: readonly string[]
  /** Called after the copy of the database is complete. Adds files to the folder of the backup. */
  readonly beforeEnd?: (draft: string) => Promise<void>
  readonly signal?: AbortSignal | undefined
}

/**
 * Makes a base backup of a running server.
 *
 * @param folder backup folder, where no other backup is being made
 * @throws BackupError; the errors of the database and of the operating system. Then there is no backup
 */
export async function makeBackup(folder: string, options: BackupOptions): Promise<BaseBackup> {
  const base = baseFolder(folder)
  await mkdir(base, { recursive: true, mode: 0o700 })
  await removePartial(base)
  const startedAt = new Date()
  const name = startedAt.toISOString().replace(/[-:]/g, '')
  const draft = join(base, `${name}${partial}`)
  await mkdir(draft, { mode: 0o700 })
  try {
    const backup = await fill(draft, { ...options, name, startedAt })
    await verifyManifest(join(draft, backupCluster))
    await syncFolders(draft)
    await rename(draft, join(base, name))
    await syncFolder(base)
    return backup
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined)
    throw error
  }
}

/** Removes what interrupted backups left behind. */
async function removePartial(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (name.endsWith(partial)) await rm(join(base, name), { recursive: true, force: true })
  }
}

type NamedOptions = BackupOptions & Pick<BaseBackup, 'name' | 'startedAt'>

async function fill(draft: string, options: NamedOptions): Promise<BaseBackup> {
  const { client, cluster, secretFiles, name, startedAt, signal } = options
  const target = join(draft, backupCluster)
  const server = await describeServer(client)
  // Keeps the log that the backup needs until it is copied. The slot vanishes with the connection.
  await client.query('select pg_create_physical_replication_slot($1, true, true)', [`rowhouse_base_${process.pid}`])
  const { rows: began } = await client.query<{ lsn: string; timeline: number }>(
    'select pg_backup_start($1, fast => true)::text as lsn, (select timeline_id from pg_control_checkpoint()) as timeline',
    [`rowhouse ${name}`],
  )
  const files = [...(await copyCluster(cluster, target, signal))]
  const { rows: ended } = await client.query<{ lsn: string; label: string; tablespaces: string }>(
    'select lsn::text as lsn, labelfile as label, spcmapfile as tablespaces from pg_backup_stop(wait_for_archive => false)',
  )
  const stoppedAt = new Date((await client.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now ?? NaN)
  const [start, stop] = [parseLsn(began[0]?.lsn ?? ''), parseLsn(ended[0]?.lsn ?? '')]
  if (start === undefined || stop === undefined)
    throw new Error('the server did not say where the backup begins or ends')
  const { label = '' } = ended[0] ?? {}
  files.push(await writeCopied(target, 'backup_label', label, stoppedAt))
  const timeline = timelineOf(label)
  await copyLog(cluster, target, timeline, start, stop, server.segmentSize)
  const manifest = writeManifest({ ...server, files, timeline, start, stop })
  await writeCopied(target, manifestName, manifest, stoppedAt)
  await copySecrets(draft, secretFiles)
  await options.beforeEnd?.(draft)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const backup = { name, startedAt, stoppedAt, timeline, start, stop, ...server, files: files.length, bytes }
  await writeCopied(draft, descriptionName, describe(backup), stoppedAt)
  return backup
}

/** The label says on which timeline the backup was made. */
function timelineOf(label: string): number {
  const timeline = Number(/^START TIMELINE: (\d+)$/m.exec(label)?.[1])
  if (!Number.isInteger(timeline)) throw new Error(`the server did not name the timeline of the backup: ${label}`)
  return timeline
}

/** Copies the segments from `start` to `stop`, and the history of the timeline. */
async function copyLog(
  cluster: string,
  target: string,
  timeline: number,
  start: bigint,
  stop: bigint,
  segmentSize: number,
): Promise<void> {
  const [from, to] = [join(cluster, 'pg_wal'), join(target, 'pg_wal')]
  for (let lsn = segmentStart(start, segmentSize); lsn < stop; lsn += BigInt(segmentSize)) {
    const name = segmentName(timeline, lsn, segmentSize)
    await copyDurably(join(from, name), join(to, name))
  }
  for (const name of await readdir(from)) {
    if (name.endsWith('.history')) await copyDurably(join(from, name), join(to, name))
  }
}

async function copySecrets(draft: string, secretFiles: readonly string[]): Promise<void> {
  const target = join(draft, backupSecrets)
  await mkdir(target, { mode: 0o700 })
  for (const path of secretFiles) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const text = await readFile(path).catch(ifMissing(undefined))
    if (text) await writeCopied(target, name, text, new Date())
  }
}

const describe = ({ start, stop, ...rest }: BaseBackup): string =>
  `${JSON.stringify({ ...rest, start: start.toString(), stop: stop.toString() }, null, 2)}\n`

/**
 * The complete backups of a folder, oldest first.
 *
 * @throws BackupError when one cannot be read
 */
export async function listBackups(folder: string): Promise<readonly BaseBackup[]> {
  const names = await readdir(baseFolder(folder)).catch(ifMissing([]))
  const complete = names.filter((name) => /^\d{8}T\d{6}\.\d{3}Z$/.test(name)).sort()
  return Promise.all(complete.map((name) => readBackup(folder, name)))
}

async function readBackup(folder: string, name: string): Promise<BaseBackup> {
  const path = join(baseFolder(folder), name, descriptionName)
  try {
    const stored = JSON.parse(await readFile(path, 'utf8')) as Record<string, never>
    const { startedAt, stoppedAt, start, stop } = stored
    const [began, ended] = [new Date(startedAt ?? ''), new Date(stoppedAt ?? '')]
    if (Number.isNaN(began.getTime()) || Number.isNaN(ended.getTime())) throw new TypeError('its times are invalid')
    const parsed = { ...stored, name, startedAt: began, stoppedAt: ended }
    return { ...parsed, start: BigInt(start ?? ''), stop: BigInt(stop ?? '') } as unknown as BaseBackup
  } catch (error) {
    throw new BackupError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
