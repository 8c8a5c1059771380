// Migrations of the server and of the project while it serves: at the start, and whenever a file is saved.
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import { withClient } from '../postgres/connection/client.ts'
import type { PoolConfig } from '../postgres/connection/pool-config.ts'
import { describeLogin, migrateForServing, type Serving } from '../postgres/serving-login.ts'
import { CommandError } from './command-line/command-error.ts'
import { messageOf } from './command-line/error-message.ts'
import { toPoolConfig } from '../running/connection-setting.ts'
import { findProject } from './migrations/project.ts'
import { applyProject, pendingFiles } from './migrations/project-migrations.ts'
import { watchProject } from './migrations/watch-project.ts'
import type { Log } from '../running/operations/log.ts'

/** Number of pending files that a warning names. */
const shownFiles = 5

/**
 * Applies pending migrations.
 *
 * @param owner connection of a role that may create what they contain
 * @param isEmbedded whether the database is the embedded one, which gets the seed, too
 * @throws as `migrateForServing` and `applyProject`
 */
export async function migrateAtStart(
  config: Config,
  owner: PoolConfig,
  serving: Serving,
  isEmbedded: boolean,
  log: Log,
): Promise<void> {
  const { applied, notes } = await withClient(owner, async (client) => {
    const own = await migrateForServing(client, serving, {
      dataDir: isEmbedded ? config.dataDir : undefined,
      services: config.services,
    })
    const project = await applyProject(client, config, {
      // A seed is for development.
      seed: isEmbedded ? 'missing' : undefined,
      onNotice: (message) => log.write({ kind: 'migration-notice', message }),
    })
    return {
      applied: [...own.applied, ...project.applied, ...project.seeded],
      notes: [...describeLogin(own.login, serving.setting), ...project.notes],
    }
  })
  if (applied.length > 0) log.write({ kind: 'migrated', applied })
  for (const message of notes) log.write({ kind: 'warning', message })
}

/** Says which files of the project are not applied. */
export async function warnOfPending(config: Config, uri: string, env: Environment, log: Log): Promise<void> {
  try {
    const { migrations } = await findProject(config)
    if (migrations === undefined) return
    const pending = await withClient(toPoolConfig(uri, env), (client) => pendingFiles(client, config))
    if (pending.length === 0) return
    const names = pending.slice(0, shownFiles).join(', ') + (pending.length > shownFiles ? ', …' : '')
    log.write({
      kind: 'warning',
      message: `Not applied to the database: ${names}. \`rowhouse migrate\` applies them, or each start with MIGRATE_ON_START=true.`,
    })
  } catch (error) {
    // Others are of the connection, or of a login that cannot read the record.
    if (error instanceof CommandError) log.write({ kind: 'warning', message: error.message })
  }
}

/** Applies the project's migrations whenever they are saved. */
export async function watchWhileServing(
  config: Config,
  uri: string,
  env: Environment,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  try {
    await watchProject(config, uri, env, {
      signal,
      report: ({ kind, message }) => log.write({ kind: kind === 'error' ? 'warning' : 'migration-notice', message }),
    })
  } catch (error) {
    log.write({ kind: 'warning', message: `Watching the migrations has ended: ${messageOf(error)}` })
  }
}
