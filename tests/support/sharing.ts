// Makes statements share connections, independently of the machine's speed.
import { RunHistory } from '../../server/common/run-history.ts'

/** After this call, this process treats every statement of a known shape as fast. */
export function trustAllStatements(): void {
  Object.defineProperties(RunHistory.prototype, {
    isTrusted: { get: () => true },
    expected: { get: () => 0.1 },
  })
}
