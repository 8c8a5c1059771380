// Large bodies are parsed one after the other: each blocks the process for as long as it takes.
import { setImmediate, setTimeout } from 'node:timers/promises'

/** Milliseconds that other requests get at most between two large bodies. */
const longestPause = 100

/** Runs one piece of work at a time, and lets other requests go on between two for as long as the last one took. */
export class ParseQueue {
  #last: Promise<number> = Promise.resolve(0)

  /** Runs `work` when it is its turn; gives what it gives. */
  run<T>(work: () => T): Promise<T> {
    const result = this.#last.then(async (pause) => {
      // A timer alone may be due before what has arrived was looked at.
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
