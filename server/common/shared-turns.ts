// Lets others have their turn of the event loop between the parts of long work.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Counts work, in a unit of its user. */
export class SharedTurns {
  readonly #most: number
  #done = 0

  /** @param most amount of work in one turn */
  constructor(most: number) {
    this.#most = most
  }

  /** Call this after some work. @returns a promise of the next turn if there was enough of it in this one; wait for it */
  add(amount = 1): Promise<unknown> | undefined {
    this.#done += amount
    if (this.#done < this.#most) return undefined
    this.#done = 0
    return nextTurn()
  }
}
