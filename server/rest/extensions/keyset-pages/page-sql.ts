// Keyset pages: seeks the position of the cursor, reads one row more than the page has, and selects what links need.
import type { PagePlan, PageSql, PageTerm } from './page-plan.ts'
import type { ReadPlan } from '../../plan/read-plan.ts'
import { limitedSum } from '../../request/integer.ts'
import { columnSql, fieldSql } from '../../sql/field.ts'
import { whereSql } from '../../sql/filter.ts'
import { join, type Fragment } from '../../sql/fragment.ts'
import { relationOf } from '../../sql/from.ts'
import { unqualified } from '../../sql/identifier.ts'
import { noLocation } from '../../sql/location.ts'
import { limitSql, orderSql } from '../../sql/order.ts'
import { readParts } from '../../sql/read.ts'
import { afterSql, atSql, operatorSql, type SeekTerm } from './seek-sql.ts'

/** The CTE with the rows of the page and the row after it. */
const pageCte = 'pgrst_page'
/** A row of the response, as one value: its columns are expanded when the columns of the order are left out. */
const rowAlias = 'pgrst_row'
const numberColumn = 'pgrst_number'
const keyColumn = 'pgrst_key'
const rowsCte = (index: number): string => `pgrst_rows_${index + 1}`
const term = (index: number): string => `pgrst_term_${index + 1}`

/** A page in the direction in which it is read: one before a cursor is read backwards. */
function seekTerms(read: ReadPlan, { terms, cursor }: PagePlan, reverse: boolean): readonly SeekTerm[] {
  const relation = relationOf(read)
  return terms.map(({ term, isDescending, nullsFirst, isNullable, operatorSchema }: PageTerm, index) => ({
    sql: term.kind === 'field' ? fieldSql(relation, term.field) : columnSql(unqualified(term.relation), term.field),
    value: cursor?.values[index] ?? null,
    isDescending: isDescending !== reverse,
    nullsFirst: nullsFirst !== reverse,
    isNullable,
    operatorSchema,
  }))
}

/** The order of the terms. Without nulls, their place is left out, so that more indexes fit. */
function orderOf(read: ReadPlan, { terms }: PagePlan, reverse: boolean): Fragment {
  return orderSql(
    relationOf(read),
    terms.map(({ term, isDescending, nullsFirst, isNullable }) => ({
      ...term,
      direction: isDescending === reverse ? 'asc' : 'desc',
      nulls: isNullable ? (nullsFirst === reverse ? 'nullslast' : 'nullsfirst') : null,
    })),
  )
}

/** Whether there are rows on the other side of the cursor. Each part is evaluated only if there are none before it. */
function othersSql(read: ReadPlan, page: PagePlan, reverse: boolean): Fragment {
  const parts = readParts(read, 'text')
  const terms = seekTerms(read, page, !reverse)
  const rows = (condition: Fragment): Fragment => [
    'SELECT TRUE',
    parts.from,
    whereSql([...parts.conditions, condition]),
  ]
  // A scalar subquery keeps its order, which makes Postgres read an index; EXISTS would drop it.
  const others = afterSql(terms).map((condition): Fragment => [
    '(',
    rows(condition),
    orderOf(read, page, !reverse),
    ' LIMIT 1) IS NOT NULL',
  ])
  const at: Fragment = ['EXISTS (', rows(atSql(terms)), ')']
  const all = page.cursor?.isInclusive === true ? others : [at, ...others]
  return all.length === 0 ? 'FALSE' : ['(', join(all, ' OR '), ')']
}

/** The CTEs with the rows, one for each range of an index, each read only as far as those before it are not enough. */
function rangesSql(read: ReadPlan, page: PagePlan, reverse: boolean): readonly Fragment[] {
  const parts = readParts(read, 'text')
  const terms = seekTerms(read, page, reverse)
  const limit = page.size === null ? null : limitedSum(page.size, 1)
  const after = afterSql(terms)
  const found = page.cursor?.isInclusive === true ? [atSql(terms), ...after] : after
  const conditions = page.cursor === undefined ? [undefined] : found.length === 0 ? ['FALSE'] : found
  return conditions.map((condition, index): Fragment => {
    const rows: Fragment = [
      `SELECT ${rowAlias}`,
      terms.map(({ sql }, at) => [', ', sql, ` AS ${term(at)}`]),
      parts.from,
      ' CROSS JOIN LATERAL (SELECT ',
      parts.list,
      `) AS ${rowAlias}`,
      whereSql(condition === undefined ? parts.conditions : [...parts.conditions, condition]),
      orderOf(read, page, reverse),
      limitSql({ offset: 0, limit }, 'text'),
    ]
    if (index === 0 || limit === null) return [`${rowsCte(index)} AS (`, rows, ')']
    const before = conditions.slice(0, index).map((_, at) => ` - (SELECT pg_catalog.count(*) FROM ${rowsCte(at)})`)
    // The inner limit is constant, for the planner. With an outer limit of 0, the rows are not read.
    return [`${rowsCte(index)} AS (SELECT * FROM (`, rows, `) pgrst_range LIMIT ${limit}${before.join('')})`]
  })
}

