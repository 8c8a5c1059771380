// Where a subscription begins. The log may be read later than the subscription is made, and the buffer has what was read before.
import type { LogTransaction } from '../../../postgres/replication/log-transaction.ts'
import type { ChangePosition } from './position.ts'
import { TransactionSnapshot } from './transaction-snapshot.ts'

/** What a subscriber gets of a transaction; a position: what comes after it. */
export type Part = 'all' | 'none' | ChangePosition

export type Start = {
  readonly partOf: (transaction: Pick<LogTransaction, 'commit' | 'xid'>) => Part
  /** Whether it gets all of this transaction and of those that follow. */
  readonly isPassedBy: (transaction: Pick<LogTransaction, 'commit'>) => boolean
}

/** Begins with the first transaction that the statement which checked the subscription did not see. */
export class Beginning implements Start {
  readonly #seen: TransactionSnapshot
  readonly #end: bigint

  /**
   * @param snapshot of the statement
   * @param end of the log at that time: a transaction may have committed before, and still be invisible
   */
  constructor(snapshot: string, end: bigint) {
    this.#seen = new TransactionSnapshot(snapshot)
    this.#end = end
  }

  partOf({ commit, xid }: Pick<LogTransaction, 'commit' | 'xid'>): Part {
    return commit >= this.#end || !this.#seen.contains(xid) ? 'all' : 'none'
  }

  isPassedBy({ commit }: Pick<LogTransaction, 'commit'>): boolean {
    return commit >= this.#end
  }
}

/** Begins after the last change that the client has seen, which may be in the middle of a transaction. */
export class Resumption implements Start {
  readonly #after: ChangePosition

  constructor(after: ChangePosition) {
    this.#after = after
  }

  partOf({ commit }: Pick<LogTransaction, 'commit'>): Part {
    if (commit === this.#after.commit) return this.#after
    return commit > this.#after.commit ? 'all' : 'none'
  }

  isPassedBy({ commit }: Pick<LogTransaction, 'commit'>): boolean {
    return commit > this.#after.commit
  }
}
