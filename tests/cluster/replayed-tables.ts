// The request tables of `tests/tables`, replayed on a server that is reached in some way, for example through a pooler.
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { Environment } from '../../server/config/config-sources.ts'
import { migrate } from '../../server/postgres/migrate.ts'
import { startApplication } from '../support/application.ts'
import { readFixture } from '../support/fixture.ts'
import { compare, requestOf, titleOf, type RequestTable } from '../support/request-table.ts'
import { send } from '../support/sent-request.ts'
import { writesSettings } from '../support/writes-service.ts'
import { distinctTables } from '../tables/distinct.ts'
import { nestedUpsertTables, seed } from '../tables/nested-upserts.ts'
import { nestedWriteTables } from '../tables/nested-writes.ts'
import { commonSettings, readTables } from '../tables/reads/read-tables.ts'
import { argumentTables } from '../tables/rpc-arguments.ts'
import { resultTables } from '../tables/rpc-results.ts'
import { insertRowTables } from '../tables/write-insert-rows.ts'
import { insertBodyTables } from '../tables/write-insert.ts'
import { updateAndDeleteTables } from '../tables/write-update-delete.ts'
import { upsertTables } from '../tables/write-upsert.ts'
import { trustedUri, type UriOf } from './pooler.ts'

/** Tables on one database. */
export type Suite = {
  readonly name: string
  readonly fixture: string
  /** Whether the database has the migrations. */
  readonly isMigrated?: boolean
  /** SQL after the fixture. */
  readonly more?: string
  readonly login: string
  readonly settings: Environment
  readonly tables: readonly RequestTable[]
}

const nested = { PGRST_DB_SCHEMAS: 'store', PGRST_DB_TX_END: 'rollback-allow-override' }
export const suites: readonly Suite[] = [
  {
    name: 'reads',
    fixture: 'reads',
    login: 'postgres',
    settings: {
      PGRST_DB_ANON_ROLE: 'visitor',
      PGRST_DB_SCHEMAS: 'garage, depot',
      PGRST_DB_EXTRA_SEARCH_PATH: 'tools',
      ...commonSettings,
    },
    tables: readTables,
  },
  {
    name: 'writes',
    fixture: 'writes',
    login: 'garage_server',
    settings: { ...writesSettings, PGRST_DB_SCHEMAS: 'garage' },
    tables: [
      ...insertBodyTables,
      ...insertRowTables,
      ...updateAndDeleteTables,
      ...upsertTables,
      ...argumentTables,
      ...resultTables,
    ],
  },
  {
    name: 'nested writes',
    fixture: 'nested',
    login: 'nested_server',
    settings: { ...nested, PGRST_DB_PLAN_ENABLED: 'true' },
    tables: await nestedWriteTables(),
  },
  {
    name: 'nested upserts',
    fixture: 'nested',
    more: seed,
    login: 'nested_server',
    settings: nested,
    tables: await nestedUpsertTables(),
  },
  {
    name: 'distinct rows',
    fixture: 'sales',
    isMigrated: true,
    login: 'authenticator',
    settings: {
      PGRST_DB_SCHEMAS: 'sales',
      PGRST_DB_EXTRA_SEARCH_PATH: 'public',
      PGRST_DB_AGGREGATES_ENABLED: 'true',
      SESSION_SECRETS: 's'.repeat(32),
    },
    tables: distinctTables,
  },
]

/** Tables of a suite that share a server, because their settings are the same. */
export type TableGroup = { readonly settings: Environment; readonly tables: readonly RequestTable[] }

/** The tables of a suite by their settings, which include those of the suite. */
export function groupsOf(suite: Suite): readonly TableGroup[] {
  const groups = new Map<string, RequestTable[]>()
  for (const table of suite.tables) {
    const key = JSON.stringify(table.settings ?? {})
    groups.set(key, [...(groups.get(key) ?? []), table])
  }
  return [...groups].map(([settings, tables]) => ({
    settings: {
      PGRST_LOG_LEVEL: 'crit',
      SERVICES: 'rest',
      ...suite.settings,
      ...(JSON.parse(settings) as Environment),
    },
    tables,
  }))
}

/** Runs statements as the superuser, on a connection of their own. */
export async function run(port: number, database: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: trustedUri(port)(database, 'postgres') })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** The same fixture may serve two suites, but its roles can be created only once. */
const templateOf = ({ fixture }: Suite): string => `fixture_${fixture}`

/** Loads the fixtures of all tables into template databases. */
export async function loadFixtures(port: number): Promise<void> {
  const done = new Set<string>()
  for (const suite of suites) {
    const template = templateOf(suite)
    if (done.has(template)) continue
    done.add(template)
    await run(port, 'postgres', `create database ${template}`)
    if (suite.isMigrated === true) {
      const client = new pg.Client({ connectionString: trustedUri(port)(template, 'postgres') })
      await client.connect()
      await migrate(client)
      await client.end()
    }
    await run(port, template, await readFixture(suite.fixture))
  }
  await run(port, 'postgres', 'create role visitor')
}

export type Replay = {
  readonly rows: number
  /** Rows whose response was another one, with what was found. */
  readonly failed: ReadonlyMap<string, string>
}

/**
 * Sends all requests to programs that reach new databases in some way.
 *
 * @param admin port of the server itself
 * @param uriOf connection strings of the programs
 * @param more settings of all programs
 */
export async function replayTables(admin: number, uriOf: UriOf, more: Environment): Promise<Replay> {
  const failed = new Map<string, string>()
  let rows = 0
  let number = 0
  for (const suite of suites) {
    const database = `replay_${Date.now()}_${number++}`
    await run(admin, 'postgres', `create database ${database} template ${templateOf(suite)}`)
    if (suite.more !== undefined) await run(admin, database, suite.more)
    for (const { settings, tables } of groupsOf(suite)) {
      const closings: (() => unknown)[] = []
      const { url } = await startApplication(
        { teardown: (close: () => unknown) => void closings.unshift(close) },
        uriOf(database, suite.login),
        {
          ...settings,
          ...more,
        },
      )
      for (const table of tables) {
        for (const row of table.rows) {
          rows++
          const { found, wanted } = compare(row, await send(`${url}/rest/v1`, await requestOf(row)))
          if (isDeepStrictEqual(found, wanted)) continue
          failed.set(`${suite.name}: ${table.title}: ${titleOf(row)}`, JSON.stringify(found).slice(0, 400))
        }
      }
      for (const close of closings) await close()
    }
  }
  return { rows, failed }
}
