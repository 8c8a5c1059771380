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

/** ` LIMIT … OFFSET …`, or nothing when all rows are wanted. */
export function limitSql(range: RowRange): Fragment {
  if (isAllRows(range)) return ''
  const limit = range.limit === null ? 'ALL' : { value: integerText(range.limit) }
  return [' LIMIT ', limit, ' OFFSET ', { value: integerText(range.offset) }]
}
