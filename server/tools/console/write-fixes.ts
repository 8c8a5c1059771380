// Mends findings of `rowhouse check` by a migration, for the console.
import type { Config } from '../../config/config.ts'
import type { FixReport, FixRequest } from '../../services/console/policy-protocol.ts'
import { objectName } from '../check/finding.ts'
import type { FixTrial } from '../check/fix-trial.ts'
import type { Dependencies } from '../command-line/dependencies.ts'
import { writeTried } from '../command-line/fix-report.ts'

/** Writes those fixes that may be written as a migration. */
export async function writeFixes(
  trial: FixTrial,
  config: Config,
  { yes = false }: FixRequest,
  dependencies: Pick<Dependencies, 'withLaboratory'>,
): Promise<FixReport> {
  const { tried, tests, written } = await writeTried(trial, config, { yes }, dependencies)
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
