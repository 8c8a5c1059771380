// When statements share connections: all thresholds, each with the measurement that chose it and the commit that
// reports it, or with the reason where nothing was measured. The setting `db-pool-sharing` switches sharing off, for
// writes or altogether.
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
   * Milliseconds after which the statements behind the one in front move to other connections. A loaded machine starves
   * a single backend for 100 ms at times (seen in /proc/PID/schedstat, cc2fe65), and writes can move only after their
   * gate is closed; reads simply run again.
   */
  patience: { read: 25, write: 100 },

  /**
   * Milliseconds for which statements join one that waits for a connection of the pool. They have its timeout, by default of ten
   * seconds, so this is short compared to that. Without it, one-row reads fell from 15,000 a second with 64 connections to 5,000
   * with 256: once all connections of the pool were lent to single statements, none could be shared any more.
   */
  gathering: 100,

  /** Longest expected duration, in milliseconds, of the statements that wait together. Not measured: 50 of `brief` milliseconds. */
  longestGathering: 38,

  /**
   * See `write-pace.ts`. Writes stop sharing when more than `most` of `window` in a row were slow. Chosen by replaying the times of
   * shared writes on a loaded machine: with fast commits none of 1,903 inserts and updates stopped it, and with commits that took a
   * millisecond longer (`commit_delay`) one in 130 did.
   */
  commits: {
    /** Milliseconds, including the commit, above which a write on a shared connection is slow. */
    slow: 0.5,
    /** With 50 writes and 25 slow ones, a starved backend stopped it twice. */
    window: 100,
    most: 50,
    /**
     * Milliseconds until the next attempt: at first, and at most, as it doubles when the next attempt is as short. On a noisy machine with fast commits two of
     * three rounds of inserts lost half their rate (1,268 and 1,412 against 3,106 a second) when each stop took the longest pause.
     */
    pause: { first: 500, longest: 10_000 },
    /** Writes after which an attempt was no short one. */
    lasting: 1000,
  },

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

  /**
   * See `gate.ts`. Not measured: all but `stock` are for failures, and short compared to ten seconds, the default of
   * `db-pool-acquisition-timeout` (since 07b9511).
   */
  gates: {
    /** Gates opened in one round trip; more are opened when less than half of them are left. */
    stock: 4,
    /** Milliseconds until a lost connection is replaced. */
    pause: 1000,
    /** Milliseconds until unused gates are given up, and their connection is closed. */
    longestIdle: 30_000,
    /** Milliseconds without gates after a failure; until then, statements have connections of their own. */
    longPause: 10_000,
    /** Timeout in milliseconds for closing a gate. After it, the connection is given up, and another one tries. */
    closingTime: 1000,
    /** Milliseconds between two attempts to close a gate that a session of a lost connection may still keep open. */
    closingPause: 20,
  },
} as const
