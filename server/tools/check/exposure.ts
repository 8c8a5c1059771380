// What the API exposes to which role, for `check`.
import type { FunctionRow, PolicyRow, Relation, Role } from '../../catalogue/description.ts'
import { extentOf, mayExecute, type Extent } from '../../catalogue/rights.ts'
import type { CheckCatalogue } from './catalogue.ts'
import { mentionsUserMetadata } from './metadata-lint.ts'
import { PolicyExpressions } from './policy-expression.ts'
import { SchemaView } from './schema-view.ts'

export type Command = 'select' | 'insert' | 'update' | 'delete'
export const commands: readonly Command[] = ['select', 'insert', 'update', 'delete']

export type RelationRole = {
  readonly name: string
  /** Whether the role is a superuser, has BYPASSRLS, or owns the table without FORCE ROW LEVEL SECURITY. */
  readonly bypassesRls: boolean
  /** Nothing without USAGE on the schema. */
  readonly grants: Readonly<Record<Command, Extent>>
}

export type Policy = {
  readonly name: string
  readonly command: Command | 'all'
  /** False for restrictive policies, which only restrict what permissive ones allow. */
  readonly permissive: boolean
  /** Whether the policy, or a function that it calls, mentions `user_metadata` or `raw_user_meta_data`. */
  readonly readsUserMetadata: boolean
  /** The API roles that the policy applies to. */
  readonly roles: readonly string[]
}

export type ExposedRelation = {
  readonly kind: 'table' | 'foreign table' | 'view' | 'materialized view'
  readonly schema: string
  readonly name: string
  readonly owner: string
  readonly ownerBypassesRls: boolean
  readonly rls: boolean
  readonly securityInvoker: boolean
  readonly roles: readonly RelationRole[]
  readonly policies: readonly Policy[]
}

export type ExposedFunction = {
  readonly kind: 'function'
  readonly schema: string
  readonly name: string
  /** Argument types in the notation of `drop function`. */
  readonly arguments: string
  readonly owner: string
  readonly extension: string | null
  readonly securityDefiner: boolean
  readonly roles: readonly { readonly name: string; readonly execute: boolean }[]
}

export type Exposed = ExposedRelation | ExposedFunction

const kinds = { r: 'table', p: 'table', f: 'foreign table', v: 'view', m: 'materialized view' } as const

/** The tables, views and functions of the exposed schemas, with the rights of the roles that requests can have. */
export function exposureOf(catalogue: CheckCatalogue): Exposed[] {
  const view = new SchemaView(catalogue)
  const expressions = new PolicyExpressions(view)
  const roles = catalogue.roles.filter(({ isReachable }) => isReachable)
  const isCallable = ({ kind, returns }: FunctionRow): boolean =>
    kind === 'f' && returns !== 'trigger' && returns !== 'event_trigger'
  return [
    ...catalogue.relations
      .filter(({ schema }) => view.isExposed(schema))
      .map((it) => exposedRelation(view, expressions, roles, it)),
    ...catalogue.functions
      .filter((it) => view.isExposed(it.schema) && isCallable(it))
      .map((it) => exposedFunction(view, roles, it)),
  ]
}

function exposedRelation(
  view: SchemaView,
  expressions: PolicyExpressions,
  roles: readonly Role[],
  relation: Relation,
): ExposedRelation {
  const { kind, schema, name, rls } = relation
  const owner = view.role(relation.owner)
  return {
    kind: kinds[kind],
    schema,
    name,
    rls,
    owner: owner?.name ?? String(relation.owner),
    ownerBypassesRls: owner?.bypassesRls ?? false,
    securityInvoker: view.isInvoker(relation),
    roles: roles.map((role) => ({
      name: role.name,
      bypassesRls: !view.isSubjectTo(role, relation),
      grants: grantsOf(role, relation, view.canUseSchema(role, schema)),
    })),
    policies: view.policiesOf(relation).map((policy) => ({
      name: policy.name,
      command: policy.command.toLowerCase() as Lowercase<PolicyRow['command']>,
      permissive: policy.isPermissive,
      readsUserMetadata: mentionsUserMetadata(policy, view, expressions),
      roles: roles.filter((role) => view.isFor(role, policy)).map((role) => role.name),
    })),
  }
}

const grantsOf = (role: Role, relation: Relation, canUse: boolean): RelationRole['grants'] => {
  const granted = (command: Command): Extent => (canUse ? extentOf(role, relation, command) : null)
  return {
    select: granted('select'),
    insert: granted('insert'),
    update: granted('update'),
    delete: granted('delete'),
  }
}

function exposedFunction(view: SchemaView, roles: readonly Role[], routine: FunctionRow): ExposedFunction {
  const { schema, name, extension, owner, isSecurityDefiner } = routine
  return {
    kind: 'function',
    schema,
    name,
    arguments: routine.arguments,
    extension,
    securityDefiner: isSecurityDefiner,
    owner: view.role(owner)?.name ?? String(owner),
    roles: roles.map((role) => ({
      name: role.name,
      execute: view.canUseSchema(role, schema) && mayExecute(role, routine),
    })),
  }
}
