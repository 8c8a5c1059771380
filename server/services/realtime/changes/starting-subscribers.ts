// Subscribers that do not get every transaction yet: what was committed before they subscribed may be read later, and what
// the buffer has for them comes first.
import { parseLsn } from '../../../common/wal-position.ts'
import type { PublishedRelations } from '../policies/relation-policies.ts'
import { audienceOf, type Subscriber } from './audience.ts'
import type { BufferedTransaction, ChangeBuffer } from './change-buffer.ts'
import { batchSize, type ChangeDelivery, type Recipients } from './change-delivery.ts'
import { positionText, type ChangePosition } from './position.ts'
import { unreadableChanges, type ChangeFailure } from './row-changes.ts'
import { Beginning, Resumption, type Start } from './start.ts'

export type StartingSubscribersOptions = {
  readonly buffer: ChangeBuffer
  readonly delivery: ChangeDelivery
  readonly onFailure: (subscriber: Subscriber, failure: ChangeFailure) => void
  /** For the log. */
  readonly onError: (error: unknown) => void
}

export class StartingSubscribers {
  readonly #options: StartingSubscribersOptions
  readonly #subscribers = new Set<Subscriber>()

  constructor(options: StartingSubscribersOptions) {
    this.#options = options
  }

  /** Whether all subscribers get every transaction. */
  get isEmpty(): boolean {
    return this.#subscribers.size === 0
  }

  /**
   * Begins to pass events to a subscriber, after the caller has heard of the subscription.
   *
   * @param described what its check has seen
   * @param after the last position that the client has seen
   * @returns the position after which its events come
   */
  begin(subscriber: Subscriber, described: PublishedRelations, after: ChangePosition | undefined): ChangePosition {
    const start = this.#startOf(described, after, subscriber)
    subscriber.start = start
    this.#subscribers.add(subscriber)
    const first = this.#firstFor(start)
    setImmediate(() => void this.#catchUp(subscriber, first))
    // The buffer may already have changes that it is yet to get, after which it would resume otherwise.
    return after && start instanceof Resumption ? after : this.#options.buffer.before(first)
  }

  delete(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
  }

  /** Decides which subscribers do not get a transaction, because they have seen it before they subscribed. */
  async leaveOut(entry: BufferedTransaction): Promise<void> {
    for (const subscriber of [...this.#subscribers]) {
      const { start, liveFrom } = subscriber
      if (!start || liveFrom > entry.sequence) continue
      const part = start.partOf(entry.transaction)
      subscriber.isLeftOut = part !== 'all'
      if (start.isPassedBy(entry.transaction)) this.#subscribers.delete(subscriber)
      else if (typeof part === 'object') await this.#deliverTo(subscriber, [entry])
    }
  }

  /** A new subscriber begins with what its check has not seen, or after the last position that the client has seen. */
  #startOf({ snapshot, lsn }: PublishedRelations, after: ChangePosition | undefined, subscriber: Subscriber): Start {
    const { buffer, onFailure } = this.#options
    const end = parseLsn(lsn) ?? 0n
    if (after && after.commit < end && buffer.reaches(after)) return new Resumption(after)
    if (after) {
      const message = `Changes after ${positionText(after)} are not kept any more. Read the rows again; further changes follow.`
      setImmediate(() => onFailure(subscriber, { code: 'Gap', message }))
    }
    return new Beginning(snapshot, end)
  }

  /** Number of the first transaction of the buffer that a subscriber gets, or of the next one. */
  #firstFor(start: Start): number {
    const { buffer } = this.#options
    let number = buffer.first
    for (let entry = buffer.at(number); entry && start.partOf(entry.transaction) === 'none';) {
      entry = buffer.at(++number)
    }
    return number
  }

  /** Passes transactions of the buffer to a new subscriber, until it has seen all. */
  async #catchUp(subscriber: Subscriber, first: number): Promise<void> {
    const { buffer, onFailure, onError } = this.#options
    try {
      for (let next = first; !subscriber.isEnded;) {
        if (next > buffer.last) {
          subscriber.liveFrom = next
          return
        }
        if (next < buffer.first) {
          onFailure(subscriber, {
            code: 'Gap',
            message: 'Changes are missing: the client has fallen too far behind.',
          })
          next = buffer.first
          continue
        }
        const entries = this.#nextFor(subscriber, next)
        next = (entries.at(-1)?.sequence ?? next) + 1
        await this.#deliverTo(subscriber, entries)
      }
    } catch (error) {
      onError(error)
      subscriber.liveFrom = buffer.last + 1
      onFailure(subscriber, unreadableChanges)
    }
  }

  /** Transactions of the buffer that a subscriber gets together: it has seen the same part of them. */
  #nextFor({ start }: Subscriber, first: number): readonly BufferedTransaction[] {
    const { buffer } = this.#options
    const entries: BufferedTransaction[] = []
    let size = 0
    for (let entry = buffer.at(first); entry && size < batchSize; entry = buffer.at(entry.sequence + 1)) {
      const isWhole = (start?.partOf(entry.transaction) ?? 'all') === 'all'
      if (!isWhole && entries.length > 0) break
      entries.push(entry)
      if (!isWhole) break
      size += 1 + entry.transaction.changes.length
    }
    return entries
  }

  /** Passes what it has not seen of transactions to one subscriber. */
  async #deliverTo(subscriber: Subscriber, entries: readonly BufferedTransaction[]): Promise<void> {
    const [first] = entries
    const part = first ? (subscriber.start?.partOf(first.transaction) ?? 'all') : 'none'
    if (part === 'none') return
    const recipients: Recipients = {
      subscribers: () => [subscriber],
      audiencesOf: (relation) => {
        const audience = audienceOf(subscriber, relation)
        return audience ? [audience] : []
      },
      includes: () => true,
      after: part === 'all' ? undefined : part,
    }
    await this.#options.delivery.deliver(entries, recipients, (batch) => {
      subscriber.batch = batch
    })
  }
}
