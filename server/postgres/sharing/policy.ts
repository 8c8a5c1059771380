// When statements share connections: all thresholds, each with the measurement that chose it and the commit that
// reports it, or with the reason where nothing was measured. The setting `db-pool-sharing` switches sharing off.
import { trustPolicy } from '../../common/statement-stats.ts'

export const sharingPolicy = {
  /** When the next run of a statement is expected to be brief, and its result to be small. */
  trust: trustPolicy,

  /**
   * Longest expected duration, in milliseconds. Waking another backend costs about as much as a one-row read: with
   * sharing, one-row reads went from 9,020 to 13,381 requests a second, and CPU from 95 to 64 µs each (eb80a97).
   */
  brief: 0.75,

  /**
   * Longest expected wait for the statements ahead, in milliseconds, while the pool has other connections. Against 1
   * ms, in three rounds of two seconds: insert 4,921 to 6,198, update 5,726 to 7,216, newest 20 rows 5,215 to 6,216
   * requests a second (d9eb3d8).
   */
  shortWait: 2,

  /**
   * The same while the pool has no other connection. Nothing is queued behind a statement that has run for longer. Not
   * measured on its own: a few brief statements, well below what a client notices (since eb80a97).
   */
  longWait: 5,

  /**
   * Milliseconds after which the statements behind the one in front move to other connections, where they simply run again.
   */
  patience: 25,

  /**
   * Milliseconds for which statements join one that waits for a connection of the pool. They have its timeout, by default of ten
   * seconds, so this is short compared to that. Without it, one-row reads fell from 15,000 a second with 64 connections to 5,000
   * with 256: once all connections of the pool were lent to single statements, none could be shared any more.
   */
  gathering: 100,

  /** Longest expected duration, in milliseconds, of the statements that wait together. Not measured: 50 of `brief` milliseconds. */
  longestGathering: 38,

  /**
   * Statements after which a connection returns to the pool, which may have to close it for its age or its stale
   * catalogue. Not measured: large enough to make the cost of taking it again negligible (since 07b9511).
   */
  maxTransactions: 1000,

  /**
   * The same while requests wait for a connection of their own. Not measured: 50 statements of `brief` milliseconds
   * occupy a connection for at most 38 ms (since 07b9511).
   */
  maxTransactionsWhenScarce: 50,
} as const
