// What the conditions of policies do, by PostgreSQL's node trees: which functions they call, how often, which columns they
// compare, and which parts depend on the caller.
import { stringValue, tokensOf } from '../../text/sql-tokens.ts'
import {
  columnsIn,
  constantTruth,
  functionOf,
  hasNoSource,
  hasVariables,
  isBoolean,
  plainColumn,
} from '../../catalogue/expression.ts'
import type { FunctionRow, PolicyRow } from '../../catalogue/description.ts'
import {
  canonical,
  isNode,
  listIn,
  nodesOf,
  numberIn,
  readNodeTree,
  type TreeNode,
  type TreeValue,
} from '../../catalogue/node-tree.ts'
import type { SchemaView } from './schema-view.ts'
import { callsIn } from './sql-source.ts'

/** A part of a condition that must be true with the others. */
export type Conjunct = {
  readonly node: TreeNode
  /** The same for the same expression. */
  readonly text: string
  /** Numbers of the columns of the policy's table in it. */
  readonly columns: ReadonlySet<number>
  readonly dependsOnCaller: boolean
}

/** Alternatives (OR) of conjuncts (AND). An alternative without conjuncts is always true; no alternatives are never. */
export type Condition = readonly (readonly Conjunct[])[]

export type Call = {
  readonly oid: number
  /** Whether it is evaluated again for each row, of the table or of a subquery, that is: not in a SELECT without FROM. */
  readonly isPerRow: boolean
  /** Whether its arguments refer to columns of the table or of a subquery. */
  readonly usesColumns: boolean
}

export class PolicyExpressions {
  readonly #view: SchemaView
  #claimReaders: ReadonlySet<number> | undefined
  readonly #trees = new Map<string, TreeValue>()
  readonly #ownNames: ReadonlyMap<number, string>

  constructor(view: SchemaView) {
    this.#view = view
    this.#ownNames = new Map(view.catalogue.ownFunctions.map(({ oid, name }) => [oid, name]))
  }

  /** The trees of a policy's conditions. */
  trees({ usingTree, checkTree }: PolicyRow): TreeValue[] {
    return [usingTree, checkTree].flatMap((text) => (text === null ? [] : [this.tree(text)]))
  }

  tree(text: string): TreeValue {
    const known = this.#trees.get(text)
    if (known !== undefined) return known
    const tree = readNodeTree(text)
    this.#trees.set(text, tree)
    return tree
  }

  /** The condition in alternatives, as far as OR and AND on the surface go. Null is a condition that is always true. */
  condition(text: string | null): Condition {
    return text === null ? [[]] : this.#alternatives(this.tree(text))
  }

  /** The operands of the outermost AND; the whole condition if it is none. */
  conjunctions(text: string): readonly TreeValue[] {
    const tree = this.tree(text)
    return isNode(tree) && isBoolean(tree, 'and') ? listIn(tree, 'args') : [tree]
  }

  #alternatives(tree: TreeValue): Condition {
    if (!isNode(tree)) return []
    if (isBoolean(tree, 'or')) return listIn(tree, 'args').flatMap((part) => this.#alternatives(part))
    const conjuncts = this.#conjuncts(tree)
    return conjuncts === null ? [] : [conjuncts]
  }

  /** Null if one of them is always false. */
  #conjuncts(tree: TreeNode): Conjunct[] | null {
    if (isBoolean(tree, 'and')) {
      const parts = listIn(tree, 'args').map((part) => (isNode(part) ? this.#conjuncts(part) : []))
      return parts.every((part) => part !== null) ? parts.flat() : null
    }
    const constant = constantTruth(tree)
    if (constant !== undefined) return constant ? [] : null
    return [
      { node: tree, text: canonical(tree), columns: columnsIn(tree), dependsOnCaller: this.dependsOnCaller(tree) },
    ]
  }

  /** Whether an expression reads the claims of the request, or the role. */
  dependsOnCaller(tree: TreeValue): boolean {
    for (const node of nodesOf(tree)) {
      if (isRoleOfSession(node)) return true
      const oid = functionOf(node)
      if (oid !== undefined && this.readsClaims(oid)) return true
    }
    return false
  }

  /** Whether the stored query of a view chooses rows by the caller, and does not only show who it is in its own columns. */
  choosesByCaller(query: TreeValue): boolean {
    const queries = isNode(query) ? [query] : Array.isArray(query) ? (query as readonly TreeValue[]).filter(isNode) : []
    return queries.some(({ fields }) =>
      [...fields].some(([name, field]) => name !== 'targetList' && this.dependsOnCaller(field)),
    )
  }

  /** Whether a function reads the claims of the request or the role, itself or by a function that it calls. */
  readsClaims(oid: number): boolean {
    const own = this.#ownNames.get(oid)
    if (own !== undefined) return readingClaims.has(own)
    this.#claimReaders ??= this.#findClaimReaders()
    return this.#claimReaders.has(oid)
  }

  /** From the functions that read claims themselves to those that call them, which may call each other in circles. */
  #findClaimReaders(): Set<number> {
    const { functions } = this.#view.catalogue
    const byName = new Map<string, FunctionRow[]>()
    for (const it of functions) byName.set(it.name, [...(byName.get(it.name) ?? []), it])
    const callers = new Map<number, number[]>()
    const readers = new Set<number>()
    for (const routine of functions) {
      const { reads, calls } = this.#bodyOf(routine, byName)
      if (reads) readers.add(routine.oid)
      for (const called of calls) callers.set(called, [...(callers.get(called) ?? []), routine.oid])
    }
    // Iterating over a set includes what is added meanwhile.
    for (const oid of readers) for (const caller of callers.get(oid) ?? []) readers.add(caller)
    return readers
  }

