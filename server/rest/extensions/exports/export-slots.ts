// How many streamed responses may occupy connections at once.

/** Counts the streamed responses of an engine. */
export class ExportSlots {
  #taken = 0

  /** Number of responses that are being streamed. */
  get taken(): number {
    return this.#taken
  }

  /**
   * Takes a slot.
   *
   * @returns a function that frees it, once; undefined when `limit` slots are taken
   */
  take(limit: number): (() => void) | undefined {
    if (this.#taken >= limit) return undefined
    this.#taken++
    let isFree = false
    return () => {
      if (!isFree) this.#taken--
      isFree = true
    }
  }
}
