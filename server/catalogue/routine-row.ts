// Routines as `routines.sql` returns them.
import { qualifiedKey } from './identifier.ts'
import { decodeRow, introspectionQuery, type IntrospectionQuery, type CatalogRow } from './introspection.ts'
import { compareRoutines } from './order.ts'
import type { IsolationLevel, Routine, Routines } from './routine.ts'
import { atOnce, eachOf, groupsOf, type Steps } from './steps.ts'

type Options = {
  readonly schemas: readonly string[]
  readonly hoistedSettings: readonly string[]
  /** Whether to leave out functions that the current role may not execute. */
  readonly executableOnly?: boolean
}

export const routinesQuery = ({ schemas, hoistedSettings, executableOnly = false }: Options): IntrospectionQuery =>
  introspectionQuery('routines', JSON.stringify(schemas), JSON.stringify(hoistedSettings), String(executableOnly))

/** Groups overloads, in the order in which error messages list them. */
export function* routinesOf(list: readonly Routine[]): Steps<Routines> {
  const routines = yield* groupsOf(list, ({ schema, name }) => qualifiedKey(schema, name))
  yield* eachOf(routines.values(), (overloads) => overloads.sort(compareRoutines))
  return routines
}

/** The routines of rows of `routinesQuery`. */
export const decodeRoutines = (rows: readonly CatalogRow[]): Routines => atOnce(routinesOf(rows.map(decodeRoutine)))

/** Decodes a row of `routinesQuery`. */
export function decodeRoutine(row: CatalogRow): Routine {
  const routine = decodeRow<Omit<Routine, 'isolationLevel'> & { readonly isolationLevel: string | null }>(row)
  const { returns, isolationLevel } = routine
  return {
    ...routine,
    returns: { ...returns, compositeAlias: returns.composite && returns.compositeAlias },
    isolationLevel: isolationLevel === null ? null : decodeIsolationLevel(isolationLevel),
  }
}

/** Postgres accepts the setting in any case and stores it as written. */
function decodeIsolationLevel(setting: string): IsolationLevel {
  const level = setting.toLowerCase()
  return level === 'repeatable read' || level === 'serializable' ? level : 'read committed'
}
