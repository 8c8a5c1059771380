// When statements share connections. All figures that decide it, each with the measurement that chose it and the
// commit that reports it; or, where none was made, with the reason. The setting `db-pool-sharing` switches sharing off, for writes or altogether.
import { trustPolicy } from '../../common/statement-stats.ts'

export const sharingPolicy = {
  /** How a statement earns the trust that its next run will be brief and its result small. */
  trust: trustPolicy,

  /**
   * Milliseconds that a statement may be expected to take. Waking another backend costs about as much as a one-row read
   * takes: with sharing, one-row reads went from 9,020 to 13,381 requests a second, and CPU from 95 to 64 µs each (eb80a97).
   */
  brief: 0.75,

  /**
   * Milliseconds that a statement may be expected to wait for those ahead of it, as long as the pool has other connections.
   * Against 1 ms, in three rounds of two seconds: insert 4,921 to 6,198, update 5,726 to 7,216, newest 20 rows 5,215 to
   * 6,216 requests a second (d9eb3d8).
   */
  shortWait: 2,

  /**
   * The same while the pool has no other connection. Also the time after which a running statement takes no others behind
   * it. Not measured on its own: a few brief statements, well below what a client notices (since eb80a97).
   */
  longWait: 5,

  /**
   * Milliseconds after which the statement in front holds up those behind it, which are then moved. A loaded machine
   * starves a single backend for 100 ms at times (seen in /proc/PID/schedstat, cc2fe65), and a write can be moved only
   * after its gate was closed; reads are simply run again.
   */
  patience: { read: 25, write: 100 },

  /**
   * Statements after which a connection is given back, because the pool may have to close it for its age or its stale
   * catalogue. Not measured: large enough that taking it again does not count (since 07b9511).
   */
  maxTransactions: 1000,

  /**
   * The same while requests wait for a connection of their own. Not measured: 50 statements of `brief` milliseconds keep
   * a connection for 38 ms at most (since 07b9511).
   */
  maxTransactionsWhenScarce: 50,

  /**
   * See `gate.ts`. Not measured: apart from `stock` they are times for faults, short next to ten seconds, the default
   * of `db-pool-acquisition-timeout` (since 07b9511).
   */
  gates: {
    /** Gates that are opened in one round trip; more are opened when less than half of them are left. */
    stock: 4,
    /** Milliseconds until a lost connection is replaced. */
    pause: 1000,
    /** Milliseconds until gates that are not in use are given up, and their connection with them. */
    longestIdle: 30_000,
    /** Milliseconds without gates after a failure: statements then have connections of their own. */
    longPause: 10_000,
    /** Milliseconds that the server has to close a gate. Then the connection is given up, and another one tries. */
    closingTime: 1000,
    /** Milliseconds between two attempts to close a gate that an ended session may still keep open. */
    closingPause: 20,
  },
} as const
