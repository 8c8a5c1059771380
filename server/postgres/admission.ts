// Queues requests for the connections of a pool.
//
// Writes may wait for locks, and so occupy connections without using them. A share of the pool is therefore reserved
// for reads, which continue however many writes wait for a row.
import type { Caller } from '../rest/database.ts'
import { connectionErrors } from './connection-error.ts'
import { QueueLimit } from './queue-limit.ts'

/** Whether a request reads or writes. */
export type Access = 'read' | 'write'

type Waiter = { readonly number: number; readonly since: number; readonly admit: () => void }

/** Maximum number of a pool's `size` connections that writes may use at once: three quarters, and at least one. */
export const shareOfWrites = (size: number): number => Math.max(1, size - Math.max(1, Math.floor(size / 4)))

const one = (): number => 1

export class Admission {
  readonly #size: number
  readonly #onWait: () => void
  /** In the order of arrival. */
  readonly #waiting = { read: new Set<Waiter>(), write: new Set<Waiter>() }
  readonly #admitted = { read: 0, write: 0 }
  readonly #limits: Readonly<Record<Access, QueueLimit>>
  /** Current number of places: fewer than `#size` while the server refuses further connections. */
  #places: number
  #lastNumber = 0

  /**
   * @param size maximum number of requests that have a connection at once
   * @param onWait is called when a request begins to wait
   * @param longestWait milliseconds that requests may be expected to wait before further ones are refused; 0 for no limit
   */
  constructor(size: number, onWait: () => void, longestWait = 0) {
    this.#size = size
    this.#places = size
    this.#onWait = onWait
    // Writes may wait for locks while reads continue, so each kind has its own limit.
    this.#limits = { read: new QueueLimit(longestWait), write: new QueueLimit(longestWait) }
  }

  /** Number of requests that wait. */
  get waitingCount(): number {
    return this.#waiting.read.size + this.#waiting.write.size
  }

  /**
   * When the request that has waited longest for a free connection began to wait, as `performance.now()`; undefined
   * when no request waits. Leaves out writes that wait for other writes.
   */
  get waitingSince(): number | undefined {
    const isShareUsed = this.#admitted.write >= shareOfWrites(this.#places)
    return this.#next(isShareUsed ? ['read'] : ['read', 'write'])?.since
  }

  /** Whether a request would be admitted at once. */
  hasPlace(access: Access): boolean {
    return this.#waiting[access].size === 0 && this.#isFree(access)
  }

  /**
   * Whether a request would be refused, because those that wait already take too long.
   *
   * @param others requests that wait together with one that has a place in the queue
   */
  isOverloaded(access: Access, others = 0): boolean {
    return this.#limits[access].isExceeded(this.#waiting[access].size + others, this.#places)
  }

  /**
   * Admits a request, now or when its turn comes. An admitted request must call `leave`.
   *
   * @param milliseconds timeout
   * @param together the number of requests that wait in this place of the queue, asked when its turn comes
   * @throws ConnectionError after the timeout, when too many requests wait, or when the caller is gone
   */
  enter(access: Access, milliseconds: number, caller?: Caller, together = one): Promise<void> | undefined {
    if (this.hasPlace(access)) {
      this.#admitted[access]++
      return undefined
    }
    if (milliseconds <= 0) return Promise.reject(connectionErrors.timedOut())
    if (this.isOverloaded(access)) return Promise.reject(connectionErrors.overloaded())
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting[access]
      const stopWaiting = (): void => {
        clearTimeout(timer)
        forget?.()
        waiting.delete(waiter)
      }
      const fail = (error: Error): void => {
        stopWaiting()
        this.#limits[access].abandon(waiting.size)
        reject(error)
      }
      const timer = setTimeout(() => fail(connectionErrors.timedOut()), milliseconds)
      const forget = caller?.onGone(() => fail(connectionErrors.callerGone()))
      const waiter: Waiter = {
        number: ++this.#lastNumber,
        since: performance.now(),
        admit: () => {
          stopWaiting()
          this.#limits[access].leave(waiting.size, together())
          this.#admitted[access]++
          resolve()
        },
      }
      waiting.add(waiter)
      this.#limits[access].begin()
      this.#onWait()
    })
  }

  /** Frees the place of an admitted request. */
  leave(access: Access): void {
    this.#admitted[access]--
    this.#admitWaiting()
  }

  /** Changes the number of places, between 1 and the size. */
  resize(places: number): void {
    this.#places = Math.min(Math.max(places, 1), this.#size)
    this.#admitWaiting()
  }

  /** Current maximum number of requests that have a connection at once. */
  get places(): number {
    return this.#places
  }

  /** Whether there are fewer places than the size. */
  get isReduced(): boolean {
    return this.#places < this.#size
  }

  #isFree(access: Access): boolean {
    const { read, write } = this.#admitted
    return read + write < this.#places && (access === 'read' || write < shareOfWrites(this.#places))
  }

  #next(kinds: readonly Access[]): Waiter | undefined {
    let next: Waiter | undefined
    for (const kind of kinds) {
      const [first] = this.#waiting[kind]
      if (first && (!next || first.number < next.number)) next = first
    }
    return next
  }

  #admitWaiting(): void {
    for (;;) {
      const free = (['read', 'write'] as const).filter((access) => this.#isFree(access))
      const next = this.#next(free)
      if (!next) return
      next.admit()
    }
  }
}
