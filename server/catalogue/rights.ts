// What a role may do, by the privileges that were granted to it, to roles whose rights it inherits, and to everyone.
import type { FunctionRow, Relation, Role, Schema } from './description.ts'

export type Privilege = 'select' | 'insert' | 'update' | 'delete'

/** On the whole relation, on some columns only, or not at all. */
export type Extent = 'all' | 'columns' | null

/** PostgreSQL's roles with the privileges on all tables, `pg_read_all_data` and `pg_write_all_data`, by oid. */
const ofAllTables = { reading: 6181, writing: 6182 } as const

/** Whether a role has what was granted to the grantees, by oid; 0 is PUBLIC. */
const hasRight = ({ isSuperuser, oid, memberOf }: Role, grantees: readonly number[]): boolean =>
  isSuperuser || grantees.some((it) => it === 0 || it === oid || memberOf.includes(it))

export const mayUseSchema = (role: Role, { users }: Schema): boolean =>
  hasRight(role, [...users, ...Object.values(ofAllTables)])

export const mayExecute = (role: Role, { grantees }: FunctionRow): boolean => hasRight(role, grantees)

/** Whether a role has any privilege on a relation or one of its columns, or owns it. */
export const hasAnyRight = (role: Role, { owner, granted }: Relation): boolean =>
  hasRight(role, [owner, ...granted.map(({ to }) => to)])

/** What a role may do with a relation. Without USAGE on its schema, no statement can name it. */
export function extentOf(role: Role, relation: Relation, privilege: Privilege): Extent {
  if (hasPrivilege(role, relation, privilege, (column) => column === null)) return 'all'
  return hasPrivilege(role, relation, privilege, () => true) ? 'columns' : null
}

/** @param number of the column */
export const mayUseColumn = (role: Role, relation: Relation, privilege: Privilege, number: number): boolean =>
  hasPrivilege(role, relation, privilege, (column) => column === null || column === number)

/** Whether a role has a privilege by what was granted on one of the columns that are included; null is the whole relation. */
function hasPrivilege(
  role: Role,
  { granted }: Relation,
  privilege: Privilege,
  isIncluded: (column: number | null) => boolean,
): boolean {
  const grantees = granted.filter((it) => it.privilege === privilege && isIncluded(it.column)).map(({ to }) => to)
  return hasRight(role, [privilege === 'select' ? ofAllTables.reading : ofAllTables.writing, ...grantees])
}
