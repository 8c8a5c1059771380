// Waiting for a state in place of a time, so that a test passes on a machine that is busy with other things, too.
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds after which a state is taken never to come: below the time limit of a test file. */
const longest = 60_000

/**
 * Asks again and again whether something is so.
 *
 * @returns whether it became so within a minute
 */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < longest; await pause(10)) {
    if (await isSo()) return true
  }
  return isSo()
}
