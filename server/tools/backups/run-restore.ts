// `rowhouse restore --to TIME`: the embedded database as it was at a moment, and the bytes of stored objects.
import { resolve } from 'node:path'
import { parseRestoreTime } from '../../postgres/backup/restore-time.ts'
import { restoreCluster, type Restored } from '../../postgres/backup/restore-cluster.ts'
import { copyObjects } from './stored-objects.ts'
import { objectsFolder, type BackupSettings } from './run-backup.ts'

/**
 * @param folder backup folder
 * @param to a time with its zone, or `latest`
 * @returns what was restored, and how many stored objects were missing
 * @throws BackupError, FolderInUse, EmbeddedDatabaseError, the operating system's error
 */
export async function runRestore(
  config: BackupSettings,
  { folder, to, log }: { readonly folder: string; readonly to: string; readonly log: (message: string) => void },
): Promise<Restored & { readonly objects: number }> {
  const path = resolve(folder)
  const continuesArchive = config.backupDir !== null && resolve(config.backupDir) === path
  const { dataDir } = config
  const restored = await restoreCluster({ dataDir, folder: path, to: parseRestoreTime(to), continuesArchive, log })
  const store = objectsFolder(config)
  const { copied } = store === null ? { copied: 0 } : await copyObjects(path, store)
  return { ...restored, objects: copied }
}
