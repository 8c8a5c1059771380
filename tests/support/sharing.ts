// Makes statements share connections, independently of the machine's speed, and counts them.
import { StatementStats } from '../../server/common/statement-stats.ts'
import { PipelinedConnection, type SharedRun } from '../../server/postgres/sharing/pipelined-connection.ts'
import { WritePace } from '../../server/postgres/sharing/write-pace.ts'

/** After this call, this process treats every statement of a known shape as fast, or only if `isFast` returns true, and all commits. */
export function trustAllStatements(isFast = () => true): void {
  Object.defineProperties(StatementStats.prototype, {
    isFast: { get: isFast },
    expected: { get: () => 0.1 },
  })
  WritePace.prototype.mayShare = () => true
}

export type SharedRuns = {
  /** Statements that ran on shared connections, by kind. */
  readonly reads: number
  readonly writes: number
  /** Those that were sent behind another one that had not been answered. */
  readonly behind: number
  /** Those that waited for a connection of the pool together. */
  readonly waited: number
}

/** Counts what this process runs on shared connections from this call on. */
export function countSharedRuns(): SharedRuns {
  const counts = { reads: 0, writes: 0, behind: 0, waited: 0 }
  // Replaced for the rest of the process.
  const add: (run: SharedRun) => void = Reflect.get<PipelinedConnection, 'add'>(PipelinedConnection.prototype, 'add')
  PipelinedConnection.prototype.add = function (run) {
    counts[run.kind === 'read' ? 'reads' : 'writes']++
    if (this.expectedWait > 0) counts.behind++
    if (this.isWaiting) counts.waited++
    add.call(this, run)
  }
  return counts
}
