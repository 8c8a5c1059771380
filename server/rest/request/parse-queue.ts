// Parses large bodies one at a time, with pauses between them, because parsing blocks the event loop.
import { setImmediate, setTimeout } from 'node:timers/promises'

/** Maximum pause between two large bodies, in milliseconds. */
const longestPause = 100
/** Milliseconds of work after which other requests are served. */
const longestPart = 5

/** Runs one function at a time. Pauses for as long as the previous one took, so that other requests are served. */
export class ParseQueue {
  #last: Promise<number> = Promise.resolve(0)

  /** Runs `work` after all earlier work, and resolves to its result. */
  run<T>(work: () => T): Promise<Awaited<T>> {
    // In an object, because the queue does not wait for a promise that the work returns.
    const result = this.#after(() => Promise.resolve({ value: work() })).then(({ value }) => value)
    return result as Promise<Awaited<T>>
  }

  /**
   * Runs a generator after all earlier work, in parts of some milliseconds, and resolves to its result.
   *
   * @param onPart called with what the generator yields; the work waits for its promise, and ends with its error
   */
  runParts<T>(work: Generator<number, T>, onPart: (value: number) => Promise<void> | undefined): Promise<T> {
    return this.#after(async () => {
      let start = performance.now()
      for (let part = work.next(); ; part = work.next()) {
        if (part.done) return part.value
        await onPart(part.value)
        if (performance.now() - start < longestPart) continue
        await setImmediate()
        start = performance.now()
      }
    })
  }

  #after<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async (pause) => {
      // A timer may fire before received data is processed, so `setImmediate` follows.
      if (pause > 0) await setTimeout(Math.min(pause, longestPause))
      await setImmediate()
      const start = performance.now()
      try {
        return { value: await work(), took: performance.now() - start }
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
