// How far the archive of the write-ahead log is, for metrics, the admin server and `rowhouse doctor`.

/** What a receiver has done since it was started. Plain data: worker processes get it as a message. */
export type ArchiveStatus = {
  /** Whether the server's stream is open, and everything that arrives can be written. */
  readonly isConnected: boolean
  /** Why the last attempt failed; undefined while the archive is connected. */
  readonly error?: string | undefined
  /** Everything that was committed before this time is in the archive and on disk. Milliseconds since 1970; null when that is not known. */
  readonly until: number | null
  /** The position of the log up to which the archive is on disk, `0/1A2B3C4`; null before it is known. */
  readonly position: string | null
  /** Bytes of the log that the server has and the archive lacks, when the server was asked last. */
  readonly behind: number
  /** Bytes that were written, those that repeat what the archive had included. */
  readonly bytes: number
  /** Segments that were completed. */
  readonly segments: number
  /** Attempts that failed, and gaps that were found. */
  readonly failures: number
  readonly gaps: number
  /** When the receiver was started, in milliseconds since 1970. */
  readonly startedAt: number
}

/** The status of a receiver that has only been started. */
export const startedStatus = (now: number): ArchiveStatus => ({
  isConnected: false,
  until: null,
  position: null,
  behind: 0,
  bytes: 0,
  segments: 0,
  failures: 0,
  gaps: 0,
  startedAt: now,
})

/** Seconds for which the archive is complete at least every time, unless it is behind. The time is noted every five seconds. */
export const usualAge = 30

/** Seconds since the time up to which the archive is complete; since the start if that is not known. */
export const archiveAge = ({ until, startedAt }: Pick<ArchiveStatus, 'until' | 'startedAt'>, now: number): number =>
  Math.max(0, (now - (until ?? startedAt)) / 1000)

/**
 * - `archiving`: what is committed arrives within seconds
 * - `behind`: the archive is connected, and lacks what was committed in the last half minute, or more
 * - `stopped`: nothing arrives
 */
export type ArchiveCondition = 'archiving' | 'behind' | 'stopped'

export function archiveConditionOf(status: ArchiveStatus, now: number): ArchiveCondition {
  if (!status.isConnected) return 'stopped'
  return archiveAge(status, now) > usualAge ? 'behind' : 'archiving'
}
