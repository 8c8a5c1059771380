// Conditions that every caller with an account fulfils, so that they distinguish no accounts.
import { isNode, listIn, nodesOf, numberIn, textConstant } from '../../catalogue/node-tree.ts'
import { functionOf, hasNoSource } from '../../catalogue/expression.ts'
import type { Conjunct, PolicyExpressions } from './policy-expression.ts'
import { isCallerFunction } from './policy-lints.ts'
import type { SchemaView } from './schema-view.ts'

/** Texts by which a condition reads claims that all accounts have. */
const claimsOfAll = new Set([
  'sub',
  'role',
  'aud',
  'request.jwt.claims',
  'request.jwt.claim.sub',
  'request.jwt.claim.role',
])

/**
 * Whether a conjunct only says that the caller has an account: `auth.uid() is not null`, or that a claim of all accounts
 * names the role, as in `auth.role() = 'authenticated'`.
 */
export function saysSignedIn(
  view: SchemaView,
  expressions: PolicyExpressions,
  { node, columns, dependsOnCaller }: Conjunct,
  role: string,
): boolean {
  if (columns.size > 0 || !dependsOnCaller) return false
  for (const part of nodesOf(node)) {
    if (part.tag === 'QUERY' && !hasNoSource(part)) return false
    const oid = functionOf(part)
    if (oid !== undefined && expressions.readsClaims(oid) && !isCallerFunction(view, oid)) return false
    const text = textConstant(part)
    if (text !== undefined && text !== role && !claimsOfAll.has(text)) return false
  }
  if (node.tag === 'NULLTEST') return node.fields.get('nulltesttype') === '1'
  const isEquality = node.tag === 'OPEXPR' && view.catalogue.equalities.includes(numberIn(node, 'opno'))
  return isEquality && listIn(node, 'args').some((side) => isNode(side) && textConstant(side) === role)
}
