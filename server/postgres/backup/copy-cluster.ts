// Copies the data folder of a running server, as the documentation of the low-level API for backups describes it.
// https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { syncFolder } from '../../common/sync-folder.ts'
import { ifMissing } from '../embedded/missing-file.ts'
import { BackupError } from './backup-error.ts'
import { inParallel } from '../../common/in-parallel.ts'
import type { ManifestFile } from './backup-manifest.ts'

/** Folders whose contents a backup leaves out, because the server writes them again when it starts. */
const emptied: ReadonlySet<string> = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const leftOut =
  /^(?:postmaster\.(?:pid|opts)|backup_label(?:\.old)?|tablespace_map(?:\.old)?|backup_manifest|current_logfiles|postgresql\.auto\.conf\.tmp|(?:recovery|standby)\.signal)$/
const temporary = /^(?:pgsql_tmp|pg_internal\.init)/
const controlFile = 'global/pg_control'

const chunkSize = 256 * 1024

/**
 * Copies all files except the write-ahead log. Files may change or vanish meanwhile; recovery repairs them.
 *
 * @param target folder to create
 * @throws BackupError when the database has tablespaces; the operating system's error
 */
export async function copyCluster(
  cluster: string,
  target: string,
  signal?: AbortSignal,
): Promise<readonly ManifestFile[]> {
  const paths = await listFiles(cluster, target, '')
  const copied: ManifestFile[] = []
  await inParallel(
    paths.filter((path) => path !== controlFile),
    async (path) => {
      signal?.throwIfAborted()
      const file = await copyFile(cluster, target, path)
      if (file) copied.push(file)
    },
  )
  // Last, so that the copied files are never newer than the checkpoint that recovery begins with.
  copied.push(await copyControlFile(cluster, target))
  return copied.sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** The files below a folder. Creates its subfolders in the target. */
async function listFiles(cluster: string, target: string, folder: string): Promise<string[]> {
  await mkdir(join(target, folder), { mode: 0o700, recursive: true })
  const paths: string[] = []
  for (const entry of await readdir(join(cluster, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (folder === 'pg_tblspc' && !entry.isFile()) {
      throw new BackupError(
        `The database has a tablespace (${path}), which \`rowhouse backup\` does not support. Use pg_basebackup.`,
      )
    }
    if ((folder === '' && leftOut.test(entry.name)) || temporary.test(entry.name)) continue
    if (entry.isFile()) paths.push(path)
    else if (entry.isDirectory() && emptied.has(path)) await mkdir(join(target, path), { mode: 0o700 })
    else if (entry.isDirectory()) paths.push(...(await listFiles(cluster, target, path)))
  }
  return paths
}

/** Copies a file. Undefined if it was removed meanwhile. */
async function copyFile(cluster: string, target: string, path: string): Promise<ManifestFile | undefined> {
  const source = await open(join(cluster, path), 'r').catch(ifMissing(undefined))
  if (!source) return undefined
  try {
    const { mtime } = await source.stat()
    const hash = createHash('sha256')
    const copy = await open(join(target, path), 'wx', 0o600)
    try {
      const buffer = Buffer.allocUnsafe(chunkSize)
      let size = 0
      for (;;) {
        const { bytesRead } = await source.read(buffer, 0, chunkSize, size)
        if (bytesRead === 0) break
        const bytes = buffer.subarray(0, bytesRead)
        hash.update(bytes)
        await copy.writeFile(bytes)
        size += bytesRead
      }
      await copy.sync()
      return { path, size, modified: mtime, checksum: hash.digest('hex') }
    } finally {
      await copy.close()
    }
  } finally {
    await source.close()
  }
}

/** Reads the control file until it is the same twice, because the server may be writing it. */
async function copyControlFile(cluster: string, target: string): Promise<ManifestFile> {
  const source = join(cluster, controlFile)
  let bytes = await readFile(source)
  for (;;) {
    await pause(5)
    const next = await readFile(source)
    if (next.equals(bytes)) break
    bytes = next
  }
  const { mtime } = await stat(source)
  return writeCopied(target, controlFile, bytes, mtime)
}

/** Writes a file of a backup. */
export async function writeCopied(
  target: string,
  path: string,
  bytes: string | Uint8Array,
  modified: Date,
): Promise<ManifestFile> {
  const copy = await open(join(target, path), 'wx', 0o600)
  try {
    await copy.writeFile(bytes)
    await copy.sync()
  } finally {
    await copy.close()
  }
  const content = Buffer.from(bytes)
  return { path, size: content.length, modified, checksum: createHash('sha256').update(content).digest('hex') }
}

/** Flushes the folders of a copy to disk. */
export async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name))
  }
  await syncFolder(folder)
}
