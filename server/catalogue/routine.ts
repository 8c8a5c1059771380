// Functions of the exposed schemas.
import type { QualifiedIdentifier } from './identifier.ts'

export type RoutineParameter = {
  /** Empty for an unnamed parameter. */
  readonly name: string
  readonly type: string
  /** The type for casts, without a length so that no value is truncated: `character varying` for `character`. */
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
  /** True when the type is a domain over a composite type. */
  readonly compositeAlias: boolean
  /** The oid of the type, with domains resolved to their base type. */
  readonly typeOid?: number
  /** Of OUT, INOUT and TABLE arguments, and of row types that are no relation; null otherwise, as is an unnamed argument. */
  readonly columns?: readonly ReturnedColumn[] | null
}

/** A column of the result of a function. */
export type ReturnedColumn = {
  readonly name: string | null
  /** With domains resolved to their base type. */
  readonly typeOid: number
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
/** Returns no set: `returns integer`, `returns some_row_type`. */
export const returnsSingle = ({ returns }: Routine): boolean => !returns.setOf
export const returnsVoid = (routine: Routine): boolean =>
  returnsScalar(routine) && routine.returns.type.schema === 'pg_catalog' && routine.returns.type.name === 'void'
/** The name of the returned row type, which its relationships are looked up by. */
export const returnedTableName = ({ returns }: Routine): string | undefined =>
  returns.composite ? returns.type.name : undefined
