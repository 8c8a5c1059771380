// Outgoing calls in a test: rows of `rowhouse.calls`, and the process side that sends them.
import type { Test } from 'tap'
import { Database } from '../../server/postgres/database.ts'
import { createPool } from '../../server/postgres/pool.ts'
import type { WebhooksSettings } from '../../server/services/webhooks/settings.ts'
import { startSender, type StartedSender } from '../../server/services/webhooks/start-sender.ts'
import { SenderStatistics } from '../../server/services/webhooks/statistics.ts'
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/** Settings with which nothing takes long. */
export const briskSettings: WebhooksSettings = {
  webhooksAllowedHosts: ['127.0.0.1'],
  webhooksMaxAttempts: 20,
  webhooksMaxPause: 1,
  webhooksMaxTimeout: 30_000,
  webhooksConcurrency: 64,
  webhooksHostConcurrency: 16,
  webhooksMaxResponseBytes: 65_536,
  webhooksKeepDelivered: 3600,
  webhooksKeepDead: 3600,
}

export type TestSender = StartedSender & {
  readonly statistics: SenderStatistics
  readonly warnings: string[]
  readonly errors: unknown[]
  readonly settings: WebhooksSettings
}

/** A sender with connections of its own, as another process would have. */
export function newSender(
  t: Pick<Test, 'teardown'>,
  uri: string,
  changes: Partial<WebhooksSettings> = {},
): TestSender & { readonly database: Database } {
  const database = new Database(
    createPool(
      { connectionString: uri },
      { dbPool: 3, dbPoolAcquisitionTimeout: 10, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
    ),
  )
  const [warnings, errors]: [string[], unknown[]] = [[], []]
  const settings = { ...briskSettings, ...changes }
  const statistics = new SenderStatistics()
  const sender = startSender(
    {
      database,
      settings: () => settings,
      onError: (error) => void errors.push(error),
      warn: (message) => void warnings.push(message),
    },
    statistics,
  )
  t.teardown(async () => {
    await sender.stop()
    await database.close()
  })
  return { ...sender, statistics, warnings, errors, settings, database }
}

export type NewCall = {
  readonly url: string
  readonly method?: string
  readonly headers?: object
  readonly body?: string | null
  readonly key?: string | null
  readonly timeout?: number
  readonly secret?: string | null
  readonly retries?: boolean
}

/** Adds a call as the functions of SQL do, and returns its id. */
export async function addCall(database: TestDatabase, call: NewCall): Promise<string> {
  const { url, method = 'POST', headers = {}, body = '{}', key = null, timeout = 10_000, secret = null } = call
  const { rows } = await database.query(
    `insert into rowhouse.calls (webhook, method, url, host, headers, body, key, timeout_ms, secret_name, depth, retries, created_by)
     values ('public.orders.hook', $1, $2, rowhouse.call_host($2), $3, $4, $5, $6, $7, 1, $8, current_user) returning id`,
    [method, url, headers, body, key, timeout, secret, call.retries ?? true],
  )
  return String(rows[0]?.id)
}

/** The row of a call. */
export async function storedCall(database: TestDatabase, id: string): Promise<Record<string, unknown>> {
  const { rows } = await database.query('select * from rowhouse.calls where id = $1', [id])
  return rows[0] ?? {}
}

/** Waits until a call is in a state, and returns its row. */
export async function callInState(database: TestDatabase, id: string, state: string): Promise<Record<string, unknown>> {
  await until(async () => (await storedCall(database, id)).state === state)
  return storedCall(database, id)
}
