// The settings of roles (`alter role … set …`).
// https://docs.postgrest.org/en/v16/references/transactions.html#impersonated-role-settings
import { introspectionQuery, type RunQuery } from '../schema-cache/introspection.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import type { RoleSettings } from './settings.ts'

const isolationLevel = (value: string): IsolationLevel => {
  const level = value.toLowerCase()
  return level === 'repeatable read' || level === 'serializable' ? level : 'read committed'
}

/**
 * Reads the settings of all roles that the connected role may switch to. Omits settings that only a superuser may
 * change, unless the connected role has the privilege to set them (PostgreSQL 15 and later).
 */
export async function readRoleSettings(query: RunQuery): Promise<RoleSettings> {
  const rows = await query(introspectionQuery('role-settings').text, [])
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

async function grantedParameters(query: RunQuery, names: readonly string[]): Promise<ReadonlySet<string>> {
  const [version] = await query("select current_setting('server_version_num')::int as number", [])
  if (Number(version?.number) < 150_000) return new Set()
  const rows = await query(introspectionQuery('parameter-privileges').text, [names])
  return new Set(rows.map(({ name }) => String(name)))
}
