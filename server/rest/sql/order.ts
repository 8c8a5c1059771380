// ORDER BY and LIMIT.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedOrderTerm } from '../plan/field.ts'
import type { OrderDirection, OrderNulls } from '../request/order.ts'
import type { RowRange } from '../request/range.ts'
import { columnSql, fieldSql } from './field.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { unqualified } from './identifier.ts'

const directions = { asc: ' ASC', desc: ' DESC' } satisfies Record<OrderDirection, string>
const nulls = { nullsfirst: ' NULLS FIRST', nullslast: ' NULLS LAST' } satisfies Record<OrderNulls, string>

function termSql(relation: QualifiedIdentifier, term: PlannedOrderTerm): Fragment {
  const field =
    term.kind === 'field' ? fieldSql(relation, term.field) : columnSql(unqualified(term.relation), term.field)
  return [field, waySql(term)]
}

/** The direction of a term and the place of its nulls; empty for the defaults. */
export const waySql = ({ direction, nulls: place }: Pick<PlannedOrderTerm, 'direction' | 'nulls'>): string =>
  (direction === null ? '' : directions[direction]) + (place === null ? '' : nulls[place])

/** ` ORDER BY …`; empty without terms. */
export function orderSql(relation: QualifiedIdentifier, terms: readonly PlannedOrderTerm[]): Fragment {
  if (terms.length === 0) return ''
  return [
    ' ORDER BY ',
    join(
      terms.map((term) => termSql(relation, term)),
      ', ',
    ),
  ]
}

export const isAllRows = ({ offset, limit }: RowRange): boolean => offset === 0 && limit === null

/**
 * How a limit is written: in the text, or as a parameter with an offset. Execution plans have the latter form like
 * PostgREST's, because tools recognize PostgREST's statements by their query identifiers.
 */
export type LimitForm = 'text' | 'parameter'

/**
 * ` LIMIT … OFFSET …`; empty for all rows. The limit is part of the text: for a parameter, Postgres estimates a tenth
 * of all rows, rejects the generic plan as too expensive, and plans the statement for every request.
 */
export function limitSql(range: RowRange, form: LimitForm): Fragment {
  if (isAllRows(range)) return ''
  const { offset, limit } = range
  const isPlain = form === 'text'
  const count =
    limit === null
      ? 'ALL'
      : isPlain && typeof limit === 'number' && limit >= 0
        ? String(limit)
        : { value: String(limit) }
  return [
    isPlain && limit === null ? '' : [' LIMIT ', count],
    isPlain && offset === 0 ? '' : [' OFFSET ', { value: String(offset) }],
  ]
}
