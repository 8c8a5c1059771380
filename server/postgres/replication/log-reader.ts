// Reads the changes of rows in publications from the log of a database, by logical replication with a temporary slot. There is
// nothing on the server while it does not read.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { isInTime } from '../../common/timers.ts'
import { parseLsn } from '../../common/wal-position.ts'
import { identifier, literal } from '../../text/sql-text.ts'
import { connectionSocket, withClient, type Client } from '../connection/client.ts'
import type { PoolConfig } from '../connection/pool-config.ts'
import {
  isMissingRequirement,
  isPoolerError,
  missing,
  missingRequirements,
  requirementText,
  type MissingRequirement,
} from './log-requirements.ts'
import { LogSession, type LogSessionOptions } from './log-session.ts'
import { ReplicationStream } from './replication-stream.ts'

export type LogState =
  /** Every transaction that commits at or after a position is handed over, until another state is reported. */
  | { readonly kind: 'reading'; readonly from: bigint; readonly publications: readonly string[] }
  /** Transactions from now on may be missing, until it reads again. */
  | { readonly kind: 'lost'; readonly message: string; readonly retrySeconds: number }
  /** Something is missing on the server. The message says which statement mends it. It is tried again. */
  | { readonly kind: 'unavailable'; readonly message: string }

export type LogReaderOptions = LogSessionOptions & {
  /** Of a login with REPLICATION, not through a pooler. */
  readonly connection: PoolConfig
  /** Those of them that exist when it begins to read are read. */
  readonly publications: readonly string[]
  readonly onState: (state: LogState) => void
}

export type LogLag = {
  /** Between what the server has sent and what was processed. */
  readonly bytes: number
  /** Since the commit of the transaction that is being processed; 0 between transactions. */
  readonly seconds: number
}

/** Milliseconds until the connection is tried again, at first and at most. */
const firstDelay = 250
const longestDelay = 8000
/** Milliseconds after which the creation of a slot is reported as waiting. */
const patience = 5000
/** Milliseconds in which a server must accept a connection. */
const connectTimeout = 30_000
/** Milliseconds in which a connection that was destroyed must be closed. */
const closingTime = 1000

/** What the values of rows are written like: as JSON expects them. */
const sessionSettings =
  "set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; set extra_float_digits = 1"

/** Something is missing on the server, or in the settings. */
class Unavailable extends Error {
  constructor(requirements: readonly MissingRequirement[], cause?: unknown) {
    super(requirements.map(requirementText).join(' '), { cause })
  }
}

