// The databases of policy tests on the embedded server, or on a given one.
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/config-sources.ts'
import { withAddress } from '../command-line/connection.ts'
import type { LaboratoryWish } from '../command-line/dependencies.ts'
import { withLaboratory, type Laboratory } from './laboratory.ts'

/**
 * Runs policy tests on databases of their own. The database that is served is never used: tests of policies must not depend
 * on its rows, nor reach a production server by mistake.
 *
 * @param log called with messages about the embedded database and about databases of earlier runs
 */
export async function withEmbeddedLaboratory<T>(
  config: Config,
  env: Environment,
  { dbUrl, fixture, jobs }: LaboratoryWish,
  log: (message: string) => void,
  use: (laboratory: Laboratory) => Promise<T>,
): Promise<T> {
  const onRemoved = (names: readonly string[]): void => log(`Removed databases of earlier runs: ${names.join(', ')}`)
  const server = { dataDir: config.dataDir, dbUri: dbUrl ?? null, migrationDatabaseUrl: null }
  return withAddress(server, env, { role: 'owner', creates: true }, log, ({ uri, env: found }) =>
    withLaboratory({ uri, env: found, config, fixture, jobs, onRemoved }, use),
  )
}
