// The lint on policies that depend on `user_metadata`.
import { isName, stringValue, tokensOf } from '../../text/sql-tokens.ts'
import { functionOf } from '../../catalogue/expression.ts'
import type { PolicyRow } from '../../catalogue/description.ts'
import { finding, type LintFinding } from './finding.ts'
import { nodesOf, readNodeTree, type TreeNode, type TreeValue } from '../../catalogue/node-tree.ts'
import type { PolicyOf, PolicyEdit } from './policy-edit.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import { policiesOf } from './policy-lints.ts'
import type { SchemaView } from './schema-view.ts'

const namesUserMetadata = /user_meta_?data/

/** Policies that depend on `user_metadata`, which users change themselves. */
export function userMetadata(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return policiesOf(view).flatMap(({ relation, policy }) => {
    const isOfSplinter = view.isOwnSchema(relation.schema) && [policy.using, policy.check].some(mentionsMetadata)
    const columns = new Set(
      relation.columns.filter(({ name }) => namesUserMetadata.test(name)).map(({ number }) => number),
    )
    const trees = expressions.trees(policy)
    const isRead =
      view.isOwnSchema(relation.schema) &&
      (trees.some((tree) => readsKey(tree, expressions, hasMetadataConstant)) ||
        trees.some((tree) => [...nodesOf(tree)].some((node) => isColumn(node, columns))) ||
        trees.some((tree) => callsMetadataReader(tree, view)))
    // The list of exposed objects goes by the text, and a dismissed finding takes its place.
    const isNamed = view.isOwnSchema(relation.schema) && [policy.using, policy.check].some(namesMetadata)
    if (!isOfSplinter && !isRead && !isNamed) return []
    return [
      finding({
        code: 'rls_references_user_metadata',
        level: 'ERROR',
        object: { type: 'table', schema: relation.schema, name: relation.name },
        key: `rls_references_user_metadata_${relation.schema}_${relation.name}_${policy.name}`,
        reason: `The policy ${policy.name} depends on user_metadata, which all users change themselves.`,
        edit: isRead ? moveToAppMetadata({ relation, policy }) : null,
        advice: 'Only the server writes app_metadata: copy the values that policies need to it.',
        metadata: { policy: policy.name },
        isOfSplinter,
        dismissed: isRead ? null : 'The text user_metadata is a value in the policy, not a claim that it reads.',
      }),
    ]
  })
}

const namesMetadata = (text: string | null): boolean => text !== null && namesUserMetadata.test(text)

const mentionsMetadata = (text: string | null): boolean =>
  text !== null &&
  (/auth\.jwt\(\)[^]*user[^]metadata/.test(text) ||
    /current.setting\([^]*request\.jwt\.claims[^]*\)[^]*user.metadata/.test(text))

/** Whether an operator or function has a key, for instance `user_metadata`, beside something that reads the claims. */
export function readsKey(tree: TreeValue, expressions: PolicyExpressions, isKey: (node: TreeNode) => boolean): boolean {
  for (const node of nodesOf(tree)) {
    const operands = operandsOf(node)
    const keys = operands.filter((it) => [...nodesOf(it)].some(isKey))
    if (keys.length > 0 && operands.some((it) => !keys.includes(it) && expressions.dependsOnCaller(it))) return true
  }
  return false
}

function operandsOf({ tag, fields }: TreeNode): TreeValue[] {
  if (tag === 'SUBSCRIPTINGREF') return [fields.get('refexpr') ?? null, fields.get('refupperindexpr') ?? null]
  if (tag !== 'OPEXPR' && tag !== 'FUNCEXPR') return []
  const list = fields.get('args')
  return Array.isArray(list) ? (list as TreeValue[]) : []
}

/** The bytes of a constant of any type, as text; undefined for another node. */
export function constantText({ tag, fields }: TreeNode): string | undefined {
  const value = fields.get('constvalue')
  if (tag !== 'CONST' || !Array.isArray(value)) return undefined
  const bytes = (value as readonly TreeValue[]).slice(2, -1).map((byte) => (Number(byte) + 256) % 256)
  return Buffer.from(bytes).toString('latin1')
}

const hasMetadataConstant = (node: TreeNode): boolean => namesUserMetadata.test(constantText(node) ?? '')

const isColumn = ({ tag, fields }: TreeNode, numbers: ReadonlySet<number>): boolean =>
  tag === 'VAR' && fields.get('varlevelsup') === '0' && numbers.has(Number(fields.get('varattno')))

function callsMetadataReader(tree: TreeValue, view: SchemaView): boolean {
  for (const node of nodesOf(tree)) {
    const oid = functionOf(node)
    const routine = oid === undefined ? undefined : view.function(oid)
    if (!routine || routine.schema === 'auth') continue
    const isNamed = tokensOf(routine.source).some((token) =>
      namesUserMetadata.test(token.kind === 'string' ? stringValue(token) : isName(token) ? token.text : ''),
    )
    if (isNamed || (routine.tree !== null && [...nodesOf(readNodeTree(routine.tree))].some(hasMetadataConstant)))
      return true
  }
  return false
}

/** Whether a policy, or a function that it calls, mentions the metadata, be it as a value only. */
export function mentionsUserMetadata(policy: PolicyRow, view: SchemaView, expressions: PolicyExpressions): boolean {
  if ([policy.using, policy.check].some(namesMetadata)) return true
  const called = expressions
    .trees(policy)
    .flatMap((tree) => [...nodesOf(tree)].flatMap((node) => functionOf(node) ?? []))
  return called.some((oid) => {
    const { source = '', tree = null } = view.function(oid) ?? {}
    return namesMetadata(source) || (tree !== null && [...nodesOf(expressions.tree(tree))].some(hasMetadataConstant))
  })
}

function moveToAppMetadata(of: PolicyOf): PolicyEdit | null {
  const renames = ["'user_metadata'", "'app_metadata'"] as const
  const { using, check } = of.policy
  const isComplete = [using, check].every((text) => !namesUserMetadata.test(text?.replaceAll(...renames) ?? ''))
  return isComplete ? { ...of, renames } : null
}
