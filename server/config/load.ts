// Combines environment, configuration file and database settings into one readonly record, or one error that lists every
// invalid value. The database takes precedence over the environment, and the environment over the file.
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { parseRoleClaim } from '../identity/role-claim/role-claim.ts'
import { readAppSettings } from './app-settings.ts'
import { readAuthFamilies } from './auth-families.ts'
import type { Config } from './config.ts'
import { ConfigError, type ConfigProblem } from './config-error.ts'
import { impliedUri } from './database-choice.ts'
import { ConfigFileError, readConfigFile } from './config-file.ts'
import { decodeSecret } from './secret.ts'
import {
  aliasVariable,
  databaseName,
  settingVariables,
  type GivenValue,
  type Reading,
  type Setting,
  type SettingKey,
} from './setting.ts'
import { invalid } from './setting-reading.ts'
import { settingKeys, settings } from './settings.ts'
import { unknownNameWarnings } from './unknown-names.ts'
import type { ConfigSources, Environment } from './config-sources.ts'

export type LoadedConfig = {
  readonly config: Config
  readonly warnings: readonly string[]
  readonly sources: ConfigSources
}

/**
 * Reads the settings.
 *
 * @param from.file path of a configuration file
 * @param from.previous the current configuration on a reload: settings that need a restart keep their values
 * @throws ConfigError
 */
export function loadConfig(from: {
  readonly env: Environment
  readonly file?: string | undefined
  readonly previous?: LoadedConfig | undefined
}): LoadedConfig {
  const contents = new Map<string, Buffer>()
  const readFile = (path: string): Buffer => {
    const known = contents.get(path) ?? readFileSync(path)
    contents.set(path, known)
    return known
  }
  const problems: ConfigProblem[] = []
  let file: ConfigSources['file']
  if (from.file !== undefined) {
    try {
      const values = readConfigFile(from.file, {
        read: (path) => readFile(path).toString(),
        variable: (name) => (Object.hasOwn(from.env, name) ? from.env[name] : undefined),
      })
      file = { path: from.file, values }
    } catch (error) {
      if (!(error instanceof ConfigFileError)) throw error
      problems.push({ source: 'configuration file', message: error.message })
    }
  }
  const sources = { environment: from.env, file, database: new Map<string, string>(), readFile }
  return resolve(sources, problems, from.previous?.config)
}

/**
 * Applies database settings to a configuration, as [name without `pgrst.`, value].
 *
 * @throws ConfigError
 */
export function withDatabaseSettings(base: LoadedConfig, rows: readonly (readonly [string, string])[]): LoadedConfig {
  return resolve({ ...base.sources, database: new Map(rows) }, [], base.config)
}

/** Names, without `pgrst.`, of the settings that can be set in the database. */
export const databaseSettingNames: readonly string[] = settingKeys
  .map((key): Setting<unknown> => settings[key])
  .filter(({ change }) => change === 'database')
  .map(({ name }) => databaseName(name))

/**
 * Where a setting is set, by the name that was used: `PORT`, `server-port in rowhouse.conf`. Undefined for a default.
 */
export function settingSource({ sources }: LoadedConfig, key: SettingKey): string | undefined {
  const { given } = new Resolver(sources, []).read(key)
  return isGiven(given) ? given.source : undefined
}

type Given = { readonly value: GivenValue; readonly source: string; readonly variable?: string }

class Resolver {
  readonly problems: ConfigProblem[]
  readonly warnings: string[] = []
  readonly #sources: ConfigSources

  constructor(sources: ConfigSources, problems: ConfigProblem[]) {
    this.#sources = sources
    this.problems = problems
  }

