// Counts since the start of the process, for metrics.

/** Why a socket was closed or refused by the server, or a message dropped. */
export type RealtimeDrop =
  | 'too many connections'
  | 'overloaded'
  | 'cross-site'
  | 'invalid token'
  | 'too many messages'
  | 'too many bytes'
  | 'too many joins'
  | 'too many channels'
  | 'too many presence messages'
  | 'broken frame'
  | 'payload too large'
  | 'slow client'
  | 'silent client'
  | 'no channel'
  | 'session ended'
  | 'token expired'
  | 'settings changed'
  | 'not permitted'
  | 'not relayed'
  | 'crowded topic'

export class RealtimeStatistics {
  sockets = 0
  channels = 0
  /** Messages from clients. */
  received = 0
  /** Broadcasts from clients, requests and the database. */
  broadcasts = 0
  /** Row changes sent to clients. */
  changes = 0
  /** Messages sent to clients, of every kind. */
  delivered = 0
  joins = 0
  readonly drops = new Map<RealtimeDrop, number>()

  drop(reason: RealtimeDrop): void {
    this.drops.set(reason, (this.drops.get(reason) ?? 0) + 1)
  }
}

/** What is done with the log. */
export type LogFigures = {
  readonly isReading: boolean
  readonly lagBytes: number
  readonly lagSeconds: number
  /** Subscriptions to row changes. */
  readonly subscribers: number
  /** Bytes of the changes that are kept for clients that come back. */
  readonly bufferedBytes: number
  /** Statements that have evaluated policies, and the rows that they were for. */
  readonly checks: number
  readonly checkedRows: number
}

export type RealtimeFigures = {
  readonly counts: RealtimeStatistics
  /** Undefined before the first socket or request. */
  readonly log: LogFigures | undefined
}
