// Applies mutants, one at a time on each connection, and finds the first case that notices each of them.
import type { Case } from './cases.ts'
import type { Affected } from './dependencies.ts'
import type { Mutant } from './mutants.ts'
import { concerns, type Roles } from './roles.ts'
import type { TestSession } from './session.ts'

export type MutantResult = {
  readonly mutant: Mutant
  /** The case that noticed it; undefined if none did. */
  readonly noticedBy: Case | undefined
  /** Why the mutant could not be made. */
  readonly error: string | undefined
}

/** Runs `use` for each item, on all connections at the same time. `onResult` gets the results in the order of the items. */
export async function inParallel<T, R>(
  sessions: readonly TestSession[],
  items: readonly T[],
  use: (session: TestSession, item: T) => Promise<R>,
  onResult: (result: R, item: T) => void,
): Promise<readonly R[]> {
  const results: { value: R }[] = []
  let next = 0
  let reported = 0
  const work = async (session: TestSession): Promise<void> => {
    for (;;) {
      const index = next++
      const item = items[index]
      if (index >= items.length || item === undefined) return
      results[index] = { value: await use(session, item) }
      for (let ready = results[reported]; ready; ready = results[reported]) {
        onResult(ready.value, items[reported] as T)
        reported++
      }
    }
  }
  await Promise.all(sessions.map(work))
  return results.map(({ value }) => value)
}

/** Makes the mutant in a transaction that is rolled back, and runs the cases until one fails. */
export async function tryMutant(
  session: TestSession,
  mutant: Mutant,
  cases: readonly Case[],
  roles: Roles,
  affected: Affected,
): Promise<MutantResult> {
  return session.isolated(async () => {
    try {
      for (const text of mutant.sql) await session.client.query(text)
    } catch (error) {
      return { mutant, noticedBy: undefined, error: (error as Error).message }
    }
    for (const one of byRelevance(mutant, cases, roles, affected(mutant))) {
      if ((await one.run(session)) !== null) return { mutant, noticedBy: one, error: undefined }
    }
    return { mutant, noticedBy: undefined, error: undefined }
  })
}

/**
 * The cases that may notice a mutant, those of its own table and command first. Cells of relations that it does not affect
 * are left out; written tests are not, because they may reach it by other ways, such as a relationship.
 */
export function byRelevance(
  { schema, object, kind, tables, command, roles: changed, isOfRows }: Mutant,
  cases: readonly Case[],
  roles: Roles,
  affected: ReadonlySet<string>,
): readonly Case[] {
  const names = kind === 'domain' ? tables.map((table) => table.slice(table.indexOf('.') + 1)) : [object]
  const escaped = names.map((name) => name.replaceAll(/[^\w]/g, '\\$&')).join('|')
  const name = new RegExp(`(?<![\\w$])(?:${escaped})(?![\\w$])`)
  const own = kind === 'function' ? [`${schema}.${object}`] : tables
  const rank = ({ table, command: ofCase, mentions }: Case): number => {
    const isOwn = table === undefined ? name.test(mentions) : own.includes(table)
    if (!isOwn) return table === undefined ? 2 : 3
    return ofCase === command || command === 'all' ? 0 : 1
  }
  return cases
    .filter(
      ({ role, table }) => concerns(roles, role, changed, isOfRows) && (table === undefined || affected.has(table)),
    )
    .map((one) => [rank(one), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one)
}
