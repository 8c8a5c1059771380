// The settings of `/realtime/v1`. Their environment variables have the names of Supabase's realtime where it has them; the table is in
// `config/realtime-settings.ts`.

export type RealtimeSettings = {
  /** Connection string of a login with REPLICATION, for the log. Null: `db-uri`. */
  readonly realtimeDatabaseUrl: string | null
  /** Maximum number of sockets of a process. */
  readonly realtimeMaxConnections: number
  /** Maximum number of channels of a socket. */
  readonly realtimeMaxChannelsPerClient: number
  /** Joins per second, of a socket. */
  readonly realtimeMaxJoinsPerSecond: number
  /** Messages per second that a socket may send. */
  readonly realtimeMaxEventsPerSecond: number
  /** Bytes per second that a socket may send. */
  readonly realtimeMaxBytesPerSecond: number
  /** Maximum bytes of the payload of a message. */
  readonly realtimeMaxPayloadBytes: number
  /** Presence messages that a client may send in `realtimePresenceWindowMs`. */
  readonly realtimePresenceMaxCalls: number
  /** Milliseconds. */
  readonly realtimePresenceWindowMs: number
  /** Bytes that may wait for a slow socket; with more, it is closed. */
  readonly realtimeMaxBufferedBytes: number
  /** Whether all channels must be private. */
  readonly realtimePrivateOnly: boolean
  /** Bytes of row changes that are kept for clients that come back. */
  readonly realtimeReplayBytes: number
  /** Seconds that they are kept. */
  readonly realtimeReplaySeconds: number
  /** Bytes of the changes of one transaction; of a larger one, subscribers get a `Gap`. */
  readonly realtimeMaxTransactionBytes: number
}
