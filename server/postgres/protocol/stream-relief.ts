// Frees connections of answers that are sent to slow readers, while requests wait for connections.
import type { StreamedField } from './streamed-field.ts'
import type { SpillSpace } from './spill-space.ts'

/** Milliseconds that a request waits until answers are fetched ahead of their readers. */
const shortWait = 100
/** Answers that are fetched ahead at once: the first connection is free the sooner, the fewer they are. */
const atOnce = 2
/** Milliseconds that a request waits until a reader is given up, when there is no more space for its answer. */
const longWait = 1000
/** Bytes a second that a reader must take in order not to be given up then. */
const minimumRate = 256 * 1024
/**
 * Bytes that answers which have arrived as a whole may keep in memory beyond the budget, all together: as many as the
 * budget itself, and at least these. A disk that is slow for a moment so costs no reader the answer.
 */
const leastUnplaced = 32 * 1024 * 1024

export class StreamRelief {
  readonly space: SpillSpace
  readonly #waitingSince: () => number | undefined
  readonly #streams = new Set<StreamedField>()
  /** Answers that are fetched ahead, and how much of them was left when that was last looked at. */
  #fetched = new Map<StreamedField, number>()
  /** Answers that have arrived, and for some of which there was no place. */
  readonly #unplaced = new Set<StreamedField>()
  #timer: NodeJS.Timeout | undefined

  /** @param waitingSince when the request that waits longest began to wait, as `performance.now()` */
  constructor(space: SpillSpace, waitingSince: () => number | undefined) {
    this.space = space
    this.#waitingSince = waitingSince
  }

  /** Adds an answer that occupies a connection until it has arrived. */
  add(stream: StreamedField): void {
    this.#streams.add(stream)
    stream.onDropped(() => this.#onDropped(stream))
    stream.onArrived(() => {
      this.#streams.delete(stream)
      // The connection is free, but the memory is not.
      stream.spillTo(this.space)
      if (stream.unplacedBytes > 0 && !stream.isDropped) this.#keepUnplaced(stream)
      // Others may still wait.
      if (this.#fetched.delete(stream)) setImmediate(this.#look)
    })
    if (this.#waitingSince() !== undefined) this.begin()
  }

  /** Bytes of answers that have arrived as a whole, for which there is no place or that are not written yet. */
  get unplacedBytes(): number {
    let bytes = 0
    for (const { unplacedBytes } of this.#unplaced) bytes += unplacedBytes
    return bytes
  }

  /** A request begins to wait. */
  begin(): void {
    if (this.#streams.size === 0 || this.#timer) return
    this.#timer = setTimeout(this.#look, shortWait)
    this.#timer.unref()
  }

  /** Keeps an answer in memory for now. While such answers are too many, the slowest readers are given up. */
  #keepUnplaced(stream: StreamedField): void {
    this.#unplaced.add(stream)
    const limit = Math.max(this.space.memory.limit, leastUnplaced)
    if (this.unplacedBytes <= limit) return
    const bySpeed = [...this.#unplaced].sort((one, other) => one.averageRate - other.averageRate)
    for (const each of bySpeed) {
      if (each.unplacedBytes > 0) each.giveUp()
      if (this.unplacedBytes <= limit) return
    }
  }

  /** Uses the room that an answer has left. */
  #onDropped(stream: StreamedField): void {
    this.#unplaced.delete(stream)
    for (const other of this.#unplaced) other.spillTo(this.space)
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
  #slowest(): StreamedField | undefined {
    let slowest: StreamedField | undefined
    let lowest = minimumRate
    for (const stream of this.#streams) {
      const rate = stream.measureRate()
      if (rate < lowest) [slowest, lowest] = [stream, rate]
    }
    return slowest
  }
}
