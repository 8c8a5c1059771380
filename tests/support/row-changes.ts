// Row changes on a database of a test, without sockets.
import type { Test } from 'tap'
import { parseLsn } from '../../server/common/wal-position.ts'
import { lastingIdentity, type Identity } from '../../server/identity/identity.ts'
import { connectionConfig } from '../../server/postgres/connection/pool-config.ts'
import { Database } from '../../server/postgres/database.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { LogReader } from '../../server/postgres/replication/log-reader.ts'
import { createRowChanges, type RunningRowChanges } from '../../server/services/realtime/changes/create-row-changes.ts'
import { publication } from '../../server/services/realtime/changes/publication.ts'
import type {
  ChangeEvent,
  ChangeFailure,
  ChangeSubscription,
} from '../../server/services/realtime/changes/row-changes.ts'
import { LogFeed, type SentMessage } from '../../server/services/realtime/log-feed.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'
import { until } from './until.ts'

/** The member `data` of an event. */
export type ChangeData = {
  readonly schema: string
  readonly table: string
  readonly type: string
  readonly commit_timestamp: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly record?: Readonly<Record<string, unknown>> | null
  readonly old_record?: Readonly<Record<string, unknown>>
  readonly errors: readonly string[] | null
  readonly position: string
}

export type Listening = {
  readonly subscription: ChangeSubscription
  readonly events: ChangeEvent[]
  /** The bindings of each event. */
  readonly bindings: (readonly number[])[]
  readonly failures: ChangeFailure[]
  /** The events, parsed. */
  readonly data: () => ChangeData[]
}

export type ChangesOfDatabase = {
  readonly database: MigratedDatabase
  readonly changes: RunningRowChanges
  readonly feed: LogFeed
  readonly pool: Database
  readonly messages: SentMessage[]
  readonly errors: unknown[]
  readonly listen: (
    bindings: readonly unknown[],
    identity?: Identity,
    more?: { readonly since?: string; readonly onChange?: (event: ChangeEvent) => void },
  ) => Promise<Listening>
  /** Waits until everything that is committed now was handed out. */
  readonly settled: () => Promise<void>
}

export type ChangesSettings = {
  readonly replayBytes?: number
  readonly replaySeconds?: number
  readonly transactionBytes?: number
  readonly lingering?: number
  readonly checksSessions?: boolean
}

export const asUser = (sub: string, claims: Readonly<Record<string, unknown>> = {}): Identity =>
  lastingIdentity('authenticated', { sub, role: 'authenticated', ...claims })

export const asRole = (role: string): Identity => lastingIdentity(role, { role })

const mebibyte = 1024 * 1024

/** Starts row changes on a new database. @param sql creates its tables */
export async function startRowChanges(
  t: Pick<Test, 'teardown'>,
  sql: string,
  {
    replayBytes = 16 * mebibyte,
    replaySeconds = 300,
    transactionBytes = 64 * mebibyte,
    lingering = 60_000,
    checksSessions = false,
  }: ChangesSettings = {},
): Promise<ChangesOfDatabase> {
  const database = await createMigratedDatabase()
  await database.query(sql)
  const pool = new Database(
    createPool(connectionConfig(database.authenticatorUri, {}), {
      dbPool: 10,
      dbPoolAcquisitionTimeout: 5,
      dbPoolMaxIdletime: 30,
      dbPoolMaxLifetime: 1800,
    }),
  )
  const messages: SentMessage[] = []
  const errors: unknown[] = []
  let reader: LogReader | undefined
  const feed = new LogFeed({
    gathering: 0,
    onError: (error) => errors.push(error),
    createReader: (handlers) =>
      (reader = new LogReader({
        connection: connectionConfig(database.adminUri, {}),
        publications: [publication, 'supabase_realtime_messages_publication'],
        mostBytes: () => transactionBytes,
        ...handlers,
      })),
    onMessage: (message) => messages.push(message),
    lingering,
  })
  const changes = createRowChanges({
    database: pool,
    feed,
    checksSessions: () => checksSessions,
    settings: () => ({ realtimeReplayBytes: replayBytes, realtimeReplaySeconds: replaySeconds }),
    onError: (error) => errors.push(error),
  })
  t.teardown(async () => {
    await changes.stop()
    await pool.close()
    await database.drop()
  })
  return {
    database,
    changes,
    feed,
    pool,
    messages,
    errors,
    listen: async (bindings, identity = asRole('anon'), { since, onChange } = {}) => {
      const events: ChangeEvent[] = []
      const ofEvents: (readonly number[])[] = []
      const failures: ChangeFailure[] = []
      const subscription = await changes.subscribe({
        bindings,
        identity,
        since,
        signal: AbortSignal.timeout(120_000),
        receiver: {
          onChange: (event, matching) => {
            events.push(event)
            ofEvents.push(matching)
            onChange?.(event)
          },
          onFailure: (failure) => failures.push(failure),
        },
      })
      const data = (): ChangeData[] => events.map((event) => JSON.parse(event.data) as ChangeData)
      return { subscription, events, bindings: ofEvents, failures, data }
    },
    settled: async () => {
      const { rows } = await database.query('select pg_current_wal_insert_lsn()::text as lsn')
      const end = parseLsn(String(rows[0]?.lsn)) ?? 0n
      // A commit makes the server send its position at once.
      await database.query("select pg_logical_emit_message(true, 'test', '')")
      if (!(await until(() => (reader?.position ?? 0n) >= end && feed.isIdle))) throw new Error('the log was not read')
    },
  }
}
