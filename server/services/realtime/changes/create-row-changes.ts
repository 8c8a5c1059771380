// Row changes: subscriptions to tables of a publication, whose events come from the log.
import type { Identity } from '../../../identity/identity.ts'
import type { Database } from '../../../postgres/database.ts'
import type { LogRelation, LogTransaction } from '../../../postgres/replication/log-transaction.ts'
import type { FeedState, LogFeed } from '../log-feed.ts'
import { CheckBatch } from '../policies/check-batch.ts'
import { Audiences, Subscriber } from './audience.ts'
import { BindingCheck } from './binding-check.ts'
import { ChangeBuffer, type BufferedTransaction } from './change-buffer.ts'
import { ChangeDelivery, type Recipients } from './change-delivery.ts'
import { readBinding } from './filter-text.ts'
import { positionText, readPosition } from './position.ts'
import { PublicationWatch } from './publication.ts'
import { unpublishedKinds } from './published-names.ts'
import { TableCatalogue } from './published-table.ts'
import {
  ChangesRefused,
  ChangesUnavailable,
  mostConditions,
  tooManyConditions,
  unreadableChanges,
  type ChangeFailure,
  type ChangeSubscription,
  type RowChanges,
  type SubscribeOptions,
} from './row-changes.ts'
import { StartingSubscribers } from './starting-subscribers.ts'
import { Viewers } from './viewers.ts'

export type RowChangesOptions = {
  readonly database: Pick<Database, 'runWith' | 'runForEach'>
  readonly feed: LogFeed
  /** See `Snapshot`, read at each statement. */
  readonly checksSessions: () => boolean
  /** Read at each use. */
  readonly settings: () => { readonly realtimeReplayBytes: number; readonly realtimeReplaySeconds: number }
  /** Called with true when the first subscription begins, and with false when no changes are kept any more after the last one. */
  readonly onUse?: (isUsed: boolean) => void
  /** For the log. */
  readonly onError: (error: unknown) => void
}

export type RowChangesStatistics = {
  readonly subscribers: number
  readonly bufferedBytes: number
  /** Events that were handed to subscribers. */
  readonly events: number
  /** Statements that evaluated policies, and the rows that they were for. */
  readonly checks: number
  readonly checkedRows: number
}

/** Row changes, with what the process does with them. */
export type RunningRowChanges = RowChanges & {
  /** Reads the descriptions of tables again: the schema has changed. */
  readonly forgetTables: () => void
  /** Whether a change after a place in the log has been read. */
  readonly hasPassed: (place: bigint) => boolean
  /** The last change before a place in the log that has been read; undefined if it is not known. */
  readonly newestBefore: (place: bigint) => string | undefined
  /** Another process knows that there are no changes between a position and the place from which on this one reads. */
  readonly reachBack: (position: string, from: bigint) => void
  readonly statistics: RowChangesStatistics
}

export function createRowChanges(options: RowChangesOptions): RunningRowChanges {
  return new Changes(options)
}

const logLost = 'The server has lost its connection to the log of the database, and tries to connect again.'

class Changes implements RunningRowChanges {
  readonly #options: RowChangesOptions
  readonly #buffer: ChangeBuffer
  readonly #audiences = new Audiences()
  readonly #catalogue: TableCatalogue
  readonly #viewers: Viewers
  readonly #check: BindingCheck
  readonly #publication: PublicationWatch
  readonly #delivery: ChangeDelivery
  readonly #starting: StartingSubscribers
  /** What is being evaluated for those who have caught up. */
  #batch: Promise<void> | undefined
  #tail: Promise<void> = Promise.resolve()
  #checks = 0
  #checkedRows = 0
  #uses = 0
  /** Ends the reading of the log; undefined while it is not read for this. */
  #endReading: (() => void) | undefined
  #lingering: NodeJS.Timeout | undefined
  #isStopped = false
  /** Why no changes can come now, as subscribers were informed. Each further attempt to read the log reports the same. */
  #unavailable: string | undefined