/** Selects the page of a read. */
export function pageSql(read: ReadPlan, page: PagePlan): PageSql {
  const { cursor, size, terms } = page
  const isBackward = cursor?.isBackward ?? false
  const ranges = rangesSql(read, page, isBackward)
  const all = ranges.map((_, index) => `SELECT * FROM ${rowsCte(index)}`).join(' UNION ALL ')
  const texts = terms.map((_, index) => `${term(index)}::text`).join(', ')
  const inPage = size === null ? '' : ` WHERE ${numberColumn} <= ${size}`
  const edges = edgesSql(page, inPage, cursor ? othersSql(read, page, isBackward) : undefined)
  return {
    ctes: [
      join(ranges, ', '),
      `, ${pageCte} AS (SELECT *, pg_catalog.row_number() OVER () AS ${numberColumn}, ARRAY[${texts}] AS ${keyColumn}` +
        ` FROM (${all}) pgrst_ranges)`,
    ],
    // A column of the rows may have the name of the number, which alone would stand for that column.
    rows: `SELECT (${rowAlias}).* FROM ${pageCte}${inPage} ORDER BY ${pageCte}.${numberColumn}${isBackward ? ' DESC' : ''}`,
    edges,
    numberedRows: (total) => numberedSql(page, isBackward, edges, total),
  }
}

/** The columns of rows may have any name: outside of the row, only those of this file are referred to. */
function numberedSql({ size }: PagePlan, isBackward: boolean, edges: Fragment, total: Fragment | undefined): Fragment {
  const number = `${pageCte}.${numberColumn}`
  const head: Fragment = ['SELECT ', edges, ' AS edges', total === undefined ? '' : [', ', total, ' AS total']]
  return [
    `SELECT ${total === undefined ? '' : 'pgrst_head.total, '}`,
    `CASE WHEN ${number} > 1 THEN NULL ELSE pgrst_head.edges END AS edges, ${number}, (${pageCte}.${rowAlias}).*`,
    // Without its offset, the edges would be evaluated for each row.
    [' FROM (', head, ` OFFSET 0) pgrst_head LEFT JOIN ${pageCte} ON `],
    `${size === null ? 'TRUE' : `${number} <= ${size}`} ORDER BY ${number}${isBackward ? ' DESC' : ''}`,
  ]
}

const edge = (name: string, order: string, inPage: string): string =>
  `(SELECT '${name}=' || to_json(${keyColumn})::text FROM ${pageCte}${inPage} ORDER BY ${numberColumn}${order} LIMIT 1)`

const flag = (name: string, condition: Fragment): Fragment => ['CASE WHEN ', condition, ` THEN '${name}=true' END`]

/** Whether a term is equal in the rows `a` and `b`. */
function sameSql({ operatorSchema }: PageTerm, index: number): string {
  const [a, b] = [`a.${term(index)}`, `b.${term(index)}`]
  if (operatorSchema === undefined) return `${a} IS NOT DISTINCT FROM ${b}`
  return `coalesce(${a}${operatorSql('=', operatorSchema)}${b}, ${a} IS NULL AND ${b} IS NULL)`
}

/** Pairs `name=value`: the nearest and the farthest row from the cursor, and whether there are others beyond them. */
function edgesSql({ size, terms }: PagePlan, inPage: string, others: Fragment | undefined): Fragment {
  const found: Fragment[] = [edge('near', '', inPage), edge('far', ' DESC', inPage)]
  if (size !== null) {
    found.push(
      flag('more', `(SELECT pg_catalog.count(*) FROM ${pageCte}) > ${size}`),
      flag(
        'tied',
        `(SELECT ${terms.map(sameSql).join(' AND ')} FROM ${pageCte} a, ${pageCte} b` +
          ` WHERE a.${numberColumn} = ${size} AND b.${numberColumn} = ${limitedSum(size, 1)})`,
      ),
    )
  }
  if (others !== undefined) found.push(flag('others', others))
  return [`pg_catalog.array_cat(${noLocation}, pg_catalog.array_remove(ARRAY[`, join(found, ', '), ']::text[], NULL))']
}
