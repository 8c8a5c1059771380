// What `rowhouse test` does and prints.
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { findProject } from '../../config/project.ts'
import type { Laboratory } from '../policy-tests/laboratory.ts'
import { projectFiles } from '../policy-tests/project-files.ts'
import { recordedCallers, recordMatrix, writeMatrix } from '../policy-tests/record.ts'
import { TestReport } from '../policy-tests/report.ts'
import { prepareCases, runMutants, runTests } from '../policy-tests/run.ts'
import { readTestFiles, type TestFile } from '../policy-tests/test-file.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { printable } from './text-table.ts'

export type TestOptions = {
  readonly dbUrl?: string
  readonly migrations?: string
  readonly tests?: string
  readonly seed?: string
  readonly schema?: readonly string[]
  readonly filter?: string
  readonly record?: true
  readonly coverage?: true
  readonly mutate?: string | true
  readonly jobs?: number
  readonly json?: true
  readonly config?: string
}

/** Name of the recorded file. */
const recorded = 'matrix.yaml'

/** @returns false if a test failed, or something was found */
export async function runPolicyTests(options: TestOptions, dependencies: Dependencies): Promise<boolean> {
  const { loadConfig, withLaboratory } = dependencies
  const loaded = loadConfig(options.config)
  const config = options.schema ? { ...loaded, dbSchemas: options.schema } : loaded
  const { migrations } = await findProject({ ...config, migrationsDir: options.migrations ?? config.migrationsDir })
  const { fixture, tests } = await projectFiles(migrations, options)
  const files = await readTestFiles(tests)
  if (!options.record && files.length === 0) {
    throw new CommandError(
      `There are no policy tests in ${tests}. To record a first matrix of who can do what: rowhouse test --record`,
    )
  }
  const { dbUrl, jobs = 2 } = options
  return withLaboratory(config, { dbUrl, fixture, jobs }, (laboratory) =>
    options.record
      ? record(laboratory, tests, files, options, dependencies)
      : test(laboratory, files, config, options, dependencies),
  )
}

async function test(
  laboratory: Laboratory,
  files: readonly TestFile[],
  config: Config,
  { filter, coverage, mutate, json }: TestOptions,
  { print, printError }: Dependencies,
): Promise<boolean> {
  // The report is printed at the end, with its summary first.
  const progress = (text: string): void => (json === true ? undefined : printError(`${text}\n`))
  const report = new TestReport(json === true ? undefined : print)
  const all = await prepareCases(laboratory, files, config)
  const cases = filter === undefined ? all : all.filter(({ name }) => name.includes(filter))
  if (cases.length === 0) throw new CommandError(`No test has "${filter ?? ''}" in its name.`)
  progress(`Running ${cases.length} ${cases.length === 1 ? 'test' : 'tests'}.`)
  const results = await runTests(laboratory, cases, (result) => report.test(result))
  const passes = results.every(({ problem }) => problem === null)
  const accepted = files.flatMap((file) => file.accepted)
  if (passes && coverage) {
    const onResult = report.coverage.bind(report)
    progress('Trying what the tests may not exercise.')
    await runMutants(laboratory, cases, { kind: 'coverage', only: undefined, accepted, onResult })
  }
  if (passes && mutate !== undefined) {
    const onResult = report.mutant.bind(report)
    progress('Trying weaker rules.')
    const only = mutate === true ? undefined : mutate
    await runMutants(laboratory, cases, { kind: 'weaken', only, accepted, onResult })
  }
  if (!passes && (coverage || mutate !== undefined)) report.comment('No mutants: the tests fail without any.')
  report.end()
  if (json) print(`${JSON.stringify(report.json())}\n`)
  return report.passes
}

async function record(
  laboratory: Laboratory,
  tests: string,
  files: readonly TestFile[],
  { json }: TestOptions,
  { print, makeFolder }: Dependencies,
): Promise<boolean> {
  const path = join(tests, recorded)
  const named = files.find((file) => file.path === path)?.callers ?? {}
  const [session] = laboratory.sessions
  const callers = session ? await recordedCallers(laboratory, named, session.query) : []
  const matrix = await recordMatrix(laboratory, callers, named)
  await makeFolder(tests)
  const { changes, isNew } = await writeMatrix(path, matrix)
  const tables = Object.keys(matrix).length
  if (json) print(`${JSON.stringify({ file: path, tables, callers, changes })}\n`)
  else {
    const what = isNew ? 'Wrote' : changes.length === 0 ? 'Unchanged:' : 'Changed'
    const lines = isNew ? [] : changes.map(printable)
    print(
      [
        `${what} ${path}: ${tables} ${tables === 1 ? 'table' : 'tables'}, ${callers.length} callers. Review it.`,
        ...lines,
        '',
      ].join('\n'),
    )
  }
  return true
}
