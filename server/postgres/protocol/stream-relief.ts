// Frees connections that stream responses to slow readers, while requests wait for connections.
import type { RowReceiver } from '../../rest/row-transfer.ts'
import type { StreamedField } from './streamed-field.ts'
import type { SpillSpace } from './spill-space.ts'

/** Milliseconds that a request waits until responses are fetched ahead of their readers. */
const shortWait = 100
/** Responses that are fetched ahead at once. The fewer, the sooner the first connection is free. */
const atOnce = 2
/** Milliseconds that a request waits until a slow reader is disconnected for lack of space. */
const longWait = 1000
/** Bytes per second below which a reader counts as slow then. */
const minimumRate = 256 * 1024
/**
 * Bytes that responses which have arrived completely may occupy in memory beyond the budget, all together: as many as
 * the budget itself, and at least these. So a disk that is briefly slow does not cut off any reader.
 */
const leastUnplaced = 32 * 1024 * 1024

export class StreamRelief {
  readonly space: SpillSpace
  readonly #waitingSince: () => number | undefined
  readonly #streams = new Set<StreamedField>()
  /** Rows that are passed on while they arrive. They cannot be fetched ahead, because their number is unbounded. */
  readonly #receivers = new Set<RowReceiver>()
  /** Responses that are fetched ahead, and their `remaining` bytes at the last check. */
  #fetched = new Map<StreamedField, number>()
  /** Responses that have arrived, and do not fit into the space, at least in part. */
  readonly #unplaced = new Set<StreamedField>()
  #timer: NodeJS.Timeout | undefined

  /** @param waitingSince when the request that waits longest began to wait, as `performance.now()` */
  constructor(space: SpillSpace, waitingSince: () => number | undefined) {
    this.space = space
    this.#waitingSince = waitingSince
  }

  /** Adds a response that occupies a connection until it has arrived. */
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

  /** Adds rows that occupy a connection until they have arrived. Returns a function that removes them. */
  addReceiver(receiver: RowReceiver): () => void {
    this.#receivers.add(receiver)
    if (this.#waitingSince() !== undefined) this.begin()
    return () => this.#receivers.delete(receiver)
  }

  /** Bytes of completely arrived responses that do not fit into the space, or are not written yet. */
  get unplacedBytes(): number {
    let bytes = 0
    for (const { unplacedBytes } of this.#unplaced) bytes += unplacedBytes
    return bytes
  }

  /** Call this when a request begins to wait. */
  begin(): void {
    if ((this.#streams.size === 0 && this.#receivers.size === 0) || this.#timer) return
    this.#timer = setTimeout(this.#look, shortWait)
    this.#timer.unref()
  }

  /** Keeps a response in memory for now. Disconnects the slowest readers when such responses exceed the limit. */
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

  /** Uses the space that a response has left. */
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

  /** Fetches some responses ahead, beginning with those that have the fewest bytes left. */
  #fetchAhead(): void {
    const before = this.#fetched
    this.#fetched = new Map()
    for (const stream of [...this.#streams].sort((one, other) => one.remaining - other.remaining)) {
      // A reader that keeps up with the database needs no help.
      if (!stream.isPaused && !stream.isSpilling) continue
      const { remaining } = stream
      stream.spillTo(this.space)
      // A response that makes no progress has no space, and does not count.
      if (before.get(stream) !== remaining) this.#fetched.set(stream, remaining)
      if (this.#fetched.size === atOnce) return
    }
  }

  /** The stream with the slowest reader, if that reader is below the minimum rate. */
  #slowest(): StreamedField | RowReceiver | undefined {
    let slowest: StreamedField | RowReceiver | undefined
    let lowest = minimumRate
    for (const stream of [...this.#streams, ...this.#receivers]) {
      const rate = stream.measureRate()
      if (rate < lowest) [slowest, lowest] = [stream, rate]
    }
    return slowest
  }
}
