// `app.settings.*`: values that are passed to SQL.
import { compareText } from '../text/code-point-order.ts'
import type { ConfigProblem } from './config-error.ts'
import { textOf } from './setting-reading.ts'
import type { GivenValue } from './setting.ts'

const prefix = 'app.settings.'
export const appSettingsVariable = 'PGRST_APP_SETTINGS_'

// Names that PostgreSQL accepts for settings.
const settingName = /^[A-Za-z_\u{80}-\u{10FFFF}][\w$\u{80}-\u{10FFFF}]*$/u

/** Full names and values, sorted by name. The environment takes precedence over the file. */
export function readAppSettings(
  environment: Readonly<Record<string, string | undefined>>,
  file: ReadonlyMap<string, GivenValue>,
  onProblem: (problem: ConfigProblem) => void,
): readonly (readonly [string, string])[] {
  const values = new Map<string, { readonly value: string; readonly source: string }>()
  for (const [name, value] of file) {
    if (name.startsWith(prefix) && !name.includes('.', prefix.length)) {
      values.set(name, { value: textOf(value), source: name })
    }
  }
  for (const [variable, value] of Object.entries(environment)) {
    if (variable.startsWith(appSettingsVariable) && value !== undefined) {
      values.set(prefix + variable.slice(appSettingsVariable.length), { value, source: variable })
    }
  }
  for (const [name, { value, source }] of values) {
    if (!settingName.test(name.slice(prefix.length))) {
      onProblem({ source, message: 'is not a valid name of a PostgreSQL setting' })
    }
    if (value.includes('\0')) onProblem({ source, message: 'must not contain the character NUL' })
  }
  return Array.from(values, ([name, { value }]) => [name, value] as const).sort(([one], [other]) =>
    compareText(one, other),
  )
}