export class LogReader {
  readonly #options: LogReaderOptions
  readonly #ending = new AbortController()
  #stream: ReplicationStream | undefined
  #session: LogSession | undefined
  #position = 0n
  #delay = firstDelay
  #unavailable: string | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: LogReaderOptions) {
    this.#options = options
  }

  /** Everything before this position was handed over and processed. 0 before it has begun to read. */
  get position(): bigint {
    return this.#session?.position ?? this.#position
  }

  get lag(): LogLag {
    const session = this.#session
    if (!session) return { bytes: 0, seconds: 0 }
    const { processed } = session
    return {
      bytes: Math.max(0, Number(session.known - session.position)),
      seconds: processed === undefined ? 0 : Math.max(0, Date.now() / 1000 - Number(processed) / 1_000_000),
    }
  }

  /** Reads until `stop` is called, and connects again when the connection is lost. */
  start(): void {
    this.#done = this.#run()
  }

  /** Nothing is handed over or reported after this was called. Resolves when the connection is closed, and the slot gone. */
  async stop(): Promise<void> {
    this.#ending.abort()
    this.#session?.end()
    this.#stream?.destroy()
    await this.#done
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      const error = await this.#read().catch((reason: unknown) => reason)
      if (signal.aborted) return
      const delay = this.#delay
      this.#delay = Math.min(delay * 2, longestDelay)
      this.#report(error, delay / 1000)
      await pause(delay, undefined, { signal }).catch(() => undefined)
    }
  }

  #report(error: unknown, retrySeconds: number): void {
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof Unavailable)) {
      this.#unavailable = undefined
      this.#options.onState({ kind: 'lost', message, retrySeconds })
    } else this.#reportUnavailable(message)
  }

  #reportUnavailable(message: string): void {
    if (message === this.#unavailable) return
    this.#unavailable = message
    this.#options.onState({ kind: 'unavailable', message })
  }

  /**
   * Reads until the connection is lost.
   *
   * @throws why it reads no more
   */
  async #read(): Promise<never> {
    const connection = { ...this.#options.connection, application_name: 'rowhouse log' }
    const stream = new ReplicationStream(connection, 'database')
    this.#stream = stream
    try {
      const { publications, slot, from } = await this.#prepare(stream.client)
      const session = new LogSession(stream, from, this.#options)
      this.#session = session
      const names = literal(publications.map(identifier).join(','))
      const streaming = stream.streamChanges(slot, `proto_version '1', publication_names ${names}`, session, () =>
        this.#begun(from, publications),
      )
      streaming.catch(() => undefined)
      await Promise.race([streaming, session.failed])
      throw new Error('the server has ended the stream')
    } finally {
      this.#session?.end()
      this.#position = this.position
      this.#session = undefined
      stream.destroy()
      await isInTime(closingTime, stream.closed)
      this.#stream = undefined
    }
  }

  /** Transactions may follow in the same chunk. */
  #begun(from: bigint, publications: readonly string[]): void {
    if (this.#ending.signal.aborted) return
    this.#delay = firstDelay
    this.#unavailable = undefined
    this.#options.onState({ kind: 'reading', from, publications })
  }

  /** @throws Unavailable */
  async #prepare(
    client: Client,
  ): Promise<{ readonly publications: readonly string[]; readonly slot: string; readonly from: bigint }> {
    try {
      const publications = await this.#connect(client)
      if (publications.length === 0) throw new Unavailable([missing.publications(this.#options.publications)])
      const slot = `rowhouse_realtime_${randomBytes(8).toString('hex')}`
      return { publications, slot, from: await this.#createSlot(client, slot) }
    } catch (error) {
      throw await this.#explained(error)
    }
  }

  /** @returns the publications that exist */
  async #connect(client: Client): Promise<readonly string[]> {
    const timer = setTimeout(() => this.#stream?.destroy(), connectTimeout)
    try {
      await client.connect()
      // The creation of the slot may take long, in which a dead server would not be noticed otherwise.
      connectionSocket(client).setKeepAlive(true, connectTimeout)
      await client.query(sessionSettings)
      return await this.#existing(client)
    } finally {
      clearTimeout(timer)
    }
  }

  async #existing(client: Client): Promise<readonly string[]> {
    const names = this.#options.publications.map(literal).join(', ')
    const { rows } = await client.query<{ name: string }>(
      `select pubname::text as name from pg_catalog.pg_publication where pubname in (${names})`,
    )
    return rows.map(({ name }) => name)
  }

  /** @returns where it begins */
  async #createSlot(client: Client, slot: string): Promise<bigint> {
    const { processID } = client as Client & { readonly processID?: number | null }
    const timer = setInterval(() => void this.#reportWaiting(processID ?? 0), patience)
    try {
      const { rows } = await client.query<{ consistent_point: string }>(
        `CREATE_REPLICATION_SLOT ${identifier(slot)} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`,
      )
      const from = parseLsn(rows[0]?.consistent_point ?? '')
      if (from === undefined) throw new Error('the server did not say where the log begins')
      return from
    } finally {
      clearInterval(timer)
    }
  }

  /** Says which transaction the creation of the slot waits for. */
  async #reportWaiting(pid: number): Promise<void> {
    try {
      const { rows } = await this.#query<{ pid: number }>(
        `select unnest(pg_catalog.pg_blocking_pids(${pid})) as pid limit 1`,
      )
      const [blocking] = rows
      if (blocking && !this.#session && !this.#ending.signal.aborted) {
        this.#reportUnavailable(requirementText(missing.transaction(blocking.pid)))
      }
    } catch {
      // The slot is created nevertheless, or its connection is lost, too.
    }
  }

  /** Runs a statement on another connection, which is not for replication. */
  #query<Row extends object>(text: string): Promise<{ readonly rows: readonly Row[] }> {
    const connection = { ...this.#options.connection, application_name: 'rowhouse log' }
    return withClient(connection, (client) => client.query<Row>(text))
  }

  /** The error, or what is missing if that is why. */
  async #explained(error: unknown): Promise<unknown> {
    if (error instanceof Unavailable || this.#ending.signal.aborted) return error
    if (isPoolerError(error)) return new Unavailable([missing.pooler()], error)
    if (!isMissingRequirement(error)) return error
    const requirements = await missingRequirements((text) => this.#query(text), []).catch(() => [])
    return requirements.length === 0 ? error : new Unavailable(requirements, error)
  }
}
