// Waits for a state instead of a duration, so that tests also pass on a busy machine.
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds after which waiting fails: less than the timeout of a test file. */
const longest = 180_000

/**
 * Polls a condition.
 *
 * @returns whether it became true within three minutes
 */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < longest; await pause(10)) {
    if (await isSo()) return true
  }
  return isSo()
}
