// What a restore adds to the archive: the end of the log of the database that it replaces, and the beginning of the new one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addressesOf, prepareLog, startWithRetries } from '../embedded/embedded.ts'
import { ensureSecrets } from '../embedded/secrets.ts'
import { copyDurably } from './durable-file.ts'
import type { Recovered, RecoveryTools } from './recovery.ts'
import { readArchive, walFolder, writeArchive, type ArchiveState } from './wal-archive.ts'
import { startReceiver } from './wal-receiver.ts'
import { historyName, parseHistory, segmentName, segmentStart } from './wal-segment.ts'
import { archiveBytes } from './wal-writer.ts'

type ExistingOptions = RecoveryTools & { readonly dataDir: string; readonly folder: string }

/**
 * Adds to the archive what the database that is about to be replaced has not yet sent there. If it does not start, the
 * archive remains as it is.
 */
export async function archiveRest(
  existing: string,
  { dataDir, folder, binaries, user, log }: ExistingOptions,
): Promise<void> {
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

/**
 * Adds the beginning of the new timeline to the archive. Without it, a later restore would continue with the log of the
 * abandoned timeline.
 */
export async function archiveTimeline(folder: string, cluster: string, recovered: Recovered): Promise<void> {
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
