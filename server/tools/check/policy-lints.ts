// Lints on row-level security and policies that splinter has. Splinter matches the text of policies; where the parse tree
// shows that the text misleads, its finding is dismissed with the reason, and what the text hides is found as well.
import { identifier } from '../../text/sql-text.ts'
import type { PolicyRow, Relation } from '../../catalogue/description.ts'
import type { ApiRole } from './catalogue.ts'
import { arrayText, finding, type LintFinding } from './finding.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import { isAlwaysTrue, policyKey, type PolicyOf } from './policy-edit.ts'
import { splinterRoles, type SchemaView } from './schema-view.ts'
import type { SourceName } from './sql-source.ts'

const commands = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const

const object = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'table', schema, name })

export const policiesOf = (view: SchemaView): PolicyOf[] =>
  view.catalogue.policies.flatMap((policy) => {
    const relation = view.relation(policy.relation)
    return relation ? [{ relation, policy }] : []
  })

export function policiesWithoutRls(view: SchemaView): LintFinding[] {
  return view.catalogue.relations
    .filter((it) => it.kind === 'r' && !it.rls && !it.isOfExtension && view.isOwnSchema(it.schema))
    .map((relation) => ({ relation, names: view.policiesOf(relation).map(({ name }) => name) }))
    .filter(({ names }) => names.length > 0)
    .map(({ relation, names }) =>
      finding({
        code: 'policy_exists_rls_disabled',
        level: 'ERROR',
        object: object(relation),
        key: `policy_exists_rls_disabled_${relation.schema}_${relation.name}`,
        reason: `The policies ${names.join(', ')} have no effect, because row-level security is off.`,
        fix: `alter table ${relation.quoted} enable row level security;`,
        metadata: { policies: names },
      }),
    )
}

export function rlsWithoutPolicies(view: SchemaView): LintFinding[] {
  return view.catalogue.relations
    .filter((it) => it.kind === 'r' && it.rls && !it.isOfExtension && view.isOwnSchema(it.schema))
    .filter((relation) => view.policiesOf(relation).length === 0)
    .map((relation) => {
      const roles = view.apiRoles.filter((role) =>
        (['selectColumn', 'insert', 'update', 'delete'] as const).some((right) => view.canUse(role, relation, right)),
      )
      return finding({
        code: 'rls_enabled_no_policy',
        level: 'INFO',
        object: object(relation),
        key: `rls_enabled_no_policy_${relation.schema}_${relation.name}`,
        reason: `Row-level security is on, but there is no policy, so the privileges of ${roles.map(({ name }) => name).join(' and ')} have no effect.`,
        fix:
          roles.length > 0
            ? `revoke all on ${relation.quoted} from public, ${roles.map(({ name }) => identifier(name)).join(', ')};`
            : null,
        advice: 'If clients need rows of the table, create a policy instead.',
        dismissed: roles.length > 0 ? null : 'No role of the API has a privilege on the table, so nothing is missing.',
      })
    })
}

/** Several permissive policies of one command and role, each of which PostgreSQL evaluates for every row. */
export function multiplePermissivePolicies(view: SchemaView): LintFinding[] {
  const roles = view.catalogue.roles.filter(
    ({ name, bypassAttribute }) => !/^pg[^]/.test(name) && !/^supabase[^]*admin$/.test(name) && !bypassAttribute,
  )
  return view.catalogue.relations
    .filter((it) => it.kind === 'r' && !it.isOfExtension && view.isOwnSchema(it.schema))
    .flatMap((relation) => {
      const permissive = view.policiesOf(relation).filter(({ isPermissive }) => isPermissive)
      if (permissive.length < 2) return []
      return roles.flatMap((role) =>
        commands.flatMap((command) => {
          const policies = permissive.filter(
            (it) =>
              (it.command === 'ALL' || it.command === command) &&
              (it.roles.includes(role.oid) || (it.roles.length === 1 && it.roles[0] === 0)),
          )
          return policies.length > 1 ? [severalPolicies(view, relation, role, command, policies)] : []
        }),
      )
    })
}

