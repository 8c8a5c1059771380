// What waits for a channel until its join is answered, in a bounded number of bytes of its socket.
import type { ByteBudget } from './byte-budget.ts'
import type { Delivery, ReceivedFrame, SerializerVersion } from './frames.ts'

/** Messages of others, and of the client. */
const mostHeld = 1000
const mostEarly = 100

export class BeforeJoin {
  readonly #budget: ByteBudget
  readonly #version: SerializerVersion
  #held: Delivery[] = []
  #early: ReceivedFrame[] = []
  #bytes = 0

  /** @param budget of the socket, for all of its channels */
  constructor(budget: ByteBudget, version: SerializerVersion) {
    this.#budget = budget
    this.#version = version
  }

  /** Keeps a message of the topic. @returns false if there is no room for it */
  hold(delivery: Delivery): boolean {
    if (this.#held.length >= mostHeld || !this.#take(delivery.frame(this.#version)?.length ?? 0)) return false
    this.#held.push(delivery)
    return true
  }

  /** Keeps a message of the client as it came: its value could take many times the memory. @returns undefined, or why there is no room for it */
  keep({ data, isBinary }: ReceivedFrame): string | undefined {
    if (this.#early.length >= mostEarly)
      return `Before a join is answered, at most ${mostEarly} messages can wait for it`
    if (!this.#take(data.length))
      return `Messages that wait for joins of a client have at most ${this.#budget.most} bytes, and there is no room for this one`
    // A copy: it may be part of a larger chunk.
    this.#early.push({ data: Buffer.from(data), isBinary })
    return undefined
  }

  /** Returns all of it, and makes room. */
  take(): { readonly held: readonly Delivery[]; readonly early: readonly ReceivedFrame[] } {
    const taken = { held: this.#held, early: this.#early }
    this.#budget.release(this.#bytes)
    this.#held = []
    this.#early = []
    this.#bytes = 0
    return taken
  }

  #take(bytes: number): boolean {
    if (!this.#budget.take(bytes)) return false
    this.#bytes += bytes
    return true
  }
}
