// The order in which error messages list relationships (PGRST201) and overloads (PGRST203). It is PostgREST's: field by
// field in the order of its records, text by code points.
import { compareText } from '../text/code-point-order.ts'
import type { QualifiedIdentifier } from './identifier.ts'
import type { Cardinality, ColumnPairs, Relationship } from './relationship.ts'
import type { IsolationLevel, ReturnType, Routine, RoutineParameter, Volatility } from './routine.ts'

type Compare<T> = (a: T, b: T) => number

const compareBoolean: Compare<boolean> = (a, b) => Number(a) - Number(b)

function compareLists<T>(compare: Compare<T>): Compare<readonly T[]> {
  return (a, b) => {
    for (const [index, left] of a.entries()) {
      const right = b[index]
      if (right === undefined) return 1
      const order = compare(left, right)
      if (order !== 0) return order
    }
    return a.length - b.length
  }
}

const comparePairs: Compare<ColumnPairs> = compareLists((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]))

const compareIdentifiers: Compare<QualifiedIdentifier> = (a, b) =>
  compareText(a.schema, b.schema) || compareText(a.name, b.name)

const cardinalityRank = {
  'one-to-many': 0,
  'many-to-one': 1,
  'one-to-one': 2,
  'many-to-many': 3,
} satisfies Record<Cardinality['kind'], number>

function compareCardinalities(a: Cardinality, b: Cardinality): number {
  if (a.kind === 'many-to-many') {
    if (b.kind !== 'many-to-many') return 1
    const [left, right] = [a.junction, b.junction]
    return (
      compareIdentifiers(left.table, right.table) ||
      compareText(left.sourceConstraint, right.sourceConstraint) ||
      compareText(left.targetConstraint, right.targetConstraint) ||
      comparePairs(left.sourceColumns, right.sourceColumns) ||
      comparePairs(left.targetColumns, right.targetColumns)
    )
  }
  if (b.kind === 'many-to-many') return -1
  return (
    cardinalityRank[a.kind] - cardinalityRank[b.kind] ||
    compareText(a.constraint, b.constraint) ||
    comparePairs(a.columns, b.columns) ||
    compareBoolean(a.kind === 'one-to-one' && a.isParent, b.kind === 'one-to-one' && b.isParent)
  )
}

/** Foreign keys before computed ones; then by tables, self-references last, by cardinality and constraint. */
export function compareRelationships(a: Relationship, b: Relationship): number {
  if (a.kind === 'computed') {
    if (b.kind !== 'computed') return 1
    return (
      compareIdentifiers(a.function, b.function) ||
      compareIdentifiers(a.table, b.table) ||
      compareIdentifiers(a.foreignTable, b.foreignTable) ||
      compareBoolean(a.isToOne, b.isToOne) ||
      compareBoolean(a.isSelf, b.isSelf)
    )
  }
  if (b.kind === 'computed') return -1
  return (
    compareIdentifiers(a.table, b.table) ||
    compareIdentifiers(a.foreignTable, b.foreignTable) ||
    compareBoolean(a.isSelf, b.isSelf) ||
    compareCardinalities(a.cardinality, b.cardinality) ||
    compareBoolean(a.tableIsView, b.tableIsView) ||
    compareBoolean(a.foreignTableIsView, b.foreignTableIsView)
  )
}

const compareParameters: Compare<readonly RoutineParameter[]> = compareLists(
  (a, b) =>
    compareText(a.name, b.name) ||
    compareText(a.type, b.type) ||
    compareText(a.castType, b.castType) ||
    compareBoolean(a.required, b.required) ||
    compareBoolean(a.variadic, b.variadic),
)

const compareReturns: Compare<ReturnType> = (a, b) =>
  compareBoolean(a.setOf, b.setOf) ||
  compareBoolean(a.composite, b.composite) ||
  compareIdentifiers(a.type, b.type) ||
  compareBoolean(a.compositeAlias, b.compositeAlias)

const volatilityRank = { volatile: 0, stable: 1, immutable: 2 } satisfies Record<Volatility, number>
const isolationRank = {
  'read committed': 1,
  'repeatable read': 2,
  serializable: 3,
} satisfies Record<IsolationLevel, number>

const rankOf = (level: IsolationLevel | null): number => (level === null ? 0 : isolationRank[level])

function compareNullable(a: string | null, b: string | null): number {
  if (a === null || b === null) return compareBoolean(a !== null, b !== null)
  return compareText(a, b)
}

/** Compares overloads: fewer parameters first, then by description, parameters and return type. */
export function compareRoutines(a: Routine, b: Routine): number {
  return (
    compareText(a.schema, b.schema) ||
    compareText(a.name, b.name) ||
    a.parameters.length - b.parameters.length ||
    compareNullable(a.description, b.description) ||
    compareParameters(a.parameters, b.parameters) ||
    compareReturns(a.returns, b.returns) ||
    volatilityRank[a.volatility] - volatilityRank[b.volatility] ||
    compareBoolean(a.hasVariadic, b.hasVariadic) ||
    rankOf(a.isolationLevel) - rankOf(b.isolationLevel) ||
    comparePairs(a.settings, b.settings)
  )
}
