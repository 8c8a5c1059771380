// Writes results in the Test Anything Protocol, version 14. https://testanything.org/tap-version-14-specification.html
import { stringify } from 'yaml'

export type TapPoint = {
  readonly ok: boolean
  readonly name: string
  /** Why a point that is not ok does not count as a failure. */
  readonly todo?: string
  /** Written as YAML below the point. */
  readonly diagnostics?: object
}

/** The first line of a document. */
export const tapVersion = 'TAP version 14\n'

/** One test point with its diagnostics. */
export function tapPoint(number: number, { ok, name, todo, diagnostics }: TapPoint): string {
  const directive = todo === undefined ? '' : ` # TODO ${escaped(todo)}`
  const line = `${ok ? 'ok' : 'not ok'} ${number} - ${escaped(name)}${directive}\n`
  if (!diagnostics) return line
  const block = stringify(diagnostics, { lineWidth: 0, aliasDuplicateObjects: false })
  const indented = block.trimEnd().replaceAll(/^/gm, '  ')
  return `${line}  ---\n${indented}\n  ...\n`
}

/** The number of test points, before the first or after the last of them. */
export const tapPlan = (count: number): string => `1..${count}\n`

/** A line that programs ignore. */
export const tapComment = (text: string): string => `# ${oneLine(text)}\n`

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
const escaped = (text: string): string => oneLine(text).replaceAll(/[\\#]/g, '\\$&')
