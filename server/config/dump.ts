// Formats settings: the dump (PostgREST's `--dump-config`), the example file, and the tables in the guides.
import { compareText } from '../text/code-point-order.ts'
import { authFamilies } from './auth-families.ts'
import { authSettings } from './auth-settings.ts'
import type { Config } from './config.ts'
import { quoted } from './setting-reading.ts'
import { functionsSettings } from './functions-settings.ts'
import { mcpSettings } from './mcp-settings.ts'
import { postgrestSettings } from './postgrest-settings.ts'
import { realtimeSettings } from './realtime-settings.ts'
import { serviceSettings } from './service-settings.ts'
import { aliasVariable, settingVariables, type Setting } from './setting.ts'
import { allSettings, ignoredSettings, ignoredVariables, ownSettings } from './settings.ts'
import { schedulesSettings } from './schedules-settings.ts'
import { storageSettings } from './storage-settings.ts'
import { webhooksSettings } from './webhooks-settings.ts'

type Key = keyof typeof postgrestSettings

function dumped(key: Key, value: unknown): string {
  const setting: Setting<unknown> = postgrestSettings[key]
  return `${setting.name} = ${setting.type.dump(value)}`
}

/**
 * All settings, as a configuration file: PostgREST's in the format and order of its `--dump-config`, then those of this
 * program.
 */
export function dumpConfig(config: Config): string {
  return dump(config, encodedSecret(config)) + serviceLines(config).sort(compareText).join('\n').concat('\n')
}

const encodedSecret = ({ jwtSecret, jwtSecretIsBase64 }: Config): string | Buffer | null =>
  jwtSecret !== null && jwtSecretIsBase64 ? Buffer.from(jwtSecret).toString('base64') : jwtSecret

const serviceLines = (config: Config): string[] =>
  (Object.keys(ownSettings) as (keyof typeof ownSettings)[]).map((key) => {
    const setting: Setting<unknown> = ownSettings[key]
    return `${setting.name} = ${setting.type.dump(config[key])}`
  })

/** The same as a JSON object, with null for unset values. */
export function dumpConfigJson(config: Config): string {
  const lines = dumpConfig(config).trimEnd().split('\n')
  const members = lines.map((line): [string, unknown] => {
    const equals = line.indexOf(' = ')
    return [line.slice(0, equals), jsonValue(line.slice(equals + 3))]
  })
  return `${JSON.stringify(Object.fromEntries(members))}\n`
}

/** Parses a value in the file's notation: a boolean, a number, or text with escaped quotes and dollar signs. */
function jsonValue(text: string): unknown {
  if (!text.startsWith('"')) return JSON.parse(text)
  return text === '""' ? null : text.slice(1, -1).replaceAll('\\"', '"').replaceAll('$$', '$')
}

function dump(config: Config, secret: string | Buffer | null): string {
  const lines = [
    ...(Object.keys(postgrestSettings) as Key[]).map((key) => dumped(key, key === 'jwtSecret' ? secret : config[key])),
    ...config.appSettings.map(([name, value]) => `${name} = ${quoted(value)}`),
  ]
  return `${lines.sort(compareText).join('\n')}\n`
}

const exampleOf = ({ name, example, description, type, default: value }: Setting<unknown>): string =>
  `## ${description}\n# ${name} = ${example ?? type.dump(value)}\n`

/** A configuration file with every setting, commented out. */
export function exampleConfig(): string {
  const section = (title: string, all: readonly Setting<unknown>[]): string =>
    `### ${title}\n\n${all.map(exampleOf).join('\n')}`
  return [
    section("PostgREST's settings", Object.values(postgrestSettings)),
    '## Values for SQL: current_setting(\'app.settings.greeting\').\n# app.settings.greeting = "hello"\n',
    section('Settings of rowhouse', Object.values(serviceSettings)),
    section('Settings of the sign-in service, as GoTrue has them', Object.values(authSettings)),
    section("Settings of the storage service, as Supabase's storage has them", Object.values(storageSettings)),
    section("Settings of the realtime service, as Supabase's realtime has them", Object.values(realtimeSettings)),
    section('Settings of functions', Object.values(functionsSettings)),
    section('Settings of outgoing calls', Object.values(webhooksSettings)),
    section('Settings of schedules', Object.values(schedulesSettings)),
    section('Settings of agents', Object.values(mcpSettings)),
  ].join('\n')
}

/** Every setting as JSON: names, description, and an example value in the file's notation. */
export function exampleConfigJson(): string {
  const all = allSettings.map((setting) => ({
    name: setting.name,
    variables: [...settingVariables(setting), ...(setting.aliases ?? []).map(aliasVariable)],
    description: setting.description,
    example: setting.example ?? setting.type.dump(setting.default),
  }))
  return `${JSON.stringify(all)}\n`
}

const changes = { restart: 'a restart', reload: 'a reload', database: 'a reload; also in the database' } as const

function tableRow(setting: Setting<unknown>): string {
  const { name, type, aliases = [], change, description, default: value, defaultInWords } = setting
  const variables = [...settingVariables(setting), ...aliases.map(aliasVariable)].map((it) => `\`${it}\``)
  const given = type.dump(value)
  const shown =
    defaultInWords ?? (given === '""' ? 'none' : `\`${given.replace(/^"(.*)"$/, '$1').replaceAll('$$', '$')}\``)
  const cells = [`\`${name}\``, variables.join(', '), shown, description, changes[change]]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** The settings as a Markdown table, followed by the ignored settings. */
export function settingsTable(): string {
  const idle = ignoredSettings.map(({ name, reason }) => `- \`${name}\` (\`${aliasVariable(name)}\`): ${reason}`)
  const runtime = ignoredVariables.map((name) => `- \`${name}\`: belongs to the runtime of PostgREST`)
  return [
    '| In the file | In the environment | Default | Meaning | Takes effect after |',
    '| --- | --- | --- | --- | --- |',
    ...allSettings.map(tableRow),
    "| `app.settings.*` | `PGRST_APP_SETTINGS_*` | none | Values that SQL can read: `current_setting('app.settings.name')`. | a reload |",
    ...authFamilies.map(({ variable, description }) => {
      const name = variable.toLowerCase().replaceAll('_', '-')
      return `| \`${name}\` | \`${variable}\` | none | ${description} | a reload |`
    }),
    '',
    'Accepted, but ignored:',
    '',
    ...idle,
    ...runtime,
    '',
  ].join('\n')
}
