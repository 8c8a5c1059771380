// ORDER BY and LIMIT.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { PlannedOrderTerm } from '../plan/field.ts'
import type { OrderDirection, OrderNulls } from '../request/order.ts'
import type { RowRange } from '../request/range.ts'
import { columnSql, fieldSql } from './field.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { unqualified } from './identifier.ts'
import { integerText } from './parameter.ts'

const directions = { asc: ' ASC', desc: ' DESC' } satisfies Record<OrderDirection, string>
const nulls = { nullsfirst: ' NULLS FIRST', nullslast: ' NULLS LAST' } satisfies Record<OrderNulls, string>

function termSql(relation: QualifiedIdentifier, term: PlannedOrderTerm): Fragment {
  const field =
    term.kind === 'field' ? fieldSql(relation, term.field) : columnSql(unqualified(term.relation), term.field)
  return [
    field,
    term.direction === null ? '' : directions[term.direction],
    term.nulls === null ? '' : nulls[term.nulls],
  ]
}

/** ` ORDER BY …`, or nothing. */
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
 * ` LIMIT … OFFSET …`, or nothing when all rows are wanted. An ordinary limit stands in the text: of a parameter Postgres
 * expects a tenth of all rows, finds that too dear for a plan to keep, and plans anew for every request.
 */
export function limitSql({ offset, limit }: RowRange): Fragment {
  const skipped: Fragment = offset === 0 ? '' : [' OFFSET ', { value: integerText(offset) }]
  if (limit === null) return skipped
  const isOrdinary = Number.isSafeInteger(limit) && limit >= 0
  return [' LIMIT ', isOrdinary ? String(limit) : { value: integerText(limit) }, skipped]
}
