// Rows that a request reads or writes, regardless of policies: their number, and some of them.
import type { MutatePlan } from '../../rest/plan/mutate-plan.ts'
import type { CrudPlan } from '../../rest/plan/plan.ts'
import { countStatement } from '../../rest/sql/count.ts'
import { conditionsOf, whereSql } from '../../rest/sql/filter.ts'
import type { Fragment } from '../../rest/sql/fragment.ts'
import { relationOf } from '../../rest/sql/from.ts'
import { column, qualified } from '../../rest/sql/identifier.ts'
import { mutateStatement } from '../../rest/sql/mutate.ts'
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { literal } from '../../text/sql-text.ts'
import type { Row, Stage } from './stage.ts'

/** Rows that are examined with the policies. */
export const maxExamined = 200

/** Selects something of each row that matches the filters of a request; undefined if there are no such rows. */
function matching(plan: CrudPlan, selected: (relation: string) => string): Fragment | undefined {
  if (plan.kind === 'read') return countStatement(plan.read, selected(column(relationOf(plan.read), '*')))
  if (plan.kind === 'call' || plan.mutate.kind === 'insert') return undefined
  const { into, where } = plan.mutate
  return [`SELECT ${selected(column(into, '*'))} FROM ${qualified(into)}`, whereSql(conditionsOf(into, where))]
}

/**
 * Whether it depends on the contents of rows how many of them a request visits, or whether it fails. Asked about hidden
 * rows, this would tell what is in these, one request after the other.
 */
export function dependsOnContents(plan: CrudPlan): boolean {
  // Triggers, and embeds of what is returned.
  if (plan.kind !== 'read') return true
  const { where, order, embeds, select, distinct, having } = plan.read
  return (
    distinct !== undefined ||
    having !== undefined ||
    where.length + order.length + embeds.length > 0 ||
    // A cast may fail, as may an aggregate.
    select.some(({ cast, aggregate }) => cast !== null || aggregate !== null)
  )
}

/** Counts the rows that match the filters of a request, for the current role; undefined if the request has no filters. */
export async function countMatching(stage: Stage, plan: CrudPlan): Promise<number | undefined> {
  const rows = matching(plan, () => '1')
  if (rows === undefined) return undefined
  const [count] = await stage.texts(['SELECT pg_catalog.count(*) FROM (', rows, ') AS matching'])
  return Number(count)
}

/** Some of the rows that match the filters, as JSON texts. */
export async function matchingRows(stage: Stage, plan: CrudPlan): Promise<string[]> {
  const rows = matching(plan, (relation) => `pg_catalog.to_json(${relation})::text`)
  return rows === undefined ? [] : stage.texts([rows, ` LIMIT ${maxExamined + 1}`])
}

/** Writes, and returns the rows as they were written, as JSON texts: with defaults, and as triggers changed them. */
export function writtenRows(stage: Stage, mutate: MutatePlan): Promise<string[]> {
  const statement = mutateStatement({ ...mutate, returning: ['*'] })
  return stage.texts([
    'WITH rowhouse_written AS (',
    statement,
    `) SELECT pg_catalog.to_json(rowhouse_written.*)::text FROM rowhouse_written LIMIT ${maxExamined}`,
  ])
}

/**
 * The rows that a write would create if nothing else rejected them, such as a foreign key: without triggers.
 *
 * @param existing the rows that an update would change, as JSON texts
 */
export async function intendedRows(stage: Stage, mutate: MutatePlan, existing: readonly string[]): Promise<string[]> {
  if (mutate.kind === 'delete' || mutate.body === null) return []
  const body = JSON.parse(mutate.body) as unknown
  const names = new Set(mutate.columns.map(({ name }) => name))
  const given = (row: unknown): Row => Object.fromEntries(Object.entries(row ?? {}).filter(([name]) => names.has(name)))
  if (mutate.kind === 'update') {
    return existing.map((row) => JSON.stringify({ ...(JSON.parse(row) as Row), ...given(body) }))
  }
  const defaults = await columnDefaults(stage, mutate.into)
  return (Array.isArray(body) ? body : [body])
    .slice(0, maxExamined)
    .map((row) => JSON.stringify({ ...defaults, ...given(row) }))
}

/** The defaults of columns, except for numbers of sequences. */
async function columnDefaults(stage: Stage, { schema, name }: QualifiedIdentifier): Promise<Row> {
  const columns = await stage.query(
    `select a.attname as name, pg_get_expr(d.adbin, d.adrelid) as expression
     from pg_attrdef d
     join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum and a.attgenerated = ''
     join pg_class c on c.oid = d.adrelid and c.relname = $2
     join pg_namespace n on n.oid = c.relnamespace and n.nspname = $1
     where pg_get_expr(d.adbin, d.adrelid) not like 'nextval(%'`,
    [schema, name],
  )
  const pairs = columns.map(({ name: column, expression }) => `${literal(String(column))}, ${String(expression)}`)
  const [row] = await stage.query(`select json_build_object(${pairs.join(', ')})::text as row`)
  return JSON.parse(row?.row as string) as Row
}