  constructor(options: RowChangesOptions) {
    const { database, feed, settings, onError } = options
    this.#options = options
    this.#buffer = new ChangeBuffer({
      bytes: () => settings().realtimeReplayBytes,
      seconds: () => settings().realtimeReplaySeconds,
    })
    this.#catalogue = new TableCatalogue(database)
    this.#viewers = new Viewers(options.checksSessions)
    this.#check = new BindingCheck({ database, feed, catalogue: this.#catalogue, viewers: this.#viewers })
    this.#publication = new PublicationWatch({
      database,
      feed,
      subscribers: this.#audiences.subscribers,
      onFailure: (subscriber, failure) => this.#fail([subscriber], failure),
      onError,
    })
    this.#delivery = new ChangeDelivery({
      tools: {
        database,
        checks: new CheckBatch(database),
        catalogue: this.#catalogue,
        roleViewer: (role) => this.#viewers.ofRole(role),
        filterViewer: (role) => this.#viewers.ofFilters(role),
        onFailure: ({ subscribers }, failure) => this.#fail(subscribers, failure),
        onCheck: (rows) => {
          this.#checks++
          this.#checkedRows += rows
        },
        onError,
      },
      onGap: (subscribers, message) => this.#fail(subscribers, { code: 'Gap', message }),
    })
    this.#starting = new StartingSubscribers({
      buffer: this.#buffer,
      delivery: this.#delivery,
      onFailure: (subscriber, failure) => this.#fail([subscriber], failure),
      onError,
    })
    feed.add({
      onTransactions: (transactions) => this.#onTransactions(transactions),
      onState: (state) => this.#onState(state),
    })
  }

  get statistics(): RowChangesStatistics {
    return {
      subscribers: this.#audiences.subscribers.size,
      bufferedBytes: this.#buffer.bytes,
      events: this.#delivery.events,
      checks: this.#checks,
      checkedRows: this.#checkedRows,
    }
  }

  hasPassed(place: bigint): boolean {
    return this.#buffer.newest.commit >= place
  }

  newestBefore(place: bigint): string | undefined {
    const position = this.#buffer.newestBefore(place)
    return position && positionText(position)
  }

  reachBack(position: string, from: bigint): void {
    const read = readPosition(position)
    if (read) this.#buffer.reachBack(read, from)
  }

  forgetTables(): void {
    this.#catalogue.forget()
    void this.#publication.check()
  }

  async subscribe({ bindings, identity, since, signal, receiver }: SubscribeOptions): Promise<ChangeSubscription> {
    if (this.#isStopped) throw new ChangesUnavailable('The server is shutting down.')
    if (bindings.length > mostConditions) throw new ChangesRefused(tooManyConditions)
    const read = bindings.map(readBinding)
    if (read.reduce((sum, { filters }) => sum + 1 + filters.length, 0) > mostConditions)
      throw new ChangesRefused(tooManyConditions)
    const after = since === undefined ? undefined : readPosition(since)
    if (since !== undefined && !after) {
      throw new ChangesRefused(
        `\`since\` must be the position of an event, such as 0/16B3748:3, not ${since.slice(0, 100)}`,
      )
    }
    const release = this.#use()
    try {
      const described = await this.#check.whileReading(read, identity, signal)
      const subscriber = new Subscriber(read, receiver, this.#viewers.take(identity))
      this.#audiences.add(subscriber)
      if (read.some((binding) => unpublishedKinds(binding, described.actions).length > 0))
        void this.#publication.check()
      return {
        position: positionText(this.#starting.begin(subscriber, described, after)),
        changeIdentity: (next) => this.#changeIdentity(subscriber, next),
        end: () => this.#end(subscriber, release),
      }
    } catch (error) {
      release()
      throw error
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#publication.stop()
    for (const subscriber of [...this.#audiences.subscribers]) this.#end(subscriber, () => undefined)
    clearTimeout(this.#lingering)
    await this.#options.feed.stop()
  }

  /** Reads the log for a subscription. @returns a function that ends it */
  #use(): () => void {
    this.#uses++
    clearTimeout(this.#lingering)
    if (!this.#endReading) {
      this.#endReading = this.#options.feed.use()
      this.#options.onUse?.(true)
    }
    let isUsed = true
    return () => {
      if (!isUsed) return
      isUsed = false
      if (--this.#uses === 0) this.#endReadingLater()
    }
  }

  /** The last client may come back, and gets what it has missed as long as changes are kept. */
  #endReadingLater(): void {
    const { realtimeReplayBytes: bytes, realtimeReplaySeconds: seconds } = this.#options.settings()
    const end = (): void => {
      this.#endReading?.()
      this.#endReading = undefined
      this.#options.onUse?.(false)
    }
    this.#lingering = setTimeout(end, bytes === 0 ? 0 : seconds * 1000).unref()
  }

  #end(subscriber: Subscriber, release: () => void): void {
    subscriber.isEnded = true
    this.#audiences.delete(subscriber)
    this.#starting.delete(subscriber)
    this.#viewers.release(subscriber.viewer)
    release()
  }

  async #changeIdentity(subscriber: Subscriber, identity: Identity): Promise<void> {
    await this.#check.check(subscriber.bindings, identity)
    // What is being evaluated now is for the previous token: it is handed out before.
    for (let batch = this.#batchOf(subscriber); batch; batch = this.#batchOf(subscriber)) await batch
    if (subscriber.isEnded) return
    const before = subscriber.viewer
    this.#audiences.delete(subscriber)
    subscriber.viewer = this.#viewers.take(identity)
    this.#audiences.add(subscriber)
    this.#viewers.release(before)
  }

  #batchOf(subscriber: Subscriber): Promise<void> | undefined {
    return subscriber.batch ?? this.#batch
  }

  #onState(state: FeedState): void {
    const { subscribers } = this.#audiences
    const before = this.#unavailable
    // What has happened to the connection is for the log of the server: it names addresses and logins.
    this.#unavailable = state.kind === 'lost' ? logLost : state.kind === 'unavailable' ? state.message : undefined
    if (state.kind === 'stopped') this.#buffer.end()
    else if (state.kind === 'reading') {
      this.#buffer.begin(state.from)
      const message = 'Changes may be missing: the log was not read for a while. Further changes follow.'
      this.#fail(subscribers, { code: 'Gap', message })
    } else if (this.#unavailable !== undefined && this.#unavailable !== before) {
      this.#fail(subscribers, { code: 'Unavailable', message: this.#unavailable })
    }
  }

  #onTransactions(transactions: readonly LogTransaction[]): Promise<void> {
    this.#tail = this.#tail.then(() => this.#takeAll(transactions))
    return this.#tail
  }

  /** Evaluates transactions that wait together at once: policies of many viewers cost a check for each of them. */
  async #takeAll(transactions: readonly LogTransaction[]): Promise<void> {
    let together: BufferedTransaction[] = []
    let relations = new Map<number, LogRelation>()
    const takeTogether = async (): Promise<void> => {
      const entries = together
      together = []
      relations = new Map()
      if (entries.length > 0) await this.#take(entries)
    }
    for (const transaction of transactions) {
      const isDescribedAnew = [...transaction.relations].some(
        (relation) => (relations.get(relation.oid) ?? relation) !== relation,
      )
      // The first ones after a subscription may be left out for it.
      if (isDescribedAnew || transaction.isTooLarge || !this.#starting.isEmpty) await takeTogether()
      for (const relation of transaction.relations) {
        if (relations.get(relation.oid) === relation) continue
        relations.set(relation.oid, relation)
        // Without event triggers, this is the only sign that the publication may have changed.
        if (this.#catalogue.noteRelation(relation)) void this.#publication.check()
      }
      together.push(this.#buffer.add(transaction))
      if (transaction.isTooLarge || !this.#starting.isEmpty) await takeTogether()
    }
    await takeTogether()
  }

  async #take(entries: readonly BufferedTransaction[]): Promise<void> {
    const last = entries.at(-1)?.sequence ?? 0
    const includes = ({ liveFrom, isLeftOut }: Subscriber, sequence: number): boolean =>
      liveFrom <= sequence && !isLeftOut
    const includesSome = (subscriber: Subscriber): boolean => includes(subscriber, last)
    const recipients: Recipients = {
      subscribers: () => [...this.#audiences.subscribers].filter(includesSome),
      audiencesOf: (relation) =>
        [...this.#audiences.of(relation)].filter(({ subscribers }) => hasSome(subscribers, includesSome)),
      includes,
    }
    try {
      const [first] = entries
      if (first && entries.length === 1) await this.#starting.leaveOut(first)
      await this.#delivery.deliver(entries, recipients, (batch) => {
        this.#batch = batch
      })
    } catch (error) {
      this.#options.onError(error)
      this.#fail(recipients.subscribers(), unreadableChanges)
    }
  }

  #fail(subscribers: Iterable<Subscriber>, failure: ChangeFailure): void {
    for (const subscriber of [...subscribers]) {
      if (subscriber.isEnded) continue
      // It would be refused at each further change.
      if (failure.code === 'Refused') this.#audiences.delete(subscriber)
      subscriber.receiver.onFailure(failure)
    }
  }
}

function hasSome<T>(all: ReadonlySet<T>, test: (one: T) => boolean): boolean {
  for (const one of all) if (test(one)) return true
  return false
}
