// Mends findings of `rowhouse check` by a migration, for the console.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { Config } from '../../config/config.ts'
import type { FixReport, FixRequest } from '../../services/console/policy-protocol.ts'
import { objectName } from '../check/finding.ts'
import { requestRoles } from '../check/run-check.ts'
import { fixFindings, type FixDependencies } from '../command-line/fix-report.ts'
import { seek } from './check-database.ts'

/**
 * Tries the fixes of findings, and writes those that may be written as a migration.
 *
 * @param query runs statements on one connection of the login role
 */
export async function writeFixes(
  query: RunClientQuery,
  config: Config,
  { keys, yes }: FixRequest,
  dependencies: FixDependencies,
): Promise<FixReport> {
  const { result, sorted } = await seek(query, config)
  const chosen = sorted.reported.filter(({ key }) => keys === undefined || keys.includes(key))
  const options = { ...(yes === true ? { yes } : {}), roles: requestRoles(result) }
  const { tried, tests, written } = await fixFindings(chosen, config, options, dependencies)
  return {
    written: written ?? null,
    fixes: tried.map(({ finding, outcome, changes, error }) => ({
      code: finding.code,
      object: objectName(finding.object),
      outcome,
      changes,
      error,
    })),
    ...(tests ? { tests: { different: tests.different.map(({ name }) => name), error: tests.error } } : {}),
  }
}
