// The statements that mend findings, as a file for the folder of migrations.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { objectName, type LintFinding } from './finding.ts'

/** `20260131235959`, in UTC. */
const timestamp = (now: Date): string => now.toISOString().replace(/\D/g, '').slice(0, 14)

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
 * Writes the migration, and creates the folder if necessary. Never replaces a file.
 *
 * @returns the path of the file; undefined if there is nothing to write
 */
export async function writeFixMigration(
  folder: string,
  findings: readonly LintFinding[],
  now: Date,
): Promise<string | undefined> {
  const text = fixMigration(findings)
  if (text === undefined) return undefined
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${timestamp(now)}_check_fixes.sql`)
  await writeFile(path, text, { flag: 'wx' })
  return path
}
