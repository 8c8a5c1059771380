// The archive of the embedded database's write-ahead log while the server runs.
import { resolve } from 'node:path'
import { listBackups } from '../postgres/backup/base-backup.ts'
import type { ArchiveStatus } from '../postgres/backup/archive-status.ts'
import { dropSlot } from '../postgres/backup/backup-slot.ts'
import { startReceiver } from '../postgres/backup/wal-receiver.ts'
import { withClient } from '../postgres/connection/client.ts'
import type { EmbeddedDatabase } from '../postgres/embedded/embedded.ts'
import { toPoolConfig } from './connection-setting.ts'
import type { Log } from './operations/log.ts'

export type ServedArchive = {
  /** How far the archive is; undefined without an archive. */
  readonly status: (() => ArchiveStatus) | undefined
  /** Stops the database, after everything that it has committed is in the archive. */
  readonly stop: () => Promise<void>
}

/**
 * Starts the archive, if there is to be one. Without, the database no longer keeps its log for it.
 *
 * @param folder backup folder; null for none
 */
export async function startArchive(
  embedded: EmbeddedDatabase,
  folder: string | null,
  log: Log,
): Promise<ServedArchive> {
  if (folder === null) {
    const wasArchived = await withClient(toPoolConfig(embedded.adminUri, {}), dropSlot)
    if (wasArchived) {
      const message =
        'BACKUP_DIR is not set any more: the write-ahead log is no longer archived. If you set it again, run rowhouse backup.'
      log.write({ kind: 'warning', message })
    }
    return { status: undefined, stop: () => embedded.stop() }
  }
  const path = resolve(folder)
  const receiver = startReceiver({
    uri: embedded.adminUri,
    folder: path,
    onEvent: (change) => {
      log.write({ kind: 'wal-archive', folder: path, change })
      if (change.kind === 'archiving') void warnWithoutBackup(path, log)
    },
  })
  return {
    status: receiver.status,
    stop: async () => {
      await receiver.finish()
      await embedded.stop()
      await receiver.finished()
    },
  }
}

async function warnWithoutBackup(folder: string, log: Log): Promise<void> {
  // A backup that cannot be read is reported by the command that needs it.
  const backups = await listBackups(folder).catch(() => [undefined])
  if (backups.length > 0) return
  const message = `There is no backup in ${folder} yet, and the archived log is of no use without: run rowhouse backup`
  log.write({ kind: 'warning', message })
}
