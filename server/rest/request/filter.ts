// Filters: the client's words, nothing looked up.
import type { Field } from './field.ts'

/** Operators that take one value. */
export type SimpleOperator = 'neq' | 'cs' | 'cd' | 'ov' | 'sl' | 'sr' | 'nxr' | 'nxl' | 'adj'
/** Operators that also take `(any)` and `(all)`. */
export type QuantifiableOperator = 'eq' | 'gte' | 'gt' | 'lte' | 'lt' | 'like' | 'ilike' | 'match' | 'imatch'
export type FtsOperator = 'fts' | 'plfts' | 'phfts' | 'wfts'
export type IsValue = 'null' | 'not_null' | 'true' | 'false' | 'unknown'

export type Operation =
  | { readonly kind: 'simple'; readonly operator: SimpleOperator; readonly value: string }
  | {
      readonly kind: 'quantifiable'
      readonly operator: QuantifiableOperator
      readonly quantifier: 'any' | 'all' | null
      readonly value: string
    }
  | { readonly kind: 'in'; readonly values: readonly string[] }
  | { readonly kind: 'is'; readonly value: IsValue }
  | { readonly kind: 'isdistinct'; readonly value: string }
  | { readonly kind: 'fts'; readonly operator: FtsOperator; readonly language: string | null; readonly value: string }

export type Filter = { readonly field: Field; readonly negated: boolean; readonly operation: Operation }

/** `and(name.eq.N,or(id.eq.1,id.eq.2))`: a tree of conditions. */
export type LogicTree<F = Filter> =
  | { readonly kind: 'filter'; readonly filter: F }
  | {
      readonly kind: 'logic'
      readonly negated: boolean
      readonly operator: 'and' | 'or'
      readonly operands: readonly LogicTree<F>[]
    }
