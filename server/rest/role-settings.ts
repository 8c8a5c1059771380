// The settings of roles (`alter role … set …`).
// https://docs.postgrest.org/en/stable/references/transactions.html#impersonated-role-settings
import { introspectionQuery, type RunQuery } from '../catalogue/introspection.ts'
import type { IsolationLevel } from '../catalogue/routine.ts'
import { parseLimits, type Limits } from '../identity/limits.ts'
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
  return { settings, isolationLevels, ...(await readLimits(query)) }
}

const prefix = 'pgrst.'

/** Where the reads of a role run: `primary`, or `any` for replicas, too. */
const readSetting = 'read'

/**
 * Reads the limits of all roles that the connected role may switch to, and where their reads run. The settings of a role
 * for this database replace those for all databases.
 */
async function readLimits(query: RunQuery): Promise<Pick<RoleSettings, 'limits' | 'readsFromPrimary' | 'warnings'>> {
  const stored = new Map<string, Map<string, string>>()
  for (const { role, name, value } of await query(introspectionQuery('role-limits').text, [])) {
    const ofRole = stored.get(String(role)) ?? new Map<string, string>()
    stored.set(String(role), ofRole.set(String(name).slice(prefix.length), String(value)))
  }
  const limits = new Map<string, Limits>()
  const readsFromPrimary = new Set<string>()
  const warnings: string[] = []
  for (const [role, pairs] of stored) {
    const read = pairs.get(readSetting)?.trim().toLowerCase() ?? ''
    pairs.delete(readSetting)
    if (read === 'primary') readsFromPrimary.add(role)
    else if (read !== '' && read !== 'any') {
      warnings.push(`role ${role}: ignoring ${prefix}${readSetting} = ${read}: allowed is primary or any`)
    }
    const parsed = parseLimits(pairs)
    if (parsed.limits) limits.set(role, parsed.limits)
    for (const problem of parsed.problems) warnings.push(`role ${role}: ignoring ${prefix}${problem}`)
  }
  return { limits, readsFromPrimary, warnings }
}

async function grantedParameters(query: RunQuery, names: readonly string[]): Promise<ReadonlySet<string>> {
  const [version] = await query("select current_setting('server_version_num')::int as number", [])
  if (Number(version?.number) < 150_000) return new Set()
  const rows = await query(introspectionQuery('parameter-privileges').text, [names])
  return new Set(rows.map(({ name }) => String(name)))
}
