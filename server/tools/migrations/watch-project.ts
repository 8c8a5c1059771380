// Watching a project's migrations: the databases that `watch.ts` needs, on the server of the database that is served.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/config-sources.ts'
import { toPoolConfig } from '../../running/connection-setting.ts'
import { withClient } from '../../postgres/connection/client.ts'
import { migrate } from '../../postgres/migrate.ts'
import {
  withThrowAwayDatabases,
  type ThrowAwayDatabase,
  type ThrowAwayDatabases,
} from '../../postgres/throw-away-database.ts'
import { CommandError } from '../command-line/command-error.ts'
import { applyMigrations } from './apply.ts'
import { applyRoles } from './apply-seed.ts'
import { checksumOf, type MigrationFile } from './migration-file.ts'
import { findProject } from '../../config/project.ts'
import { applyProject } from './project-migrations.ts'
import { findRoles } from './seed-files.ts'
import { watchMigrations, type WatchOptions } from './watch.ts'

/**
 * Watches the project's folder until the signal.
 *
 * @param uri connection string of the owner of the database that is served, who may create databases
 * @throws CommandError when there is no folder; errors of the connection
 */
export async function watchProject(
  config: Config,
  uri: string,
  env: Environment,
  options: WatchOptions,
): Promise<void> {
  const { migrations } = await findProject(config)
  if (migrations === undefined || !existsSync(migrations)) {
    throw new CommandError('There is no folder of migrations to watch. `rowhouse migrate new NAME` creates it.')
  }
  const { includeAll } = options
  await withThrowAwayDatabases(uri, env, async (databases) => {
    const templates = new Templates(databases, config, migrations)
    await watchMigrations(
      migrations,
      {
        served: (use) => withClient(toPoolConfig(uri, env), use),
        fresh: async (files, use) => {
          const database = await databases.clone(await templates.withFiles(files))
          try {
            return await withClient(database.connection, use)
          } finally {
            await database.drop()
          }
        },
        apply: async (client) => {
          const wanted = { extend: true, skipEmpty: true, ...(includeAll === undefined ? {} : { includeAll }) }
          return (await applyProject(client, config, wanted)).applied
        },
      },
      options,
    )
  })
}

/** Databases that new ones are copied from: one without files of the project, and one with those before a saved file. */
class Templates {
  readonly #databases: ThrowAwayDatabases
  readonly #config: Config
  readonly #folder: string
  #base: Promise<ThrowAwayDatabase> | undefined
  #last: { readonly key: string; readonly database: ThrowAwayDatabase } | undefined

  constructor(databases: ThrowAwayDatabases, config: Config, folder: string) {
    this.#folder = folder
    this.#databases = databases
    this.#config = config
  }

  /** A database with the server's migrations and these files. Only the last one is kept. */
  async withFiles(files: readonly MigrationFile[]): Promise<ThrowAwayDatabase> {
    const base = await (this.#base ??= this.#createBase())
    const newest = files.at(-1)
    if (!newest) return base
    const key = files.map((file) => `${file.version} ${checksumOf(file)}`).join('\n')
    if (this.#last?.key === key) return this.#last.database
    await this.#last?.database.drop()
    this.#last = undefined
    const database = await this.#databases.clone(base)
    try {
      await withClient(database.connection, (client) =>
        applyMigrations(client, dirname(newest.path), { upTo: newest.version, isThrowAway: true }),
      )
    } catch (error) {
      await database.drop()
      throw error
    }
    this.#last = { key, database }
    return database
  }

  async #createBase(): Promise<ThrowAwayDatabase> {
    const database = await this.#databases.create()
    const roles = findRoles(this.#folder)
    await withClient(database.connection, async (client) => {
      await migrate(client, { services: this.#config.services })
      if (roles !== undefined) await applyRoles(client, this.#folder, roles, { isThrowAway: true })
    })
    return database
  }
}
