// Keeps an archive of the write-ahead log of the embedded database, as pg_receivewal does: everything that is committed
// arrives in the folder within milliseconds. A replication slot keeps on the server what has not arrived yet.
import { setTimeout as pause } from 'node:timers/promises'
import { isInTime } from '../../common/timers.ts'
import { formatLsn, parseLsn } from '../../common/wal-position.ts'
import { withClient, type Client } from '../connection/client.ts'
import { connectionConfig, type PoolConfig } from '../connection/pool-config.ts'
import { ReplicationStream, type ServerIdentity } from '../replication/replication-stream.ts'
import { startedStatus, type ArchiveStatus } from './archive-status.ts'
import { ArchivingSession } from './archiving-session.ts'
import { ensureSlot, hasSlot, slotName } from './backup-slot.ts'
import { BackupError } from './backup-error.ts'
import { writeDurably } from './durable-file.ts'
import {
  completeUntil,
  createArchive,
  listSegments,
  onTimeline,
  readArchive,
  readHistory,
  walFolder,
  writeArchive,
  type ArchiveState,
} from './wal-archive.ts'
import { describeServer } from './server-description.ts'
import { historyName, segmentName, segmentStart } from './wal-segment.ts'
import { WalWriter } from './wal-writer.ts'

/** What happens to the archive. */
export type ArchiveEvent =
  /** Everything that is committed is archived from now on. */
  | { readonly kind: 'archiving'; readonly position: string }
  /**
   * Nothing is archived for now. The database keeps `retained` bytes until it is: soon if the receiver retries, otherwise
   * when it is started again.
   */
  | { readonly kind: 'failing'; readonly error: unknown; readonly retained: number | null; readonly retries: boolean }
  /** Segments are missing in the archive, so that only a new backup makes it useful. */
  | { readonly kind: 'gap'; readonly from: string; readonly to: string }

export type ReceiverOptions = {
  /** Connection string of the superuser. */
  readonly uri: string
  /** Backup folder. It is created for a new archive only: a folder that is missing later may be a disk that is not mounted. */
  readonly folder: string
  readonly onEvent: (event: ArchiveEvent) => void
  /** Milliseconds until the archive is tried again after a failure. */
  readonly retryDelay?: number
  /** Milliseconds after which `until` of the archive is updated. */
  readonly markInterval?: number
}

export type WalReceiver = {
  readonly status: () => ArchiveStatus
  /**
   * Prepares for the server's end: call it before the server is stopped, and `finished` afterwards. A server that is stopped
   * sends everything before it ends. Resolves when the stream has begun, or cannot.
   */
  readonly finish: () => Promise<void>
  /** Resolves when nothing more will be written. Closes the connection if the server has not done so in time. */
  readonly finished: () => Promise<void>
}

/** Milliseconds between reports of a failure that lasts. */
const reportInterval = 60_000
/** Milliseconds in which the stream must end after the server. */
const endTimeout = 5000

/** Archives until `finish` is called and the server ends. Failures are reported, and retried forever. */
export function startReceiver(options: ReceiverOptions): WalReceiver {
  const receiver = new Receiver(options)
  return {
    status: () => receiver.status,
    finish: () => receiver.finish(),
    finished: () => receiver.finished(),
  }
}

class Receiver {
  readonly #options: Required<ReceiverOptions>
  readonly #ending = new AbortController()
  readonly #done: Promise<void>
  #stream: ReplicationStream | undefined
  #reportedAt = -Infinity
  /** Resolves when the stream of the current attempt has begun, or failed. */
  #begun: Promise<void> = Promise.resolve()
  #begin: () => void = () => undefined
  #status = startedStatus(Date.now())
  /** Writes the log at the moment. */
  #session: ArchivingSession | undefined

  constructor(options: ReceiverOptions) {
    this.#options = { retryDelay: 5000, markInterval: 5000, ...options }
    this.#done = this.#run()
  }

  get status(): ArchiveStatus {
    return this.#session ? withProgress(this.#status, this.#session) : this.#status
  }

  async finish(): Promise<void> {
    await isInTime(endTimeout, this.#begun)
    this.#ending.abort()
  }

  async finished(): Promise<void> {
    if (await isInTime(endTimeout, this.#done)) return
    this.#stream?.destroy()
    await this.#done
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      this.#begun = new Promise((resolve) => (this.#begin = resolve))
      try {
        await this.#archive()
      } catch (error) {
        await this.#report(error)
      }
      this.#begin()
      await pause(this.#options.retryDelay, undefined, { signal }).catch(() => undefined)
    }
  }

  async #report(error: unknown): Promise<void> {
    const now = performance.now()
    const { failures, behind } = this.#status
    const message = error instanceof Error ? error.message : String(error)
    this.#status = { ...this.#status, failures: failures + 1, error: message }
    const retained = await this.#retained()
    this.#status = { ...this.#status, behind: retained ?? behind }
    if (now - this.#reportedAt < reportInterval) return
    this.#reportedAt = now
    const retries = !this.#ending.signal.aborted
    this.#options.onEvent({ kind: 'failing', error, retained, retries })
  }

  /** Bytes that the server keeps for the archive; null when it cannot be asked. */
  async #retained(): Promise<number | null> {
    try {
      return await this.#withClient(async (client) => {
        const { rows } = await client.query<{ bytes: string }>(
          'select (pg_current_wal_flush_lsn() - restart_lsn)::text as bytes from pg_replication_slots where slot_name = $1',
          [slotName],
        )
        return rows[0] ? Number(rows[0].bytes) : null
      })
    } catch {
      return null
    }
  }

