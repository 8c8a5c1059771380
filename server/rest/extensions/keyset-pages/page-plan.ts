// The plan of a keyset page: the total order of the rows, and where the page begins.
import type { PageCursor } from './page-cursor.ts'
import type { RowNumber } from '../../request/integer.ts'
import type { PlannedOrderTerm } from '../../plan/field.ts'
import type { ReadPlan } from '../../plan/read-plan.ts'
import type { Fragment } from '../../sql/fragment.ts'

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

export type PageSql = {
  /** The CTEs of the page, without WITH. */
  readonly ctes: Fragment
  /** Selects the rows of the page in the order of the request. */
  readonly rows: Fragment
  /** What links need; see `PageEdges` of the response. */
  readonly edges: Fragment
  /**
   * The same rows and edges without anything around them, as the server encodes them: the edges, the number of the row and its
   * columns. Only the first row has the edges. Without rows, there is one whose number is null.
   *
   * @param total the number of all rows, which then is the first column
   */
  readonly numberedRows: (total?: Fragment) => Fragment
}

export type PagePlan = {
  /** Together, they are unique for each row. */
  readonly terms: readonly PageTerm[]
  /** Undefined for the first page. */
  readonly cursor: PageCursor | undefined
  /** Maximum number of rows; null for all remaining rows. */
  readonly size: RowNumber | null
  readonly sql: (read: ReadPlan, page: PagePlan) => PageSql
}
