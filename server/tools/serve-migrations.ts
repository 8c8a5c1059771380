// Migrations of the server and of the project while it serves: at the start, and whenever a file is saved. What applies those of the
// project is loaded only where there are any: it takes memory that a server has no other use for.
import { withClient } from '../postgres/connection/client.ts'
import { describeLogin, migrateForServing } from '../postgres/serving-login.ts'
import { CommandError } from './command-line/command-error.ts'
import { messageOf } from './command-line/error-message.ts'
import { servingFrom, toPoolConfig } from '../running/connection-setting.ts'
import { findProject, ProjectError } from '../config/project.ts'
import type { ServedDatabase } from '../running/serve-tools.ts'

/** Number of pending files that a warning names. */
const shownFiles = 5

/**
 * Applies pending migrations. The embedded database gets the seed, too.
 *
 * @throws as `migrateForServing` and `applyProject`
 */
export async function migrateAtStart({ config, env, owner, embedded, log }: ServedDatabase): Promise<void> {
  const serving = servingFrom(config.dbUri ?? '', env)
  const { applyProject } = await import('./migrations/project-migrations.ts')
  const { applied, notes } = await withClient(toPoolConfig(owner, env), async (client) => {
    const own = await migrateForServing(client, serving, {
      dataDir: embedded ? config.dataDir : undefined,
      services: config.services,
    })
    const project = await applyProject(client, config, {
      // A seed is for development.
      seed: embedded ? 'missing' : undefined,
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
export async function warnOfPending({ config, env, owner, log }: ServedDatabase): Promise<void> {
  try {
    const { migrations } = await findProject(config)
    if (migrations === undefined) return
    const { pendingFiles } = await import('./migrations/project-migrations.ts')
    const pending = await withClient(toPoolConfig(owner, env), (client) => pendingFiles(client, config))
    if (pending.length === 0) return
    const names = pending.slice(0, shownFiles).join(', ') + (pending.length > shownFiles ? ', …' : '')
    log.write({
      kind: 'warning',
      message: `Not applied to the database: ${names}. \`rowhouse migrate\` applies them, or each start with MIGRATE_ON_START=true.`,
    })
  } catch (error) {
    // Others are of the connection, or of a login that cannot read the record.
    if (error instanceof CommandError || error instanceof ProjectError)
      log.write({ kind: 'warning', message: error.message })
  }
}

/** Applies the project's migrations whenever they are saved. */
export async function watchWhileServing(
  { config, env, owner, log }: ServedDatabase,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { watchProject } = await import('./migrations/watch-project.ts')
    await watchProject(config, owner, env, {
      signal,
      report: ({ kind, message }) => log.write({ kind: kind === 'error' ? 'warning' : 'migration-notice', message }),
    })
  } catch (error) {
    log.write({ kind: 'warning', message: `Watching the migrations has ended: ${messageOf(error)}` })
  }
}
