// The entry point of the program. Provides the commands with their dependencies.
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { version } from '../common/version.ts'
import type { BodyValidator } from '../rest/validation.ts'
import type { MigrationOptions } from '../postgres/migrate.ts'
import type { Client } from '../postgres/connection/client.ts'
import { connectTo, hasEmbedded, withAddress, withConnection } from './command-line/connection.ts'
import { noticeTo } from './command-line/notice.ts'
import type { PipelineClient } from '../postgres/protocol/pipeline-client.ts'
import type {
  Address,
  ConnectionWish,
  Dependencies,
  LaboratoryWish,
  Migrated,
  MigrateOptions,
  DatabaseOperations,
} from './command-line/dependencies.ts'
import type { WatchOptions } from './migrations/watch.ts'
import type { ServeOptions } from '../running/serve.ts'
import { serveTools } from './serve-tools.ts'
import { messageOf } from './command-line/error-message.ts'
import { runProgram } from './command-line/program.ts'
import { watchTermination } from '../running/termination.ts'
import { readDatabaseSettings } from '../config/database-settings.ts'
import type { Config } from '../config/config.ts'
import { dumpConfig, dumpConfigJson, exampleConfig, exampleConfigJson } from '../config/dump.ts'
import { loadConfig, withDatabaseSettings, type LoadedConfig } from '../config/load.ts'
import type { Laboratory } from './policy-tests/laboratory.ts'

const print = (text: string): void => void process.stdout.write(text)
const printError = (text: string): void => void process.stderr.write(text)
const isJson = process.argv.includes('--json')
const log = noticeTo(printError, isJson)

const warn = (warning: string): void =>
  printError(isJson ? `${JSON.stringify({ warning })}\n` : `WARNING: ${warning}\n`)

function load(file: string | undefined): LoadedConfig {
  const loaded = loadConfig({ env: process.env, file })
  for (const warning of loaded.warnings) warn(warning)
  return loaded
}

async function loadWithDatabase(file: string | undefined, uri?: string): Promise<Config> {
  const given = load(file)
  const loaded = uri === undefined ? given : { ...given, config: { ...given.config, dbUri: uri } }
  const { dbConfig, dbPreConfig, dbUri } = loaded.config
  if (!dbConfig || dbUri === null) return loaded.config
  let rows: Awaited<ReturnType<typeof readDatabaseSettings>> = []
  try {
    rows = await withConnection(loaded.config, process.env, reading, log, (client) =>
      readOnly(client, () =>
        readDatabaseSettings(
          async (text, values) => (await client.query(text, values)).rows as SettingRow[],
          dbPreConfig,
        ),
      ),
    )
  } catch (error) {
    // Like PostgREST, continues without them, so that a configuration can be inspected without its database.
    warn(`cannot read the settings in the database: ${messageOf(error)}`)
  }
  return withDatabaseSettings(loaded, rows).config
}

type SettingRow = Record<string, unknown>

const reading: ConnectionWish = { role: 'authenticator', creates: false }

async function readOnly<T>(client: Client, use: () => Promise<T>): Promise<T> {
  await client.query('begin transaction isolation level repeatable read, read only')
  try {
    return await use()
  } finally {
    await client.query('rollback')
  }
}

async function dumpSchema(config: Config): Promise<string> {
  const { introspectionSettings, loadSchemaCache } = await import('../catalogue/load.ts')
  const { toJson } = await import('../catalogue/json.ts')
  return withConnection(config, process.env, reading, log, (client) =>
    readOnly(client, async () => {
      await client.query(introspectionSettings)
      const cache = await loadSchemaCache(
        async (text, values) => (await client.query(text, values)).rows as SettingRow[],
        {
          schemas: config.dbSchemas,
          extraSearchPath: config.dbExtraSearchPath,
          hoistedSettings: config.dbHoistedTxSettings,
        },
      )
      return JSON.stringify(toJson(cache))
    }),
  )
}

/** Imports modules on demand, so that commands such as `--help` start quickly. */
async function sessionOn(client: PipelineClient, config: Config): Promise<DatabaseOperations> {
  const { pendingMigrations } = await import('../postgres/migrate.ts')
  const project = await import('./migrations/project-migrations.ts')
  const keys = await import('../identity/api-key/api-key.ts')
  const { addSampleData } = await import('./command-line/sample-data.ts')
  const { runScratch } = await import('../postgres/scratch-transaction.ts')
  return {
    query: (text, values) => client.query<SettingRow>(text, values),
    migrate: (wanted) => migrateWith(client, config, wanted),
    pendingMigrations: async (wanted) => [
      ...(await pendingMigrations(client, migrationsOf(config))),
      ...(await project.pendingFiles(client, config, wanted)),
    ],
    migrationStatus: () => project.projectStatus(client, config),
    acceptMigration: (name) => project.acceptFile(client, config, name),
    createApiKey: (wanted) => keys.createApiKey(client, wanted),
    listApiKeys: () => keys.listApiKeys(client),
    revokeApiKey: (id) => keys.revokeApiKey(client, id),
    setApiKeyLimits: (id, limits) => keys.setApiKeyLimits(client, id, limits),
    addSampleData: (email) => addSampleData(client, email),
    scratch: ({ isolation }, use) => runScratch(client, isolation, use),
  }
}

/** The folder of the embedded database, if it is the one to migrate. */
const embeddedFolder = ({ dataDir, dbUri, migrationDatabaseUrl }: Config): string | undefined =>
  dbUri === null && migrationDatabaseUrl === null ? dataDir : undefined

