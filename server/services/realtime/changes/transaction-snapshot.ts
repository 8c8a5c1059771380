// Which transactions a snapshot contains: `xmin:xmax:xip,xip`.
// https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT

/** Numbers of transactions in the log have 32 bits. */
const epoch = 2 ** 32

export class TransactionSnapshot {
  readonly #least: number
  readonly #next: number
  readonly #running: ReadonlySet<number>

  constructor(text: string) {
    const [least = '0', next = '0', running = ''] = text.split(':')
    this.#least = Number(least)
    this.#next = Number(next)
    this.#running = new Set(running === '' ? [] : running.split(',').map(Number))
  }

  /** @param xid the 32 lower bits of the number of a transaction that has committed or is about to */
  contains(xid: number): boolean {
    // The full number is the one that is nearest to the snapshot.
    let full = Math.floor(this.#next / epoch) * epoch + xid
    if (full - this.#next > epoch / 2) full -= epoch
    else if (this.#next - full > epoch / 2) full += epoch
    return full < this.#least || (full < this.#next && !this.#running.has(full))
  }
}