function severalPolicies(
  view: SchemaView,
  relation: Relation,
  role: ApiRole,
  command: (typeof commands)[number],
  policies: readonly PolicyRow[],
): LintFinding {
  const names = policies.map(({ name }) => name).sort()
  const alike = sameReach(policies)
  return finding({
    code: 'multiple_permissive_policies',
    level: 'WARN',
    object: object(relation),
    key: `multiple_permissive_policies_${relation.schema}_${relation.name}_${role.name}_${command}`,
    reason: `For ${command} by ${role.name}, PostgreSQL evaluates each of the permissive policies ${names.join(', ')} for every row that those before it refuse.`,
    fix: alike ? mergePolicies(relation, policies) : null,
    drops: alike ? policies.map((policy) => policyKey({ relation, policy })) : [],
    advice: alike ? null : 'Write one policy per command and role, with the conditions joined by OR.',
    metadata: { role: role.name, command, policies: names, list: arrayText(names) },
    dismissed: whyHarmless(view, relation, role, command, policies),
  })
}

/** Whether policies differ in their conditions only, so that one policy can replace them. */
const sameReach = ([first, ...others]: readonly PolicyRow[]): boolean =>
  first !== undefined &&
  others.every(
    (it) => it.command === first.command && String([...it.roles].sort()) === String([...first.roles].sort()),
  ) &&
  // With several commands, a missing WITH CHECK stands for USING.
  [first, ...others].every((it) => (it.check === null) === (first.check === null))

function mergePolicies(relation: Relation, policies: readonly PolicyRow[]): string {
  const [first, ...others] = policies
  if (!first) return ''
  const either = (texts: readonly (string | null)[]): string | null =>
    texts.every((text) => text !== null) ? texts.map((text) => `(${text})`).join(' or ') : null
  const using = either(policies.map((it) => it.using))
  const check = either(policies.map((it) => it.check))
  return [
    `alter policy ${first.quoted} on ${relation.quoted}${using === null ? '' : `\n  using (${using})`}${check === null ? '' : `\n  with check (${check})`};`,
    ...others.map(({ quoted }) => `drop policy ${quoted} on ${relation.quoted};`),
  ].join('\n')
}

function whyHarmless(
  view: SchemaView,
  relation: Relation,
  role: ApiRole,
  command: (typeof commands)[number],
  policies: readonly PolicyRow[],
): string | null {
  if (!role.isApi) return 'No request has the role.'
  const right = ({ SELECT: 'selectColumn', INSERT: 'insert', UPDATE: 'update', DELETE: 'delete' } as const)[command]
  if (!view.canUse(role, relation, right)) return 'The role lacks the privilege for the command.'
  if (!relation.rls) return 'Row-level security is off.'
  return sameReach(policies)
    ? null
    : 'The policies are for different commands or roles: joined, they would have to repeat the conditions.'
}

const authFunctions = ['uid', 'jwt', 'role', 'email']

/** Whether splinter's text patterns find a call of `auth.…()` or `current_setting()` that is not in a subquery. */
function looksUnwrapped(text: string | null): boolean {
  if (text === null) return false
  const lower = text.toLowerCase()
  return (
    authFunctions.some((name) => text.includes(`auth.${name}()`) && !lower.includes(`select auth.${name}()`)) ||
    (/current_setting\([^]*\)/.test(text) && !/select current_setting\([^]*\)/.test(lower))
  )
}

/** Calls of `auth.…()` and `current_setting()` that are evaluated for every row. */
export function callerReadPerRow(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return policiesOf(view)
    .filter(({ relation }) => relation.rls && (view.isOwnSchema(relation.schema) || relation.schema === 'realtime'))
    .flatMap(({ relation, policy }) => {
      const isOfSplinter = looksUnwrapped(policy.using) || looksUnwrapped(policy.check)
      const isPerRow = expressions
        .trees(policy)
        .some((tree) =>
          expressions
            .calls(tree)
            .some((call) => call.isPerRow && !call.usesColumns && isCallerFunction(view, call.oid)),
        )
      // Splinter does not know relations other than tables, but pg_policies has them, too.
      if (!isOfSplinter && !isPerRow) return []
      return [
        finding({
          code: 'auth_rls_initplan',
          level: 'WARN',
          object: object(relation),
          key: `auth_rls_init_plan_${relation.schema}_${relation.name}_${policy.name}`,
          reason: `The policy ${policy.name} reads who the caller is again for every row; in a subquery, PostgreSQL reads it once per statement.`,
          edit: isPerRow ? { relation, policy, wraps: isCallerName } : null,
          metadata: { policy: policy.name },
          isOfSplinter,
          dismissed: isPerRow
            ? null
            : 'All these calls are in subqueries without FROM, which PostgreSQL evaluates once.',
        }),
      ]
    })
}

