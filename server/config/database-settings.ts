// Reads the program's settings that are stored in the database: `pgrst.…`.
import { readFileSync } from 'node:fs'
import type { QualifiedIdentifier } from '../catalogue/identifier.ts'
import { identifier } from '../text/sql-text.ts'
import { databaseSettingNames } from './load.ts'

/** Runs one statement. All statements of a call share one transaction, which ends what a pre-config function sets. */
export type SettingsQuery = (text: string, values: unknown[]) => Promise<readonly Record<string, unknown>[]>

/** The statement, read from disk on first use. */
let statement: string | undefined

const settingsStatement = (): string =>
  (statement ??= readFileSync(new URL('../../sql/introspection/database-settings.sql', import.meta.url), 'utf8'))

const prefix = 'pgrst.'

const quotedName = ({ schema, name }: QualifiedIdentifier): string =>
  (schema === '' ? [name] : [schema, name]).map((part) => identifier(part)).join('.')

/**
 * Reads settings from the database, as [name without prefix, value]. Settings of the role for this database take
 * precedence over those for any database, and these over the values of the pre-config function.
 *
 * @throws the database's error, for example when the function does not exist
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
    // Every row of the join needs the function's result, so the function runs before a setting is read.
    const text = `select setting.name, current_setting(setting.name, true) as value
      from ${quotedName(preConfig)}() as call cross join lateral unnest($1::text[]) as setting (name)`
    collect(await query(text, [names]))
  }
  collect(await query(settingsStatement(), [names]))
  return [...values]
}
