// The `order` parameter.
import type { Field } from './field.ts'

export type OrderDirection = 'asc' | 'desc'
export type OrderNulls = 'nullsfirst' | 'nullslast'

export type OrderTerm =
  | {
      readonly kind: 'field'
      readonly field: Field
      readonly direction: OrderDirection | null
      readonly nulls: OrderNulls | null
    }
  /** `order=clients(name)`: a field of a to-one embed. */
  | {
      readonly kind: 'relation'
      readonly relation: string
      readonly field: Field
      readonly direction: OrderDirection | null
      readonly nulls: OrderNulls | null
    }
