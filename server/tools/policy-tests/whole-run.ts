// A run of the tests of a project, with mutants if they are wanted, and the recording of its matrix.
import { join } from 'node:path'
import { findProject } from '../../config/project.ts'
import type { Config } from '../../config/config.ts'
import { CommandError } from '../command-line/command-error.ts'
import type { Laboratory } from './laboratory.ts'
import { projectFiles, type ProjectFiles } from './project-files.ts'
import { recordedCallers, recordMatrix, writeMatrix, type Recorded } from './record.ts'
import { prepareCases, runMutants, runTests, type JudgedMutant, type TestResult } from './run.ts'
import { readTestFiles, type TestFile } from './test-file.ts'

export type ProjectTests = ProjectFiles & { readonly files: readonly TestFile[] }

/**
 * The tests of the project.
 *
 * @param given folders and files that replace those of the project
 * @throws TestFileError, ProjectError or CommandError for files that cannot be used
 */
export async function readProjectTests(
  config: Config,
  given: { readonly migrations?: string; readonly tests?: string; readonly seed?: string } = {},
): Promise<ProjectTests> {
  const { migrations } = await findProject({ ...config, migrationsDir: given.migrations ?? config.migrationsDir })
  const found = await projectFiles(migrations, given)
  return { ...found, files: await readTestFiles(found.tests) }
}

/** Receives the results of a run as they come. */
export type RunReport = {
  readonly test: (result: TestResult) => void
  readonly coverage: (result: JudgedMutant) => void
  readonly mutant: (result: JudgedMutant) => void
  readonly comment: (text: string) => void
}

export type RunWish = {
  /** Only tests whose name contains this text. */
  readonly filter?: string
  readonly coverage?: true
  /** All mutants, or those whose id contains the text. */
  readonly mutate?: string | true
}

/**
 * Runs tests and mutants.
 *
 * @param progress says what begins
 * @throws CommandError if no test has the text of the filter; TestFileError of `runMutants`; the error of the report
 */
export async function runWhole(
  laboratory: Laboratory,
  files: readonly TestFile[],
  config: Config,
  { filter, coverage, mutate }: RunWish,
  report: RunReport,
  progress: (text: string) => void,
): Promise<void> {
  const all = await prepareCases(laboratory, files, config)
  const cases = filter === undefined ? all : all.filter(({ name }) => name.includes(filter))
  if (cases.length === 0) throw new CommandError(`No test has "${filter ?? ''}" in its name.`)
  progress(`Running ${cases.length} ${cases.length === 1 ? 'test' : 'tests'}.`)
  const results = await runTests(laboratory, cases, (result) => report.test(result))
  const passes = results.every(({ problem }) => problem === null)
  const accepted = files.flatMap((file) => file.accepted)
  if (passes && coverage) {
    progress('Trying what the tests may not exercise.')
    const onResult = (result: JudgedMutant): void => report.coverage(result)
    await runMutants(laboratory, cases, { kind: 'coverage', only: undefined, accepted, onResult })
  }
  if (passes && mutate !== undefined) {
    progress('Trying weaker rules.')
    const only = mutate === true ? undefined : mutate
    const onResult = (result: JudgedMutant): void => report.mutant(result)
    await runMutants(laboratory, cases, { kind: 'weaken', only, accepted, onResult })
  }
  if (!passes && (coverage || mutate !== undefined)) report.comment('No mutants: the tests fail without any.')
}

/** Name of the recorded file. */
const recorded = 'matrix.yaml'

export type RecordedTests = Recorded & {
  readonly path: string
  readonly tables: number
  readonly callers: readonly string[]
}

/** Records who can do what in a file of the tests' folder, which is created by `makeFolder` if it is missing. */
export async function recordTests(
  laboratory: Laboratory,
  { tests, files }: Pick<ProjectTests, 'tests' | 'files'>,
  makeFolder: (path: string) => Promise<void>,
): Promise<RecordedTests> {
  const path = join(tests, recorded)
  const named = files.find((file) => file.path === path)?.callers ?? {}
  const [session] = laboratory.sessions
  const callers = session ? await recordedCallers(laboratory, named, session.query) : []
  const matrix = await recordMatrix(laboratory, callers, named)
  await makeFolder(tests)
  return { ...(await writeMatrix(path, matrix)), path, tables: Object.keys(matrix).length, callers }
}
