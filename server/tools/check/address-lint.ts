// The lint on policies that depend on the address of the caller, where addresses count as confirmed without proof.
import { isName, stringValue, tokensOf } from '../../text/sql-tokens.ts'
import { functionOf } from '../../catalogue/expression.ts'
import type { FunctionRow } from '../../catalogue/description.ts'
import type { UnprovenAddresses } from './catalogue.ts'
import { finding, type LintFinding } from './finding.ts'
import { constantText, readsKey } from './metadata-lint.ts'
import { nodesOf, readNodeTree, type TreeNode, type TreeValue } from '../../catalogue/node-tree.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import { policiesOf } from './policy-lints.ts'
import type { SchemaView } from './schema-view.ts'
import { callsIn } from './sql-source.ts'

const reasons: Readonly<Record<UnprovenAddresses, string>> = {
  settings: 'GOTRUE_MAILER_AUTOCONFIRM confirms addresses without proof',
  accounts: 'there are accounts whose address was confirmed without proof (auth.users.email_unproven)',
}

/** Policies that depend on the address of the caller, which anyone can have chosen. */
export function unprovenAddresses(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  const { unproven } = view.catalogue
  if (unproven === null) return []
  return policiesOf(view).flatMap(({ relation, policy }) =>
    expressions.trees(policy).some((tree) => readsAddress(tree, view, expressions))
      ? [
          finding({
            code: 'policy_trusts_unproven_address',
            level: 'WARN',
            object: { type: 'table', schema: relation.schema, name: relation.name },
            key: `policy_trusts_unproven_address_${relation.schema}_${relation.name}_${policy.name}`,
            reason: `The policy ${policy.name} trusts the address of the caller, but ${reasons[unproven]}: a person who signs up with another person's address gets that person's rows.`,
            advice: 'Compare auth.uid() instead, or let addresses be confirmed by mail.',
            metadata: { policy: policy.name },
            isOfSplinter: false,
          }),
        ]
      : [],
  )
}

/** The key `email` of the claims, or the last part of a path or of a setting: `request.jwt.claim.email`. */
const namesAddress = /(?:^|\W)email$/

const hasAddressKey = (node: TreeNode): boolean => namesAddress.test(constantText(node) ?? '')

function readsAddress(tree: TreeValue, view: SchemaView, expressions: PolicyExpressions): boolean {
  if (readsKey(tree, expressions, hasAddressKey)) return true
  for (const node of nodesOf(tree)) {
    if (constantText(node)?.endsWith('claim.email') === true) return true
    const oid = functionOf(node)
    const routine = oid === undefined ? undefined : view.function(oid)
    if (routine && isAddressReader(routine, view, expressions)) return true
  }
  return false
}

const isAuthEmail = ({ schema, name }: { readonly schema: string | null; readonly name: string }): boolean =>
  schema === 'auth' && name === 'email'

/** Whether a function returns the address of the caller, or decides by it. */
function isAddressReader(routine: FunctionRow, view: SchemaView, expressions: PolicyExpressions): boolean {
  if (routine.schema === 'auth') return isAuthEmail(routine)
  if (!expressions.readsClaims(routine.oid)) return false
  if (routine.tree !== null) {
    return [...nodesOf(readNodeTree(routine.tree))].some((node) => {
      const called = view.function(functionOf(node) ?? 0)
      return hasAddressKey(node) || (called !== undefined && isAuthEmail(called))
    })
  }
  return (
    callsIn(routine.source).some(isAuthEmail) ||
    tokensOf(routine.source).some(
      (token) => !isName(token) && token.kind === 'string' && namesAddress.test(stringValue(token)),
    )
  )
}
