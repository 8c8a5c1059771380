// FROM clauses of reads.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import { identifier, qualified, unqualified } from './identifier.ts'

type Source = Pick<ReadPlan, 'from' | 'fromAlias' | 'toParent' | 'computedArgument'>

/** The name that qualifies the columns of the plan's relation. */
export function relationOf({ from, fromAlias, toParent }: Source): QualifiedIdentifier {
  if (fromAlias !== null) return unqualified(fromAlias)
  return toParent?.kind === 'computed' ? unqualified(toParent.function.name) : from
}

/** ` FROM …`, with the junction of a many-to-many relationship. */
export function fromSql({ from, fromAlias, toParent, computedArgument }: Source): string {
  const alias = fromAlias === null ? '' : ` AS ${identifier(fromAlias)}`
  if (toParent?.kind === 'computed') {
    // The cast chooses among overloads, because the row may come from a CTE, whose row type is anonymous.
    const argument = identifier((computedArgument ?? toParent.table).name)
    return ` FROM ${qualified(toParent.function)}(${argument}::${qualified(toParent.table)})${alias}`
  }
  const cardinality = toParent?.cardinality
  const junction = cardinality?.kind === 'many-to-many' ? `, ${qualified(cardinality.junction.table)}` : ''
  return ` FROM ${qualified(from)}${alias}${junction}`
}
