// Where a project has its migrations, its seed and its policy tests.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Fixture } from './laboratory.ts'

export type ProjectFiles = {
  readonly fixture: Fixture
  /** Folder of the tests, which may not exist. */
  readonly tests: string
}

/**
 * The tests are in the folder `policy-tests` beside the migrations. Its `fixture.sql`, if any, is applied after the seed.
 *
 * @param migrations folder of the migrations; undefined for none
 * @param given options of the command
 */
export function projectFiles(
  migrations: string | undefined,
  given: { readonly tests?: string; readonly seed?: string },
): ProjectFiles {
  const home = migrations === undefined ? '.' : dirname(migrations)
  const tests = given.tests ?? join(home, 'policy-tests')
  return {
    fixture: { migrations, seeds: [given.seed ?? join(home, 'seed.sql'), join(tests, 'fixture.sql')] },
    tests,
  }
}

/** The usual folders of migrations, the first that exists. */
export const usualMigrations = (): string | undefined =>
  ['migrations', join('supabase', 'migrations')].find((folder) => existsSync(folder))
