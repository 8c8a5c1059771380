// Makes statements share connections on a machine of any speed.
import { RunHistory } from '../../server/common/run-history.ts'

/** From now on every statement whose shape is known is taken for a brief one, in this process. */
export function trustAllStatements(): void {
  Object.defineProperties(RunHistory.prototype, {
    isTrusted: { get: () => true },
    expected: { get: () => 0.1 },
  })
}
