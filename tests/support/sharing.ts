// Makes statements share connections, independently of the machine's speed.
import { StatementStats } from '../../server/common/statement-stats.ts'

/** After this call, this process treats every statement of a known shape as fast. */
export function trustAllStatements(): void {
  Object.defineProperties(StatementStats.prototype, {
    isFast: { get: () => true },
    expected: { get: () => 0.1 },
  })
}
