// What `rowhouse check` does and prints.
import type { Config } from '../../config/config.ts'
import { folderForNew } from '../../config/project.ts'
import { exposedFindings, keysOf } from '../check/exposed-findings.ts'
import { defaultIgnoreFile, isAtLeast, type Level } from '../findings.ts'
import type { LintFinding } from '../check/finding.ts'
import { githubAnnotation, githubNotice } from '../check/github-annotations.ts'
import { applyIgnoreList, readIgnoreList, type Sorted } from '../check/ignore-list.ts'
import { tryFixes } from '../check/fix-trial.ts'
import { factsOf } from '../check/lint-facts.ts'
import { requestRoles, runCheck, type CheckResult } from '../check/run-check.ts'
import type { Checked } from '../check/exposure-findings.ts'
import { describeUnseen } from '../check/unseen.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { exposureSummary, exposureTable } from './exposure-table.ts'
import { describeUnused, findingsText } from './findings-text.ts'
import { printable, wrap } from './text-table.ts'
import { fixJson, fixText, isIncomplete, writeTried, type Fixes } from './fix-report.ts'

export type CheckOptions = {
  readonly json?: true
  readonly config?: string
  readonly failOn: Level | 'NEVER'
  readonly level: Level
  readonly ignore?: string
  readonly all?: true
  readonly fix?: true
  readonly yes?: true
  readonly exposed?: true
  readonly migrations?: string
  readonly github?: true
  readonly measure: boolean
}

/** What the exit code says. `incomplete`: `--fix` left statements out. */
export type CheckOutcome = 'clean' | 'findings' | 'incomplete'

/** @returns `findings` if there are some from the level on that fails */
export async function reportCheck(options: CheckOptions, dependencies: Dependencies): Promise<CheckOutcome> {
  const { withDatabaseSettings, withDatabase, print } = dependencies
  if (options.github && options.json) throw new CommandError('--github and --json are two formats: choose one.')
  if (options.yes && !options.fix) throw new CommandError('--yes agrees to what --fix writes: give both.')
  const config = await withDatabaseSettings(options.config)
  const list = await readIgnoreList(options.ignore)
  const result = await withDatabase(config, { role: 'authenticator', creates: false }, ({ query }) =>
    runCheck(query, config, { measure: options.measure }),
  )
  // An entry for a finding below the level is in use.
  const sorted = applyIgnoreList(result.findings, list)
  const reported = sorted.reported.filter(({ level }) => isAtLeast(level, options.level))
  const dismissed = options.all ? result.findings.filter((it) => it.dismissed !== null) : []
  const fixes = options.fix ? await fix(reported, config, requestRoles(result), options, dependencies) : undefined
  const output: Output = { result, sorted: { ...sorted, reported }, dismissed, options, fixes }
  print(options.json ? asJson(output) : options.github ? asAnnotations(output) : asText(output))
  const { failOn } = options
  if (fixes && isIncomplete(fixes)) return 'incomplete'
  return failOn !== 'NEVER' && sorted.reported.some(({ level }) => isAtLeast(level, failOn)) ? 'findings' : 'clean'
}

/** Tries the statements that mend findings, and writes them as a migration. */
async function fix(
  findings: readonly LintFinding[],
  config: Config,
  roles: readonly string[],
  { yes, migrations }: CheckOptions,
  { withDatabase, withLaboratory }: Dependencies,
): Promise<Fixes> {
  const settings = migrations === undefined ? config : { ...config, migrationsDir: migrations }
  await folderForNew(settings)
  const trial = await withDatabase(config, { role: 'owner', creates: false }, ({ query }) =>
    tryFixes(query, findings, { mayChangeRights: yes === true, roles }),
  )
  return writeTried(trial, settings, { yes: yes === true }, { withLaboratory })
}

const width = 120

type Output = {
  readonly result: CheckResult
  readonly sorted: Sorted
  readonly dismissed: readonly LintFinding[]
  readonly options: CheckOptions
  /** What --fix did. */
  readonly fixes: Fixes | undefined
}

function asText({ result, sorted, dismissed, options, fixes }: Output): string {
  const exposed = withoutIgnored(result.exposed, sorted)
  const lines = [
    ...findingsText(sorted, dismissed),
    ...(fixes ? fixText(fixes) : []),
    '',
    ...result.unseen.flatMap((it) => [...wrap(printable(describeUnseen(it)), width), '']),
    ...(options.exposed ? [exposureTable(exposed)] : [exposureSummary(exposed)]),
  ]
  return `${lines.join('\n').trimStart()}\n`
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
        (found) =>
          keysOf(found).some((key) => keys.has(key)) ||
          (found.code === 'definer_function_exposed' &&
            definers.has(JSON.stringify([found.object.schema, found.object.name]))),
      ),
    ),
  }))
}

function asJson({ result, sorted, dismissed, options, fixes }: Output): string {
  const { exposed, missing, storage, unseen } = result
  const described = (it: LintFinding): unknown => {
    const { code, level, object, key, reason: why, fix, advice, metadata, isOfSplinter, dismissed: reason } = it
    return {
      code,
      level,
      object,
      key,
      reason: why,
      fix,
      advice,
      metadata,
      ...factsOf(code),
      isOfSplinter,
      ...(reason === null ? {} : { dismissed: reason }),
    }
  }
  return `${JSON.stringify({
    findings: sorted.reported.length,
    exposed,
    ...(missing.length > 0 ? { missing } : {}),
    ...(storage.length > 0 ? { storage } : {}),
    ...(unseen.length > 0 ? { unseen } : {}),
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
    ...(fixes ? fixJson(fixes) : {}),
  })}\n`
}

function asAnnotations({ sorted, options, fixes }: Output): string {
  const file = options.ignore ?? defaultIgnoreFile
  const lines = [
    ...sorted.reported.map(githubAnnotation),
    ...sorted.unused.map((it) => githubNotice(file, describeUnused(it))),
    ...(fixes?.written === undefined ? [] : [`Wrote ${fixes.written}`]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
