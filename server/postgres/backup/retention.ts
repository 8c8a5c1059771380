// Removes old backups, and the write-ahead log that no backup needs any more.
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../common/sync-folder.ts'
import { baseFolder, listBackups, type BaseBackup } from './base-backup.ts'
import { listSegments, readArchive, walFolder } from './wal-archive.ts'
import type { SegmentFile } from './wal-segment.ts'

/**
 * Whether a restore may need a segment: it begins with a backup, and follows its timeline or a later one.
 *
 * @param kept the backups that remain
 */
export const isNeeded = (
  segment: Pick<SegmentFile, 'timeline' | 'start'>,
  segmentSize: number,
  kept: readonly Pick<BaseBackup, 'timeline' | 'start'>[],
): boolean =>
  kept.some(({ timeline, start }) => segment.timeline >= timeline && segment.start + BigInt(segmentSize) > start)

/**
 * Keeps the newest backups.
 *
 * @param keep at least 1
 * @returns the number of backups and of segments that were removed
 * @throws the operating system's error
 */
export async function removeOldBackups(
  folder: string,
  keep: number,
): Promise<{ readonly backups: number; readonly segments: number }> {
  const backups = await listBackups(folder)
  const kept = backups.slice(-keep)
  const old = backups.slice(0, -keep)
  const base = baseFolder(folder)
  for (const { name } of old) {
    // A backup that is removed only in part must not look complete.
    const removed = join(base, `${name}.partial`)
    await rename(join(base, name), removed)
    await syncFolder(base)
    await rm(removed, { recursive: true, force: true })
  }
  const archive = await readArchive(folder)
  if (!archive || kept.length === 0) return { backups: old.length, segments: 0 }
  const { segmentSize } = archive
  const segments = (await listSegments(folder, segmentSize)).filter(
    (segment) => !segment.isPartial && !isNeeded(segment, segmentSize, kept),
  )
  for (const { name } of segments) await rm(join(walFolder(folder), name), { force: true })
  return { backups: old.length, segments: segments.length }
}
