// The statements that mend findings, as a file for the folder of migrations.
import { createMigration } from '../migrations/new-migration.ts'
import { splitStatements } from '../../text/sql-statements.ts'
import { objectName, type LintFinding } from './finding.ts'
import { closeFunction, closingKey } from './function-closing.ts'
import { alterPolicy, policyKey } from './policy-edit.ts'

/** Statements that belong together, with the findings that they mend. */
export type FixPart = {
  readonly findings: readonly LintFinding[]
  readonly statements: readonly string[]
}

/** A line of a comment: names in the catalog may contain line breaks, which would end it. */
const comment = (text: string): string => `-- ${text.replace(/\s+/g, ' ').trim()}`

export const statementsOf = (sql: string): string[] => splitStatements(sql).map(({ text }) => `${text};`)

/** What several findings change together: one policy, or the privileges on one function. */
const sharedKey = ({ edit, closes }: LintFinding): string | undefined =>
  edit ? policyKey(edit) : closes ? closingKey(closes) : undefined

/**
 * The parts of a migration, in the order of the findings. Changes to one policy, or to the privileges on one function, are one
 * part. A policy that is dropped is not changed, and one that is changed is not joined with others.
 */
export function fixParts(findings: readonly LintFinding[]): FixPart[] {
  const groups = new Map<string, LintFinding[]>()
  for (const it of findings) {
    const key = sharedKey(it)
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), it])
  }
  const dropped = new Set(findings.flatMap(({ drops }) => (drops.length === 1 ? drops : [])))
  const seen = new Set<string>()
  return findings.flatMap((it) => {
    if (it.drops.length > 1 && it.drops.some((key) => groups.has(key) || dropped.has(key))) return []
    const key = sharedKey(it)
    if (key !== undefined && (dropped.has(key) || seen.has(key))) return []
    if (key !== undefined) seen.add(key)
    const group = key === undefined ? [it] : (groups.get(key) ?? [])
    const statements = statementsOf(jointFix(group) ?? '')
    return statements.length === 0 ? [] : [{ findings: group, statements }]
  })
}

/** The statements that mend all findings of a group. */
function jointFix(group: readonly LintFinding[]): string | null {
  const edits = group.flatMap(({ edit }) => edit ?? [])
  const closings = group.flatMap(({ closes }) => closes ?? [])
  return alterPolicy(edits) ?? closeFunction(closings) ?? group[0]?.fix ?? null
}

/** The text of the migration; undefined if there are no statements. Equal statements appear once. */
export function migrationText(parts: readonly FixPart[]): string | undefined {
  const done = new Set<string>()
  const texts = parts.flatMap(({ findings, statements }) => {
    const added = statements.filter((statement) => !done.has(statement))
    for (const statement of added) done.add(statement)
    return added.length === 0 ? [] : [[...findings.flatMap(describe), ...added].join('\n')]
  })
  return texts.length === 0
    ? undefined
    : `-- Mends findings of rowhouse check. Read it before you apply it.\n\n${texts.join('\n\n')}\n`
}

/** The migration that mends all findings; undefined if no finding has statements. */
export const fixMigration = (findings: readonly LintFinding[]): string | undefined => migrationText(fixParts(findings))

const describe = ({ code, object, reason, advice }: LintFinding): string[] => [
  comment(`${code} ${objectName(object)}: ${reason}`),
  ...(advice === null ? [] : [comment(advice)]),
]

/**
 * Writes the migration into the folder, which is created if necessary. Never replaces a file.
 *
 * @returns the path of the file; undefined if there is nothing to write
 */
export async function writeFixMigration(
  folder: string,
  parts: readonly FixPart[],
  now = new Date(),
): Promise<string | undefined> {
  const text = migrationText(parts)
  return text === undefined ? undefined : createMigration(folder, 'check_fixes', text, now)
}
