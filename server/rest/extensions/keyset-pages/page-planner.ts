// Plans keyset pages: makes the order of a read total.
import { returnsSetOfScalar, returnsSingle, type Routine } from '../../../catalogue/routine.ts'
import { qualifiedKey } from '../../../catalogue/identifier.ts'
import type { Table, Tables } from '../../../catalogue/table.ts'
import type { PageInput } from './page-cursor.ts'
import { pageErrors } from './page-errors.ts'
import type { PlannedOrderTerm, PlannedSelectField } from '../../plan/field.ts'
import { resolveField } from '../../plan/field-resolution.ts'
import type { PagePlan, PageTerm } from './page-plan.ts'
import type { PlannedContext } from '../../extension.ts'
import type { CrudPlan } from '../../plan/plan.ts'
import { embedsByAlias, isGrouped, type ReadPlan } from '../../plan/read-plan.ts'
import { pageSql } from './page-sql.ts'

/** Whether a term is a column of the relation itself. */
const columnOf = (term: PlannedOrderTerm): string | undefined =>
  term.kind === 'field' && term.field.jsonPath.length === 0 ? term.field.name : undefined

/** The columns of a view may be null where those of its tables are not: in outer joins. */
function isNullable(table: Table | undefined, name: string | undefined): boolean {
  if (table === undefined || table.isView || name === undefined) return true
  const column = table.columns.get(name)
  return column?.nullable !== false || column.hasUncheckedNulls === true
}

/** The schemas of the operators of the terms of a read. */
class OperatorSchemas {
  /** Embeds of the read, by the alias of their join. */
  readonly #embeds: ReadonlyMap<string, ReadPlan>
  readonly #selected = new Map<ReadPlan, ReadonlyMap<string, PlannedSelectField>>()
  readonly #table: Table | undefined
  readonly #tables: Tables

  constructor(read: ReadPlan, table: Table | undefined, tables: Tables) {
    this.#embeds = embedsByAlias(read.embeds)
    this.#table = table
    this.#tables = tables
  }

  /** Undefined if the operators are in pg_catalog, or the type is not known. */
  of(term: PlannedOrderTerm): string | undefined {
    if (term.field.jsonPath.length > 0) return undefined
    const { name } = term.field
    return term.kind === 'field' ? this.#table?.columns.get(name)?.operatorSchema : this.#ofEmbed(term.relation, name)
  }

  /** A term of an embed is a column of its result, which may have an alias or a cast. */
  #ofEmbed(aggregateAlias: string, name: string): string | undefined {
    const embed = this.#embeds.get(aggregateAlias)
    if (!embed) return undefined
    const selected = this.#selectedBy(embed).get(name)
    if (selected && (selected.cast !== null || selected.field.jsonPath.length > 0)) return undefined
    const table = this.#tables.get(qualifiedKey(embed.from.schema, embed.from.name))
    return table?.columns.get(selected?.field.name ?? name)?.operatorSchema
  }

  /** The select list of an embed by the names of its items; of equal ones the first. */
  #selectedBy(embed: ReadPlan): ReadonlyMap<string, PlannedSelectField> {
    let selected = this.#selected.get(embed)
    if (!selected) {
      selected = new Map(embed.select.toReversed().map((item) => [item.alias ?? item.field.name, item]))
      this.#selected.set(embed, selected)
    }
    return selected
  }
}

function pageTerm(term: PlannedOrderTerm, table: Table | undefined, operatorSchemas: OperatorSchemas): PageTerm {
  const isDescending = term.direction === 'desc'
  return {
    term,
    isDescending,
    nullsFirst: term.nulls === null ? isDescending : term.nulls === 'nullsfirst',
    isNullable: isNullable(table, columnOf(term)),
    operatorSchema: operatorSchemas.of(term),
  }
}

/** The keys that identify a row, the primary key first. A unique constraint allows several rows with nulls. */
function keysOf(table: Table | undefined): readonly (readonly string[])[] {
  if (!table) return []
  const keys = table.keys ?? [table.primaryKey]
  return keys.filter(
    (key) =>
      key.length > 0 &&
      (key.every((name) => table.primaryKey.includes(name)) || key.every((name) => !isNullable(table, name))),
  )
}

