// Settings that are kept in the database: this program's own (`pgrst.…`) and those of the roles that requests run as.
import { readFileSync } from 'node:fs'
import type { QualifiedIdentifier } from '../schema-cache/identifier.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import type { RoleSettings } from '../rest/settings.ts'
import { identifier } from '../text/sql-text.ts'
import { databaseSettingNames } from './load.ts'

/** Runs one statement, and all of a call's in one transaction: what a pre-config function sets ends with it. */
export type SettingsQuery = (text: string, values: unknown[]) => Promise<readonly Record<string, unknown>[]>

type FileName = 'database-settings' | 'role-settings' | 'parameter-privileges'

/** Texts of the statements, by file. They are read when they are first needed. */
const texts = new Map<FileName, string>()

function sqlFile(name: FileName): string {
  let text = texts.get(name)
  if (text === undefined) {
    text = readFileSync(new URL(`../../sql/introspection/${name}.sql`, import.meta.url), 'utf8')
    texts.set(name, text)
  }
  return text
}

const prefix = 'pgrst.'

const quotedName = ({ schema, name }: QualifiedIdentifier): string =>
  (schema === '' ? [name] : [schema, name]).map((part) => identifier(part)).join('.')

/**
 * Reads settings from the database, as [name without prefix, value]. Settings of the role for this database count before
 * those for any database, these before what the pre-config function sets.
 *
 * @throws the database's error, for instance when there is no such function
 */
export async function readDatabaseSettings(
  query: SettingsQuery,
  preConfig: QualifiedIdentifier | null,
): Promise<readonly (readonly [string, string])[]> {
  const names = databaseSettingNames.map((name) => prefix + name)
  const values = new Map<string, string>()
  const collect = (rows: readonly Record<string, unknown>[]): void => {
    for (const { name, value } of rows) {
      if (typeof name === 'string' && typeof value === 'string') values.set(name.slice(prefix.length), value)
    }
  }
  if (preConfig) {
    // A row of the join needs the function's result, so the function has run before a setting is read.
    const text = `select setting.name, current_setting(setting.name, true) as value
      from ${quotedName(preConfig)}() as call cross join lateral unnest($1::text[]) as setting (name)`
    collect(await query(text, [names]))
  }
  collect(await query(sqlFile('database-settings'), [names]))
  return [...values]
}

const isolationLevel = (value: string): IsolationLevel => {
  const level = value.toLowerCase()
  return level === 'repeatable read' || level === 'serializable' ? level : 'read committed'
}

/**
 * Reads the settings of the roles that may be switched to. Settings that only a superuser may change are left out, unless
 * the connected role was granted to set them (PostgreSQL 15 and later).
 */
export async function readRoleSettings(query: SettingsQuery): Promise<RoleSettings> {
  const rows = await query(sqlFile('role-settings'), [])
  const guarded = new Set(rows.filter(({ context }) => context !== 'user').map(({ name }) => String(name)))
  const granted = guarded.size > 0 ? await grantedParameters(query, [...guarded]) : new Set<string>()
  const settings = new Map<string, (readonly [string, string])[]>()
  const isolationLevels = new Map<string, IsolationLevel>()
  for (const row of rows) {
    const [role, name, value] = [String(row.role), String(row.name), String(row.value)]
    if (guarded.has(name) && !granted.has(name)) continue
    if (name === 'default_transaction_isolation') isolationLevels.set(role, isolationLevel(value))
    else settings.set(role, [...(settings.get(role) ?? []), [name, value]])
  }
  return { settings, isolationLevels }
}

async function grantedParameters(query: SettingsQuery, names: readonly string[]): Promise<ReadonlySet<string>> {
  const [version] = await query("select current_setting('server_version_num')::int as number", [])
  if (Number(version?.number) < 150_000) return new Set()
  const rows = await query(sqlFile('parameter-privileges'), [names])
  return new Set(rows.map(({ name }) => String(name)))
}
