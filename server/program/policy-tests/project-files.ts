// Where a project has its migrations, its seed and its policy tests.
import { dirname, join } from 'node:path'
import type { Project } from '../migrations/project.ts'
import type { Fixture } from './laboratory.ts'

export type ProjectFiles = {
  readonly fixture: Fixture
  /** Folder of the tests, which may not exist. */
  readonly tests: string
}

/**
 * The tests are in the folder `policy-tests` beside the migrations. Its `fixture.sql`, if any, is applied after the seed.
 *
 * @param given options of the command
 */
export function projectFiles(
  { migrations, seed = 'seed.sql' }: Pick<Project, 'migrations' | 'seed'>,
  given: { readonly tests?: string; readonly seed?: string },
): ProjectFiles {
  const tests = given.tests ?? join(migrations === undefined ? '.' : dirname(migrations), 'policy-tests')
  return { fixture: { migrations, seeds: [given.seed ?? seed, join(tests, 'fixture.sql')] }, tests }
}
