// The plan of a keyset page: the total order of the rows, and where the page begins.
import type { PageCursor } from './page-cursor.ts'
import type { RowNumber } from '../../request/integer.ts'
import type { PlannedOrderTerm } from '../../plan/field.ts'

/** A term of a total order, with its defaults filled in. */
export type PageTerm = {
  readonly term: PlannedOrderTerm
  readonly isDescending: boolean
  readonly nullsFirst: boolean
  /** False when the column is known to have no nulls. */
  readonly isNullable: boolean
  /** The schema of its operators `<`, `=` and `>`; undefined for that of the search path. */
  readonly operatorSchema: string | undefined
}

export type PagePlan = {
  /** Together, they are unique for each row. */
  readonly terms: readonly PageTerm[]
  /** Undefined for the first page. */
  readonly cursor: PageCursor | undefined
  /** Maximum number of rows; null for all remaining rows. */
  readonly size: RowNumber | null
}
