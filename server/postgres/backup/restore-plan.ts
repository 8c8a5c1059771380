// Chooses the backup, the timeline and the segments of the log that lead to a time.
import { BackupError } from './backup-error.ts'
import type { BaseBackup } from './base-backup.ts'
import type { RestoreTime } from './restore-time.ts'
import type { ArchivedTimeline, ArchiveState } from './wal-archive.ts'
import { segmentName, segmentStart, type SegmentFile, type TimelinePart } from './wal-segment.ts'

export type RestoreSources = {
  readonly folder: string
  readonly backups: readonly BaseBackup[]
  /** Null without an archive of the log. */
  readonly archive: ArchiveState | null
  readonly segments: readonly SegmentFile[]
  /** The parts of the log that lead to a timeline of the archive. */
  readonly historyOf: (timeline: number) => readonly TimelinePart[]
}

export type RestorePlan = {
  readonly backup: BaseBackup
  /** Undefined without an archive: the backup alone is restored. */
  readonly timeline: number | undefined
  /** Where to stop. Undefined: at the end of the log. */
  readonly until: RestoreTime | undefined
  /** Files of the archive that recovery reads. */
  readonly segments: readonly SegmentFile[]
  /** Name of the first segment that is missing before the end of the log. */
  readonly missing: string | undefined
}

const words = (time: Date): string => time.toISOString()

/**
 * @param to undefined for the latest state
 * @throws BackupError when the time is before the first backup, or after the end of the log
 */
export function planRestore(to: RestoreTime | undefined, sources: RestoreSources): RestorePlan {
  const { folder, backups, archive } = sources
  const [first] = backups
  if (!first) throw new BackupError(`There is no complete backup in ${folder}. \`rowhouse backup\` makes one.`)
  if (!archive) return withoutArchive(to, sources)
  const { timeline, until } = chooseTimeline(to, archive)
  const history = sources.historyOf(timeline)
  const usable = backups.filter((backup) => leadsTo(backup, history))
  const backup = usable.filter(({ stoppedAt }) => !to || stoppedAt <= to.time).at(-1)
  if (!backup) {
    const [oldest = first] = usable
    throw new BackupError(
      `There is no backup before ${to?.text ?? 'the end of the log'}: the first one that leads there is of ${words(oldest.stoppedAt)}.`,
    )
  }
  const { segments, missing } = chooseSegments(backup, history, sources.segments)
  if (missing !== undefined && until === undefined) {
    throw new BackupError(
      `The archive in ${folder} lacks the segment ${missing} of the log after the last backup. ` +
        'A time before it was written can be restored with --to TIME.',
    )
  }
  return { backup, timeline, until, segments, missing }
}

function withoutArchive(to: RestoreTime | undefined, { folder, backups }: RestoreSources): RestorePlan {
  const backup = backups.at(-1)
  if (!backup) throw new BackupError(`There is no complete backup in ${folder}.`)
  if (to) {
    throw new BackupError(
      `${folder} has backups, but no archive of the log, so only \`--to latest\` is possible: the state of ${words(backup.stoppedAt)}. ` +
        'The server keeps an archive if BACKUP_DIR is set.',
    )
  }
  return { backup, timeline: undefined, until: undefined, segments: [], missing: undefined }
}

/** The timeline that the service wrote at a time: after a restore, the log of the abandoned one remains. */
function chooseTimeline(
  to: RestoreTime | undefined,
  archive: ArchiveState,
): Pick<ArchivedTimeline, 'timeline'> & Pick<RestorePlan, 'until'> {
  const timelines = writtenTimelines(archive)
  const last = timelines.at(-1)
  const [first] = timelines
  if (!last || !first) throw new BackupError('The archive of the log is empty.')
  if (!to) return { timeline: last.timeline, until: undefined }
  const current = timelines.filter(({ since }) => since <= to.time).at(-1) ?? first
  const isAfterEnd = current.until === null || to.time > current.until
  if (isAfterEnd && current === last) {
    throw new BackupError(
      `--to ${to.text} is after the end of the archive` +
        `${current.until ? `, which is complete until ${words(current.until)}` : ''}. \`--to latest\` restores all of it.`,
    )
  }
  // The log may go on after the end, which is noted now and then. Without a later transaction, recovery restores all of it.
  return { timeline: current.timeline, until: to }
}

/**
 * The timelines without those of restores that were interrupted before they took effect, or after which the server was never
 * started.
 */
const writtenTimelines = ({ timelines }: ArchiveState): readonly ArchivedTimeline[] =>
  timelines.filter(({ since, until }, index) => index === 0 || until === null || until > since)

/** Whether recovery can follow the timeline from the backup on. */
const leadsTo = ({ timeline, stop }: BaseBackup, history: readonly TimelinePart[]): boolean =>
  history.some((part) => part.timeline === timeline && (part.end === undefined || stop <= part.end))

/** The segments from the beginning of the backup on. */
function chooseSegments(
  { start, stop, segmentSize }: BaseBackup,
  history: readonly TimelinePart[],
  available: readonly SegmentFile[],
): Pick<RestorePlan, 'segments' | 'missing'> {
  const known = new Map(available.map((segment) => [segment.name.slice(0, 24), segment]))
  const timeline = history.at(-1)?.timeline ?? 1
  const end = available.filter((segment) => segment.timeline === timeline).at(-1)
  const segments: SegmentFile[] = []
  const last = end?.start ?? segmentStart(stop - 1n, segmentSize)
  let missing: string | undefined
  for (let lsn = segmentStart(start, segmentSize); lsn <= last; lsn += BigInt(segmentSize)) {
    // A new timeline begins with a copy of what its parent wrote to the segment.
    const part = history.find((it) => it.end === undefined || segmentStart(it.end, segmentSize) > lsn)
    const name = segmentName(part?.timeline ?? timeline, lsn, segmentSize)
    const segment = known.get(name)
    if (segment && missing === undefined) segments.push(segment)
    // The backup itself contains the segments up to its end.
    else if (lsn >= stop) missing ??= name
  }
  return { segments, missing }
}
