// The file with findings that a project accepts, each with a reason.
import { readFile } from 'node:fs/promises'
import { CommandError } from '../command-line/command-error.ts'
import { ownLints, splinterLints } from './lint-facts.ts'
import { defaultIgnoreFile } from '../findings.ts'
import { objectName, type LintFinding } from './finding.ts'

export type Ignored = {
  readonly code: string
  /** As the finding names it: `public.tasks`. Without it, all findings of the lint are ignored. */
  readonly object?: string
  /** For one of several findings on the object: their `key`. */
  readonly key?: string
  readonly reason: string
}

/**
 * Reads the list.
 *
 * @param file the default file may be missing, another may not
 * @throws CommandError with the file and the place in it
 */
export async function readIgnoreList(file: string | undefined): Promise<readonly Ignored[]> {
  const path = file ?? defaultIgnoreFile
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new CommandError(`The list of ignored findings cannot be read: ${(error as Error).message}`, { cause: error })
  }
  return parseIgnoreList(text, path)
}

export function parseIgnoreList(text: string, path: string): readonly Ignored[] {
  const fail = (problem: string): never => {
    throw new CommandError(`${path}: ${problem}`)
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    return fail((error as Error).message)
  }
  const list = isRecord(content) && Object.keys(content).length === 1 ? content.ignore : undefined
  if (!Array.isArray(list)) return fail('expected {"ignore": [{"code": …, "object": …, "reason": …}, …]}.')
  return list.map((entry: unknown, index) => {
    const where = `ignore[${index}]`
    if (!isRecord(entry)) return fail(`${where} is no object.`)
    for (const [name, value] of Object.entries(entry)) {
      if (!['code', 'object', 'key', 'reason'].includes(name))
        return fail(`${where} has the unknown property ${JSON.stringify(name)}.`)
      if (typeof value !== 'string') return fail(`${where}.${name} must be a string.`)
    }
    const { code, object, key, reason } = entry as Partial<Ignored>
    if (code === undefined || !Object.hasOwn({ ...splinterLints, ...ownLints }, code)) {
      return fail(
        `${where}.code must be the name of a lint${code === undefined ? '' : `; ${JSON.stringify(code)} is none`}.`,
      )
    }
    if (reason === undefined || reason.trim() === '')
      return fail(`${where} needs a reason: why the project accepts the finding.`)
    return { code, reason, ...(object === undefined ? {} : { object }), ...(key === undefined ? {} : { key }) }
  })
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export type Sorted = {
  readonly reported: readonly LintFinding[]
  /** Findings of the list, with the reason. */
  readonly ignored: readonly { readonly finding: LintFinding; readonly reason: string }[]
  /** Entries of the list that no finding matches. */
  readonly unused: readonly Ignored[]
}

/** Separates the findings that the list accepts, without those that are dismissed. */
export function applyIgnoreList(all: readonly LintFinding[], list: readonly Ignored[]): Sorted {
  const findings = all.filter(({ dismissed }) => dismissed === null)
  const used = new Set<Ignored>()
  const ignored: { finding: LintFinding; reason: string }[] = []
  const reported = findings.filter((it) => {
    const entry = list.find((candidate) => matches(candidate, it))
    if (!entry) return true
    used.add(entry)
    ignored.push({ finding: it, reason: entry.reason })
    return false
  })
  return { reported, ignored, unused: list.filter((entry) => !used.has(entry)) }
}

const matches = ({ code, object, key }: Ignored, finding: LintFinding): boolean =>
  code === finding.code &&
  (object === undefined || object === objectName(finding.object)) &&
  (key === undefined || key === finding.key)
