// What lets a role through to the rows of a relation with a command, as PostgreSQL decides it.
import type { MatrixPolicy, MatrixRelation, SqlCommand } from '../../../services/console/policy-protocol.ts'

export const commands: readonly SqlCommand[] = ['select', 'insert', 'update', 'delete']

export type Passage = {
  /**
   * `none`: the privilege is missing; `all`: every row; `some`: the rows of the policies; `refused`: the privilege is there,
   * but no policy allows a row; `owner`: a view that reads with the rights of its owner.
   */
  readonly kind: 'none' | 'all' | 'some' | 'refused' | 'owner'
  /** For people: why all rows pass. */
  readonly reason: string
  /** Whether the privilege is on some columns only. */
  readonly isOfColumns: boolean
  /** The policies that apply, permissive ones first. */
  readonly policies: readonly MatrixPolicy[]
}

type RoleOfRelation = MatrixRelation['roles'][number]

export function passageOf(relation: MatrixRelation, role: RoleOfRelation, command: SqlCommand): Passage {
  const extent = role.grants[command]
  const found = { reason: '', isOfColumns: extent === 'columns', policies: [] }
  if (extent === null) return { ...found, kind: 'none' }
  if (relation.kind === 'view') {
    return relation.securityInvoker
      ? { ...found, kind: 'some', reason: 'as the policies of its tables decide' }
      : { ...found, kind: 'owner', reason: `reads with the rights of ${relation.owner}` }
  }
  if (relation.kind !== 'table') return { ...found, kind: 'all', reason: 'has no row-level security' }
  if (!relation.rls) return { ...found, kind: 'all', reason: 'row-level security is off' }
  if (role.bypassesRls) return { ...found, kind: 'all', reason: 'bypasses policies' }
  const policies = relation.policies
    .filter((policy) => policy.roles.includes(role.name) && (policy.command === 'all' || policy.command === command))
    .sort((a, b) => Number(b.permissive) - Number(a.permissive))
  const isOpen = policies.some(({ permissive }) => permissive)
  return { ...found, kind: isOpen ? 'some' : 'refused', policies }
}

/** The condition of a policy that decides about a command. */
export function conditionsOf(
  { using, check }: MatrixPolicy,
  command: SqlCommand,
): readonly (readonly [label: string, text: string])[] {
  const reads = command !== 'insert' && using !== null ? [['using', using] as const] : []
  const writes = command === 'insert' || command === 'update' ? [['with check', check ?? using] as const] : []
  return [...reads, ...writes].flatMap(([label, text]) => (text === null ? [] : [[label, text] as const]))
}
