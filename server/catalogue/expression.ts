// What expressions in node trees refer to: functions, columns, constants, subqueries of a single value.
import { canonical, isNode, listIn, nodesOf, numberIn, type TreeNode, type TreeValue } from './node-tree.ts'

/** Fields with the oid of the function that a node calls. */
const functionFields = ['funcid', 'opfuncid'] as const

/** The oid of the function that a node calls, directly or as an operator. */
export function functionOf(node: TreeNode): number | undefined {
  for (const field of functionFields) {
    const oid = numberIn(node, field)
    if (oid > 0) return oid
  }
  return undefined
}

export const isBoolean = ({ tag, fields }: TreeNode, operator: 'and' | 'or' | 'not'): boolean =>
  tag === 'BOOLEXPR' && fields.get('boolop') === operator

/** The value of the constants TRUE and FALSE; undefined for anything else. */
export function constantTruth(node: TreeNode): boolean | undefined {
  if (node.tag === 'CONST' && numberIn(node, 'consttype') === 16) {
    const bytes = node.fields.get('constvalue')
    return Array.isArray(bytes) && bytes[2] === '1'
  }
  // `1 = 1`: an operator on equal constants.
  if (node.tag === 'OPEXPR') {
    const [left, right] = listIn(node, 'args')
    if (
      isNode(left) &&
      isNode(right) &&
      left.tag === 'CONST' &&
      right.tag === 'CONST' &&
      canonical(left) === canonical(right)
    ) {
      return numberIn(node, 'opno') === 96 ? true : undefined
    }
  }
  return undefined
}

/** The column of a plain reference, also as another type of the same representation. `level`: as for `columnsIn`. */
export function plainColumn(value: TreeValue, level = 0): number | undefined {
  if (!isNode(value)) return undefined
  if (value.tag === 'RELABELTYPE') return plainColumn(value.fields.get('arg') ?? null, level)
  return value.tag === 'VAR' && numberIn(value, 'varlevelsup') === level ? numberIn(value, 'varattno') : undefined
}

/** All nodes within a value, parents first, with the number of queries around each. */
export function* nodesByLevel(value: TreeValue | undefined, level = 0): Generator<readonly [TreeNode, number]> {
  if (value === null || value === undefined || typeof value === 'string') return
  if (!isNode(value)) {
    for (const item of value) yield* nodesByLevel(item, level)
    return
  }
  yield [value, level]
  const inner = value.tag === 'QUERY' ? level + 1 : level
  for (const field of value.fields.values()) yield* nodesByLevel(field, inner)
}

/** Columns of the policy's table in an expression. `level`: how many queries surround the expression. */
export function columnsIn(value: TreeValue, level = 0): Set<number> {
  const columns = new Set<number>()
  for (const [node, depth] of nodesByLevel(value, level))
    if (node.tag === 'VAR' && numberIn(node, 'varlevelsup') === depth) columns.add(numberIn(node, 'varattno'))
  return columns
}

export const hasVariables = (value: TreeValue | undefined): boolean => {
  for (const { tag } of nodesOf(value)) if (tag === 'VAR') return true
  return false
}

/** Whether a query is a SELECT without FROM and reads no row around it: PostgreSQL evaluates it once. */
export function hasNoSource(query: TreeNode): boolean {
  const join = query.fields.get('jointree')
  return isNode(join) && listIn(join, 'fromlist').length === 0 && !hasVariables(query)
}

/** SubLinkType of src/include/nodes/primnodes.h: a subquery for one value. */
const oneValue = '4'
/** Clauses by which a subquery without FROM may have no row, or another one. */
const clauses = ['limitCount', 'limitOffset', 'havingQual', 'setOperations', 'cteList', 'groupClause'] as const

/** The expression without subqueries around a single value: `(SELECT auth.uid())` is `auth.uid()`. */
export function unwrapped(value: TreeValue): TreeValue {
  if (value === null || typeof value === 'string') return value
  if (!isNode(value)) return value.map(unwrapped)
  const inner = wrappedValue(value)
  if (inner !== undefined) return unwrapped(inner)
  return { tag: value.tag, fields: new Map([...value.fields].map(([name, field]) => [name, unwrapped(field)])) }
}

function wrappedValue({ tag, fields }: TreeNode): TreeValue | undefined {
  const query = fields.get('subselect')
  if (tag !== 'SUBLINK' || fields.get('subLinkType') !== oneValue || !isNode(query) || !hasNoSource(query))
    return undefined
  const join = query.fields.get('jointree')
  const [target, ...more] = listIn(query, 'targetList')
  const isPlain =
    clauses.every((name) => (query.fields.get(name) ?? null) === null) &&
    query.fields.get('hasAggs') !== 'true' &&
    isNode(join) &&
    (join.fields.get('quals') ?? null) === null
  return isPlain && more.length === 0 && isNode(target) ? target.fields.get('expr') : undefined
}