const migrationsOf = (config: Config): MigrationOptions => ({
  dataDir: embeddedFolder(config),
  services: config.services,
})

async function migrateWith(
  client: Client,
  config: Config,
  { seed, ...wanted }: MigrateOptions = {},
): Promise<Migrated> {
  const { applyProject } = await import('./migrations/project-migrations.ts')
  const own = await migrateOwn(client, config)
  const files = await applyProject(client, config, { ...wanted, ...(seed ? { seed: 'changed' } : {}), onNotice: log })
  return {
    applied: [...own.applied, ...files.applied, ...files.seeded],
    notes: [...own.notes, ...files.notes],
  }
}

/** Applies the server's own migrations. */
async function migrateOwn(client: Client, config: Config): Promise<Migrated> {
  const options = { onNotice: log, ...migrationsOf(config) }
  const { dbUri, migrationDatabaseUrl } = config
  if (migrationDatabaseUrl === null) {
    const { migrate } = await import('../postgres/migrate.ts')
    return { applied: (await migrate(client, options)).applied, notes: [] }
  }
  const { servingFrom } = await import('../running/connection-setting.ts')
  const { describeLogin, migrateForServing } = await import('../postgres/serving-login.ts')
  const serving = servingFrom(dbUri, process.env)
  const { applied, login } = await migrateForServing(client, serving, options)
  return { applied, notes: describeLogin(login, serving.setting) }
}

async function allMigrations(config: Config): Promise<readonly string[]> {
  const { allMigrations: own } = await import('../postgres/migrate.ts')
  const { allFiles } = await import('./migrations/project-migrations.ts')
  return [...(await own({ services: config.services })), ...(await allFiles(config))]
}

/** While a command watches, `serve` can be stopped and started with the embedded database. */
const watching: ConnectionWish = { role: 'owner', creates: false, starts: false }

async function watchMigrations(config: Config, options: WatchOptions): Promise<void> {
  const { watchProject } = await import('./migrations/watch-project.ts')
  return withAddress(config, process.env, watching, log, ({ uri, env }) => watchProject(config, uri, env, options))
}

function fetchStatus(address: Address): Promise<number> {
  const { path } = address
  const target = address.kind === 'socket' ? { socketPath: address.socket } : { host: address.host, port: address.port }
  return new Promise((resolve, reject) => {
    const asked = request({ ...target, path, timeout: 5000 }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    asked.once('timeout', () => asked.destroy(new Error('timed out')))
    asked.once('error', reject)
    asked.end()
  })
}

async function bodyValidator(config: Config): Promise<BodyValidator> {
  const { compileSchemas } = await import('../validation/validator.ts')
  const { readUsedSchemas } = await import('../running/schema-files.ts')
  return compileSchemas(await readUsedSchemas(config))
}

async function withLaboratory<T>(
  config: Config,
  wish: LaboratoryWish,
  use: (laboratory: Laboratory) => Promise<T>,
): Promise<T> {
  const { withEmbeddedLaboratory } = await import('./policy-tests/embedded-laboratory.ts')
  return withEmbeddedLaboratory(config, process.env, wish, log, use)
}

async function serve(options: ServeOptions): Promise<void> {
  removeSignalHandlers()
  const server = await import('../running/serve.ts')
  return server.serve(options, serveTools)
}

/**
 * Ends an interrupted command with `process.exit`, whose handlers stop an embedded database that it started. The server
 * handles signals itself.
 */
const exitOnSignal = (): void => process.exit(130)
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const removeSignalHandlers = (): void => signals.forEach((signal) => process.removeListener(signal, exitOnSignal))
signals.forEach((signal) => process.on(signal, exitOnSignal))

const dependencies: Dependencies = {
  version,
  print,
  printError,
  loadConfig: (file) => load(file).config,
  withDatabaseSettings: loadWithDatabase,
  dumpConfig: (config, json) => (json ? dumpConfigJson(config) : dumpConfig(config)),
  exampleConfig: (json) => (json ? exampleConfigJson() : exampleConfig()),
  dumpSchema,
  serve,
  withDatabase: (config, wish, use) =>
    withConnection(config, process.env, wish, log, async (client) => use(await sessionOn(client, config))),
  withUsers: (config, use) =>
    withAddress(config, process.env, reading, log, async (address) =>
      (await import('./users/with-users.ts')).withUsers(config, address, use),
    ),
  withAddress: (config, wish, use) => withAddress(config, process.env, wish, log, use),
  connectTo,
  hasDatabase: async ({ dataDir, dbUri, migrationDatabaseUrl }) =>
    dbUri !== null || migrationDatabaseUrl !== null || (await hasEmbedded(dataDir)),
  allMigrations,
  watchMigrations,
  fetchStatus,
  withLaboratory,
  makeFolder: async (path) => void (await mkdir(path, { recursive: true })),
  tableSchemas: async (config) => (await import('../running/schema-files.ts')).readUsedSchemas(config),
  output: process.stdout,
  errors: process.stderr,
  onInterrupt: (listener) => {
    process.removeListener('SIGINT', exitOnSignal)
    process.on('SIGINT', listener)
    return () => {
      process.removeListener('SIGINT', listener)
      process.on('SIGINT', exitOnSignal)
    }
  },
  // Opened on demand, because a command that reads nothing must not wait for it.
  get input() {
    return process.stdin
  },
  env: process.env,
  bodyValidator,
  watchTermination: () => {
    removeSignalHandlers()
    return watchTermination()
  },
}

process.exitCode = await runProgram(process.argv.slice(2), dependencies)
