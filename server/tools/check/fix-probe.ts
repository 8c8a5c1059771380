// Asks PostgreSQL whether statements of the API's roles still work: EXPLAIN checks the privileges on relations and on the
// functions of policies, views and defaults, and runs nothing.
import { identifier } from '../../text/sql-text.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { Rights } from './rights.ts'

/** By role, object and command: why the statement fails; null if it does not. */
export type Probe = ReadonlyMap<string, string | null>

/** Milliseconds after which no further statement is probed. */
const probeLimit = 5000

/**
 * Probes the statements that roles have the privileges for, in the caller's open transaction, within a time limit.
 *
 * @param roles those that the connected role cannot switch to are left out
 */
export async function probe(query: RunClientQuery, rights: Rights, roles: readonly string[]): Promise<Probe> {
  const start = performance.now()
  const found = new Map<string, string | null>()
  const closed = new Set<string>()
  for (const [key, { statement }] of rights) {
    const [role = ''] = JSON.parse(key) as string[]
    if (statement === undefined || !roles.includes(role) || closed.has(role)) continue
    if (performance.now() - start > probeLimit) break
    await query('savepoint probe')
    const [isSwitched, problem] = await explain(query, role, statement)
    await query('rollback to savepoint probe')
    if (isSwitched) found.set(key, problem)
    else closed.add(role)
  }
  return found
}

async function explain(query: RunClientQuery, role: string, statement: string): Promise<[boolean, string | null]> {
  let isSwitched = false
  try {
    await query(`set local role ${identifier(role)}`)
    isSwitched = true
    await query(`explain ${statement}`)
    return [isSwitched, null]
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return [isSwitched, (error as Error).message]
  }
}

export type Broken = { readonly role: string; readonly object: string; readonly command: string; readonly why: string }

/** The statements that worked before, and do not any more. */
export const broken = (before: Probe, after: Probe): Broken[] =>
  [...after].flatMap(([key, why]) => {
    const [role, object, command] = JSON.parse(key) as [string, string, string]
    return why !== null && before.get(key) === null ? [{ role, object, command, why }] : []
  })
