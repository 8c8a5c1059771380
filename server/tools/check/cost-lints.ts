// Lints on what policies cost: functions that PostgreSQL calls for every row, and columns without an index.
import type { Column, FunctionRow, PolicyRow, Relation } from '../../catalogue/description.ts'
import { finding, type LintFinding } from './finding.ts'
import { nodesOf } from '../../catalogue/node-tree.ts'
import { isCallerFunction, policiesOf } from './policy-lints.ts'
import type { Conjunct, PolicyExpressions } from './policy-expression.ts'
import { protectedTables } from './reach-lints.ts'
import { signature } from './function-closing.ts'
import type { SchemaView } from './schema-view.ts'
import { onCopy } from './trial-copy.ts'
import { mayHaveEffects } from './sql-source.ts'

const object = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'table', schema, name })

/** The cost, in units of `cpu_operator_cost`, from which a function counts as expensive; the default is 100. */
const expensive = 1000

const inSql = (language: string): boolean => language === 'sql' || language === 'plpgsql'

/** Policies that call volatile functions: for every row, and with another result each time. */
export function volatileCalls(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  const volatile = new Map(
    view.catalogue.ownFunctions.filter((it) => it.volatility === 'v').map(({ oid, name }) => [oid, name]),
  )
  return policiesOf(view)
    .filter(({ relation }) => relation.rls && view.isOwnSchema(relation.schema))
    .flatMap(({ relation, policy }) => {
      const calls = expressions
        .trees(policy)
        .flatMap((tree) => expressions.calls(tree).filter(({ isPerRow }) => isPerRow))
      const routines = [...new Set(calls.map(({ oid }) => oid))].flatMap((oid) => view.function(oid) ?? [])
      const own = routines.filter((it) => it.volatility === 'v' && !isCallerFunction(view, it.oid))
      const builtIn = [...new Set(calls.flatMap(({ oid }) => volatile.get(oid) ?? []))]
      if (own.length + builtIn.length === 0) return []
      const declarable =
        builtIn.length === 0 &&
        own.every((it) => inSql(it.language) && !mayHaveEffects(it.source) && !callsVolatile(it, volatile))
      const list = [...own.map(({ schema, name }) => `${schema}.${name}`), ...builtIn]
      return [
        finding({
          code: 'policy_calls_volatile_function',
          level: 'WARN',
          object: object(relation),
          key: `policy_calls_volatile_function_${relation.schema}_${relation.name}_${policy.name}`,
          reason: `The policy ${policy.name} calls ${list.join(', ')} for every row, because a volatile function may return something else each time.`,
          fix: declarable ? own.map((it) => `alter ${signature(it)} stable;`).join('\n') : null,
          advice: declarable
            ? null
            : 'Policies should only call functions without effects, declared as stable or immutable.',
          metadata: { policy: policy.name, functions: list },
          isOfSplinter: false,
        }),
      ]
    })
}

/** Tables whose policies call a volatile function of the project or of PostgreSQL, anywhere. */
export function tablesCallingVolatile(view: SchemaView, expressions: PolicyExpressions): Set<number> {
  const volatile = new Set(view.catalogue.ownFunctions.filter((it) => it.volatility === 'v').map(({ oid }) => oid))
  const isVolatile = (oid: number): boolean => volatile.has(oid) || view.function(oid)?.volatility === 'v'
  const calling = policiesOf(view).filter(({ policy }) =>
    expressions.trees(policy).some((tree) => expressions.calls(tree).some(({ oid }) => isVolatile(oid))),
  )
  return new Set(calling.map(({ relation }) => relation.oid))
}

const callsVolatile = ({ source }: FunctionRow, volatile: ReadonlyMap<number, string>): boolean =>
  [...volatile.values()].some((name) => new RegExp(`\\b${name}\\s*\\(`, 'i').test(source))

