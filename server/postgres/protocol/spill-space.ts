// How much this process may keep of responses whose readers are slow.

/** A number of bytes that can be taken and given back. */
class Budget {
  readonly limit: number
  #used = 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** Takes all of the bytes or none; returns whether it did. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit) return false
    this.#used += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#used -= bytes
  }
}

export class SpillSpace {
  readonly memory: Budget
  readonly disk: Budget

  /**
   * @param memory bytes in memory, for all responses together
   * @param disk bytes in temporary files, for all responses together
   */
  constructor(memory: number, disk: number) {
    this.memory = new Budget(memory)
    this.disk = new Budget(disk)
  }

  /** Whether there is room for a response of so many bytes now. */
  hasRoomFor(bytes: number): boolean {
    return this.memory.limit - this.memory.used + this.disk.limit - this.disk.used >= bytes
  }
}
