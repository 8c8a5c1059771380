// Row changes: subscriptions to tables of a publication, whose events come from the log.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseLsn } from '../../../common/wal-position.ts'
import { lastingIdentity, claimsText, type Identity } from '../../../identity/identity.ts'
import { isUnreachable, sqlState } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import type { LogRelation, LogTransaction } from '../../../postgres/replication/log-transaction.ts'
import { qualified } from '../../../rest/sql/identifier.ts'
import { isOfMessages, type FeedState, type LogFeed } from '../log-feed.ts'
import { describePublished, publishedTables, type PublishedRelations } from '../policies/relation-policies.ts'
import { CheckBatch } from '../policies/check-batch.ts'
import { CallerSettings, filterTime } from '../policies/row-check.ts'
import { audienceOf, Audiences, isNamed, Subscriber, Viewer, viewerKey, type Audience } from './audience.ts'
import { ChangeBuffer, type BufferedTransaction } from './change-buffer.ts'
import { evaluate, type Delivery, type EvaluatedChange, type EvaluationTools } from './evaluation.ts'
import { describedBinding, readBinding, type Binding } from './filter-text.ts'
import { isBefore, positionText, readPosition, type ChangePosition } from './position.ts'
import { TableCatalogue } from './published-table.ts'
import {
  ChangesRefused,
  ChangesUnavailable,
  type ChangeFailure,
  type ChangeSubscription,
  type RowChanges,
  type SubscribeOptions,
} from './row-changes.ts'
import { Beginning, Resumption, type Start } from './start.ts'

/** The publication whose tables can be subscribed to. */
export const publication = 'supabase_realtime'

export type RowChangesOptions = {
  readonly database: Pick<Database, 'runWith' | 'runForEach'>
  readonly feed: LogFeed
  /** Whether the database has `auth.check_session`, read at each statement. */
  readonly checksSessions: () => boolean
  /** Read at each use. */
  readonly settings: () => { readonly realtimeReplayBytes: number; readonly realtimeReplaySeconds: number }
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
  readonly statistics: RowChangesStatistics
}

/** Changes that are evaluated together. The event loop serves others between two batches. */
const batchSize = 500
/** Milliseconds until the publication is looked at again while it lacks a table that somebody listens to. */
const publicationInterval = 2000
/** Bindings of a subscription, and the conditions of their filters: many of them cost a statement. */
const mostConditions = 1000
/** Events that are handed out before others have their turn. */
const mostHandedOut = 2000

export function createRowChanges(options: RowChangesOptions): RunningRowChanges {
  return new Changes(options)
}

/** For whom a transaction is evaluated. */
type Recipients = {
  readonly subscribers: () => Iterable<Subscriber>
  readonly audiencesOf: (relation: LogRelation) => Audience[]
  readonly includes: (subscriber: Subscriber) => boolean
  /** Events up to it are left out. */
  readonly after?: ChangePosition | undefined
}

type SetBatch = (batch: Promise<void> | undefined) => void

class Changes implements RunningRowChanges {
  readonly #options: RowChangesOptions
  readonly #buffer: ChangeBuffer
  readonly #audiences = new Audiences()
  readonly #catalogue: TableCatalogue
  readonly #settings: CallerSettings
  readonly #viewers = new Map<string, Viewer>()
  readonly #roleViewers = new Map<string, Viewer>()
  readonly #filterViewers = new Map<string, Viewer>()
  readonly #filterSettings: CallerSettings
  readonly #tools: EvaluationTools
  /** Subscribers that do not get every transaction yet: what was committed before they subscribed may be read later. */
  readonly #starting = new Set<Subscriber>()
  /** What is being evaluated for those who have caught up. */
  #batch: Promise<void> | undefined
  #tail: Promise<void> = Promise.resolve()
  #events = 0
  #checks = 0
  #checkedRows = 0
  #isStopped = false
  #publicationTimer: NodeJS.Timeout | undefined

