// Lints on ways around the policies: views, triggers, functions with the rights of their owner, default privileges.
import { tokensOf } from '../../text/sql-tokens.ts'
import { identifier } from '../../text/sql-text.ts'
import type { FunctionRow, Relation, Role, Trigger } from '../../catalogue/description.ts'
import { mayExecute } from '../../catalogue/rights.ts'
import { functionObject, isTrigger, moveIt } from './exposure-lints.ts'
import { finding, type LintFinding } from './finding.ts'
import { closingOf } from './function-closing.ts'
import type { FunctionNeeds } from './function-needs.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import type { SchemaView } from './schema-view.ts'
import { writtenTables, type SourceName } from './sql-source.ts'

const asView = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'view', schema, name })

/** Views that read with the rights of the caller, but from a view that does not, and which no other lint shows. */
export function nestedViews(view: SchemaView): LintFinding[] {
  return view.catalogue.relations
    .filter((it) => it.kind === 'v' && view.isExposed(it.schema) && view.isInvoker(it) && view.isOwnSchema(it.schema))
    .flatMap((outer) => {
      const readers = view.apiRoles.filter((role) => view.canUse(role, outer, 'selectColumn'))
      return [...innerViews(view, outer, new Set())].flatMap((inner) => {
        const roles = readers.filter((role) => view.hasRight(role, inner, 'selectColumn'))
        const table = [...tablesBehind(view, inner, new Set())].find((it) => bypasses(view, inner, it, roles))
        if (!table || roles.length === 0) return []
        return [describeNested(outer, inner, table, roles)]
      })
    })
}

/** Views without `security_invoker`, and materialized views, that a view reads and that are not exposed themselves. */
function* innerViews(view: SchemaView, outer: Relation, seen: Set<number>): Generator<Relation> {
  for (const oid of view.behind(outer.oid)) {
    const inner = view.relation(oid)
    if (!inner || seen.has(oid)) continue
    seen.add(oid)
    const isSeparate = inner.kind === 'm' || (inner.kind === 'v' && !view.isInvoker(inner))
    if (isSeparate && !view.isExposed(inner.schema)) yield inner
    else if (inner.kind === 'v' && view.isInvoker(inner)) yield* innerViews(view, inner, seen)
  }
}

function* tablesBehind(view: SchemaView, outer: Relation, seen: Set<number>): Generator<Relation> {
  for (const oid of view.behind(outer.oid)) {
    const inner = view.relation(oid)
    if (!inner || seen.has(oid)) continue
    seen.add(oid)
    if (inner.kind === 'r' || inner.kind === 'p') yield inner
    else if (inner.kind !== 'f') yield* tablesBehind(view, inner, seen)
  }
}

/** Whether the view shows rows of a table that its policies keep from one of the roles. */
function bypasses(view: SchemaView, inner: Relation, table: Relation, roles: readonly Role[]): boolean {
  const owner = view.role(inner.owner)
  if (!table.rls || !view.isOwnSchema(table.schema)) return false
  const isOutside = inner.kind === 'm' || (owner !== undefined && !view.isSubjectTo(owner, table))
  return isOutside && roles.some((role) => !readsAll(view, table, role))
}

/** Whether a role can read every row of a table. */
function readsAll(view: SchemaView, table: Relation, role: Role): boolean {
  if (!view.canUse(role, table, 'select')) return false
  if (!table.rls || !view.isSubjectTo(role, table)) return true
  const policies = view.applying(table, role, 'SELECT')
  return (
    policies.every(({ isPermissive }) => isPermissive) &&
    policies.some(({ using }) => using === null || using === 'true' || using === '(true)')
  )
}

function describeNested(outer: Relation, inner: Relation, table: Relation, roles: readonly Role[]): LintFinding {
  const names = roles.map(({ name }) => name)
  const isStored = inner.kind === 'm'
  return finding({
    code: 'view_reads_past_policies',
    level: 'ERROR',
    object: asView(outer),
    key: `view_reads_past_policies_${outer.schema}_${outer.name}_${inner.schema}_${inner.name}`,
    reason:
      `The view reads ${inner.schema}.${inner.name}, which ${isStored ? 'stores' : "reads with its owner's rights"} rows of ` +
      `${table.schema}.${table.name}, so ${names.join(' and ')} can read rows that the policies of that table refuse.`,
    fix: isStored
      ? `revoke select on ${inner.quoted} from public, ${names.map(identifier).join(', ')};`
      : `alter view ${inner.quoted} set (security_invoker = true);`,
    metadata: { inner: `${inner.schema}.${inner.name}`, table: `${table.schema}.${table.name}`, roles: names },
    isOfSplinter: false,
  })
}

