// Findings as workflow commands of GitHub Actions, which show them as annotations.
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
import type { Level } from '../findings.ts'
import { objectName, type LintFinding } from './finding.ts'
import { factsOf } from './lint-facts.ts'

const commands = { ERROR: 'error', WARN: 'warning', INFO: 'notice' } as const satisfies Record<Level, string>

/** A line break would begin another command. */
const message = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

const property = (text: string): string => message(text).replaceAll(':', '%3A').replaceAll(',', '%2C')

/** One line per finding. */
export function githubAnnotation(it: LintFinding): string {
  const title = `${factsOf(it.code).title}: ${objectName(it.object)}`
  const text = [`${it.code}: ${it.reason}`, it.fix, it.advice].filter((part) => part !== null).join('\n')
  return `::${commands[it.level]} title=${property(title)}::${message(text)}`
}

/** A line for an entry of the ignore list that is of no use any more. */
export const githubNotice = (file: string, text: string): string => `::warning file=${property(file)}::${message(text)}`