  constructor(options: RowChangesOptions) {
    const { database, feed, settings, onError } = options
    this.#options = options
    this.#buffer = new ChangeBuffer({
      bytes: () => settings().realtimeReplayBytes,
      seconds: () => settings().realtimeReplaySeconds,
    })
    this.#catalogue = new TableCatalogue(database)
    this.#settings = new CallerSettings(options.checksSessions)
    this.#filterSettings = new CallerSettings(options.checksSessions, [], filterTime)
    this.#tools = {
      database,
      checks: new CheckBatch(database),
      catalogue: this.#catalogue,
      roleViewer: (role) => this.#roleViewer(role),
      filterViewer: (role) => this.#filterViewer(role),
      onFailure: ({ subscribers }, failure) => this.#fail(subscribers, failure),
      onCheck: (rows) => {
        this.#checks++
        this.#checkedRows += rows
      },
      onError,
    }
    feed.add({
      onTransaction: (transaction) => this.#onTransaction(transaction),
      onState: (state) => this.#onState(state),
    })
  }

  get statistics(): RowChangesStatistics {
    return {
      subscribers: this.#audiences.subscribers.size,
      bufferedBytes: this.#buffer.bytes,
      events: this.#events,
      checks: this.#checks,
      checkedRows: this.#checkedRows,
    }
  }

  forgetTables(): void {
    this.#catalogue.forget()
    if (this.#audiences.subscribers.size > 0) void this.#checkPublication()
  }

  /** Tells subscribers that their table has left the publication, or has come back. */
  async #checkPublication(): Promise<void> {
    try {
      const tables = await publishedTables(this.#options.database, publication)
      if (tables) this.#options.feed.readWith(publication)
      for (const subscriber of [...this.#audiences.subscribers]) {
        const binding = subscriber.bindings.find((one) => !tables?.some((table) => isNamed(one, table)))
        if (subscriber.isUnpublished === (binding !== undefined)) continue
        subscriber.isUnpublished = binding !== undefined
        const failure: ChangeFailure = binding
          ? { code: 'Unavailable', message: noLongerPublished(binding, tables !== undefined) }
          : { code: 'Gap', message: publishedAgain }
        this.#fail([subscriber], failure)
      }
      clearTimeout(this.#publicationTimer)
      // Nothing says when a table is added to a publication.
      if (hasSome(this.#audiences.subscribers, ({ isUnpublished }) => isUnpublished)) {
        this.#publicationTimer = setTimeout(() => void this.#checkPublication(), publicationInterval).unref()
      }
    } catch (error) {
      // Without the database, its subscribers hear of that.
      if (!isUnreachable(error)) this.#options.onError(error)
    }
  }

  async subscribe({ bindings, identity, since, signal, receiver }: SubscribeOptions): Promise<ChangeSubscription> {
    if (this.#isStopped) throw new ChangesUnavailable('The server is shutting down.')
    if (bindings.length > mostConditions) throw new ChangesRefused(tooMany)
    const read = bindings.map(readBinding)
    if (read.reduce((sum, { filters }) => sum + 1 + filters.length, 0) > mostConditions)
      throw new ChangesRefused(tooMany)
    const after = since === undefined ? undefined : readPosition(since)
    if (since !== undefined && !after) {
      throw new ChangesRefused(
        `\`since\` must be the position of an event, such as 0/16B3748:3, not ${since.slice(0, 100)}`,
      )
    }
    const release = this.#options.feed.use()
    try {
      const described = await this.#checkWhileReading(read, identity, signal)
      const subscriber = new Subscriber(read, receiver, this.#viewer(identity))
      this.#audiences.add(subscriber)
      subscriber.start = this.#startOf(described, after, subscriber)
      this.#starting.add(subscriber)
      const first = this.#firstFor(subscriber.start)
      // Events come after the caller has heard of the subscription.
      setImmediate(() => void this.#catchUp(subscriber, first))
      return {
        position: positionText(after && subscriber.start instanceof Resumption ? after : this.#buffer.newest),
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
    clearTimeout(this.#publicationTimer)
    for (const subscriber of [...this.#audiences.subscribers]) this.#end(subscriber, () => undefined)
    await this.#options.feed.stop()
  }

  #end(subscriber: Subscriber, release: () => void): void {
    subscriber.isEnded = true
    this.#audiences.delete(subscriber)
    this.#starting.delete(subscriber)
    this.#releaseViewer(subscriber.viewer)
    release()
  }

  async #changeIdentity(subscriber: Subscriber, identity: Identity): Promise<void> {
    await this.#check(subscriber.bindings, identity)
    // What is being evaluated now is for the previous token: it is handed out before.
    for (let batch = this.#batchOf(subscriber); batch; batch = this.#batchOf(subscriber)) await batch
    if (subscriber.isEnded) return
    const before = subscriber.viewer
    this.#audiences.delete(subscriber)
    subscriber.viewer = this.#viewer(identity)
    this.#audiences.add(subscriber)
    this.#releaseViewer(before)
  }

  #batchOf(subscriber: Subscriber): Promise<void> | undefined {
    return subscriber.batch ?? this.#batch
  }

  #viewer(identity: Identity): Viewer {
    const key = viewerKey(identity.role, claimsText(identity))
    let viewer = this.#viewers.get(key)
    if (!viewer) this.#viewers.set(key, (viewer = new Viewer(identity, this.#settings)))
    viewer.users++
    return viewer
  }

  #releaseViewer(viewer: Viewer): void {
    if (--viewer.users === 0) this.#viewers.delete(viewer.key)
  }

  #roleViewer(role: string): Viewer {
    return viewerOf(role, this.#roleViewers, this.#settings)
  }

  #filterViewer(role: string): Viewer {
    return viewerOf(role, this.#filterViewers, this.#filterSettings)
  }

  /** Checks again if the log was not read all the time: what was committed meanwhile may be missing. */
  async #checkWhileReading(
    bindings: readonly Binding[],
    identity: Identity,
    signal: AbortSignal,
  ): Promise<PublishedRelations> {
    const { feed } = this.#options
    for (;;) {
      await feed.whenReading(signal)
      const { state } = feed
      const described = await this.#check(bindings, identity, signal)
      signal.throwIfAborted()
      feed.readWith(publication)
      if (feed.state === state) return described
    }
  }

  /**
   * Checks that the tables, columns and values of bindings fit.
   *
   * @throws ChangesRefused, ChangesUnavailable
   */
  async #check(bindings: readonly Binding[], identity: Identity, signal?: AbortSignal): Promise<PublishedRelations> {
    const { role } = identity
    try {
      const described = await describePublished(this.#options.database, role, publication, bindings)
      const tables = described.relations.map((access) => this.#catalogue.keep(access, role))
      // One after the other: other subscribers and requests need the database, too.
      for (const binding of bindings) {
        const named = tables.filter(({ access }) => isNamed(binding, access))
        if (named.length === 0) throw new ChangesRefused(notPublished(binding))
        for (const table of named) {
          signal?.throwIfAborted()
          await this.#compile(table, binding)
        }
      }
      return described
    } catch (error) {
      if (error instanceof ChangesRefused || error instanceof ChangesUnavailable || signal?.aborted === true)
        throw error
      if (isUnreachable(error)) throw new ChangesUnavailable('The database cannot be reached.')
      const state = sqlState(error)
      if (state === undefined) throw error
      throw new ChangesRefused(`ERROR ${state} ${error instanceof Error ? error.message : ''}`)
    }
  }

  async #compile(table: ReturnType<TableCatalogue['keep']>, binding: Binding): Promise<void> {
    try {
      await table.compile(binding, this.#filterViewer(table.role))
    } catch (error) {
      if (!(error instanceof ChangesRefused)) throw error
      throw new ChangesRefused(
        `Unable to subscribe to changes with given parameters. An exception happened so please check your connect parameters: [${describedBinding(binding)}]. Exception: ${error.message}`,
      )
    }
  }

  /** A new subscriber begins with what its check has not seen, or after the last position that the client has seen. */
  #startOf({ snapshot, lsn }: PublishedRelations, after: ChangePosition | undefined, subscriber: Subscriber): Start {
    const end = parseLsn(lsn) ?? 0n
    if (after && after.commit < end && this.#buffer.reaches(after)) return new Resumption(after)
    if (after) {
      const message = `Changes after ${positionText(after)} are not kept any more. Read the rows again; further changes follow.`
      setImmediate(() => this.#fail([subscriber], { code: 'Gap', message }))
    }
    return new Beginning(snapshot, end)
  }

  /** Number of the first transaction of the buffer that a subscriber gets, or of the next one. */
  #firstFor(start: Start): number {
    let number = this.#buffer.first
    for (let entry = this.#buffer.at(number); entry && start.partOf(entry.transaction) === 'none';) {
      entry = this.#buffer.at(++number)
    }
    return number
  }

  /** Passes transactions of the buffer to a new subscriber, until there is none that it has not seen. */
  async #catchUp(subscriber: Subscriber, first: number): Promise<void> {
    try {
      for (let next = first; !subscriber.isEnded; next++) {
        if (next > this.#buffer.last) {
          subscriber.liveFrom = next
          return
        }
        const entry = this.#buffer.at(next)
        if (entry) await this.#deliverTo(subscriber, entry)
        else {
          this.#fail([subscriber], {
            code: 'Gap',
            message: 'Changes are missing: the client has fallen too far behind.',
          })
          next = this.#buffer.first - 1
        }
      }
    } catch (error) {
      this.#options.onError(error)
      subscriber.liveFrom = this.#buffer.last + 1
      this.#fail([subscriber], { code: 'Gap', message: unreadable })
    }
  }

  /** Passes what it has not seen of a transaction to one subscriber. */
  async #deliverTo(subscriber: Subscriber, entry: BufferedTransaction): Promise<void> {
    const part = subscriber.start?.partOf(entry.transaction) ?? 'all'
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
    await this.#deliver(entry, recipients, (batch) => {
      subscriber.batch = batch
    })
  }

  #onState(state: FeedState): void {
    const { subscribers } = this.#audiences
    if (state.kind === 'stopped') this.#buffer.end()
    else if (state.kind === 'reading') {
      this.#buffer.begin(state.from)
      const message = 'Changes may be missing: the log was not read for a while. Further changes follow.'
      this.#fail(subscribers, { code: 'Gap', message })
    } else this.#fail(subscribers, { code: 'Unavailable', message: state.message })
  }

  #onTransaction(transaction: LogTransaction): Promise<void> {
    this.#tail = this.#tail.then(() => this.#take(transaction))
    return this.#tail
  }

  async #take(transaction: LogTransaction): Promise<void> {
    for (const { relation } of transaction.changes) this.#catalogue.noteRelation(relation)
    const entry = this.#buffer.add(transaction)
    const includes = ({ liveFrom, isLeftOut }: Subscriber): boolean => liveFrom <= entry.sequence && !isLeftOut
    const recipients: Recipients = {
      subscribers: () => [...this.#audiences.subscribers].filter(includes),
      audiencesOf: (relation) =>
        [...this.#audiences.of(relation)].filter(({ subscribers }) => hasSome(subscribers, includes)),
      includes,
    }
    try {
      await this.#leaveOut(entry)
      await this.#deliver(entry, recipients, (batch) => {
        this.#batch = batch
      })
    } catch (error) {
      this.#options.onError(error)
      this.#fail(recipients.subscribers(), { code: 'Gap', message: unreadable })
    }
  }

  /** Decides which subscribers do not get a transaction, because they have seen it before they subscribed. */
  async #leaveOut(entry: BufferedTransaction): Promise<void> {
    for (const subscriber of [...this.#starting]) {
      const { start, liveFrom } = subscriber
      if (!start || liveFrom > entry.sequence) continue
      const part = start.partOf(entry.transaction)
      subscriber.isLeftOut = part !== 'all'
      if (start.isPassedBy(entry.transaction)) this.#starting.delete(subscriber)
      else if (typeof part === 'object') await this.#deliverTo(subscriber, entry)
    }
  }

  async #deliver({ transaction }: BufferedTransaction, recipients: Recipients, setBatch: SetBatch): Promise<void> {
    const { changes } = transaction
    if (transaction.isTooLarge) {
      const message =
        'Changes are missing: a transaction was larger than the server keeps (REALTIME_MAX_TRANSACTION_BYTES).'
      return this.#fail(recipients.subscribers(), { code: 'Gap', message })
    }
    for (let start = 0; start < changes.length; start += batchSize) {
      if (start > 0) await nextTurn()
      const batch = this.#deliverBatch(transaction, start, recipients)
      setBatch(batch)
      try {
        await batch
      } finally {
        setBatch(undefined)
      }
    }
  }

  async #deliverBatch({ changes, commit, time }: LogTransaction, start: number, recipients: Recipients): Promise<void> {
    const { after } = recipients
    const timeText = new Date(Number(time / 1000n)).toISOString()
    const ofRelations = new Map<
      LogRelation,
      { readonly audiences: Audience[]; places: number[]; changes: EvaluatedChange[] }
    >()
    const end = Math.min(start + batchSize, changes.length)
    for (let index = start; index < end; index++) {
      const change = changes[index]
      const position = { commit, index }
      if (!change || isOfMessages(change.relation) || (after && !isBefore(after, position))) continue
      let list = ofRelations.get(change.relation)
      if (!list) {
        list = { audiences: recipients.audiencesOf(change.relation), places: [], changes: [] }
        ofRelations.set(change.relation, list)
      }
      if (list.audiences.length === 0) continue
      list.places.push(index - start)
      list.changes.push({ change, time: timeText, position: positionText(position) })
    }
    const deliveries: (readonly Delivery[] | undefined)[] = []
    await Promise.all(
      [...ofRelations].map(async ([relation, { audiences, places, changes: evaluated }]) => {
        if (evaluated.length === 0) return
        const found = await evaluate(this.#tools, relation, evaluated, audiences)
        places.forEach((place, index) => (deliveries[place] = found[index]))
      }),
    )
    let handedOut = 0
    for (const ofChange of deliveries) {
      if (!ofChange) continue
      handedOut += this.#handOut(ofChange, recipients)
      if (handedOut < mostHandedOut) continue
      handedOut = 0
      await nextTurn()
    }
  }

  /** @returns how many subscribers have got an event */
  #handOut(deliveries: readonly Delivery[], { includes }: Recipients): number {
    const before = this.#events
    for (const { audience, event, bindings } of byEvent(deliveries)) {
      for (const subscriber of audience.subscribers) {
        if (subscriber.isEnded || !includes(subscriber)) continue
        this.#events++
        subscriber.receiver.onChange(event, bindings)
      }
    }
    return this.#events - before
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

