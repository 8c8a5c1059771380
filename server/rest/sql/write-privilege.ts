// Checks whether the current role may write to a relation or call a function, and provokes the database's error if not.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { Fragment } from './fragment.ts'
import { identifier, qualified } from './identifier.ts'

/** The relation or function that a request with a body writes to or calls. */
export type WriteTarget =
  | { readonly kind: 'insert'; readonly into: QualifiedIdentifier }
  | {
      readonly kind: 'update'
      readonly into: QualifiedIdentifier
      /** Any column of the relation. */
      readonly column: string
    }
  | { readonly kind: 'call'; readonly routine: QualifiedIdentifier; readonly overloads: readonly Routine[] }

/**
 * Returns one row with one column: whether the role has the privilege on the relation or any of its columns, or on any
 * function of that name. Null if the object does not exist.
 */
export function privilegeStatement(target: WriteTarget): Fragment {
  if (target.kind === 'call') {
    const { schema, name } = target.routine
    return [
      "select pg_catalog.bool_or(pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_function_privilege(p.oid, 'execute'))",
      ' from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace where n.nspname = ',
      { value: schema },
      ' and p.proname = ',
      { value: name },
    ]
  }
  const { schema, name } = target.into
  return [
    `select pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_any_column_privilege(c.oid, '${target.kind}')`,
    ' from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = ',
    { value: schema },
    ' and c.relname = ',
    { value: name },
  ]
}

/** Returns one row with one column: whether a function may run twice, because it is not volatile. */
export const mayRepeatStatement = ({ schema, name }: QualifiedIdentifier): Fragment => [
  "select pg_catalog.bool_and(p.provolatile <> 'v') from pg_catalog.pg_proc p",
  ' join pg_catalog.pg_namespace n on n.oid = p.pronamespace where n.nspname = ',
  { value: schema },
  ' and p.proname = ',
  { value: name },
]

/**
 * A statement that raises the same error as the real one if the privilege is missing. EXPLAIN checks privileges without
 * executing the statement.
 */
export function failingStatement(target: WriteTarget): Fragment {
  switch (target.kind) {
    case 'insert':
      return `EXPLAIN INSERT INTO ${qualified(target.into)} DEFAULT VALUES`
    case 'update':
      return `EXPLAIN UPDATE ${qualified(target.into)} SET ${identifier(target.column)} = DEFAULT WHERE false`
    case 'call': {
      const [overload] = target.overloads
      // Given a constant NULL, the planner might remove the call.
      const args = (overload?.parameters ?? []).map(
        ({ type, variadic }) => `${variadic ? 'VARIADIC ' : ''}(SELECT NULL::${type})`,
      )
      return `EXPLAIN SELECT ${qualified(target.routine)}(${args.join(', ')})`
    }
    default:
      return target satisfies never
  }
}
