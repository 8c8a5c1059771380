// One stream of the write-ahead log that is written to the archive, flushed at intervals, and confirmed to the server.
import { parseLsn } from '../../common/wal-position.ts'
import type { Client } from '../connection/client.ts'
import type { ReplicationStream } from '../replication/replication-stream.ts'
import type { WalWriter } from './wal-writer.ts'

/** Milliseconds between flushes to disk. */
const syncInterval = 200
/** Bytes that may wait to be written. */
const maxWaiting = 8 * 1024 * 1024

/** What a session has done. */
export type ArchivingProgress = {
  readonly bytes: number
  /** Segments that were completed. */
  readonly segments: number
  /** The position up to which the log is on disk. */
  readonly position: bigint
  /** Bytes that the archive lacked when the server was asked last; undefined before. */
  readonly behind: number | undefined
  /** What was committed before is on disk; undefined before this is known. */
  readonly until: Date | undefined
}

/** Writes what a stream delivers, flushes it at intervals, and confirms it to the server. */
export class ArchivingSession {
  readonly #stream: ReplicationStream
  readonly #writer: WalWriter
  readonly #saveMark: (until: Date) => Promise<void>
  readonly #waiting: { readonly lsn: bigint; readonly bytes: Buffer }[] = []
  #waitingSize = 0
  #isPaused = false
  #isAsked = false
  #syncedAt = 0
  #timer: NodeJS.Timeout | undefined
  #work: Promise<void> = Promise.resolve()
  #isWorking = false
  /** When everything up to a position is on disk, everything that was committed before a time is. */
  #pendingMark: { readonly lsn: bigint; readonly time: Date } | undefined
  #hasEnded = false
  #bytes = 0
  #behind: number | undefined
  #until: Date | undefined
  #fail: (error: unknown) => void = () => undefined
  /** Rejects when something cannot be written. */
  readonly failed: Promise<never>
  /** Why something could not be written, if so. */
  error: unknown

  /** @param saveMark stores the time until which the archive is complete */
  constructor(stream: ReplicationStream, writer: WalWriter, saveMark: (until: Date) => Promise<void>) {
    this.#stream = stream
    this.#writer = writer
    this.#saveMark = saveMark
    this.failed = new Promise((_resolve, reject) => (this.#fail = reject))
    this.failed.catch(() => undefined)
  }

  get progress(): ArchivingProgress {
    const { synced: position, completed: segments } = this.#writer
    return { bytes: this.#bytes, segments, position, behind: this.#behind, until: this.#until }
  }

  onBytes(lsn: bigint, bytes: Buffer): void {
    this.#waiting.push({ lsn, bytes })
    this.#waitingSize += bytes.length
    if (!this.#isPaused && this.#waitingSize > maxWaiting) {
      this.#isPaused = true
      this.#stream.pause()
    }
    this.#wake()
  }

  onAsked(): void {
    this.#isAsked = true
    this.#wake()
  }

  /** Asks the server how far it is, so that the archive knows until when it is complete as soon as that has arrived. */
  async mark(client: Client): Promise<void> {
    try {
      // In this order: what is committed before the time is flushed before the position is read.
      const { rows: times } = await client.query<{ time: string }>(
        `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time`,
      )
      const { rows } = await client.query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn')
      const lsn = parseLsn(rows[0]?.lsn ?? '')
      if (lsn === undefined || times[0] === undefined) return
      this.#behind = Math.max(0, Number(lsn - this.#writer.synced))
      this.#pendingMark ??= { lsn, time: new Date(times[0].time) }
      this.#wake()
    } catch {
      // The connection is lost: the stream will be, too.
    }
  }

  /**
   * Writes what has arrived. Nothing more is accepted.
   *
   * @param isComplete whether the server has sent everything before it ended
   */
  async end(isComplete: boolean): Promise<void> {
    if (this.#hasEnded) return
    this.#wake()
    await this.#work
    this.#hasEnded = true
    clearTimeout(this.#timer)
    if (this.error !== undefined) return
    try {
      await this.#writer.sync()
      if (isComplete) await this.#mark(new Date())
    } catch (error) {
      this.error = error
    }
  }

  #wake(): void {
    if (this.#isWorking || this.#hasEnded || this.error !== undefined) return
    this.#isWorking = true
    this.#work = this.#process()
      .catch((error: unknown) => {
        this.error = error
        this.#fail(error)
      })
      .finally(() => (this.#isWorking = false))
  }

  async #process(): Promise<void> {
    do {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        await this.#writer.write(next.lsn, next.bytes)
        this.#waitingSize -= next.bytes.length
        this.#bytes += next.bytes.length
        if (this.#isPaused && this.#waitingSize < maxWaiting / 2) {
          this.#isPaused = false
          this.#stream.resume()
        }
        if (performance.now() - this.#syncedAt > syncInterval) await this.#sync()
      }
      if (this.#isAsked || performance.now() - this.#syncedAt > syncInterval) await this.#sync()
      else if (this.#writer.synced < this.#writer.position || this.#pendingMark) this.#syncLater()
    } while (this.#waiting.length > 0 || this.#isAsked)
  }

  #syncLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#wake()
    }, syncInterval)
  }

  async #sync(): Promise<void> {
    this.#isAsked = false
    this.#syncedAt = performance.now()
    await this.#writer.sync()
    this.#stream.confirm(this.#writer.position, this.#writer.synced)
    const mark = this.#pendingMark
    if (!mark || this.#writer.synced < mark.lsn) return
    this.#pendingMark = undefined
    await this.#mark(mark.time)
  }

  async #mark(until: Date): Promise<void> {
    await this.#saveMark(until)
    this.#until = until
  }
}
