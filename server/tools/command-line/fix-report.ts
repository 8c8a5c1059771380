// What `rowhouse check --fix` does and prints: tries the statements that mend findings, and writes those that may be written.
import { dirname, join } from 'node:path'
import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { objectName } from '../check/finding.ts'
import { writeFixMigration, type FixPart } from '../check/fix-migration.ts'
import type { FixTrial, TriedFix } from '../check/fix-trial.ts'
import type { RightChange } from '../check/rights.ts'
import { folderForNew } from '../../config/project.ts'
import { differentTests, type DifferentTest } from '../policy-tests/differences.ts'
import { projectFiles } from '../policy-tests/project-files.ts'
import { prepareCases } from '../policy-tests/run.ts'
import { readTestFiles } from '../policy-tests/test-file.ts'
import type { Dependencies } from './dependencies.ts'
import { printable, wrap } from './text-table.ts'

export type Fixes = {
  readonly tried: readonly TriedFix[]
  /** Policy tests that answer differently with the migration; undefined if there are none to run. */
  readonly tests: TestComparison | undefined
  /** The file that was written. */
  readonly written: string | undefined
}

type TestComparison = { readonly different: readonly DifferentTest[]; readonly error: string | null }

/**
 * Tries the migration with the policy tests of the project, and writes it.
 *
 * @param trial of the statements on the database
 * @param config with the folder of migrations in which to write
 * @param agreement `yes`: whether to write statements that change what a role may do today
 * @param dependencies databases for policy tests
 */
export async function writeTried(
  { tried, parts }: FixTrial,
  config: Config,
  { yes }: { readonly yes: boolean },
  dependencies: Pick<Dependencies, 'withLaboratory'>,
): Promise<Fixes> {
  const folder = await folderForNew(config)
  const tests = parts.length === 0 ? undefined : await compareTests(folder, config, parts, dependencies)
  const isRefused = !yes && tests !== undefined && (tests.error !== null || tests.different.length > 0)
  return {
    tried: isRefused
      ? tried.map((it) => (it.outcome === 'written' ? { ...it, outcome: 'unconfirmed' as const } : it))
      : tried,
    tests,
    written: isRefused ? undefined : await writeFixMigration(folder, parts),
  }
}

async function compareTests(
  folder: string,
  config: Config,
  parts: readonly FixPart[],
  { withLaboratory }: Pick<Dependencies, 'withLaboratory'>,
): Promise<TestComparison | undefined> {
  const tests = join(dirname(folder), 'policy-tests')
  const files = existsSync(tests) ? await readTestFiles(tests) : []
  if (files.length === 0) return undefined
  const { fixture } = await projectFiles(existsSync(folder) ? folder : undefined, { tests })
  return withLaboratory(config, { dbUrl: undefined, fixture, jobs: 2 }, async (laboratory) => {
    const cases = await prepareCases(laboratory, files, config)
    try {
      const statements = [...new Set(parts.flatMap((part) => part.statements))]
      return { different: await differentTests(laboratory, cases, statements), error: null }
    } catch (error) {
      return { different: [], error: (error as Error).message }
    }
  })
}

/** Whether statements were left out. */
export const isIncomplete = ({ tried }: Fixes): boolean => tried.some(({ outcome }) => outcome !== 'written')

const width = 120

const titled = (title: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : ['', title, ...lines])

/** The lines that say what was tried, what it changes, and what was written. */
export function fixText({ tried, tests, written }: Fixes): string[] {
  const of = (outcome: TriedFix['outcome']): TriedFix[] => tried.filter((it) => it.outcome === outcome)
  return [
    ...titled(
      'Written, with these changes of what roles may do:',
      of('written')
        .filter(({ changes }) => changes.length > 0)
        .flatMap(changedText),
    ),
    ...titled('Policy tests that answer differently with the statements:', testsText(tests)),
    ...titled(
      'Not written without --yes, because they change what roles may do today:',
      of('unconfirmed').flatMap(changedText),
    ),
    ...titled(
      'Not written, because they failed when they were tried:',
      of('failed').flatMap((it) => [
        headOf(it),
        ...wrap(printable(it.error ?? ''), width - 4).map((line) => `    ${line}`),
      ]),
    ),
    '',
    written === undefined
      ? tried.length === 0
        ? 'No finding has statements to mend it.'
        : 'No migration was written.'
      : `Wrote ${written}. Read it before you apply it.`,
  ]
}

const headOf = ({ finding }: TriedFix): string => `  ${finding.code}  ${printable(objectName(finding.object))}`

/** Roles with the same change are in one line. */
function changedText(it: TriedFix): string[] {
  const roles = new Map<string, string[]>()
  for (const { role, ...change } of it.changes) {
    const text = changeText(change)
    roles.set(text, [...(roles.get(text) ?? []), role])
  }
  const lines = [...roles].map(([text, names]) => `${names.join(', ')}: ${text}`)
  return [headOf(it), ...lines.flatMap((line) => wrap(printable(line), width - 4).map((part) => `    ${part}`))]
}

const changeText = ({ object, command, before, after }: Omit<RightChange, 'role'>): string =>
  `${command} on ${object}: ${before} -> ${after}`

function testsText(tests: TestComparison | undefined): string[] {
  if (tests === undefined) return []
  if (tests.error !== null) return [printable(`  They could not run with the statements: ${tests.error}`)]
  const result = (problem: string | null): string => problem ?? 'passes'
  return tests.different.map(({ name, before, after }) => printable(`  ${name}: ${result(before)} -> ${result(after)}`))
}

/** The same for programs. */
export const fixJson = ({ tried, tests, written }: Fixes): object => ({
  migration: written ?? null,
  fixes: tried.map(({ finding, changes, outcome, error }) => ({
    code: finding.code,
    key: finding.key,
    fix: finding.fix,
    outcome,
    changes,
    ...(error === null ? {} : { error }),
  })),
  ...(tests === undefined ? {} : { policyTests: tests }),
})
