// A replication stream: the write-ahead log of a server as it is written, or what a plugin makes of it.
// https://www.postgresql.org/docs/current/protocol-replication.html
import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { formatLsn } from '../../common/wal-position.ts'
import type { Client } from '../connection/client.ts'
import type { PoolConfig } from '../connection/pool-config.ts'
import { runSimple } from '../connection/simple-statement.ts'

export type StreamHandlers = {
  /** Bytes of the log, or a message of the plugin. They are valid after the call, too. */
  readonly onBytes: (lsn: bigint, bytes: Buffer) => void
  /** The server wants to know what was received. */
  readonly onAsked: () => void
  /** The server has sent everything before a position. */
  readonly onPosition?: (lsn: bigint) => void
}

export type ServerIdentity = {
  readonly systemIdentifier: string
  readonly timeline: number
}

type ReplicationConnection = EventEmitter & {
  readonly stream: Duplex
  sendCopyFromChunk(chunk: Buffer): void
}

/** Microseconds between Postgres's epoch, 2000-01-01, and that of Unix. */
export const postgresEpoch = 946_684_800_000_000n

/** A connection for replication. */
export class ReplicationStream {
  /** For further statements before it streams. They must not have parameters. */
  readonly client: Client
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
  /** Resolves when the server has begun to stream. */
  readonly begun: Promise<void>
  #wasEnded = false

  /**
   * @param connection of a role that may replicate
   * @param mode `true` for the log of all databases, `database` for the changes of the connection's database
   */
  constructor(connection: PoolConfig, mode: 'true' | 'database') {
    const config: PoolConfig & { readonly replication: string } = { ...connection, replication: mode }
    this.client = new connection.Client(config)
    // The running statement fails anyway.
    this.client.on('error', () => undefined)
    this.closed = new Promise((resolve) => this.client.once('end', resolve))
    // CopyBothResponse, which `pg` emits under this name.
    this.begun = new Promise((resolve) => this.#connection.once('replicationStart', () => resolve()))
  }

  /** Whether the server has ended the stream after it sent everything, which it does when it is shut down. */
  get wasEnded(): boolean {
    return this.#wasEnded
  }

  get #connection(): ReplicationConnection {
    return (this.client as unknown as { readonly connection: ReplicationConnection }).connection
  }

  /** @throws the connection error */
  async connect(): Promise<ServerIdentity> {
    await this.client.connect()
    const { rows } = await this.client.query<{ systemid: string; timeline: number }>('IDENTIFY_SYSTEM')
    const [row] = rows
    if (!row) throw new Error('the server did not identify itself')
    return { systemIdentifier: row.systemid, timeline: Number(row.timeline) }
  }

  /** The text of the history file of a timeline after the first. */
  async history(timeline: number): Promise<string> {
    const { rows } = await this.client.query<{ content: string | Buffer }>(`TIMELINE_HISTORY ${timeline}`)
    return rows[0]?.content.toString() ?? ''
  }

  /**
   * Streams the log until the connection is closed.
   *
   * @param slot keeps the log on the server until `confirm` says that it was received
   * @throws the server's error, or that of the connection
   */
  stream(slot: string, timeline: number, start: bigint, handlers: StreamHandlers): Promise<void> {
    return this.#start(`SLOT "${slot}" PHYSICAL ${formatLsn(start)} TIMELINE ${timeline}`, handlers)
  }

  /**
   * Streams the messages of the plugin of a slot until the connection is closed, from where the slot is.
   *
   * @param options of the plugin, as SQL
   * @param onBegin called before the first message
   * @throws the server's error, or that of the connection
   */
  streamChanges(slot: string, options: string, handlers: StreamHandlers, onBegin: () => void): Promise<void> {
    this.#connection.once('replicationStart', onBegin)
    return this.#start(`SLOT "${slot}" LOGICAL 0/0 (${options})`, handlers)
  }

  async #start(what: string, handlers: StreamHandlers): Promise<void> {
    await runSimple(this.client, `START_REPLICATION ${what}`, {
      onCopyData: (chunk) => {
        // XLogData: its type, position, end of the log, time, bytes. Primary keepalive: its type, end of the log, time, flag.
        if (chunk[0] === 0x77) handlers.onBytes(chunk.readBigUInt64BE(1), chunk.subarray(25))
        else if (chunk[0] === 0x6b) {
          handlers.onPosition?.(chunk.readBigUInt64BE(1))
          if (chunk[17] === 1) handlers.onAsked()
        }
      },
      onComplete: () => (this.#wasEnded = true),
    })
  }

  /**
   * Says what was written and what is on disk. Ignored after the connection was lost.
   *
   * @param asks whether the server must answer
   */
  confirm(written: bigint, synced: bigint, asks = false): void {
    const { stream } = this.#connection
    if (stream.destroyed || !stream.writable) return
    const message = Buffer.alloc(34)
    message[0] = 0x72
    message.writeBigUInt64BE(written, 1)
    message.writeBigUInt64BE(synced, 9)
    message.writeBigUInt64BE(0n, 17)
    message.writeBigInt64BE(BigInt(Date.now()) * 1000n - postgresEpoch, 25)
    message[33] = asks ? 1 : 0
    this.#connection.sendCopyFromChunk(message)
  }

  /** Stops reading from the connection, so that what arrives does not pile up in memory. */
  pause(): void {
    this.#connection.stream.pause()
  }

  resume(): void {
    this.#connection.stream.resume()
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#connection.stream.destroy()
  }
}
