// The statements that mend findings, as a file for the folder of migrations.
import { createMigration } from '../migrations/new-migration.ts'
import { objectName, type LintFinding } from './finding.ts'
import { alterPolicy, policyKey } from './policy-edit.ts'
import { splitStatements } from '../../text/sql-statements.ts'

/** A line of a comment: names in the catalog may contain line breaks, which would end it. */
const comment = (text: string): string => `-- ${text.replace(/\s+/g, ' ').trim()}`

/**
 * The text of the migration; undefined if no finding has statements. Equal statements appear once, and changes to one
 * policy are one statement. A policy that is dropped is not changed, and one that is changed is not joined with others.
 */
export function fixMigration(findings: readonly LintFinding[]): string | undefined {
  const edited = new Map<string, LintFinding[]>()
  for (const it of findings) {
    if (it.edit) edited.set(policyKey(it.edit), [...(edited.get(policyKey(it.edit)) ?? []), it])
  }
  const done = new Set<string>()
  const dropped = new Set(findings.flatMap(({ drops }) => (drops.length === 1 ? drops : [])))
  const parts = findings.flatMap((it) => {
    if (it.drops.length > 1 && it.drops.some((key) => edited.has(key) || dropped.has(key))) return []
    const key = it.edit && policyKey(it.edit)
    if (key !== null && dropped.has(key)) return []
    const group = key === null ? [it] : (edited.get(key) ?? [])
    const fix = key === null ? it.fix : alterPolicy(group.flatMap(({ edit }) => edit ?? []))
    const statements = splitStatements(fix ?? '')
      .map(({ text }) => `${text};`)
      .filter((statement) => !done.has(statement))
    for (const statement of statements) done.add(statement)
    return statements.length === 0 ? [] : [[...group.flatMap(describe), ...statements].join('\n')]
  })
  return parts.length === 0
    ? undefined
    : `-- Mends findings of rowhouse check. Read it before you apply it.\n\n${parts.join('\n\n')}\n`
}

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
  findings: readonly LintFinding[],
  now = new Date(),
): Promise<string | undefined> {
  const text = fixMigration(findings)
  return text === undefined ? undefined : createMigration(folder, 'check_fixes', text, now)
}