  /** The value of a setting and its source, even if the given value is empty. */
  read<K extends SettingKey>(key: K): { readonly value: Config[K]; readonly given: Given | undefined } {
    const setting: Setting<Config[K]> = settings[key]
    const own = this.#given(setting)
    const older = (setting.aliases ?? []).map((alias) => this.#givenAlias(alias))
    const all = (setting.aliasesFirst ? [...older, own] : [own, ...older]).filter((given) => given !== undefined)
    for (const given of all) {
      const reading = this.#reading(setting, given)
      switch (reading.kind) {
        case 'value':
          return { value: reading.value, given }
        case 'invalid':
          this.addProblem(given, reading.message)
          return { value: setting.default, given }
        case 'mistyped':
          this.warnings.push(`${given.source} is not a ${setting.type.name} and is ignored`)
          break
        case 'unset':
          break
        default:
          reading satisfies never
      }
    }
    return { value: setting.default, given: all[0] }
  }

  addProblem(given: Given | undefined, message: string): void {
    this.problems.push({ source: given?.source ?? 'settings', message })
  }

  #given(setting: Setting<unknown>): Given | undefined {
    const { environment, database } = this.#sources
    const column = databaseName(setting.name)
    const stored = setting.change === 'database' ? database.get(column) : undefined
    const [first, ...others] = settingVariables(setting).flatMap((variable): Given[] => {
      const value = environment[variable]
      return value === undefined ? [] : [{ value, source: variable, variable }]
    })
    // An empty variable does not override another one of the same setting.
    const [main = first, ...differing] = [first, ...others].filter((given) => given !== undefined && given.value !== '')
    const reading = main && setting.type.read(main.value)
    const other = differing.find((given) => given && !isDeepStrictEqual(setting.type.read(given.value), reading))
    if (main && other) {
      this.addProblem(
        { ...main, source: `${main.source} and ${other.source}` },
        'are the same setting, but have different values',
      )
    }
    if (stored !== undefined) return { value: stored, source: `pgrst.${column} in the database` }
    return main ?? this.#givenInFile(setting.name)
  }

