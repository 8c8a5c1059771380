#!/usr/bin/env node
// The command line: hands the other rooms to the commands.
import { get } from 'node:http'
import type { Address, Dependencies, Session } from './command-line/dependencies.ts'
import { runProgram } from './command-line/program.ts'
import type { Config } from './config/config.ts'
import { readDatabaseSettings } from './config/database-settings.ts'
import { dumpConfig, exampleConfig } from './config/dump.ts'
import { loadConfig, withDatabaseSettings } from './config/load.ts'
import { toPoolConfig } from './config/pool-config.ts'
import { withClient } from './database/client.ts'
import { useEmbedded } from './database/embedded.ts'
import { migrate, pendingMigrations } from './database/migrate.ts'
import { createApiKey, listApiKeys, revokeApiKey } from './identity/api-key.ts'
import { toJson } from './schema-cache/json.ts'
import { loadSchemaCache } from './schema-cache/load.ts'
import { serve } from './serve.ts'
import { version } from './version.ts'

const printError = (text: string): void => {
  process.stderr.write(text)
}

const load = (file: string | undefined) => {
  const loaded = loadConfig({ env: process.env, file })
  for (const warning of loaded.warnings) printError(`Warning: ${warning}\n`)
  return loaded
}

/** Lends a connection string; the embedded database is started for that time where it is the one and does not run. */
async function withUri<T>(
  config: Config,
  role: 'owner' | 'authenticator',
  use: (uri: string) => Promise<T>,
): Promise<T> {
  if (config.dbUri !== null) return use((role === 'owner' ? config.migrationDatabaseUrl : null) ?? config.dbUri)
  const embedded = await useEmbedded({ dataDir: config.dataDir, log: (message) => printError(`${message}\n`) })
  try {
    return await use(role === 'owner' ? embedded.adminUri : embedded.authenticatorUri)
  } finally {
    await embedded.stop()
  }
}

type Client = Parameters<Parameters<typeof withClient>[1]>[0]

const withConnection = <T>(
  config: Config,
  role: 'owner' | 'authenticator',
  use: (client: Client) => Promise<T>,
): Promise<T> => withUri(config, role, (uri) => withClient(toPoolConfig(uri, process.env), use))

/** Runs statements in a read-only transaction. */
async function inTransaction<T>(
  client: Client,
  use: (query: (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>) => Promise<T>,
): Promise<T> {
  await client.query('begin isolation level repeatable read read only')
  try {
    return await use(async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows)
  } finally {
    await client.query('rollback')
  }
}

const sessionOf = (client: Client): Session => ({
  query: (text, values) => client.query<Record<string, unknown>>(text, values),
  migrate: async () => (await migrate(client)).applied,
  pendingMigrations: () => pendingMigrations(client),
  createApiKey: (wanted) => createApiKey(client, wanted),
  listApiKeys: () => listApiKeys(client),
  revokeApiKey: (id) => revokeApiKey(client, id),
})

const fetchStatus = (address: Address): Promise<number> =>
  new Promise((resolve, reject) => {
    const target =
      address.kind === 'socket'
        ? { socketPath: address.socket, path: address.path }
        : { host: address.host, port: address.port, path: address.path }
    const request = get({ ...target, timeout: 5000 }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('timeout', () => request.destroy(new Error('no answer within 5 seconds')))
    request.on('error', reject)
  })

const dependencies: Dependencies = {
  version,
  print: (text) => {
    process.stdout.write(text)
  },
  printError,
  loadConfig: (file) => load(file).config,
  withDatabaseSettings: async (file) => {
    const loaded = load(file)
    const { config } = loaded
    // The embedded database has no settings of its own, and printing some is no reason to make one.
    if (!config.dbConfig || config.dbUri === null) return config
    const rows = await withConnection(config, 'authenticator', (client) =>
      inTransaction(client, (query) => readDatabaseSettings(query, config.dbPreConfig)),
    )
    return withDatabaseSettings(loaded, rows).config
  },
  dumpConfig,
  exampleConfig,
  dumpSchema: (config) =>
    withConnection(config, 'authenticator', (client) =>
      inTransaction(client, async (query) => {
        const { dbSchemas: schemas, dbExtraSearchPath: extraSearchPath, dbHoistedTxSettings: hoistedSettings } = config
        return JSON.stringify(toJson(await loadSchemaCache(query, { schemas, extraSearchPath, hoistedSettings })))
      }),
    ),
  serve,
  withDatabase: (config, role, use) => withConnection(config, role, (client) => use(sessionOf(client))),
  fetchStatus,
}

process.exitCode = await runProgram(process.argv.slice(2), dependencies)
