// Makes statements share connections on a machine of any speed.
import { StatementStats } from '../../server/common/statement-stats.ts'

/** From now on every statement whose shape is known is taken for a brief one, in this process. */
export function trustAllStatements(): void {
  Object.defineProperties(StatementStats.prototype, {
    isFast: { get: () => true },
    expected: { get: () => 0.1 },
  })
}
