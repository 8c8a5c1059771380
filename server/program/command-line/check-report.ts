// What `rowhouse check` does and prints.
import { exposedFindings } from '../check/exposed-findings.ts'
import { defaultIgnoreFile, isAtLeast, type Level, type LintFinding } from '../check/finding.ts'
import { writeFixMigration } from '../check/fix-migration.ts'
import { githubAnnotation, githubNotice } from '../check/github-annotations.ts'
import { applyIgnoreList, readIgnoreList, type Sorted } from '../check/ignore-list.ts'
import { factsOf } from '../check/lint-facts.ts'
import { runCheck, type CheckResult } from '../check/run-check.ts'
import { folderForNew } from '../migrations/project.ts'
import type { Checked } from '../operations/check.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { exposureTable } from './exposure-table.ts'
import { describeUnused, findingsText } from './findings-text.ts'

export type CheckOptions = {
  readonly json?: true
  readonly config?: string
  readonly failOn: Level | 'NEVER'
  readonly level: Level
  readonly ignore?: string
  readonly all?: true
  readonly fix?: true
  readonly migrations?: string
  readonly github?: true
  readonly measure: boolean
}

/** @returns whether there are findings from the level on that fails */
export async function reportCheck(options: CheckOptions, dependencies: Dependencies): Promise<boolean> {
  const { loadConfig, withDatabase, print } = dependencies
  if (options.github && options.json) throw new CommandError('--github and --json are two formats: choose one.')
  const config = loadConfig(options.config)
  const list = await readIgnoreList(options.ignore)
  const result = await withDatabase(config, { role: 'authenticator', creates: false }, ({ query }) =>
    runCheck(query, config, { measure: options.measure }),
  )
  const real = result.findings.filter(({ dismissed }) => dismissed === null)
  // An entry for a finding below the level is in use.
  const sorted = applyIgnoreList(real, list)
  const reported = sorted.reported.filter(({ level }) => isAtLeast(level, options.level))
  const dismissed = options.all ? result.findings.filter((it) => it.dismissed !== null) : []
  const settings = options.migrations === undefined ? config : { ...config, migrationsDir: options.migrations }
  const written = options.fix ? await writeFixMigration(await folderForNew(settings), reported) : undefined
  const output: Output = { result, sorted: { ...sorted, reported }, dismissed, options, written }
  print(options.json ? asJson(output) : options.github ? asAnnotations(output) : asText(output))
  const { failOn } = options
  return failOn !== 'NEVER' && sorted.reported.some(({ level }) => isAtLeast(level, failOn))
}

type Output = {
  readonly result: CheckResult
  readonly sorted: Sorted
  readonly dismissed: readonly LintFinding[]
  readonly options: CheckOptions
  /** The file of --fix. */
  readonly written: string | undefined
}

function asText({ result, sorted, dismissed, options, written }: Output): string {
  const exposed = withoutIgnored(result.exposed, sorted)
  const flagged = exposed.flatMap((object) => object.findings).length
  const lines = [exposureTable(exposed, sorted.reported.length - flagged), ...findingsText(sorted, dismissed)]
  if (options.fix)
    lines.push(
      '',
      written === undefined
        ? 'No finding has statements to mend it.'
        : `Wrote ${written}. Read it before you apply it.`,
    )
  return `${lines.join('\n')}\n`
}

/** The objects without those findings that are ignored, dismissed or below the level. */
function withoutIgnored(exposed: readonly Checked[], { reported }: Sorted): Checked[] {
  const keys = new Set(reported.map(({ key }) => key))
  const definers = new Set(
    reported
      .filter(({ object }) => object.type === 'function')
      .map(({ object }) => JSON.stringify([object.schema, object.name])),
  )
  return exposed.map((object) => ({
    ...object,
    findings: object.findings.filter((it) =>
      exposedFindings([{ ...object, findings: [it] }]).some(
        ({ key, code, object: named }) =>
          keys.has(key) ||
          (code === 'definer_function_exposed' && definers.has(JSON.stringify([named.schema, named.name]))),
      ),
    ),
  }))
}

function asJson({ result, sorted, dismissed, options, written }: Output): string {
  const { exposed, missing, storage } = result
  const described = (it: LintFinding): unknown => {
    const { code, level, object, key, reason: why, fix, advice, metadata, isOfSplinter, dismissed: reason } = it
    return {
      ...{ code, level, object, key, reason: why, fix, advice, metadata, ...factsOf(code), isOfSplinter },
      ...(reason === null ? {} : { dismissed: reason }),
    }
  }
  return `${JSON.stringify({
    findings: sorted.reported.length,
    exposed,
    ...(missing.length > 0 ? { missing } : {}),
    ...(storage.length > 0 ? { storage } : {}),
    lints: sorted.reported.map(described),
    ...(sorted.ignored.length > 0
      ? {
          ignored: sorted.ignored.map(({ finding, reason }) => ({
            ...(described(finding) as object),
            ignored: reason,
          })),
        }
      : {}),
    ...(sorted.unused.length > 0 ? { unusedIgnores: sorted.unused } : {}),
    ...(options.all ? { dismissed: dismissed.map(described) } : {}),
    ...(options.fix ? { migration: written ?? null } : {}),
  })}\n`
}

function asAnnotations({ sorted, options, written }: Output): string {
  const file = options.ignore ?? defaultIgnoreFile
  const lines = [
    ...sorted.reported.map(githubAnnotation),
    ...sorted.unused.map((it) => githubNotice(file, describeUnused(it))),
    ...(written === undefined ? [] : [`Wrote ${written}`]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
