// What `rowhouse test` does and prints.
import type { Config } from '../../config/config.ts'
import type { Laboratory } from '../policy-tests/laboratory.ts'
import { TestReport } from '../policy-tests/report.ts'
import { readProjectTests, recordTests, runWhole, type ProjectTests } from '../policy-tests/whole-run.ts'
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

/** @returns false if a test failed, or something was found */
export async function runPolicyTests(options: TestOptions, dependencies: Dependencies): Promise<boolean> {
  const { loadConfig, withLaboratory } = dependencies
  const loaded = loadConfig(options.config)
  const config = options.schema ? { ...loaded, dbSchemas: options.schema } : loaded
  const project = await readProjectTests(config, options)
  if (!options.record && project.files.length === 0) {
    throw new CommandError(
      `There are no policy tests in ${project.tests}. To record a first matrix of who can do what: rowhouse test --record`,
    )
  }
  const { dbUrl, jobs = 2 } = options
  return withLaboratory(config, { dbUrl, fixture: project.fixture, jobs }, (laboratory) =>
    options.record
      ? record(laboratory, project, options, dependencies)
      : test(laboratory, project, config, options, dependencies),
  )
}

async function test(
  laboratory: Laboratory,
  { files }: ProjectTests,
  config: Config,
  options: TestOptions,
  { print, printError }: Dependencies,
): Promise<boolean> {
  const { json } = options
  // The report is printed at the end, with its summary first.
  const progress = (text: string): void => (json === true ? undefined : printError(`${text}\n`))
  const report = new TestReport(json === true ? undefined : print)
  await runWhole(laboratory, files, config, options, report, progress)
  report.end()
  if (json) print(`${JSON.stringify(report.json())}\n`)
  return report.passes
}

async function record(
  laboratory: Laboratory,
  project: ProjectTests,
  { json }: TestOptions,
  { print, makeFolder }: Dependencies,
): Promise<boolean> {
  const { path, tables, callers, changes, isNew } = await recordTests(laboratory, project, makeFolder)
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
