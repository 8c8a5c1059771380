// Names of the files of the write-ahead log, and the history of timelines.
// https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES

const timelineDigits = (timeline: number): string => timeline.toString(16).toUpperCase().padStart(8, '0')

/** The beginning of the segment that contains a position. */
export const segmentStart = (lsn: bigint, segmentSize: number): bigint => lsn - (lsn % BigInt(segmentSize))

/** Name of the segment of `timeline` that contains a position. */
export function segmentName(timeline: number, lsn: bigint, segmentSize: number): string {
  const perLog = 0x1_0000_0000n / BigInt(segmentSize)
  const number = lsn / BigInt(segmentSize)
  const part = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, '0')
  return `${timelineDigits(timeline)}${part(number / perLog)}${part(number % perLog)}`
}

export type SegmentFile = {
  readonly name: string
  readonly timeline: number
  /** Log sequence number of the first byte. */
  readonly start: bigint
  /** Whether the segment was not complete when it was written last; `name` then ends with `.partial`. */
  readonly isPartial: boolean
}

/** Ends the name of a segment that is not complete. pg_receivewal uses the same. */
export const partialSuffix = '.partial'

/** Undefined for the name of any other file. */
export function parseSegmentName(name: string, segmentSize: number): SegmentFile | undefined {
  const [, timeline, log, part, partial] = /^([\dA-F]{8})([\dA-F]{8})([\dA-F]{8})(\.partial)?$/.exec(name) ?? []
  if (timeline === undefined || log === undefined || part === undefined) return undefined
  const perLog = 0x1_0000_0000n / BigInt(segmentSize)
  const number = BigInt(`0x${log}`) * perLog + BigInt(`0x${part}`)
  return {
    name,
    timeline: Number.parseInt(timeline, 16),
    start: number * BigInt(segmentSize),
    isPartial: partial !== undefined,
  }
}

/** Name of the file with the ancestors of a timeline. The first timeline has none. */
export const historyName = (timeline: number): string => `${timelineDigits(timeline)}.history`

/** A part of the log: `timeline` from the end of the part before, up to `end`, which is undefined for the last one. */
export type TimelinePart = { readonly timeline: number; readonly end: bigint | undefined }

/**
 * The log of a timeline from its beginning, as its history file describes it.
 *
 * @param text of the history file; empty for the first timeline
 */
export function parseHistory(timeline: number, text: string): readonly TimelinePart[] {
  const ancestors = text.split('\n').flatMap((line): TimelinePart[] => {
    const [, parent, high, low] = /^\s*(\d+)\s+([\dA-F]{1,8})\/([\dA-F]{1,8})/i.exec(line) ?? []
    if (parent === undefined) return []
    return [{ timeline: Number(parent), end: (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`) }]
  })
  return [...ancestors, { timeline, end: undefined }]
}
