// Whether `db-max-rows` has cut rows off, in the column of the result that has the data of headers.
import { isGrouped, type ReadPlan } from '../plan/read-plan.ts'
import { limitedSum } from '../request/integer.ts'
import { countStatement } from './count.ts'
import type { Fragment } from './fragment.ts'
import { noLocation } from './location.ts'
import { readStatement } from './read.ts'

const more = "ARRAY['more=true']"

/**
 * Looks for a row beyond the limit, only if the page is full.
 *
 * @param page the number of rows of the page, in SQL
 */
export function cutSql(read: ReadPlan, cutAt: number, page: string): Fragment {
  const offset = limitedSum(read.range.offset, cutAt)
  const beyond: Fragment = isGrouped(read)
    ? readStatement({ ...read, order: [], range: { offset, limit: 1 } })
    : [countStatement(read), ' OFFSET ', { value: String(offset) }, ' LIMIT 1']
  return [`CASE WHEN ${page} >= ${cutAt} AND EXISTS (`, beyond, `) THEN ${more} ELSE ${noLocation} END`]
}

/** The CTE with the rows of a function and the one beyond the limit: a function must not be called twice. */
export const cutCte = 'pgrst_cut'

/** ` , pgrst_cut AS MATERIALIZED (…)` */
export const cutRows = (read: ReadPlan, cutAt: number): Fragment => [
  `, ${cutCte} AS MATERIALIZED (`,
  readStatement({ ...read, range: { ...read.range, limit: limitedSum(cutAt, 1) } }),
  ')',
]

export const cutRowsSql = (cutAt: number): string =>
  `CASE WHEN (SELECT pg_catalog.count(*) FROM ${cutCte}) > ${cutAt} THEN ${more} ELSE ${noLocation} END`
