// Functions of the exposed schemas.
import type { QualifiedIdentifier } from './identifier.ts'

export type RoutineParameter = {
  /** Empty for an unnamed parameter. */
  readonly name: string
  readonly type: string
  /** The type without a length, so that any value fits: `character varying` for `character`. Used for casts. */
  readonly castType: string
  readonly required: boolean
  readonly variadic: boolean
}

export type Volatility = 'volatile' | 'stable' | 'immutable'

export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable'

export type ReturnType = {
  readonly setOf: boolean
  readonly type: QualifiedIdentifier
  /** True for row types, and for functions with OUT, INOUT or TABLE arguments. */
  readonly composite: boolean
  /** True when the composite is reached through a domain. */
  readonly compositeAlias: boolean
}

export type Routine = {
  readonly schema: string
  readonly name: string
  readonly description: string | null
  readonly parameters: readonly RoutineParameter[]
  readonly returns: ReturnType
  readonly volatility: Volatility
  readonly hasVariadic: boolean
  /** Isolation level set on the function (`SET default_transaction_isolation`), if any. */
  readonly isolationLevel: IsolationLevel | null
  /** Settings of the function that are hoisted to the transaction: [name, value]. */
  readonly settings: readonly (readonly [string, string])[]
}

/** Overloads by `qualifiedKey(schema, name)`, those with the fewest parameters first. */
export type Routines = ReadonlyMap<string, readonly Routine[]>

/** `returns integer`: one value. */
export const returnsScalar = ({ returns }: Routine): boolean => !returns.setOf && !returns.composite
/** `returns setof integer`. */
export const returnsSetOfScalar = ({ returns }: Routine): boolean => returns.setOf && !returns.composite
/** `returns some_row_type`. */
export const returnsSingleComposite = ({ returns }: Routine): boolean => !returns.setOf && returns.composite
/** Anything but a set. */
export const returnsSingle = ({ returns }: Routine): boolean => !returns.setOf
export const returnsVoid = (routine: Routine): boolean =>
  returnsScalar(routine) && routine.returns.type.schema === 'pg_catalog' && routine.returns.type.name === 'void'
/** The name of the row type that the function returns, under which its relationships are found. */
export const returnedTableName = ({ returns }: Routine): string | undefined =>
  returns.composite ? returns.type.name : undefined
