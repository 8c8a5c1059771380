// Runs policy tests, and mutants against them.
import type { Config } from '../../config/config.ts'
import { casesOf, type Case } from './cases.ts'
import type { Problem } from './expectation.ts'
import type { Laboratory } from './laboratory.ts'
import { coverageMutants, weakeningMutants, type Mutant } from './mutants.ts'
import { inParallel, tryMutant, type MutantResult } from './mutation.ts'
import { TestFileError, type Accepted, type TestFile } from './test-file.ts'

export type TestResult = { readonly test: Case; readonly problem: Problem | null }

/** Runs all tests of the files. `onResult` gets the results in the order of the files. */
export async function runTests(
  { sessions }: Laboratory,
  cases: readonly Case[],
  onResult: (result: TestResult) => void,
): Promise<readonly TestResult[]> {
  return inParallel(sessions, cases, async (session, test) => ({ test, problem: await test.run(session) }), onResult)
}

/** The tests of the files on the databases of a run. */
export function prepareCases(
  { sessions, relations }: Laboratory,
  files: readonly TestFile[],
  { restBasePath }: Config,
): Promise<readonly Case[]> {
  const [session] = sessions
  if (!session) throw new Error('a run needs at least one connection')
  return casesOf(files, { basePath: restBasePath, relations, query: session.query })
}

export type JudgedMutant = MutantResult & {
  /** Why it need not be noticed. */
  readonly accepted: Accepted | undefined
}

export type MutationOptions = {
  readonly kind: 'weaken' | 'coverage'
  /** Only mutants whose id contains this text. */
  readonly only: string | undefined
  readonly accepted: readonly Accepted[]
  readonly onResult: (result: JudgedMutant) => void
}

/**
 * Runs the tests against mutants.
 *
 * @throws TestFileError when an accepted mutant does not exist, or no id contains the wanted text
 */
export async function runMutants(
  { sessions, rules, roles, affected }: Laboratory,
  cases: readonly Case[],
  { kind, only, accepted, onResult }: MutationOptions,
): Promise<readonly JudgedMutant[]> {
  const [weakening, coverage] = [weakeningMutants(rules), coverageMutants(rules)]
  requireKnown(accepted, [...weakening, ...coverage])
  const mutants = (kind === 'weaken' ? weakening : coverage).filter(({ id }) => only === undefined || id.includes(only))
  if (mutants.length === 0 && only !== undefined) throw new TestFileError(`No mutant has "${only}" in its name.`)
  const reasons = new Map(accepted.map((one) => [one.mutant, one]))
  return inParallel(
    sessions,
    mutants,
    async (session, mutant) => ({
      ...(await tryMutant(session, mutant, cases, roles, affected)),
      accepted: reasons.get(mutant.id),
    }),
    onResult,
  )
}

function requireKnown(accepted: readonly Accepted[], mutants: readonly Mutant[]): void {
  const known = new Set(mutants.map(({ id }) => id))
  const unknown = accepted.filter(({ mutant }) => !known.has(mutant))
  if (unknown.length === 0) return
  throw new TestFileError(
    unknown
      .map(({ file, line, mutant }) => `${file}:${line}: there is no mutant "${mutant}"; remove the entry.`)
      .join('\n'),
  )
}
