// Frees connections of answers that are sent to slow readers, while requests wait for connections.
import type { ArrivingField } from './arriving-field.ts'
import type { SpillSpace } from './spill-space.ts'

/** Milliseconds that a request waits until answers are fetched ahead of their readers. */
const shortWait = 100
/** Answers that are fetched ahead at once: the first connection is free the sooner, the fewer they are. */
const atOnce = 2
/** Milliseconds that a request waits until a reader is given up, when there is no more space for its answer. */
const longWait = 1000
/** Bytes a second that a reader must take in order not to be given up then. */
const minimumRate = 256 * 1024

export class StreamRelief {
  readonly space: SpillSpace
  readonly #waitingSince: () => number | undefined
  readonly #streams = new Set<ArrivingField>()
  /** Answers that are fetched ahead, and how much of them was left when that was last looked at. */
  #fetched = new Map<ArrivingField, number>()
  #timer: NodeJS.Timeout | undefined

  /** @param waitingSince when the request that waits longest began to wait, as `performance.now()` */
  constructor(space: SpillSpace, waitingSince: () => number | undefined) {
    this.space = space
    this.#waitingSince = waitingSince
  }

  /** Adds an answer that occupies a connection until it has arrived. */
  add(stream: ArrivingField): void {
    this.#streams.add(stream)
    stream.onArrived(() => {
      this.#streams.delete(stream)
      // The connection is free, but the memory is not.
      stream.spillTo(this.space)
      // Others may still wait.
      if (this.#fetched.delete(stream)) setImmediate(this.#look)
    })
    if (this.#waitingSince() !== undefined) this.begin()
  }

  /** A request begins to wait. */
  begin(): void {
    if (this.#streams.size === 0 || this.#timer) return
    this.#timer = setTimeout(this.#look, shortWait)
    this.#timer.unref()
  }

  readonly #look = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const since = this.#waitingSince()
    if (since === undefined) return
    const waited = performance.now() - since
    if (waited >= shortWait) this.#fetchAhead()
    const slowest = this.#slowest()
    if (waited >= longWait && slowest) slowest.giveUp()
    this.begin()
  }

  /** Fetches some answers ahead, those first of which the least is left. */
  #fetchAhead(): void {
    const before = this.#fetched
    this.#fetched = new Map()
    for (const stream of [...this.#streams].sort((one, other) => one.remaining - other.remaining)) {
      // One whose reader keeps up with the database needs no help.
      if (!stream.isPaused && !stream.isSpilling) continue
      const { remaining } = stream
      stream.spillTo(this.space)
      // One for which there is no space does not count.
      if (before.get(stream) !== remaining) this.#fetched.set(stream, remaining)
      if (this.#fetched.size === atOnce) return
    }
  }

  /** The stream whose reader is the slowest of those below the minimum rate. */
  #slowest(): ArrivingField | undefined {
    let slowest: ArrivingField | undefined
    let lowest = minimumRate
    for (const stream of this.#streams) {
      const rate = stream.measureRate()
      if (rate < lowest) [slowest, lowest] = [stream, rate]
    }
    return slowest
  }
}
