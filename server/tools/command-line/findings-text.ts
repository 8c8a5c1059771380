// Formats the findings of `check` for terminals.
import { isAtLeast, type Level } from '../findings.ts'
import { objectName, type LintFinding } from '../check/finding.ts'
import { fixParts } from '../check/fix-migration.ts'
import { factsOf } from '../check/lint-facts.ts'
import type { Ignored, Sorted } from '../check/ignore-list.ts'
import { printable, wrap } from './text-table.ts'

const width = 120
const indent = '    '

/** Findings about one function, which are shown as one. */
type Group = readonly LintFinding[]

function grouped(findings: readonly LintFinding[]): Group[] {
  const groups = new Map<string, LintFinding[]>()
  for (const it of findings) {
    const { type, schema, name } = it.object
    const key = type === 'function' ? JSON.stringify([schema, name, it.dismissed === null]) : `${it.code} ${it.key}`
    groups.set(key, [...(groups.get(key) ?? []), it])
  }
  return [...groups.values()]
}

const levelOf = (group: Group): Level =>
  group.reduce<Level>((highest, { level }) => (isAtLeast(level, highest) ? level : highest), 'INFO')

/** Findings about one object, with their reasons, statements and documentation. */
function block(group: Group): string[] {
  const [first, ...others] = group
  if (!first) return []
  const paragraph = (text: string): string[] =>
    wrap(printable(text), width - indent.length).map((line) => indent + line)
  const distinct = (texts: readonly (string | null)[]): string[] => [...new Set(texts)].flatMap((text) => text ?? [])
  const isDismissed = first.dismissed !== null
  const fix =
    others.length === 0
      ? first.fix
      : fixParts(group)
          .flatMap(({ statements }) => statements)
          .join('\n')
  return [
    `${levelOf(group)} ${first.code}  ${printable(objectName(first.object))}`,
    ...paragraph(first.reason),
    ...others.flatMap(({ code, reason }) => paragraph(`${code}: ${reason}`)),
    ...distinct(group.map(({ dismissed }) => dismissed)).flatMap((text) => paragraph(`Dismissed: ${text}`)),
    // Not wrapped, so that the statements can be copied.
    ...(fix === null || fix === '' || isDismissed
      ? []
      : fix.split('\n').map((line) => `${indent}> ${printable(line)}`)),
    ...(isDismissed ? [] : distinct(group.map(({ advice }) => advice)).flatMap(paragraph)),
    ...distinct(group.map(({ code }) => factsOf(code).url)).map((url) => indent + url),
  ]
}

const words = { ERROR: ['error', 'errors'], WARN: ['warning', 'warnings'], INFO: ['note', 'notes'] } as const

function count(groups: readonly Group[], level: Level): string[] {
  const number = groups.filter((group) => levelOf(group) === level).length
  return number === 0 ? [] : [`${number} ${words[level][number === 1 ? 0 : 1]}`]
}

export const describeUnused = ({ code, object, key }: Ignored): string =>
  `Nothing to ignore any more: ${[code, object, key].filter((part) => part !== undefined).join(' ')}`

/**
 * All findings and a summary. Several findings about one function are shown, and counted, as one.
 *
 * @param dismissed findings of splinter that are none on closer examination, if they are to be shown
 */
export function findingsText({ reported, ignored, unused }: Sorted, dismissed: readonly LintFinding[]): string[] {
  const groups = grouped(reported)
  const counts = (['ERROR', 'WARN', 'INFO'] as const).flatMap((level) => count(groups, level))
  const others = [
    ...(ignored.length > 0 ? [`${ignored.length} ignored`] : []),
    ...(dismissed.length > 0 ? [`${dismissed.length} dismissed`] : []),
  ]
  return [
    ...[...groups, ...grouped(dismissed)].flatMap((it) => ['', ...block(it)]),
    ...(unused.length > 0 ? ['', ...unused.map((it) => printable(describeUnused(it)))] : []),
    ...(counts.length + others.length > 0
      ? ['', `Found ${[...(counts.length > 0 ? counts : ['nothing']), ...others].join(', ')}.`]
      : ['', 'Found nothing.']),
  ]
}
