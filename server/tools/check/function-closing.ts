// Revoking EXECUTE from roles that do not need it. Several findings about one function are mended by one pair of statements.
import { identifier } from '../../text/sql-text.ts'
import type { FunctionRow } from '../../catalogue/description.ts'
import { mayExecute } from '../../catalogue/rights.ts'
import type { FunctionNeeds } from './function-needs.ts'
import type { SchemaView } from './schema-view.ts'

export type FunctionClosing = {
  readonly routine: FunctionRow
  /** The roles that lose EXECUTE, besides PUBLIC. */
  readonly roles: readonly string[]
  /** Roles that have it by PUBLIC or by one of those roles only, and keep it. */
  readonly keeps: readonly string[]
}

const routineKind = { f: 'function', a: 'function', w: 'function', p: 'procedure' } as const

/** `function s.f(a integer)`, as statements name it. */
export const signature = ({ kind, quoted, arguments: list }: FunctionRow): string =>
  `${routineKind[kind]} ${quoted}(${list})`

/** Identifies the function. */
export const closingKey = ({ routine }: FunctionClosing): string => signature(routine)

/** The statements that make all the closings of one function; null for none. */
export function closeFunction(closings: readonly FunctionClosing[]): string | null {
  const [first] = closings
  if (!first) return null
  const roles = [...new Set(closings.flatMap((it) => it.roles))]
  const keeps = [...new Set(closings.flatMap((it) => it.keeps))].filter((role) => !roles.includes(role))
  const name = signature(first.routine)
  return [
    `revoke execute on ${name} from public, ${roles.map(identifier).join(', ')};`,
    ...(keeps.length > 0 ? [`grant execute on ${name} to ${keeps.map(identifier).join(', ')};`] : []),
  ].join('\n')
}

export type Closing = {
  /** Null if all callers need the function. */
  readonly closes: FunctionClosing | null
  /** Who needs it, and for what; null if none of the callers does. */
  readonly needed: string | null
}

/**
 * Takes EXECUTE from callers, except from those that policies, views and the like call the function for. Others who have it
 * by PUBLIC get it themselves, apart from the anonymous role, unless it needs the function: what is closed to accounts is
 * closed to callers without credentials.
 */
export function closingOf(
  view: SchemaView,
  needs: FunctionNeeds,
  routine: FunctionRow,
  callers: readonly string[],
): Closing {
  const { anonymous, roles } = view.catalogue
  const reasons = new Map(
    roles.flatMap((role) => {
      const reason = mayExecute(role, routine) ? needs.reason(role, routine) : undefined
      return reason === undefined ? [] : [[role.name, reason] as const]
    }),
  )
  const needed = callers.flatMap((role) => {
    const reason = reasons.get(role)
    return reason === undefined ? [] : [`${role} needs it for ${reason}`]
  })
  const isPublic = routine.grantees.includes(0)
  const closed = callers.filter((role) => !reasons.has(role))
  const others = view.executors(routine).filter((role) => !closed.includes(role) && role !== anonymous)
  const service = roles.some(({ name }) => name === 'service_role') ? ['service_role'] : []
  const isOwner = (name: string): boolean => view.role(routine.owner)?.name === name
  const granted = new Set(routine.grantees.flatMap((oid) => view.role(oid)?.name ?? []))
  const keeps = [
    ...new Set([
      ...(isPublic ? [...others, ...service] : []),
      ...[...reasons.keys()].filter((it) => !closed.includes(it)),
    ]),
  ].filter((name) => isPublic || (!granted.has(name) && !isOwner(name)))
  return {
    closes: closed.length > 0 ? { routine, roles: closed, keeps } : null,
    needed: needed.length > 0 ? `${needed.join('; ')}.` : null,
  }
}
