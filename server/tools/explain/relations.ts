// Reads the relations of a request with their privileges and policies, those behind views and in policies included.
import { decodeRow, introspectionQuery, type RunQuery } from '../../catalogue/introspection.ts'
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { commands, type Command, type Need, type Uses } from './needs.ts'

export type PolicyRow = {
  readonly name: string
  readonly permissive: boolean
  readonly command: Command | 'all'
  readonly roles: readonly string[]
  readonly isForRole: boolean
  readonly using: string | null
  readonly check: string | null
  readonly reads: readonly QualifiedIdentifier[]
  /** Functions in its expressions that the role may not execute. */
  readonly deniedFunctions: readonly string[]
}

/** A row of `explained-relations.sql`. */
export type RelationRow = QualifiedIdentifier & {
  /** The role whose privileges and policies apply: the caller's, or the owner of a view. */
  readonly role: string
  readonly kind: 'table' | 'view' | 'materialized view' | 'foreign table'
  readonly owner: string
  readonly rls: boolean
  readonly bypassesRls: boolean
  readonly hasSchemaUsage: boolean
  readonly securityInvoker: boolean
  /** Columns of the primary key. */
  readonly key: readonly string[]
  readonly tablePrivileges: readonly Command[]
  readonly columns: readonly {
    readonly name: string
    readonly privileges: readonly Command[]
    readonly deniedSequence: string | null
  }[]
  readonly grants: readonly {
    readonly privilege: Command
    readonly to: string
    /** Null: on the whole table. */
    readonly columns: readonly string[] | null
  }[]
  readonly policies: readonly PolicyRow[]
  readonly views: readonly QualifiedIdentifier[]
}

export type UsedRelation = {
  readonly row: RelationRow
  readonly uses: Uses
  /** How the request reaches it: null if it names it, otherwise such as `view public.open_tasks`. */
  readonly through: string | null
}

/** More relations are not followed: an explanation of hundreds would explain nothing. */
const maxRelations = 60

/**
 * Reads the relations that a request uses, in the order in which it reaches them.
 *
 * @param query its search path is empty, so that PostgreSQL qualifies all names
 * @param role the role of the caller
 */
export async function readRelations(query: RunQuery, needs: readonly Need[], role: string): Promise<UsedRelation[]> {
  const found: UsedRelation[] = []
  const seen = new Set<string>()
  let wanted: Wanted[] = needs.map(({ relation, uses }) => ({ ...relation, role, uses, through: null }))
  while (wanted.length > 0 && found.length < maxRelations) {
    const fresh = wanted.filter((it) => {
      const isNew = !seen.has(keyOf(it))
      seen.add(keyOf(it))
      return isNew
    })
    const rows = await readRows(query, fresh)
    const next: Wanted[] = []
    for (const { uses, through, ...it } of fresh) {
      const row = rows.get(keyOf(it))
      if (!row) continue
      found.push({ row, uses, through })
      next.push(...behind(row, uses, role))
    }
    wanted = next
  }
  return found
}

type Wanted = QualifiedIdentifier & {
  readonly role: string
  readonly uses: Uses
  readonly through: string | null
}

const keyOf = ({ schema, name, role }: QualifiedIdentifier & { readonly role: string }): string =>
  JSON.stringify([schema, name, role])

