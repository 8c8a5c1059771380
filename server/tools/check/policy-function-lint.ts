// The lint on policies that call functions which their role may not execute.
import { identifier } from '../../text/sql-text.ts'
import type { FunctionRow, PolicyRow, Relation, Role } from '../../catalogue/description.ts'
import { mayExecute } from '../../catalogue/rights.ts'
import { finding, type LintFinding } from './finding.ts'
import { signature } from './function-closing.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import { protectedTables } from './reach-lints.ts'
import type { SchemaView } from './schema-view.ts'

const rights = { SELECT: 'selectColumn', INSERT: 'insert', UPDATE: 'update', DELETE: 'delete' } as const
const commands = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const

/** Policies that fail for a role: PostgreSQL calls their functions with the rights of the caller. */
export function policyFunctionsNotExecutable(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return protectedTables(view).flatMap(({ relation, roles }) =>
    view.policiesOf(relation).flatMap((policy) =>
      calledBy(view, expressions, policy).flatMap((routine) => {
        const refused = roles.filter((role) => !mayExecute(role, routine) && isEvaluated(view, relation, policy, role))
        return refused.length > 0 ? [describe(relation, policy, routine, refused)] : []
      }),
    ),
  )
}

/** Whether requests of a role evaluate the policy today. */
const isEvaluated = (view: SchemaView, relation: Relation, policy: PolicyRow, role: Role): boolean =>
  commands.some(
    (command) =>
      view.canUse(role, relation, rights[command]) && view.applying(relation, role, command).includes(policy),
  )

/**
 * The functions of the project that a policy calls as the role: by itself, and by functions whose bodies were parsed when they
 * were created. What bodies call that are text may never be reached.
 */
function calledBy(view: SchemaView, expressions: PolicyExpressions, policy: PolicyRow): FunctionRow[] {
  const called = new Set(expressions.trees(policy).flatMap((tree) => expressions.calls(tree).map(({ oid }) => oid)))
  // Iterating over a set includes what is added meanwhile.
  for (const oid of called) {
    const routine = view.function(oid)
    const body = routine?.isSecurityDefiner === false ? routine.tree : null
    if (body === null) continue
    for (const call of expressions.calls(expressions.tree(body))) called.add(call.oid)
  }
  return [...called].flatMap((oid) => view.function(oid) ?? [])
}

function describe(relation: Relation, policy: PolicyRow, routine: FunctionRow, refused: readonly Role[]): LintFinding {
  const { schema, name } = relation
  const names = refused.map((role) => role.name)
  const called = `${routine.schema}.${routine.name}`
  return finding({
    code: 'policy_function_not_executable',
    level: 'ERROR',
    object: { type: 'table', schema, name },
    key: `policy_function_not_executable_${schema}_${name}_${policy.name}_${called}(${routine.arguments})`,
    reason: `The policy ${policy.name} calls ${called}, which ${names.join(' and ')} may not execute, so requests to the table fail (42501).`,
    fix: `grant execute on ${signature(routine)} to ${names.map(identifier).join(', ')};`,
    advice: 'Or name the roles that the policy is for: create policy … to …',
    metadata: { policy: policy.name, function: `${called}(${routine.arguments})`, roles: names },
    isOfSplinter: false,
  })
}