  #withClient<T>(use: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.#connection, use)
  }

  get #connection(): PoolConfig {
    return { ...connectionConfig(this.#options.uri, {}), application_name: 'rowhouse backup' }
  }

  /** Archives until the connection is lost. */
  async #archive(): Promise<void> {
    const { folder } = this.#options
    await this.#withClient(async (client) => {
      const isKnown = await hasSlot(client)
      const stream = new ReplicationStream(this.#connection, 'true')
      this.#stream = stream
      try {
        const identity = await stream.connect()
        const archive = await this.#openArchive(client, identity, isKnown)
        const oldest = await ensureSlot(client)
        if (identity.timeline > 1) {
          const text = await stream.history(identity.timeline)
          await writeDurably(`${walFolder(folder)}/${historyName(identity.timeline)}`, text)
        }
        const start = await startOf(folder, archive, identity.timeline, oldest)
        const available = segmentStart(oldest, archive.segmentSize)
        // The slot was removed for a while. What the server no longer has cannot be archived.
        if (start < available && !(await hasLog(client, identity.timeline, start, archive.segmentSize))) {
          this.#status = { ...this.#status, gaps: this.#status.gaps + 1 }
          this.#options.onEvent({ kind: 'gap', from: formatLsn(start), to: formatLsn(available) })
          await this.#receive(stream, client, archive, identity.timeline, available)
        } else await this.#receive(stream, client, archive, identity.timeline, start)
      } finally {
        stream.destroy()
        await stream.closed
        this.#stream = undefined
      }
    })
  }

  async #openArchive(client: Client, identity: ServerIdentity, isKnown: boolean): Promise<ArchiveState> {
    const { folder } = this.#options
    const found = await readArchive(folder)
    const { systemIdentifier, timeline } = identity
    if (found && found.systemIdentifier !== systemIdentifier) {
      throw new BackupError(
        `${folder} has the backups of another database (${found.systemIdentifier}; this one is ${systemIdentifier}). Set BACKUP_DIR to another folder.`,
      )
    }
    if (!found && isKnown) {
      throw new BackupError(
        `The archive in ${folder} is missing. Is its disk mounted? If it was removed on purpose, \`rowhouse backup\` starts a new one.`,
      )
    }
    const state = onTimeline(found ?? { ...(await describeServer(client)), timelines: [] }, timeline)
    await createArchive(folder, state)
    const until = state.timelines.at(-1)?.until ?? found?.timelines.at(-1)?.until
    this.#status = { ...this.#status, until: until?.getTime() ?? null }
    return state
  }

  async #receive(
    stream: ReplicationStream,
    client: Client,
    archive: ArchiveState,
    timeline: number,
    start: bigint,
  ): Promise<void> {
    const { folder, markInterval, onEvent } = this.#options
    const writer = new WalWriter(walFolder(folder), timeline, archive.segmentSize, start)
    const session = new ArchivingSession(stream, writer, async (until) => {
      await writeArchive(folder, completeUntil(archive, until))
    })
    const timer = setInterval(() => void session.mark(client), markInterval)
    this.#session = session
    try {
      const streaming = stream.stream(slotName, timeline, start, session)
      streaming.catch(() => undefined)
      this.#reportedAt = -Infinity
      // The server answers after it has begun to stream.
      await Promise.race([stream.begun, streaming, session.failed])
      this.#status = { ...this.#status, isConnected: true, error: undefined }
      onEvent({ kind: 'archiving', position: formatLsn(start) })
      this.#begin()
      await session.mark(client)
      await Promise.race([streaming, session.failed])
    } catch (error) {
      await session.end(stream.wasEnded)
      // The server ends after it has sent everything, which may not have been written.
      if (!stream.wasEnded || session.error !== undefined) throw session.error ?? error
    } finally {
      clearInterval(timer)
      await session.end(false)
      this.#status = { ...withProgress(this.#status, session), isConnected: false }
      this.#session = undefined
      await writer.close()
    }
  }
}

/** Adds what a session has done. */
function withProgress(status: ArchiveStatus, { progress }: ArchivingSession): ArchiveStatus {
  const { bytes, segments, behind, until, position } = progress
  const known = status.position === null ? undefined : parseLsn(status.position)
  return {
    ...status,
    bytes: status.bytes + bytes,
    segments: status.segments + segments,
    until: until?.getTime() ?? status.until,
    behind: behind ?? status.behind,
    // A new session begins with a segment that may be on disk already.
    position: formatLsn(known !== undefined && known > position ? known : position),
  }
}

/** Where to continue an archive: after its last segment of the timeline, or where the timeline began. */
async function startOf(folder: string, archive: ArchiveState, timeline: number, oldest: bigint): Promise<bigint> {
  const { segmentSize } = archive
  const segments = await listSegments(folder, segmentSize)
  const last = segments.filter((segment) => segment.timeline === timeline).at(-1)
  if (last) return last.isPartial ? last.start : last.start + BigInt(segmentSize)
  const fork = segments.length === 0 ? undefined : (await readHistory(folder, timeline)).at(-2)?.end
  return segmentStart(fork ?? oldest, segmentSize)
}

/** Whether the server still has the segment that begins at a position, or has not yet begun it. */
async function hasLog(client: Client, timeline: number, start: bigint, segmentSize: number): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    'select exists (select from pg_ls_waldir() where name = $1) as found',
    [segmentName(timeline, start, segmentSize)],
  )
  return rows[0]?.found === true
}