async function readRows(query: RunQuery, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, RelationRow>> {
  const names = wanted.map(({ schema, name, role }) => ({ schema, name, role }))
  const { text, values } = introspectionQuery('explained-relations', JSON.stringify(names))
  const rows = (await query(text, [...values])).map(decodeRow<RelationRow>)
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/** The relations that a relation itself uses. */
function behind(row: RelationRow, uses: Uses, caller: string): Wanted[] {
  const name = `${row.schema}.${row.name}`
  // A view with security_invoker always checks the caller, whatever it is used by.
  const viewRole = row.securityInvoker ? caller : row.owner
  const ofView = row.views.map((it) => ({
    ...it,
    role: viewRole,
    uses: new Map([...uses.keys()].map((command) => [command, new Set<string>()])),
    through: `view ${name}`,
  }))
  const ofPolicies = appliedPolicies(row, uses).flatMap((policy) =>
    policy.reads.map((it) => ({
      ...it,
      role: row.role,
      uses: new Map([['select' as const, new Set<string>()]]),
      through: `policy ${policy.name} on ${name}`,
    })),
  )
  return [...ofView, ...ofPolicies]
}

/** Whether the policies of a relation apply to its role. */
export const isProtected = ({ rls, bypassesRls, kind }: RelationRow): boolean =>
  rls && !bypassesRls && kind !== 'view' && kind !== 'materialized view'

/** The policies that apply to the role for at least one of the commands. */
export function appliedPolicies(row: RelationRow, uses: Uses): readonly PolicyRow[] {
  if (!isProtected(row)) return []
  return row.policies.filter(({ isForRole, command }) => isForRole && (command === 'all' || uses.has(command)))
}

export type MissingPrivilege = {
  /** The object of the privilege: `public.tasks`, `schema private`, `function app.is_member(uuid)`. */
  readonly object: string
  readonly privilege: string
  /** Null: the whole object. */
  readonly columns: readonly string[] | null
  readonly role: string
  /** The statement that gives it. */
  readonly grant: string
}

const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`)
export const qualifiedName = ({ schema, name }: QualifiedIdentifier): string => `${quoted(schema)}.${quoted(name)}`

/** The privileges that the role of a relation lacks for what the request does with it. */
export function missingPrivileges({ row, uses, through }: UsedRelation): MissingPrivilege[] {
  const { role } = row
  const object = qualifiedName(row)
  const missing: MissingPrivilege[] = []
  // Names behind views and in policies were resolved when these were created.
  if (through === null && !row.hasSchemaUsage) {
    const schema = quoted(row.schema)
    missing.push({
      object: `schema ${schema}`,
      privilege: 'usage',
      columns: null,
      role,
      grant: `grant usage on schema ${schema} to ${quoted(role)};`,
    })
  }
  for (const command of commands) {
    const columns = uses.get(command)
    if (!columns || row.tablePrivileges.includes(command)) continue
    const names = command === 'delete' ? null : deniedColumns(row, command, columns)
    if (names?.length === 0) continue
    const list = names ? ` (${names.map(quoted).join(', ')})` : ''
    missing.push({
      object,
      privilege: command,
      columns: names,
      role,
      grant: `grant ${command}${list} on ${object} to ${quoted(role)};`,
    })
  }
  if (uses.has('insert')) missing.push(...deniedSequences(row, uses.get('insert') ?? new Set()))
  const functions = new Set(appliedPolicies(row, uses).flatMap(({ deniedFunctions }) => deniedFunctions))
  for (const name of functions) {
    missing.push({
      object: `function ${name}`,
      privilege: 'execute',
      columns: null,
      role,
      grant: `grant execute on function ${name} to ${quoted(role)};`,
    })
  }
  return missing
}

/** Null: the whole table, because the role may not use any column, or all are needed. Empty if none is missing. */
function deniedColumns({ columns }: RelationRow, command: Command, needed: ReadonlySet<string>): string[] | null {
  const allowed = columns.filter(({ privileges }) => privileges.includes(command)).map(({ name }) => name)
  // Counting rows, or inserting defaults only, needs the privilege on any column.
  if (needed.size === 0) return allowed.length > 0 ? [] : null
  const all = columns.map(({ name }) => name)
  const denied = (needed.has('*') ? all : all.filter((name) => needed.has(name))).filter((it) => !allowed.includes(it))
  return allowed.length === 0 && denied.length > 0 ? null : denied
}

function deniedSequences({ columns, role }: RelationRow, given: ReadonlySet<string>): MissingPrivilege[] {
  return columns.flatMap(({ name, deniedSequence }) =>
    deniedSequence === null || given.has(name)
      ? []
      : [
          {
            object: `sequence ${deniedSequence}`,
            privilege: 'usage',
            columns: null,
            role,
            grant: `grant usage on sequence ${deniedSequence} to ${quoted(role)};`,
          },
        ],
  )
}
