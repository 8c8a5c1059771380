// The statements that mend findings, as a file for the folder of migrations.
import { createMigration } from '../migrations/new-migration.ts'
import { objectName, type LintFinding } from './finding.ts'

/** A line of a comment: names in the catalog may contain line breaks, which would end it. */
const comment = (text: string): string => `-- ${text.replace(/\s+/g, ' ').trim()}`

/** The text of the migration; undefined if no finding has statements. Equal statements appear once. */
export function fixMigration(findings: readonly LintFinding[]): string | undefined {
  const done = new Set<string>()
  const parts = findings.flatMap(({ code, object, reason, advice, fix }) => {
    const statements = (fix ?? '')
      .split(/(?<=;)\n(?=\S)/)
      .filter((statement) => statement !== '' && !done.has(statement))
    for (const statement of statements) done.add(statement)
    if (statements.length === 0) return []
    return [
      [
        comment(`${code} ${objectName(object)}: ${reason}`),
        ...(advice === null ? [] : [comment(advice)]),
        ...statements,
      ].join('\n'),
    ]
  })
  return parts.length === 0
    ? undefined
    : `-- Mends findings of rowhouse check. Read it before you apply it.\n\n${parts.join('\n\n')}\n`
}

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
