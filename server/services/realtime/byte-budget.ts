// How many bytes the server keeps of one kind for a client.

/** Counts what is kept. The limit is read each time, because settings can be reloaded. */
export class ByteBudget {
  readonly #most: () => number
  #used = 0

  constructor(most: () => number) {
    this.#most = most
  }

  /** Maximum number of bytes. */
  get most(): number {
    return this.#most()
  }

  /**
   * Keeps more.
   *
   * @param instead bytes that are not kept any more then
   * @returns false if there is no room for it: nothing has changed
   */
  take(bytes: number, instead = 0): boolean {
    if (bytes > instead && this.#used - instead + bytes > this.most) return false
    this.#used += bytes - instead
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
  }
}
