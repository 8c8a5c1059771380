// Reads the log while it is in use, and hands its transactions to those who need them: messages that SQL has sent to the
// channels, all other rows to the row changes.
import { setTimeout as pause } from 'node:timers/promises'
import type { LogChange, LogRelation, LogTransaction } from '../../postgres/replication/log-transaction.ts'
import { ChangesUnavailable } from './changes/row-changes.ts'
import { deliveryTurns } from './hub.ts'

/** `stopped`: it is no longer in use. The others are states of the reader: see `LogState` of `postgres/replication/log-reader.ts`. */
export type FeedState =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'reading'; readonly from: bigint; readonly publications: readonly string[] }
  | { readonly kind: 'lost'; readonly message: string; readonly retrySeconds: number }
  | { readonly kind: 'unavailable'; readonly message: string }

/** What the feed uses of a `LogReader`. */
export type FeedReader = { readonly start: () => void; readonly stop: () => Promise<void> }

/** What a listener gets: transactions in their order, those together that wait together. */
export type FeedListener = {
  readonly onTransactions: (transactions: readonly LogTransaction[]) => Promise<void> | undefined
  readonly onState: (state: FeedState) => void
}

/** What the reader calls. */
export type FeedHandlers = {
  readonly onTransaction: (transaction: LogTransaction) => Promise<void> | undefined
  readonly onState: (state: FeedState) => void
}

/** A message that was inserted into `realtime.messages`. */
export type SentMessage = {
  readonly id: string
  readonly topic: string
  readonly event: string
  /** JSON. */
  readonly payload: Buffer | null
  readonly binary: Buffer | null
  readonly isPrivate: boolean
}

export type LogFeedOptions = {
  /** Creates a reader that has not been started. */
  readonly createReader: (handlers: FeedHandlers) => FeedReader
  /** @returns its cost: see `Hub.costOf` */
  readonly onMessage: (message: SentMessage) => number
  /** Milliseconds for which it goes on reading after the last one has stopped listening. */
  readonly lingering?: number
  /** Milliseconds from the arrival of a transaction to its handing out: see `defaultGathering`. */
  readonly gathering?: number
  /** For the log. */
  readonly onError: (error: unknown) => void
}

const defaultLingering = 60_000
/**
 * The writer of a row usually has the response by then, as with the original, which asks for changes ten times a second. An event that came before the
 * response would be one about a row whose id its writer does not know yet: of 20 inserts on a busy machine, 7 events did, and with 25 ms one now and then.
 */
const defaultGathering = 50
/** Transactions and changes that may wait for it; with more, the connection is paused. */
const mostWaiting = 1000
/** Transactions and changes that are handed out together, unless one transaction has more. */
const mostTogether = 500

export class LogFeed {
  readonly #options: LogFeedOptions
  readonly #listeners = new Set<FeedListener>()
  #reader: FeedReader | undefined
  #users = 0
  #timer: NodeJS.Timeout | undefined
  #state: FeedState | undefined
  #stopping: Promise<void> = Promise.resolve()
  #isStopped = false
  /** Transactions that have arrived, and states of the reader between them, which are to be handed out. */
  #arrived: (LogTransaction | FeedState)[] = []
  #arrivedChanges = 0
  #handingOut: Promise<void> | undefined
  #waiting = new Set<() => void>()

  constructor(options: LogFeedOptions) {
    this.#options = options
  }

  /** What the reader has reported last; undefined while it does not read. */
  get state(): FeedState | undefined {
    return this.#state
  }

  /** Whether everything that has arrived was handed out. */
  get isIdle(): boolean {
    return this.#handingOut === undefined
  }

  /** Passes all transactions to a listener. */
  add(listener: FeedListener): void {
    this.#listeners.add(listener)
  }

