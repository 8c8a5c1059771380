// Warnings about unknown and ignored settings.
import { appSettingsVariable } from './app-settings.ts'
import { familyVariable, isAuthFamily } from './auth-families.ts'
import type { ConfigSources } from './config-sources.ts'
import { nearestName } from '../text/nearest-name.ts'
import { aliasVariable, settingVariables } from './setting.ts'
import { allSettings, ignoredSettings, ignoredVariables } from './settings.ts'

const fileNames = new Set(allSettings.flatMap(({ name, aliases = [] }) => [name, ...aliases]))
const variables = new Set(
  allSettings.flatMap((setting) => [...settingVariables(setting), ...(setting.aliases ?? []).map(aliasVariable)]),
)
const idleNames = new Map(ignoredSettings.map(({ name, reason }) => [name, reason]))
const idleVariables = new Map([
  ...ignoredSettings.map(({ name, reason }) => [aliasVariable(name), reason] as const),
  ...ignoredVariables.map((name) => [name, 'belongs to the runtime of PostgREST'] as const),
])

function warning(name: string, known: ReadonlySet<string>, idle: ReadonlyMap<string, string>): string | undefined {
  if (known.has(name)) return undefined
  const reason = idle.get(name)
  if (reason !== undefined) return `${name} is ignored: ${reason}`
  const nearest = nearestName(name, known)
  return `${name} is not a setting${nearest === undefined ? '' : `; did you mean ${nearest}?`}`
}

/** Whether a variable looks like a setting whose name is in the tables. */
const isOurs = (name: string): boolean =>
  (name.startsWith('PGRST_') && !name.startsWith(appSettingsVariable)) ||
  (name.startsWith('GOTRUE_') && !isAuthFamily(name))

export function unknownNameWarnings({ environment, file }: ConfigSources): string[] {
  const inEnvironment = Object.keys(environment)
    .filter((name) => isOurs(name) || idleVariables.has(name))
    .map((name) => warning(name, variables, idleVariables))
  const inFile = Array.from(file?.values.keys() ?? [])
    .filter((name) => !name.startsWith('app.settings.') && !isAuthFamily(familyVariable(name)))
    .map((name) => warning(name, fileNames, idleNames))
  return [...inEnvironment, ...inFile].filter((text) => text !== undefined)
}
