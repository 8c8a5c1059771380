// Formats the findings of `check` for terminals.
import { objectName, type Level, type LintFinding } from '../check/finding.ts'
import { factsOf } from '../check/lint-facts.ts'
import type { Ignored, Sorted } from '../check/ignore-list.ts'
import { printable, wrap } from './text-table.ts'

const width = 120
const indent = '    '

/** A finding with its reason, statements and documentation. */
function block(finding: LintFinding): string[] {
  const { code, level, object, reason, fix, advice, dismissed } = finding
  const paragraph = (text: string): string[] =>
    wrap(printable(text), width - indent.length).map((line) => indent + line)
  const { url } = factsOf(code)
  return [
    `${level} ${code}  ${printable(objectName(object))}`,
    ...paragraph(reason),
    ...(dismissed === null ? [] : paragraph(`Dismissed: ${dismissed}`)),
    // Not wrapped, so that the statements can be copied.
    ...(fix === null || dismissed !== null ? [] : fix.split('\n').map((line) => `${indent}> ${printable(line)}`)),
    ...(advice === null || dismissed !== null ? [] : paragraph(advice)),
    ...(url === null ? [] : [indent + url]),
  ]
}

const words = { ERROR: ['error', 'errors'], WARN: ['warning', 'warnings'], INFO: ['note', 'notes'] } as const

function count(findings: readonly LintFinding[], level: Level): string[] {
  const number = findings.filter((it) => it.level === level).length
  return number === 0 ? [] : [`${number} ${words[level][number === 1 ? 0 : 1]}`]
}

export const describeUnused = ({ code, object, key }: Ignored): string =>
  `Nothing to ignore any more: ${[code, object, key].filter((part) => part !== undefined).join(' ')}`

/**
 * All findings and a summary; empty without any.
 *
 * @param dismissed findings of splinter that are none on closer examination, if they are to be shown
 */
export function findingsText({ reported, ignored, unused }: Sorted, dismissed: readonly LintFinding[]): string[] {
  const counts = (['ERROR', 'WARN', 'INFO'] as const).flatMap((level) => count(reported, level))
  const others = [
    ...(ignored.length > 0 ? [`${ignored.length} ignored`] : []),
    ...(dismissed.length > 0 ? [`${dismissed.length} dismissed`] : []),
  ]
  return [
    ...[...reported, ...dismissed].flatMap((it) => ['', ...block(it)]),
    ...(unused.length > 0 ? ['', ...unused.map((it) => printable(describeUnused(it)))] : []),
    ...(counts.length + others.length > 0
      ? ['', `Found ${[...(counts.length > 0 ? counts : ['nothing']), ...others].join(', ')}.`]
      : []),
  ]
}