/**
 * Adds the columns of a key in the direction of the last term, so that an index on all columns fits, and a comparison of
 * rows continues the page.
 *
 * @throws ApiError PGRSTX40 when there is neither a key nor an order. Any other order may be unique, which is checked at
 *   the end of each page
 */
function totalOrder(
  order: readonly PlannedOrderTerm[],
  table: Table | undefined,
  relation: string,
): readonly PlannedOrderTerm[] {
  const ordered = new Set(order.map(columnOf))
  const keys = keysOf(table)
  if (keys.some((key) => key.every((name) => ordered.has(name)))) return order
  const [key] = keys
  if (!key && order.length === 0) throw pageErrors.noKey(relation)
  const direction = order.at(-1)?.direction ?? null
  const added = (key ?? []).filter((name) => !ordered.has(name))
  return [
    ...order,
    ...added.map((name): PlannedOrderTerm => ({
      kind: 'field',
      field: resolveField(table, { name, jsonPath: [] }),
      direction,
      nulls: null,
    })),
  ]
}

/**
 * Plans the page of a read.
 *
 * @param table undefined if the columns of its rows are not known
 * @param relation its name in error messages
 * @param tables all tables, for the embeds
 * @throws ApiError PGRSTX40, PGRSTX41, PGRSTX43, PGRSTX44
 */
function planPage(
  read: ReadPlan,
  page: PageInput,
  table: Table | undefined,
  relation: string,
  tables: Tables,
): PagePlan {
  if (read.having) throw pageErrors.unpageable('groups', 'Leave out the parameter having.')
  if (isGrouped(read)) throw pageErrors.unpageable('groups', 'Leave out the aggregates.')
  if (read.distinct) throw pageErrors.unpageable('distinct rows', 'Leave out the parameter distinct.')
  if (read.range.limit === 0) throw pageErrors.range('limit=0')
  const operatorSchemas = new OperatorSchemas(read, table, tables)
  const terms = totalOrder(read.order, table, relation).map((term) => pageTerm(term, table, operatorSchemas))
  const { cursor } = page
  if (cursor && cursor.values.length !== terms.length) {
    throw pageErrors.invalidCursor(`The key of '${relation}' has changed since the cursor was created.`)
  }
  return { terms, cursor, size: read.range.limit, sql: pageSql }
}

/** @throws ApiError PGRSTX44 for a function that does not return a set of rows, or whose rows may differ between calls */
function checkPageable(routine: Routine): void {
  const { name, volatility } = routine
  if (returnsSingle(routine) || returnsSetOfScalar(routine)) {
    throw pageErrors.unpageable(`'${name}'`, 'The function must return a set of rows: returns setof, returns table.')
  }
  if (volatility === 'volatile') {
    throw pageErrors.unpageable(`the volatile function '${name}'`, 'Declare the function stable or immutable.')
  }
}

/** The columns that a function has to return for the order of its pages. */
const orderColumns = ({ terms }: PagePlan): readonly string[] =>
  terms.flatMap(({ term }) => (term.kind === 'field' ? [term.field.name] : []))

/**
 * Adds the page that a read or a call asks for.
 *
 * @throws ApiError see `planPage` and `checkPageable`
 */
export function withPlannedPage(plan: CrudPlan, { request, cache, relation }: PlannedContext): CrudPlan {
  const { page: asked } = request.input
  if (!asked || plan.kind === 'mutate') return plan
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  if (plan.kind === 'read') return { ...plan, page: planPage(plan.read, asked, table, relation.name, cache.tables) }
  const { routine, call } = plan
  checkPageable(routine)
  // Like a view, a function may return rows with nulls where the table has none.
  const rows = table && { ...table, columns: table.columns, isView: true }
  const page = planPage(plan.read, asked, rows, routine.name, cache.tables)
  return { ...plan, page, call: { ...call, filterFields: [...call.filterFields, ...orderColumns(page)] } }
}
