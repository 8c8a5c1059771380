// The settings of `/realtime/v1`, with the names of Supabase's realtime where it has them.
import type { RealtimeSettings } from '../services/realtime/settings.ts'
import { supabaseSetting as realtime } from './service-setting.ts'
import type { Setting } from './setting.ts'
import * as types from './setting-types.ts'

const mebibyte = 1024 * 1024

export const realtimeSettings: { readonly [K in keyof RealtimeSettings]: Setting<RealtimeSettings[K]> } = {
  realtimeDatabaseUrl: realtime('REALTIME_DATABASE_URL', types.connectionString, null, {
    description:
      'Connection string of a login with `REPLICATION`, which reads changes of rows from the write-ahead log; or `@file`. Not through a pooler.',
    defaultInWords: "as `db-uri`; the embedded database's own",
    example: '"postgresql://replicator@localhost:5432/postgres"',
    change: 'restart',
  }),
  realtimeMaxConnections: realtime('MAX_CONNECTIONS', types.integer({ min: 1, max: 1_000_000 }), 16_384, {
    description: 'Maximum number of WebSockets of a process.',
  }),
  realtimeMaxChannelsPerClient: realtime(
    'TENANT_MAX_CHANNELS_PER_CLIENT',
    types.integer({ min: 1, max: 100_000 }),
    100,
    { description: 'Maximum number of channels of a WebSocket.' },
  ),
  realtimeMaxJoinsPerSecond: realtime('TENANT_MAX_JOINS_PER_SECOND', types.integer({ min: 1, max: 1_000_000 }), 100, {
    description: 'Channels that a WebSocket may join per second.',
  }),
  realtimeMaxEventsPerSecond: realtime(
    'TENANT_MAX_EVENTS_PER_SECOND',
    types.integer({ min: 1, max: 10_000_000 }),
    1000,
    { description: 'Messages that a WebSocket may send per second.' },
  ),
  realtimeMaxBytesPerSecond: realtime('TENANT_MAX_BYTES_PER_SECOND', types.size, 10_000_000, {
    description: 'Bytes that a WebSocket may send per second.',
  }),
  realtimeMaxPayloadBytes: realtime('REALTIME_MAX_PAYLOAD_BYTES', types.size, 3_000_000, {
    description: 'Maximum bytes of the payload of a message.',
  }),
  realtimePresenceMaxCalls: realtime('CLIENT_PRESENCE_MAX_CALLS', types.integer({ min: 1, max: 1_000_000 }), 100, {
    description: 'Presence messages that a WebSocket may send in `client-presence-window-ms`.',
  }),
  realtimePresenceWindowMs: realtime('CLIENT_PRESENCE_WINDOW_MS', types.integer({ min: 1, max: 86_400_000 }), 30_000, {
    description: 'Milliseconds.',
  }),
  realtimeMaxBufferedBytes: realtime('REALTIME_MAX_BUFFERED_BYTES', types.size, 4 * mebibyte, {
    description: 'Bytes that may wait for a slow client. With more, its WebSocket is closed.',
  }),
  realtimePrivateOnly: realtime('REALTIME_PRIVATE_ONLY', types.boolean, false, {
    description: 'Whether all channels must be private, so that policies decide about each.',
  }),
  realtimeReplayBytes: realtime('REALTIME_REPLAY_BYTES', types.sizeOrZero, 16 * mebibyte, {
    description: 'Memory of each process for the latest changes of rows, for clients that come back. `0` keeps none.',
  }),
  realtimeReplaySeconds: realtime('REALTIME_REPLAY_SECONDS', types.integer({ min: 0, max: 86_400 }), 300, {
    description: 'Seconds that changes of rows are kept for clients that come back.',
  }),
  realtimeMaxTransactionBytes: realtime('REALTIME_MAX_TRANSACTION_BYTES', types.size, 64 * mebibyte, {
    description: 'Maximum bytes of the changes of one transaction. Of a larger one, subscribers get a `Gap`.',
  }),
}