  #givenAlias(alias: string): Given | undefined {
    const variable = aliasVariable(alias)
    const value = this.#sources.environment[variable]
    return value === undefined ? this.#givenInFile(alias) : { value, source: variable, variable }
  }

  #givenInFile(name: string): Given | undefined {
    const { file } = this.#sources
    const value = file?.values.get(name)
    return value === undefined ? undefined : { value, source: `${name} in ${file?.path ?? 'the file'}` }
  }

  /** The connection string if none is set; null for the embedded database. */
  impliedUri(): string | null {
    return impliedUri(this.#sources)
  }

  /** The secret of tokens, which another setting says how to decode. */
  jwtSecret(isBase64: boolean): string | Buffer | null {
    const { value, given } = this.read('jwtSecret')
    if (value === null) return null
    try {
      return decodeSecret(value, isBase64)
    } catch (error) {
      this.addProblem(given, messageOf(error))
      return null
    }
  }

  #reading<T>({ type }: Setting<T>, { value }: Given): Reading<T> {
    if (!type.readContents || typeof value !== 'string' || !value.startsWith('@')) return type.read(value)
    try {
      return type.readContents(this.#sources.readFile(value.slice(1)))
    } catch (error) {
      return invalid(messageOf(error))
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function resolve(sources: ConfigSources, problems: ConfigProblem[], previous?: Config): LoadedConfig {
  const resolver = new Resolver(sources, problems)
  const derived = derive(resolver)
  const rest = settingKeys.filter((key) => !Object.hasOwn(derived, key)).map((key) => [key, resolver.read(key).value])
  const onProblem = (problem: ConfigProblem): void => void resolver.problems.push(problem)
  const fileValues = sources.file?.values ?? new Map<string, GivenValue>()
  const appSettings = readAppSettings(sources.environment, fileValues, onProblem)
  const families = readAuthFamilies(sources.environment, fileValues, onProblem)
  if (resolver.problems.length > 0) throw new ConfigError(resolver.problems)
  const kept = previous ? settingKeys.filter((key) => settings[key].change === 'restart') : []
  const config = {
    ...(Object.fromEntries(rest) as Omit<Config, keyof Derived>),
    ...derived,
    appSettings,
    ...families,
    ...Object.fromEntries(kept.map((key) => [key, previous?.[key]])),
  } as Config
  return { config, warnings: [...resolver.warnings, ...deprecations(config), ...unknownNameWarnings(sources)], sources }
}

type Derived = Pick<
  Config,
  | 'adminServerHost'
  | 'adminServerPort'
  | 'dbAnonRole'
  | 'dbUri'
  | 'docsMode'
  | 'imageBasePath'
  | 'jwtSecret'
  | 'jwtSecretIsBase64'
  | 'logLevel'
  | 'migrateOnStart'
  | 'restBasePath'
  | 'serverHost'
  | 'serverPort'
>

/** Settings that depend on other settings. */
function derive(resolver: Resolver): Derived {
  const host = resolver.read('serverHost')
  const serverPort = resolver.read('serverPort').value
  const admin = resolver.read('adminServerPort')
  if (admin.value === serverPort)
    resolver.addProblem(admin.given, 'admin-server-port cannot be the same as server-port')
  const { value: givenUri, given: uri } = resolver.read('dbUri')
  const implied = isGiven(uri) ? null : resolver.impliedUri()
  const dbUri = givenUri ?? implied
  const likePostgrest = isPostgrestName(uri) || implied !== null
  // With PostgREST's settings for the database, PostgREST's defaults apply, such as listening on every address.
  const serverHost = isGiven(host.given) || !likePostgrest ? host.value : '!4'
  const role = resolver.read('dbAnonRole')
  const logLevel = resolver.read('logLevel')
  const docsMode = resolver.read('docsMode')
  const restBasePath = resolver.read('restBasePath').value
  const jwtSecretIsBase64 = resolver.read('jwtSecretIsBase64').value
  return {
    adminServerHost: resolver.read('adminServerHost').value || serverHost,
    adminServerPort: admin.value,
    // PostgREST rejects requests without credentials by default.
    dbAnonRole: role.given || likePostgrest ? role.value : 'anon',
    dbUri,
    docsMode: isGiven(docsMode.given) || dbUri !== null ? docsMode.value : 'ignore-privileges',
    imageBasePath: imageBasePath(resolver, restBasePath),
    jwtSecret: resolver.jwtSecret(jwtSecretIsBase64),
    jwtSecretIsBase64,
    // PostgREST logs only server errors by default.
    logLevel: isGiven(logLevel.given) || likePostgrest ? logLevel.value : 'info',
    migrateOnStart: dbUri === null || resolver.read('migrateOnStart').value,
    restBasePath,
    serverHost,
    serverPort,
  }
}

/** First path segments of other routes. */
const takenSegments: ReadonlySet<string> = new Set([
  'auth',
  'storage',
  'realtime',
  'functions',
  'report',
  'health',
  'ready',
  'docs',
  'docs-json',
  'openapi.json',
])

function imageBasePath(resolver: Resolver, restBasePath: string): string {
  const { value, given } = resolver.read('imageBasePath')
  if (value === restBasePath) resolver.addProblem(given, 'must not be the same as rest-base-path')
  const [, segment = ''] = value.split('/', 2)
  if (takenSegments.has(segment)) resolver.addProblem(given, `must not begin with /${segment}, which other routes use`)
  return value
}

const isGiven = (given: Given | undefined): given is Given => given !== undefined && given.value !== ''

const isPostgrestName = (given: Given | undefined): boolean => isGiven(given) && given.variable !== 'DATABASE_URL'

function deprecations({ jwtRoleClaimKey }: Config): string[] {
  const claim = parseRoleClaim(jwtRoleClaimKey)
  if (claim.kind !== 'legacy') return []
  const setting = `\`jwt-role-claim-key=${claim.text}\``
  return [
    `The config ${setting} is using the deprecated JSPath syntax.`,
    `Update ${setting} to the new JSONPath syntax as support for JSPath will be removed in a future release. See the migration guide on how to update: https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md#migration-to-v16`,
  ]
}