/** Views with the rights of their owner that choose rows by the caller, whose own filters may see the other rows first. */
export function leakyFilters(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return view.catalogue.relations
    .filter((it) => it.kind === 'v' && view.isExposed(it.schema) && view.isOwnSchema(it.schema) && !it.isOfExtension)
    .filter(
      (it) => !view.isInvoker(it) && !it.options.some((option) => /^security_barrier=(?:1|true|yes|on)$/i.test(option)),
    )
    .filter((it) => view.apiRoles.some((role) => view.canUse(role, it, 'selectColumn')))
    .filter(({ tree }) => tree !== null && expressions.choosesByCaller(expressions.tree(tree)))
    .map((relation) =>
      finding({
        code: 'view_filter_leaks',
        level: 'WARN',
        object: asView(relation),
        key: `view_filter_leaks_${relation.schema}_${relation.name}`,
        reason:
          "The view chooses rows by the caller, but without security_barrier PostgreSQL may evaluate the caller's own filters on the other rows first, and their errors show values.",
        fix: `alter view ${relation.quoted} set (security_barrier = true);`,
        isOfSplinter: false,
      }),
    )
}

/** Triggers that copy rows of a protected table into one that more roles can read. */
export function copyingTriggers(view: SchemaView): LintFinding[] {
  return view.catalogue.triggers.flatMap((trigger) => {
    const source = view.relation(trigger.relation)
    const routine = view.function(trigger.function)
    if (!source?.rls || !routine || !view.isOwnSchema(source.schema) || !mentionsRow(routine)) return []
    return writtenTables(routine.source).flatMap((name) => {
      const target = tableNamed(view, name, routine)
      if (!target || target.oid === source.oid) return []
      const roles = view.apiRoles.filter((role) => readsAll(view, target, role) && !readsAll(view, source, role))
      return roles.length > 0 ? [describeCopy(source, target, trigger, roles)] : []
    })
  })
}

const mentionsRow = ({ source }: FunctionRow): boolean =>
  tokensOf(source).some(({ kind, text }) => kind === 'word' && (text === 'new' || text === 'old'))

function tableNamed(view: SchemaView, { schema, name }: SourceName, routine: FunctionRow): Relation | undefined {
  const tables = view.catalogue.relations.filter((it) => (it.kind === 'r' || it.kind === 'p') && it.name === name)
  if (schema !== null) return tables.find((it) => it.schema === schema)
  return tables.find((it) => it.schema === routine.schema) ?? tables.find((it) => it.schema === 'public')
}

function describeCopy(source: Relation, target: Relation, trigger: Trigger, roles: readonly Role[]): LintFinding {
  const names = roles.map(({ name }) => name)
  return finding({
    code: 'trigger_copies_rows',
    level: 'WARN',
    object: { type: 'trigger', schema: source.schema, name: `${source.name}.${trigger.name}` },
    key: `trigger_copies_rows_${source.schema}_${source.name}_${trigger.name}_${target.schema}_${target.name}`,
    reason:
      `The trigger writes rows of ${source.schema}.${source.name} to ${target.schema}.${target.name}, where ` +
      `${names.join(' and ')} can read all rows, which the policies of the former refuse.`,
    fix: `revoke select on ${target.quoted} from public, ${names.map(identifier).join(', ')};`,
    advice: 'Or give the table policies like those of the table that the rows come from.',
    metadata: { target: `${target.schema}.${target.name}`, roles: names },
    isOfSplinter: false,
  })
}

