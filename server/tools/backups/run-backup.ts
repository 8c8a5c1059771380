// `rowhouse backup`: a base backup of the embedded database, with the bytes of stored objects and the secrets.
import { join, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { withClient } from '../../postgres/connection/client.ts'
import { BackupError } from '../../postgres/backup/backup-error.ts'
import { ensureSlot } from '../../postgres/backup/backup-slot.ts'
import { baseFolder, listBackups, makeBackup, type BaseBackup } from '../../postgres/backup/base-backup.ts'
import { removeOldBackups } from '../../postgres/backup/retention.ts'
import { createArchive, readArchive, type ArchiveState } from '../../postgres/backup/wal-archive.ts'
import { describeServer } from '../../postgres/backup/server-description.ts'
import { useEmbedded } from '../../postgres/embedded/embedded.ts'
import type { Client } from '../../postgres/connection/client.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { copyObjects, removeOldObjects, writeObjectList } from './stored-objects.ts'

export type BackupSettings = Pick<Config, 'dataDir' | 'backupDir' | 'storageBackend' | 'storageFileBackendPath'>

export type BackupOptions = {
  /** Backup folder. */
  readonly folder: string
  /** Number of backups to keep; undefined for all. */
  readonly keep: number | undefined
  readonly log: (message: string) => void
}

export type MadeBackup = {
  readonly backup: BaseBackup
  /** Number of stored objects, null if they are on S3, which has to be backed up by itself. */
  readonly objects: number | null
  /** Number of old backups, segments of the log, and objects that were removed. */
  readonly removed: { readonly backups: number; readonly segments: number; readonly objects: number }
}

/** The files in the data folder that belong to the database: its passwords, and the keys of a development server. */
const secretFiles = ['secrets.json', 'jwt-keys.json', 'keys.json'] as const

/** The folder of stored objects; null if they are on S3. */
export const objectsFolder = (config: BackupSettings): string | null =>
  config.storageBackend === 's3' ? null : resolve(config.storageFileBackendPath ?? join(config.dataDir, 'storage'))

/**
 * Makes a backup, whether the server runs or not.
 *
 * @throws BackupError, EmbeddedDatabaseError, the errors of the database and of the operating system
 */
export async function runBackup(config: BackupSettings, options: BackupOptions): Promise<MadeBackup> {
  const { keep, log } = options
  const folder = resolve(options.folder)
  const store = objectsFolder(config)
  const embedded = await useEmbedded({ dataDir: config.dataDir, log })
  try {
    return await withClient(toPoolConfig(embedded.adminUri, {}), async (client) => {
      await lockBackups(client)
      const isArchived = config.backupDir !== null && resolve(config.backupDir) === folder
      if (isArchived) await beginArchive(client, folder)
      // Most objects are copied before the backup, so that few can be removed between its end and their copy.
      if (store !== null) await copyObjects(store, folder)
      let objects: number | null = null
      const backup = await makeBackup(folder, {
        client,
        cluster: embedded.cluster,
        secretFiles: secretFiles.map((name) => join(resolve(config.dataDir), name)),
        beforeEnd: async (draft) => {
          if (store === null) return
          const { names } = await copyObjects(store, folder)
          await writeObjectList(draft, names)
          objects = names.length
        },
      })
      return { backup, objects, removed: await removeOld(folder, store, keep) }
    })
  } finally {
    await embedded.stop()
  }
}

async function removeOld(
  folder: string,
  store: string | null,
  keep: number | undefined,
): Promise<MadeBackup['removed']> {
  if (keep === undefined) return { backups: 0, segments: 0, objects: 0 }
  const removed = await removeOldBackups(folder, keep)
  const backups = (await listBackups(folder)).map(({ name }) => join(baseFolder(folder), name))
  const objects = store === null ? 0 : await removeOldObjects(folder, backups, store)
  return { ...removed, objects }
}

/** Two backups at once would remove each other's files. The lock ends with the connection. */
async function lockBackups(client: Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_lock(hashtextextended('rowhouse backup', 0)) as locked",
  )
  if (rows[0]?.locked !== true) throw new BackupError('Another backup of this database is running.')
}

/** Creates the archive of the log if there is none, so that it has everything from this backup on. */
async function beginArchive(client: Client, folder: string): Promise<void> {
  const found = await readArchive(folder)
  const server = await describeServer(client)
  if (found && found.systemIdentifier !== server.systemIdentifier) {
    throw new BackupError(`${folder} has the backups of another database. Set BACKUP_DIR to another folder.`)
  }
  await ensureSlot(client)
  if (found) return
  const { rows } = await client.query<{ timeline: number }>(
    'select timeline_id as timeline from pg_control_checkpoint()',
  )
  const state: ArchiveState = {
    ...server,
    timelines: [{ timeline: rows[0]?.timeline ?? 1, since: new Date(), until: null }],
  }
  await createArchive(folder, state)
}

export type Backups = {
  readonly backups: readonly BaseBackup[]
  /** Until when the archive of the log is complete; null if there is none. */
  readonly until: Date | null
}

/** What a backup folder contains. */
export async function describeBackups(folder: string): Promise<Backups> {
  const path = resolve(folder)
  const archive = await readArchive(path)
  return { backups: await listBackups(path), until: archive?.timelines.at(-1)?.until ?? null }
}
