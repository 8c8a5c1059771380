// Makes transactions of the messages of one stream, and hands them over one by one. While one is being processed, the
// connection is paused, so that a slow receiver costs no memory.
import type { LogChange, LogRelation, LogTransaction } from './log-transaction.ts'
import { LogDecoder, MalformedLog } from './pgoutput.ts'
import type { ReplicationStream, StreamHandlers } from './replication-stream.ts'

export type LogSessionOptions = {
  /** Bytes of the changes of one transaction; of a larger one, no changes are kept. */
  readonly mostBytes: () => number
  /** Gets the transactions in their order. The next one comes when the promise is resolved. */
  readonly onTransaction: (transaction: LogTransaction) => void | Promise<void>
  /** Milliseconds without a word from the server after which the connection is lost. It is asked after half of them. */
  readonly longestSilence?: number
}

/** Messages that are read before others have their turn. The socket would read two megabytes at once. */
const mostAtOnce = 500
/** Milliseconds between confirmations. */
const confirmInterval = 1000
/** As PostgreSQL's `wal_receiver_timeout`. */
const defaultSilence = 60_000

/** A transaction whose messages are arriving. */
type OpenTransaction = {
  readonly xid: number
  readonly most: number
  readonly relations: Set<LogRelation>
  changes: LogChange[]
  /** Of its messages. */
  bytes: number
  size: number
}

/** Bytes that a change takes besides its message, and a value of its rows, which refers to the message. */
const [changeSize, valueSize] = [200, 100]

/** Types of messages with a change: insert, update, delete. */
const isChange = (type: number | undefined): boolean => type === 0x49 || type === 0x55 || type === 0x44

function keepChange(open: OpenTransaction, change: LogChange, length: number): void {
  open.relations.add(change.relation)
  open.changes.push(change)
  const rows = change.kind === 'update' && change.old ? 2 : 1
  open.size += changeSize + length + rows * valueSize * change.relation.columns.length
}

function forgetChanges(open: OpenTransaction): void {
  open.relations.clear()
  open.changes = []
  open.size = changeSize
}

export class LogSession implements StreamHandlers {
  readonly #stream: ReplicationStream
  readonly #options: LogSessionOptions
  readonly #decoder = new LogDecoder()
  readonly #timer: NodeJS.Timeout
  /** Messages that arrived with a transaction that is being processed. */
  #waiting: Buffer[] = []
  #open: OpenTransaction | undefined
  /** Messages since others have had their turn. */
  #atOnce = 0
  /** Time of the commit of the transaction that is being processed. */
  #processed: bigint | undefined
  #position: bigint
  #known: bigint
  #confirmed: bigint
  #fail: (error: unknown) => void = () => undefined
  #hasEnded = false
  /** When the server has sent something, as far as that was read. */
  #heard = performance.now()
  /** Rejects when a message cannot be read, or the receiver fails. */
  readonly failed: Promise<never>

  /** @param from where the stream begins */
  constructor(stream: ReplicationStream, from: bigint, options: LogSessionOptions) {
    this.#stream = stream
    this.#options = options
    this.#position = from
    this.#known = from
    this.#confirmed = from
    this.failed = new Promise((_resolve, reject) => (this.#fail = reject))
    this.failed.catch(() => undefined)
    this.#timer = setInterval(() => this.#watch(), confirmInterval)
  }

  /** Everything before was handed over and processed. */
  get position(): bigint {
    return this.#position
  }

  /** The end of the log, as far as the server has said. */
  get known(): bigint {
    return this.#known
  }

  /** Microseconds since 1970: when the transaction committed that is being processed. */
  get processed(): bigint | undefined {
    return this.#processed
  }

  onBytes = (lsn: bigint, bytes: Buffer): void => {
    this.#heard = performance.now()
    if (lsn > this.#known) this.#known = lsn
    if (++this.#atOnce === mostAtOnce) this.#rest()
    if (this.#processed === undefined) this.#take(bytes)
    else this.#waiting.push(bytes)
  }

  onPosition = (lsn: bigint): void => {
    this.#heard = performance.now()
    if (lsn > this.#known) this.#known = lsn
    if (!this.#open && this.#processed === undefined && lsn > this.#position) this.#position = lsn
  }

  onAsked = (): void => this.#confirm(false)

  #rest(): void {
    this.#stream.pause()
    setImmediate(() => {
      this.#atOnce = 0
      if (this.#processed === undefined && !this.#hasEnded) this.#stream.resume()
    })
  }

  /** Nothing is handed over after this. */
  end(): void {
    this.#hasEnded = true
    clearInterval(this.#timer)
  }

  #confirm(asks: boolean): void {
    this.#confirmed = this.#position
    this.#stream.confirm(this.#position, this.#position, asks)
  }

  /** The server does not wait for a paused connection for ever, unless it hears from it; nor does this end for the server. */
  #watch(): void {
    const { longestSilence = defaultSilence } = this.#options
    if (this.#processed !== undefined) this.#heard = performance.now()
    const silence = performance.now() - this.#heard
    if (silence > longestSilence) {
      this.end()
      this.#fail(new Error(`the server has not responded for ${Math.round(silence / 1000)} seconds`))
    } else if (silence > longestSilence / 2) this.#confirm(true)
    else if (this.#position > this.#confirmed || this.#processed !== undefined) this.#confirm(false)
  }

  #take(bytes: Buffer): void {
    if (this.#hasEnded) return
    try {
      this.#read(bytes)
    } catch (error) {
      // An error in a listener of the socket would end the process.
      this.end()
      this.#fail(error)
    }
  }

  #read(bytes: Buffer): void {
    const open = this.#open
    if (open && open.bytes > open.most && isChange(bytes[0])) return
    const message = this.#decoder.decode(bytes)
    switch (message.kind) {
      case 'begin':
        this.#open = {
          xid: message.xid,
          most: this.#options.mostBytes(),
          relations: new Set(),
          changes: [],
          bytes: 0,
          size: changeSize,
        }
        break
      case 'change':
        if (!open) throw new MalformedLog('the log has a change outside a transaction')
        open.bytes += bytes.length
        if (open.bytes > open.most) forgetChanges(open)
        else keepChange(open, message.change, bytes.length)
        break
      case 'commit': {
        if (!open) throw new MalformedLog('the log has a commit outside a transaction')
        this.#open = undefined
        const { commit, end, time } = message
        const { xid, changes, relations, size } = open
        // PostgreSQL 14 sends transactions of which nothing is published.
        if (open.bytes === 0) this.#position = end
        else this.#handOver({ xid, commit, end, time, changes, relations, size, isTooLarge: open.bytes > open.most })
        break
      }
      case 'other':
        break
      default:
        message satisfies never
    }
  }

  #handOver(transaction: LogTransaction): void {
    const processing = this.#options.onTransaction(transaction)
    if (processing === undefined) {
      this.#position = transaction.end
      return
    }
    this.#processed = transaction.time
    this.#stream.pause()
    processing.then(
      () => this.#continue(transaction.end),
      (error: unknown) => {
        this.end()
        this.#fail(error)
      },
    )
  }

  #continue(end: bigint): void {
    this.#position = end
    this.#processed = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const bytes of waiting) this.onBytes(end, bytes)
    if (this.#processed === undefined && !this.#hasEnded) this.#stream.resume()
  }
}