/** Functions that decide by the claims of the request with the rights of their owner, and that need no credentials. */
export const definersReadingClaims = (
  view: SchemaView,
  expressions: PolicyExpressions,
  needs: FunctionNeeds,
): LintFinding[] => {
  const { anonymous } = view
  if (anonymous === undefined) return []
  return view.catalogue.functions
    .filter(
      (it) =>
        it.isSecurityDefiner &&
        it.extension === null &&
        view.isExposed(it.schema) &&
        view.isOwnSchema(it.schema) &&
        !isTrigger(it) &&
        mayExecute(anonymous, it) &&
        view.canUseSchema(anonymous, it.schema) &&
        expressions.readsClaims(it.oid),
    )
    .map((routine) => {
      const { closes, needed } = closingOf(view, needs, routine, [anonymous.name])
      const refuse = 'If the function is for callers without credentials, make it refuse a null explicitly.'
      return finding({
        code: 'definer_function_reads_claims',
        level: 'WARN',
        object: functionObject(routine),
        key: `definer_function_reads_claims_${routine.schema}_${routine.name}_${routine.arguments}`,
        reason: `The function bypasses policies and decides by claims, which are null for ${anonymous.name}, and comparisons with null are neither true nor false.`,
        closes,
        advice: needed === null ? refuse : `${refuse} ${needed} ${moveIt}`,
        isOfSplinter: false,
      })
    })
}

/** Default privileges by which roles of the API can call functions that do not exist yet. */
export function openDefaults(view: SchemaView): LintFinding[] {
  const { creators, functionDefaults, functions } = view.catalogue
  const { anonymous } = view
  if (anonymous === undefined) return []
  // Also of roles that have not created anything in the schema yet.
  const all = new Map(
    [
      ...creators,
      ...functionDefaults.flatMap(({ schema, owner }) =>
        schema !== null && view.isExposed(schema) ? [{ schema, owner }] : [],
      ),
    ].map((it) => [JSON.stringify([it.schema, it.owner]), it]),
  )
  return [...all.values()].flatMap(({ schema, owner }) => {
    const role = view.role(owner)
    if (!role || !view.isOwnSchema(schema) || !view.canUseSchema(anonymous, schema)) return []
    const changed = functionDefaults.find((it) => it.owner === owner && it.schema === null)
    const added = functionDefaults
      .filter((it) => it.owner === owner && it.schema === schema)
      .flatMap(({ grantees }) => grantees)
    const isOpen = (oids: readonly number[]): boolean => oids.some((oid) => oid === 0 || oid === anonymous.oid)
    const openEverywhere = isOpen(changed?.grantees ?? [0])
    const openHere = isOpen(added)
    if (!openEverywhere && !openHere) return []
    // PostgreSQL's own default is what most projects live with, until it opens a function that bypasses the policies.
    const opened = functions.filter(
      (it) =>
        it.schema === schema &&
        it.owner === owner &&
        it.isSecurityDefiner &&
        !it.hasOwnPrivileges &&
        !isTrigger(it) &&
        it.extension === null,
    )
    const isHarmless =
      !openHere &&
      (changed === undefined || !isOpen(changed.grantees.filter((oid) => oid !== 0))) &&
      opened.length === 0
    return [
      finding({
        code: 'default_privileges_open_functions',
        level: 'WARN',
        object: { type: 'schema', schema: null, name: schema },
        key: `default_privileges_open_functions_${schema}_${role.name}`,
        reason:
          `${anonymous.name} can call every function that ${role.name} will create in this schema, by ` +
          (openHere ? 'the default privileges of the schema' : "PostgreSQL's default, EXECUTE for PUBLIC") +
          (opened.length > 0
            ? `, as it can call ${opened.map(({ name }) => name).join(', ')} already, with the rights of ${role.name}.`
            : '.'),
        fix: [
          ...(openEverywhere
            ? [
                `alter default privileges for role ${identifier(role.name)} revoke execute on functions from public, ${identifier(anonymous.name)};`,
              ]
            : []),
          ...(openHere
            ? [
                `alter default privileges for role ${identifier(role.name)} in schema ${identifier(schema)} revoke execute on functions from public, ${identifier(anonymous.name)};`,
              ]
            : []),
        ].join('\n'),
        advice: 'Then grant EXECUTE on each function that clients call. Other existing functions stay as they are.',
        metadata: { owner: role.name, schema },
        isOfSplinter: false,
        dismissed: isHarmless
          ? "It is PostgreSQL's own default, and no security definer function is open by it."
          : null,
      }),
    ]
  })
}
