// Positions in the write-ahead log of a cluster.
// https://www.postgresql.org/docs/current/datatype-pg-lsn.html

/** A position, with the timeline that it belongs to: after a failover, equal numbers may mean different data. */
export type WalPosition = {
  /** Each promotion of a standby begins a new timeline, with a greater number. */
  readonly timeline: number
  /** Log sequence number: bytes since the beginning of the log. */
  readonly lsn: bigint
}

const largestTimeline = 2 ** 32 - 1

/** A position that no server ever reaches: stands for a write whose position is unknown. */
export const unreachable: WalPosition = { timeline: largestTimeline, lsn: 2n ** 64n - 1n }

/** Parses a log sequence number in Postgres's notation, such as `16/B374D848`; undefined if it is malformed. */
export function parseLsn(text: string): bigint | undefined {
  const [, high, low] = /^([\dA-F]{1,8})\/([\dA-F]{1,8})$/i.exec(text) ?? []
  return high === undefined || low === undefined ? undefined : (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

/** Whether a server whose log has been replayed up to `replayed` has all that was written before `position`. */
export const hasReached = (replayed: WalPosition, position: WalPosition): boolean =>
  replayed.timeline >= position.timeline && replayed.lsn >= position.lsn

/** The later of two positions. */
export function laterPosition(one: WalPosition, other: WalPosition): WalPosition {
  if (one.timeline !== other.timeline) return one.timeline > other.timeline ? one : other
  return one.lsn >= other.lsn ? one : other
}

/** A log sequence number in Postgres's notation. */
export const formatLsn = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffff_ffffn).toString(16).toUpperCase()}`