/** The viewer with a role and no claims. */
function viewerOf(role: string, viewers: Map<string, Viewer>, settings: CallerSettings): Viewer {
  let viewer = viewers.get(role)
  if (!viewer) viewers.set(role, (viewer = new Viewer(lastingIdentity(role, {}), settings)))
  return viewer
}

const unreadable = 'Changes are missing: they could not be read.'

function hasSome<T>(all: ReadonlySet<T>, test: (one: T) => boolean): boolean {
  for (const one of all) if (test(one)) return true
  return false
}

/** Brings deliveries of the same event together: receivers encode it once if they get it one after the other. */
function byEvent(deliveries: readonly Delivery[]): readonly Delivery[] {
  if (deliveries.length < 2) return deliveries
  const groups = new Map<Delivery['event'], Delivery[]>()
  for (const delivery of deliveries) {
    const group = groups.get(delivery.event)
    if (group) group.push(delivery)
    else groups.set(delivery.event, [delivery])
  }
  return [...groups.values()].flat()
}

const publishedAgain = 'Changes may be missing: a table was not published for a while. Further changes follow.'

function noLongerPublished({ schema, table }: Binding, isThere: boolean): string {
  const [verb, part] = isThere ? ['alter', 'add table'] : ['create', 'for table']
  const name = table === '*' ? '…' : qualified({ schema, name: table })
  return `Changes do not come any more: the table is not in the publication ${publication}. Add it: ${verb} publication ${publication} ${part} ${name};`
}
const tooMany = `A channel has at most ${mostConditions} bindings to changes and conditions of their filters`

const notPublished = (binding: Binding): string =>
  `Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: [${describedBinding(binding)}]`
