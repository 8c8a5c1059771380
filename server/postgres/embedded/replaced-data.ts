// Replaces the database of a data folder by another one, so that a kill at any moment leaves one of the two in place. What
// is replaced is moved aside, never removed.
import { chmod, mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../../common/sync-folder.ts'
import { clusterName } from './cluster.ts'
import { ifMissing, pathExists } from './missing-file.ts'
import { replacePrivate } from './private-file.ts'

const journalName = 'replacing.json'

export type Replacement = {
  /** Folder in the data folder whose entries replace those of the same name. */
  readonly staged: string
  /** Folder in the data folder for what they replace. */
  readonly aside: string
}

/** Begins the name of a folder for what will replace the database. */
const stagedPrefix = 'replacement-'

/**
 * Creates the folder for what will replace the database. Removes what interrupted processes have left in others.
 *
 * @param reason such as `restore`, for the name of the folder with what is replaced
 */
export async function stage(dataDir: string, reason: string): Promise<Replacement> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(stagedPrefix)) continue
    // The database itself may be in another folder, which the user that runs Postgres can enter.
    const cluster = await realpath(join(dataDir, name, clusterName)).catch(() => undefined)
    if (cluster !== undefined && !cluster.startsWith(dataDir)) {
      await rm(dirname(cluster), { recursive: true, force: true })
    }
    await rm(join(dataDir, name), { recursive: true, force: true })
  }
  const stamp = new Date().toISOString().replace(/[-:]/g, '')
  const replacement = { staged: `${stagedPrefix}${stamp}`, aside: `before-${reason}-${stamp}` }
  await mkdir(join(dataDir, replacement.staged))
  // Regardless of the umask: the user that runs Postgres for root must be able to pass.
  await chmod(join(dataDir, replacement.staged), 0o711)
  return replacement
}

/**
 * Replaces entries of the data folder, which this process has locked. As soon as this was begun, the next start completes it.
 *
 * @throws the operating system's error
 */
export async function replaceData(dataDir: string, replacement: Replacement): Promise<void> {
  await syncFolder(join(dataDir, replacement.staged))
  await syncFolder(dataDir)
  await replacePrivate(join(dataDir, journalName), JSON.stringify(replacement))
  await syncFolder(dataDir)
  await finishReplacing(dataDir)
}

/** Completes a replacement that was interrupted, if there is one. */
export async function finishReplacing(dataDir: string): Promise<void> {
  const journal = join(dataDir, journalName)
  const text = await readFile(journal, 'utf8').catch(ifMissing(null))
  if (text === null) return
  const { staged, aside } = JSON.parse(text) as Replacement
  await mkdir(join(dataDir, aside), { recursive: true, mode: 0o711 })
  const names = await readdir(join(dataDir, staged)).catch(ifMissing([]))
  for (const name of names) {
    const [place, kept] = [join(dataDir, name), join(dataDir, aside, name)]
    if (!(await pathExists(kept))) await rename(place, kept).catch(ifMissing(undefined))
    await rename(join(dataDir, staged, name), place)
  }
  await syncFolder(join(dataDir, aside))
  await syncFolder(dataDir)
  await rm(join(dataDir, staged), { recursive: true, force: true })
  await rm(journal)
  await syncFolder(dataDir)
}
