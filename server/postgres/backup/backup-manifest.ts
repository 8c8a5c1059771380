// The list of a backup's files with their checksums, in PostgreSQL's format, which pg_verifybackup reads.
// https://www.postgresql.org/docs/current/backup-manifest-format.html
import { createHash } from 'node:crypto'
import { open, readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { formatLsn } from '../../common/wal-position.ts'
import { BackupError } from './backup-error.ts'
import { inParallel } from '../../common/in-parallel.ts'

export type ManifestFile = {
  /** Relative to the data folder, with slashes. */
  readonly path: string
  readonly size: number
  readonly modified: Date
  /** SHA-256, hexadecimal. */
  readonly checksum: string
}

export type Manifest = {
  readonly systemIdentifier: string
  readonly files: readonly ManifestFile[]
  readonly timeline: number
  readonly start: bigint
  readonly stop: bigint
}

export const manifestName = 'backup_manifest'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The text of the file. */
export function writeManifest({ systemIdentifier, files, timeline, start, stop }: Manifest): string {
  const lines = files.map(({ path, size, modified, checksum }) =>
    JSON.stringify({
      Path: path,
      Size: size,
      'Last-Modified': `${modified.toISOString().slice(0, 19).replace('T', ' ')} GMT`,
      'Checksum-Algorithm': 'SHA256',
      Checksum: checksum,
    }),
  )
  const range = { Timeline: timeline, 'Start-LSN': formatLsn(start), 'End-LSN': formatLsn(stop) }
  const text =
    `{ "PostgreSQL-Backup-Manifest-Version": 2,\n"System-Identifier": ${systemIdentifier},\n` +
    `"Files": [\n${lines.join(',\n')}\n],\n"WAL-Ranges": [\n${JSON.stringify(range)}\n],\n`
  return `${text}"Manifest-Checksum": "${sha256(text)}"}\n`
}

type Entry = { readonly Path: string; readonly Size: number; readonly Checksum: string }

/** @throws BackupError when the manifest is missing or damaged */
async function readManifest(cluster: string): Promise<readonly Entry[]> {
  const path = join(cluster, manifestName)
  const damaged = (cause?: unknown): BackupError => new BackupError(`${path} is missing or damaged.`, { cause })
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw damaged(error)
  })
  const last = text.lastIndexOf('"Manifest-Checksum"')
  const [, checksum] = /"Manifest-Checksum": "([\da-f]{64})"/.exec(text.slice(last)) ?? []
  if (last < 0 || checksum !== sha256(text.slice(0, last))) throw damaged()
  try {
    return (JSON.parse(text) as { readonly Files: readonly Entry[] }).Files
  } catch (error) {
    throw damaged(error)
  }
}

/** SHA-256 and size of a file. */
async function checksumOf(path: string): Promise<{ readonly checksum: string; readonly size: number }> {
  const hash = createHash('sha256')
  const file = await open(path)
  try {
    let size = 0
    const buffer = Buffer.allocUnsafe(256 * 1024)
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, size)
      if (bytesRead === 0) return { checksum: hash.digest('hex'), size }
      hash.update(buffer.subarray(0, bytesRead))
      size += bytesRead
    }
  } finally {
    await file.close()
  }
}

/** The files of the write-ahead log have checksums of their own in each record. */
const isChecked = (path: string): boolean => path !== manifestName && !path.startsWith('pg_wal/')

/**
 * Compares the files of a backup with its manifest.
 *
 * @param cluster data folder of the backup
 * @throws BackupError that names the first file that is missing, damaged, or not in the manifest
 */
export async function verifyManifest(cluster: string): Promise<void> {
  const expected = new Map((await readManifest(cluster)).map((entry) => [entry.Path, entry]))
  const entries = await readdir(cluster, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(cluster, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter(isChecked)
  await inParallel(paths, async (path) => {
    const wanted = expected.get(path)
    if (!wanted) throw new BackupError(`The backup ${cluster} is damaged: ${path} is not in its manifest.`)
    const found = await checksumOf(join(cluster, path))
    if (found.size !== wanted.Size || found.checksum !== wanted.Checksum) {
      throw new BackupError(`The backup ${cluster} is damaged: ${path} has changed since it was written.`)
    }
    expected.delete(path)
  })
  const [missing] = expected.keys()
  if (missing !== undefined) throw new BackupError(`The backup ${cluster} is damaged: ${missing} is missing.`)
}
