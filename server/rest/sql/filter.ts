// Conditions.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedField, PlannedFilter, PlannedLogicTree } from '../plan/field.ts'
import type { JoinCondition, ReadPlan } from '../plan/read-plan.ts'
import type {
  FtsOperator,
  IsValue,
  LogicTree,
  Operation,
  QuantifiableOperator,
  SimpleOperator,
} from '../request/filter.ts'
import { isEmptyList } from '../request/filter.ts'
import { fieldSql, languageSql, represented } from './field.ts'
import { join } from './fragment.ts'
import type { Fragment, Parameter } from './fragment.ts'
import { column, cutAtNul, identifier } from './identifier.ts'
import { arrayText } from './parameter.ts'

const simpleOperators = {
  neq: '<>',
  cs: '@>',
  cd: '<@',
  ov: '&&',
  sl: '<<',
  sr: '>>',
  nxr: '&<',
  nxl: '&>',
  adj: '-|-',
} satisfies Record<SimpleOperator, string>

const quantifiableOperators = {
  eq: '=',
  gte: '>=',
  gt: '>',
  lte: '<=',
  lt: '<',
  like: 'like',
  ilike: 'ilike',
  match: '~',
  imatch: '~*',
} satisfies Record<QuantifiableOperator, string>

const searchFunctions = {
  fts: 'to_tsquery',
  plfts: 'plainto_tsquery',
  phfts: 'phraseto_tsquery',
  wfts: 'websearch_to_tsquery',
} satisfies Record<FtsOperator, string>

// IS requires keywords, not parameters.
const isValues = {
  null: 'NULL',
  not_null: 'NOT NULL',
  true: 'TRUE',
  false: 'FALSE',
  unknown: 'UNKNOWN',
} satisfies Record<IsValue, string>

const isPattern = (operator: QuantifiableOperator): boolean => operator === 'like' || operator === 'ilike'

/** The value of an operation as the text of its parameter; undefined if it has none. */
export function operandText(operation: Operation): string | undefined {
  switch (operation.kind) {
    case 'is':
      return undefined
    case 'in':
      return isEmptyList(operation.values) ? undefined : arrayText(operation.values.map(cutAtNul))
    case 'quantifiable':
      // The wildcard in a URL is an asterisk, because % has to be encoded.
      return cutAtNul(isPattern(operation.operator) ? operation.value.replaceAll('*', '%') : operation.value)
    default:
      return cutAtNul(operation.value)
  }
}

const operandOf = (operation: Operation): Parameter => ({ value: operandText(operation) ?? null })

function quantifiedSql(operation: Operation & { kind: 'quantifiable' }, field: PlannedField): Fragment {
  const { operator, quantifier } = operation
  // Patterns are text whatever the column's type is.
  const operand = isPattern(operator) ? operandOf(operation) : represented(field, operandOf(operation))
  const sql = quantifiableOperators[operator]
  return quantifier === null ? [' ', sql, ' ', operand] : [' ', sql, ` ${quantifier.toUpperCase()}(`, operand, ')']
}

/** `= ANY` with one array parameter, so that the text does not depend on the number of values, which may be 0. */
function inSql(operation: Operation & { kind: 'in' }, field: PlannedField): Fragment {
  if (isEmptyList(operation.values)) return " = ANY('{}') "
  const array = operandOf(operation)
  if (field.transform === null) return [' = ANY (', array, ') ']
  return [' = ANY ((SELECT ', represented(field, ['unnest(', array, '::text[])']), ')) ']
}

/** The operator and the value of a condition on a field. */
export function operationSql(operation: Operation, field: PlannedField): Fragment {
  switch (operation.kind) {
    case 'simple':
      return [` ${simpleOperators[operation.operator]} `, represented(field, operandOf(operation))]
    case 'quantifiable':
      return quantifiedSql(operation, field)
    case 'in':
      return inSql(operation, field)
    case 'is':
      return ` IS ${isValues[operation.value]}`
    case 'isdistinct':
      return [' IS DISTINCT FROM ', operandOf(operation)]
    case 'fts':
      return [
        ` @@ ${searchFunctions[operation.operator]}(`,
        languageSql(operation.language),
        operandOf(operation),
        ') ',
      ]
    default:
      return operation satisfies never
  }
}

/** A single condition on a field of `relation`. */
export function filterSql(relation: QualifiedIdentifier, filter: PlannedFilter): Fragment {
  if (filter.kind === 'null-embed') {
    // IS NULL would also be true for a row whose columns are all null.
    return `${identifier(filter.aggregateAlias)} IS ${filter.negated ? '' : 'NOT '}DISTINCT FROM NULL`
  }
  const { field, negated, operation } = filter
  return [negated ? 'NOT ' : '', fieldSql(relation, field), operationSql(operation, field)]
}

/** Writes a tree of conditions; `leaf` writes its filters. */
export function logicSql<F>(tree: LogicTree<F>, leaf: (filter: F) => Fragment): Fragment {
  if (tree.kind === 'filter') return leaf(tree.filter)
  const operands = tree.operands.map((operand) => logicSql(operand, leaf))
  return [tree.negated ? 'NOT (' : '(', join(operands, tree.operator === 'and' ? ' AND ' : ' OR '), ')']
}

const joinConditionSql = ({ left, right }: JoinCondition): string =>
  `${column(left.relation, left.column)} = ${column(right.relation, right.column)}`

/** The conditions of an embed that follow from its joins. */
export const joinConditionsOf = ({ joinConditions, shardFilters = [] }: ReadPlan): readonly Fragment[] => [
  ...joinConditions.map(joinConditionSql),
  ...shardFilters.map(({ relation, filter }) => filterSql(relation, filter)),
]

/** ` WHERE a AND b`; empty without conditions. */
export const whereSql = (conditions: readonly Fragment[]): Fragment =>
  conditions.length === 0 ? '' : [' WHERE ', join(conditions, ' AND ')]

/** The conditions of a relation, to be joined by AND. */
export const conditionsOf = (
  relation: QualifiedIdentifier,
  trees: readonly PlannedLogicTree[],
): readonly Fragment[] => {
  const leaf = (filter: PlannedFilter): Fragment => filterSql(relation, filter)
  return trees.map((tree) => logicSql(tree, leaf))
}