  /** Whether a function reads the claims itself, and which functions of the project it calls. */
  #bodyOf(
    { tree, source, schema }: FunctionRow,
    byName: ReadonlyMap<string, readonly FunctionRow[]>,
  ): { readonly reads: boolean; readonly calls: ReadonlySet<number> } {
    if (tree !== null) {
      const nodes = [...nodesOf(this.tree(tree))]
      const called = new Set(nodes.flatMap((node) => functionOf(node) ?? []))
      return {
        reads:
          nodes.some(isRoleOfSession) || [...called].some((oid) => readingClaims.has(this.#ownNames.get(oid) ?? '')),
        calls: called,
      }
    }
    const calls = callsIn(source)
    const called = calls.flatMap((call) =>
      (byName.get(call.name) ?? []).filter(
        (it) => it.schema === call.schema || (call.schema === null && (it.schema === schema || it.schema === 'public')),
      ),
    )
    return {
      reads:
        calls.some((it) => it.name === 'current_setting' && (it.schema === null || it.schema === 'pg_catalog')) ||
        tokensOf(source).some((token) => token.kind === 'string' && stringValue(token).startsWith('request.')),
      calls: new Set(called.map(({ oid }) => oid)),
    }
  }

  /** The functions and operators that a condition calls. */
  calls(tree: TreeValue): Call[] {
    const calls: Call[] = []
    const walk = (value: TreeValue | undefined, isPerRow: boolean): void => {
      if (value === null || value === undefined || typeof value === 'string') return
      if (!isNode(value)) {
        for (const item of value) walk(item, isPerRow)
        return
      }
      const oid = functionOf(value)
      if (oid !== undefined) calls.push({ oid, isPerRow, usesColumns: hasVariables(value.fields.get('args')) })
      const inner = value.tag === 'QUERY' ? !hasNoSource(value) : isPerRow
      for (const field of value.fields.values()) walk(field, inner)
    }
    walk(tree, true)
    return calls
  }

  /** Columns of the table that a conjunct compares for equality with a value that does not depend on the row. */
  comparedColumns({ node }: Conjunct): number[] {
    if (node.tag === 'SUBLINK') {
      // `column IN (SELECT …)`, if the subquery does not depend on the row.
      const isAny = node.fields.get('subLinkType') === '2'
      if (!isAny || columnsIn(node.fields.get('subselect') ?? null, 0).size > 0) return []
      return [...columnsIn(node.fields.get('testexpr') ?? null)]
    }
    const isEquality =
      (node.tag === 'OPEXPR' || node.tag === 'SCALARARRAYOPEXPR') &&
      this.#view.catalogue.equalities.includes(numberIn(node, 'opno'))
    if (!isEquality) return []
    const [left = null, right = null] = listIn(node, 'args')
    const pairs: [TreeValue, TreeValue][] =
      node.tag === 'OPEXPR'
        ? [
            [left, right],
            [right, left],
          ]
        : [[left, right]]
    return pairs.flatMap(([column, value]) => {
      const number = plainColumn(column)
      return number !== undefined && columnsIn(value).size === 0 ? [number] : []
    })
  }
}

/** SQLValueFunctionOp of src/include/nodes/primnodes.h: CURRENT_ROLE, CURRENT_USER, USER, SESSION_USER; the others are about time. */
const rolesOfSession = new Set([9, 10, 11, 12])

const isRoleOfSession = (node: TreeNode): boolean =>
  node.tag === 'SQLVALUEFUNCTION' && rolesOfSession.has(numberIn(node, 'op'))

/** PostgreSQL's functions that read settings or the role. */
const readingClaims: ReadonlySet<string> = new Set(['current_setting', 'current_user', 'session_user'])
