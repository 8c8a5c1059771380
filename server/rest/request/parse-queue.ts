// Parses large bodies one at a time, with pauses between them, because parsing blocks the event loop.
import { setImmediate, setTimeout } from 'node:timers/promises'

/** Maximum pause between two large bodies, in milliseconds. */
const longestPause = 100

/** Runs one function at a time. Pauses for as long as the previous one took, so that other requests are served. */
export class ParseQueue {
  #last: Promise<number> = Promise.resolve(0)

  /** Runs `work` after all earlier work, and resolves to its result. */
  run<T>(work: () => T): Promise<T> {
    const result = this.#last.then(async (pause) => {
      // A timer may fire before received data is processed, so `setImmediate` follows.
      if (pause > 0) await setTimeout(Math.min(pause, longestPause))
      await setImmediate()
      const start = performance.now()
      try {
        return { value: work(), took: performance.now() - start }
      } catch (error) {
        return { error, took: performance.now() - start }
      }
    })
    this.#last = result.then(({ took }) => took)
    return result.then((outcome) => {
      if ('error' in outcome) throw outcome.error
      return outcome.value
    })
  }
}