/** Policies that call functions for every row whose result is the same for all rows, or which are declared as expensive. */
export function callsPerRow(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return policiesOf(view)
    .filter(({ relation }) => relation.rls && view.isOwnSchema(relation.schema))
    .flatMap(({ relation, policy }) => {
      const calls = expressions
        .trees(policy)
        .flatMap((tree) => expressions.calls(tree))
        .flatMap(({ oid, isPerRow, usesColumns }) => {
          const routine = view.function(oid)
          return routine && isPerRow ? [{ routine, usesColumns }] : []
        })
        .filter(({ routine }) => routine.volatility !== 'v' && !isCallerFunction(view, routine.oid))
      const repeated = calls.filter(
        ({ routine, usesColumns }) => !usesColumns && routine.volatility === 's' && inSql(routine.language),
      )
      const costly = calls.filter(({ routine, usesColumns }) => usesColumns && routine.cost >= expensive)
      if (repeated.length + costly.length === 0) return []
      const wanted = new Set(repeated.map(({ routine }) => JSON.stringify([routine.schema, routine.name])))
      const list = [...new Set([...repeated, ...costly].map(({ routine }) => `${routine.schema}.${routine.name}`))]
      return [
        finding({
          code: 'policy_calls_function_per_row',
          level: 'WARN',
          object: object(relation),
          key: `policy_calls_function_per_row_${relation.schema}_${relation.name}_${policy.name}`,
          reason:
            `The policy ${policy.name} calls ${list.join(', ')} for every row` +
            (costly.length > 0
              ? ', at a declared cost that makes reading a table slow.'
              : ', although the result is the same for all rows of a statement.'),
          edit:
            costly.length === 0
              ? { relation, policy, wraps: ({ schema, name }) => wanted.has(JSON.stringify([schema, name])) }
              : null,
          advice:
            costly.length === 0
              ? null
              : 'Compare the column with a subquery instead: tenant in (select …) is evaluated once per statement.',
          metadata: { policy: policy.name, functions: list },
          isOfSplinter: false,
        }),
      ]
    })
}

/** A column that policies look for without an index, with what a measurement needs. */
export type UnindexedColumn = {
  readonly finding: LintFinding
  readonly relation: Relation
  readonly column: Column
  /** A role that can select from the table under the policies. */
  readonly role: string | null
}

/** Columns that policies compare with values of the caller, so that an index would find the rows. */
export function unindexedPolicyColumns(view: SchemaView, expressions: PolicyExpressions): UnindexedColumn[] {
  return protectedTables(view).flatMap(({ relation, roles }) => {
    if (relation.isPartition) return []
    const found = new Map<number, { policy: PolicyRow; role: string | null }>()
    for (const role of roles) {
      for (const command of ['SELECT', 'UPDATE', 'DELETE'] as const) {
        const right = command === 'SELECT' ? 'selectColumn' : command === 'UPDATE' ? 'update' : 'delete'
        if (!view.canUse(role, relation, right)) continue
        const policies = view.applying(relation, role, command).filter(({ isPermissive }) => isPermissive)
        const alternatives = policies.flatMap((policy) =>
          expressions.condition(policy.usingTree).map((part) => ({ policy, part })),
        )
        const lookups = alternatives
          .filter(({ part }) => !comparedIn(expressions, part).some((column) => isIndexed(view, relation, column)))
          .map(({ policy, part }) => ({ policy, columns: comparedIn(expressions, part.filter(isAboutCaller)) }))
        // One alternative that no index can answer makes PostgreSQL read the whole table anyway.
        if (lookups.some(({ columns }) => columns.length === 0)) continue
        for (const { policy, columns } of lookups) {
          const [column = 0] = columns
          if (!found.has(column)) found.set(column, { policy, role: command === 'SELECT' ? role.name : null })
        }
      }
    }
    return [...found].flatMap(([number, { policy, role }]) => {
      const column = relation.columns.find((it) => it.number === number)
      return column ? [{ finding: describeMissingIndex(relation, column, policy), relation, column, role }] : []
    })
  })
}

const comparedIn = (expressions: PolicyExpressions, part: readonly Conjunct[]): number[] =>
  part.flatMap((conjunct) => expressions.comparedColumns(conjunct))

/** Whether the value that a column is compared with depends on the caller, or comes from a subquery. */
const isAboutCaller = ({ dependsOnCaller, node }: Conjunct): boolean =>
  dependsOnCaller || [...nodesOf(node)].some(({ tag }) => tag === 'SUBLINK')

const isIndexed = (view: SchemaView, { oid }: Relation, column: number): boolean =>
  view.catalogue.indexes.some((it) => it.relation === oid && it.isValid && !it.isPartial && it.keys[0] === column)

function describeMissingIndex(relation: Relation, column: Column, policy: PolicyRow): LintFinding {
  const fix = (table: string): string => `create index on ${table} (${column.quoted});`
  return finding({
    code: 'policy_column_without_index',
    level: 'INFO',
    object: object(relation),
    key: `policy_column_without_index_${relation.schema}_${relation.name}_${column.name}`,
    reason: `The policy ${policy.name} looks for rows by ${column.name}, which has no index, so every statement reads the whole table.`,
    fix: fix(relation.quoted),
    trial: onCopy(relation, fix),
    metadata: { policy: policy.name, column: column.name },
    isOfSplinter: false,
  })
}
