// The plan of a function call.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { RoutineParameter } from '../../catalogue/routine.ts'

export type CallParameters =
  /** `f(a := …, b := …)` */
  | { readonly kind: 'named'; readonly parameters: readonly RoutineParameter[] }
  /** `f(…)`: a single unnamed parameter. */
  | { readonly kind: 'positional'; readonly parameter: RoutineParameter }

export type ArgumentValue = string | readonly string[]

export type CallArguments =
  /** From the query string or a form. An array is the variadic argument. */
  | { readonly kind: 'direct'; readonly values: ReadonlyMap<string, ArgumentValue> }
  /** The body: JSON text for named parameters, or the value of the single parameter. */
  | { readonly kind: 'body'; readonly body: string | Buffer | null }

export type CallPlan = {
  readonly routine: QualifiedIdentifier
  readonly parameters: CallParameters
  readonly arguments: CallArguments
  readonly returnsScalar: boolean
  readonly returnsSetOfScalar: boolean
  /** Columns that the request's filters refer to. */
  readonly filterFields: readonly string[]
  readonly returning: readonly string[]
}
