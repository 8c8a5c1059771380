// Where a project has its migrations, its seed and its policy tests.
import { dirname, join } from 'node:path'
import { findSeeds } from '../migrations/seed-files.ts'
import type { Fixture } from './laboratory.ts'

export type ProjectFiles = {
  readonly fixture: Fixture
  /** Folder of the tests, which may not exist. */
  readonly tests: string
}

/**
 * The tests are in the folder `policy-tests` beside the migrations. Its `fixture.sql`, if any, is applied after the seeds.
 *
 * @param migrations folder of the migrations, if there is one
 * @param given options of the command
 * @throws CommandError when Supabase's `config.toml` cannot be read
 */
export async function projectFiles(
  migrations: string | undefined,
  given: { readonly tests?: string; readonly seed?: string },
): Promise<ProjectFiles> {
  const tests = given.tests ?? join(migrations === undefined ? '.' : dirname(migrations), 'policy-tests')
  return {
    fixture: { migrations, seeds: [...(await seedsOf(migrations, given.seed)), join(tests, 'fixture.sql')] },
    tests,
  }
}

async function seedsOf(migrations: string | undefined, given: string | undefined): Promise<readonly string[]> {
  if (given !== undefined) return [given]
  return migrations === undefined ? ['seed.sql'] : (await findSeeds(migrations)).files
}