  /** Reads while it is in use. Returns a function that ends the use. */
  use(): () => void {
    this.#users++
    clearTimeout(this.#timer)
    this.#start()
    let isUsed = true
    return () => {
      if (!isUsed) return
      isUsed = false
      if (--this.#users > 0) return
      this.#timer = setTimeout(() => void this.#stopReader(), this.#options.lingering ?? defaultLingering)
      this.#timer.unref()
    }
  }

  /**
   * Resolves while the log is read.
   *
   * @throws ChangesUnavailable when something is missing; the reason of the signal
   */
  async whenReading(signal: AbortSignal): Promise<void> {
    while (this.#state?.kind !== 'reading') {
      signal.throwIfAborted()
      if (this.#state?.kind === 'unavailable') throw new ChangesUnavailable(this.#state.message)
      await this.#nextState(signal)
    }
  }

  #nextState(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end)
        signal.removeEventListener('abort', end)
        resolve()
      }
      this.#waiting.add(end)
      signal.addEventListener('abort', end)
    })
  }

  /** Begins to read again, with a publication that was not there before. */
  readWith(publication: string): void {
    if (this.#state?.kind !== 'reading' || this.#state.publications.includes(publication)) return
    void this.#stopReader()
    if (this.#users > 0) this.#start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#stopReader()
  }

  #start(): void {
    if (this.#reader || this.#isStopped) return
    const reader = this.#options.createReader({
      onTransaction: (transaction) => this.#onTransaction(transaction),
      onState: (state) => {
        if (this.#reader === reader) this.#stateAfterArrived(state)
      },
    })
    this.#reader = reader
    // The slot of the previous reader is gone then.
    void this.#stopping.then(() => {
      if (this.#reader === reader) reader.start()
    })
  }

  async #stopReader(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    if (reader) {
      this.#stopping = reader.stop()
      this.#arrived = []
      this.#arrivedChanges = 0
      this.#onState({ kind: 'stopped' })
    }
    await this.#stopping
  }

  #onState(state: FeedState): void {
    this.#state = state
    for (const { onState } of this.#listeners) onState(state)
    for (const resolve of [...this.#waiting]) resolve()
  }

  /** A state follows the transactions that have arrived before it, and those that arrive after it follow the state. */
  #stateAfterArrived(state: FeedState): void {
    if (this.#handingOut) this.#arrived.push(state)
    else this.#onState(state)
  }

  /** @returns a promise when too much waits: no more is read until it is resolved */
  #onTransaction(transaction: LogTransaction): Promise<void> | undefined {
    this.#arrived.push(transaction)
    this.#arrivedChanges += 1 + transaction.changes.length
    this.#handingOut ??= this.#handOutSoon()
    return this.#arrivedChanges > mostWaiting ? this.#handingOut : undefined
  }

  async #handOutSoon(): Promise<void> {
    await pause(this.#options.gathering ?? defaultGathering, undefined, { ref: false })
    while (this.#arrived.length > 0) {
      const transactions = this.#takeTransactions()
      if (transactions.length === 0) {
        const state = this.#arrived.shift()
        if (state && 'kind' in state) this.#onState(state)
        continue
      }
      try {
        await this.#handOut(transactions)
      } catch (error) {
        this.#options.onError(error)
      }
    }
    this.#handingOut = undefined
  }

  /** Takes the transactions before the next state, until they have enough changes. */
  #takeTransactions(): readonly LogTransaction[] {
    const transactions: LogTransaction[] = []
    let size = 0
    for (const next of this.#arrived) {
      if ('kind' in next || size >= mostTogether) break
      transactions.push(next)
      size += 1 + next.changes.length
    }
    this.#arrived.splice(0, transactions.length)
    this.#arrivedChanges -= size
    return transactions
  }

  async #handOut(transactions: readonly LogTransaction[]): Promise<void> {
    const turns = deliveryTurns()
    for (const { changes, relations } of transactions) {
      if (![...relations].some(isOfMessages)) continue
      for (const change of changes) {
        if (change.kind !== 'insert' || !isOfMessages(change.relation)) continue
        await turns.add(this.#options.onMessage(messageOf(change)))
      }
    }
    for (const { onTransactions } of this.#listeners) await onTransactions(transactions)
  }
}

/** Whether a table is `realtime.messages`, or the part of it of one day. */
export const isOfMessages = ({ schema, name }: LogRelation): boolean =>
  schema === 'realtime' && (name === 'messages' || name.startsWith('messages_'))

function messageOf({ relation, row }: LogChange & { readonly kind: 'insert' }): SentMessage {
  const value = (name: string): Buffer | null =>
    row[relation.columns.findIndex((column) => column.name === name)] ?? null
  const text = (name: string): string => value(name)?.toString() ?? ''
  const binary = value('binary_payload')
  return {
    id: text('id'),
    topic: text('topic'),
    event: text('event'),
    payload: value('payload'),
    // The text of bytea begins with `\x`.
    binary: binary && Buffer.from(binary.toString('latin1', 2), 'hex'),
    isPrivate: text('private') === 't',
  }
}