/** Whether a function is one that the lint is about: Supabase's, or `current_setting`. */
export function isCallerFunction(view: SchemaView, oid: number): boolean {
  const own = view.catalogue.ownFunctions.find((it) => it.oid === oid)
  if (own) return own.name === 'current_setting'
  const routine = view.function(oid)
  return routine?.schema === 'auth' && authFunctions.includes(routine.name)
}

const isCallerName = ({ schema, name }: SourceName): boolean =>
  schema === 'auth'
    ? authFunctions.includes(name)
    : name === 'current_setting' && (schema === null || schema === 'pg_catalog')

/** Policies for writes that allow every row. */
export function alwaysTruePolicies(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  // Also by one of its alternatives, as in `true or …`.
  const isOpen = (tree: string | null): boolean =>
    tree !== null && expressions.condition(tree).some((part) => part.length === 0)
  return policiesOf(view)
    .filter(
      ({ relation, policy }) =>
        relation.kind === 'r' && relation.rls && view.isOwnSchema(relation.schema) && policy.isPermissive,
    )
    .flatMap(({ relation, policy }) => {
      const { command, using, check, usingTree, checkTree, roles } = policy
      const isChange = command === 'UPDATE' || command === 'DELETE' || command === 'ALL'
      const opens = (open: (text: string | null, tree: string | null) => boolean): readonly [boolean, boolean] => [
        isChange && (open(using, usingTree) || using === null),
        open(check, checkTree) ||
          (check === null &&
            (command === 'INSERT' || ((command === 'UPDATE' || command === 'ALL') && open(using, usingTree)))),
      ]
      const [openUsing, openCheck] = opens((text, tree) => isAlwaysTrue(text) || isOpen(tree))
      if (!openUsing && !openCheck) return []
      const isForAll = roles.length === 1 && roles[0] === 0
      const named = roles.map((oid) => view.role(oid)?.name ?? 'public')
      const isInText = opens((text) => isAlwaysTrue(text)).includes(true)
      const isOfSplinter = isInText && (isForAll || named.some((name) => splinterRoles.includes(name)))
      if (
        !isForAll &&
        !named.some((name) => splinterRoles.includes(name)) &&
        !roles.some((oid) => view.role(oid)?.isApi)
      )
        return []
      return [
        finding({
          code: 'rls_policy_always_true',
          level: 'WARN',
          object: object(relation),
          key: `rls_policy_always_true_${relation.schema}_${relation.name}_${policy.name}`,
          reason: `The policy ${policy.name} allows ${command === 'ALL' ? 'writes to' : command} every row${openUsing ? '' : ' with any content'} by ${named.join(', ')}.`,
          ...(openUsing || using === null
            ? {
                fix: `drop policy ${policy.quoted} on ${relation.quoted};`,
                drops: [policyKey({ relation, policy })],
                advice:
                  'If the role needs to write, create a policy that says which rows: without any, it cannot write at all.',
              }
            : { edit: { relation, policy, check: using } }),
          metadata: {
            policy_name: policy.name,
            command,
            roles: named,
            permissive_using: openUsing,
            permissive_with_check: openCheck,
          },
          isOfSplinter,
          dismissed: whyNotOpen(view, relation, policy),
        }),
      ]
    })
}

/** A policy opens nothing to roles without the privilege, and nothing that a restrictive policy closes. */
function whyNotOpen(view: SchemaView, relation: Relation, policy: PolicyRow): string | null {
  const written =
    policy.command === 'ALL' || policy.command === 'SELECT'
      ? (['INSERT', 'UPDATE', 'DELETE'] as const)
      : ([policy.command] as const)
  const rights = { INSERT: 'insert', UPDATE: 'update', DELETE: 'delete' } as const
  const reached = view.apiRoles.flatMap((role) =>
    written
      .filter(
        (command) =>
          view.applying(relation, role, command).includes(policy) && view.canUse(role, relation, rights[command]),
      )
      .map((command) => ({ role, command })),
  )
  if (reached.length === 0) return 'No role of the API that it applies to has the privilege.'
  const isClosed = reached.every(({ role, command }) =>
    view.applying(relation, role, command).some(({ isPermissive }) => !isPermissive),
  )
  return isClosed ? 'Restrictive policies narrow it.' : null
}
