// The last transactions, for subscribers that come back.
import type { LogTransaction } from '../../../postgres/replication/log-transaction.ts'
import { isBefore, type ChangePosition } from './position.ts'

export type BufferedTransaction = {
  /** Numbers transactions in the order of the log, in this process. */
  readonly sequence: number
  readonly transaction: LogTransaction
}

export type BufferLimits = { readonly bytes: () => number; readonly seconds: () => number }

export class ChangeBuffer {
  readonly #limits: BufferLimits
  readonly #now: () => number
  #entries: (BufferedTransaction & { readonly time: number })[] = []
  #bytes = 0
  #sequence = 0
  /** All changes after it are in the buffer; undefined before the log is read. */
  #start: ChangePosition | undefined

  /** @param now milliseconds */
  constructor(limits: BufferLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
  }

  /** Forgets everything: the log is read from a position on, and what was before may be missing. */
  begin(from: bigint): void {
    this.#entries = []
    this.#bytes = 0
    this.#start = { commit: from - 1n, index: 0 }
  }

  /** The last change before a place in the log, if all changes from one of the buffer's on up to there were read. */
  newestBefore(place: bigint): ChangePosition | undefined {
    const last = this.#entries.findLast(({ transaction }) => transaction.commit < place)
    if (last) return lastChangeOf(last.transaction)
    return this.#start && this.#start.commit < place ? this.#start : undefined
  }

  /** There are no changes between a position and the beginning of the log, which was read from a place on. */
  reachBack(position: ChangePosition, from: bigint): void {
    // Unless changes were removed meanwhile.
    if (this.#start?.commit === from - 1n && isBefore(position, this.#start)) this.#start = position
  }

  /** The log is not read any more. */
  end(): void {
    this.#entries = []
    this.#bytes = 0
    this.#start = undefined
  }

  add(transaction: LogTransaction): BufferedTransaction {
    const entry = { sequence: ++this.#sequence, transaction, time: this.#now() }
    this.#entries.push(entry)
    this.#bytes += transaction.size
    this.#evict()
    return entry
  }

  #evict(): void {
    const before = this.#now() - this.#limits.seconds() * 1000
    const most = this.#limits.bytes()
    let count = 0
    for (const { time, transaction } of this.#entries) {
      if (this.#bytes <= most && time >= before) break
      count++
      this.#bytes -= transaction.size
      this.#start = lastChangeOf(transaction)
    }
    if (count > 0) this.#entries.splice(0, count)
  }

  /** The last change that was added; before there is one, where the log begins. */
  get newest(): ChangePosition {
    const last = this.#entries.at(-1)
    return last ? lastChangeOf(last.transaction) : (this.#start ?? { commit: 0n, index: 0 })
  }

  /** The last change before the transaction with a number. */
  before(sequence: number): ChangePosition {
    const entry = this.at(sequence - 1)
    return entry ? lastChangeOf(entry.transaction) : (this.#start ?? { commit: 0n, index: 0 })
  }

  /** Number of the last transaction that was added. */
  get last(): number {
    return this.#sequence
  }

  /** Number of the first transaction that is still there; that of the next one when the buffer is empty. */
  get first(): number {
    return this.#entries[0]?.sequence ?? this.#sequence + 1
  }

  /** Bytes of the transactions in the buffer. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether all changes after a position are there. */
  reaches(position: ChangePosition): boolean {
    this.#evict()
    return this.#start !== undefined && !isBefore(position, this.#start)
  }

  /** The transaction with a number, or undefined if it is not there. */
  at(sequence: number): BufferedTransaction | undefined {
    return this.#entries[sequence - this.first]
  }
}

const lastChangeOf = ({ commit, changes }: LogTransaction): ChangePosition => ({
  commit,
  index: Math.max(changes.length - 1, 0),
})
