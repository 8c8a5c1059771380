// INSERT, UPDATE and DELETE.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { RequiredVersions } from '../extensions/conditional-requests/version-plan.ts'
import type { MutatePlan } from '../plan/mutate-plan.ts'
import type { CrudPlan } from '../plan/plan.ts'
import type { RequestShape } from '../request/api-request.ts'
import { countInserted, countUpdated, insertedCount } from './current-setting.ts'
import { conditionsOf, whereSql } from './filter.ts'
import type { Fragment } from './fragment.ts'
import { column, identifier, qualified, unqualified } from './identifier.ts'
import { join } from './fragment.ts'
import { payloadAlias, payloadSql } from './payload.ts'

type InsertPlan = MutatePlan & { kind: 'insert' }
type UpdatePlan = MutatePlan & { kind: 'update' }

/** ` RETURNING …`; a constant if no columns are needed, so that the rows can be counted. */
const returningSql = (relation: QualifiedIdentifier, columns: readonly string[]): string =>
  ` RETURNING ${columns.length === 0 ? '1' : columns.map((name) => column(relation, name)).join(', ')}`

const payloadColumn = (name: string): string => column(unqualified(payloadAlias), name)

/** Counts only rows that satisfy conditions. AND does not determine the order of evaluation. */
const counted = (conditions: readonly Fragment[], count: string): Fragment => [
  'CASE WHEN ',
  join(conditions, ' AND '),
  ` THEN ${count} ELSE FALSE END`,
]

/** The condition that an existing row has one of the versions. */
const hasVersion = (relation: QualifiedIdentifier, versions: RequiredVersions): Fragment =>
  versions.source.sql.required(relation, versions)

const versionConditions = ({ into, versions }: Pick<MutatePlan, 'into' | 'versions'>): readonly Fragment[] =>
  versions === undefined ? [] : [hasVersion(into, versions)]

/**
 * Citus refuses conditions with functions that are not immutable. So updated rows of a distributed table count as created.
 */
function conflictSql({ onConflict, columns, into, versions, isDistributed }: InsertPlan): Fragment {
  if (onConflict === null || onConflict.columns.length === 0) return ''
  const target = ` ON CONFLICT${onConflict.target ?? `(${onConflict.columns.map(identifier).join(', ')})`}`
  if (onConflict.resolution === 'ignore-duplicates' || columns.length === 0) return `${target} DO NOTHING`
  const set = columns.map(({ name }) => `${identifier(name)} = EXCLUDED.${identifier(name)}`).join(', ')
  const action = `${target} DO UPDATE SET ${set}`
  if (isDistributed === true) return versions === undefined ? action : [`${action} WHERE `, hasVersion(into, versions)]
  const update = `${action} WHERE `
  return versions === undefined ? update + countUpdated : [update, counted([hasVersion(into, versions)], countUpdated)]
}

function insertSql(plan: InsertPlan, returning: Fragment): Fragment {
  const { into, columns, body, staged, onConflict, where, applyDefaults } = plan
  const isPut = where.length > 0
  const conditions = conditionsOf(unqualified(payloadAlias), where)
  return [
    `INSERT INTO ${qualified(into)}`,
    columns.length === 0 ? ' ' : `(${columns.map(({ name }) => identifier(name)).join(', ')}) `,
    `SELECT ${columns.map(({ name }) => payloadColumn(name)).join(', ')} `,
    staged ? staged.sql(staged, columns, applyDefaults) : payloadSql({ body, fields: columns, applyDefaults }),
    isPut && plan.isConditional === true
      ? whereSql([counted(conditions, countInserted)])
      : isPut || onConflict?.resolution === 'merge-duplicates'
        ? whereSql([countInserted, ...conditions])
        : '',
    conflictSql(plan),
    returning,
  ]
}

function updateSql(plan: UpdatePlan, returning: Fragment): Fragment {
  const { into, columns, body, where, applyDefaults, versions, isDistributed } = plan
  if (columns.length === 0) {
    // An UPDATE needs columns to set. This changes no row, and has the same result columns.
    const nothing = plan.returning.map((name) => column(unqualified(into.name), name)).join(', ') || 'NULL'
    return `SELECT ${nothing} FROM ${qualified(into)} WHERE false`
  }
  const set = columns.map(({ name }) => `${identifier(name)} = ${payloadColumn(name)}`).join(', ')
  const payload = payloadSql({ body, fields: columns, applyDefaults })
  return [
    `UPDATE ${qualified(into)} SET ${set} `,
    // Citus refuses functions in FROM of an update of several shards, unless they are in a subquery that it runs first.
    isDistributed === true ? [`FROM (SELECT ${payloadAlias}.* `, payload, ` OFFSET 0) ${payloadAlias}`] : payload,
    whereSql([...conditionsOf(into, where), ...versionConditions({ into, versions })]),
    returning,
  ]
}

/**
 * The statement that writes.
 *
 * @param list what it returns of the written rows; by default the columns that the response needs
 */
export function mutateStatement(plan: MutatePlan, list?: Fragment): Fragment {
  const returning = list === undefined ? returningSql(plan.into, plan.returning) : [' RETURNING ', list]
  switch (plan.kind) {
    case 'insert':
      return insertSql(plan, returning)
    case 'update':
      return updateSql(plan, returning)
    case 'delete':
      return [
        `DELETE FROM ${qualified(plan.into)}`,
        whereSql([...conditionsOf(plan.into, plan.where), ...versionConditions(plan)]),
        returning,
      ]
    default:
      return plan satisfies never
  }
}

/** Whether the write counts the rows that it creates, because it updates existing rows. */
export const countsInserted = (plan: MutatePlan, resolution: 'merge-duplicates' | 'ignore-duplicates' | undefined) =>
  plan.kind === 'insert' && (plan.where.length > 0 || resolution === 'merge-duplicates')

/** What the response needs of a write besides its rows. */
export type WriteCounts = {
  /** Number of rows that the filters match; empty text if that is not needed. */
  readonly total: Fragment
  /** Number of created rows; empty text if they are not counted. */
  readonly inserted: string
  /** Undefined if it is not needed. */
  readonly version: string | undefined
}

/** What is known at the end of a write, whose rows are in `pgrst_source`. */
export const writeCounts = (
  { mutate, matchedCount, version }: CrudPlan & { kind: 'mutate' },
  { preferences: { resolution } }: Pick<RequestShape, 'preferences'>,
): WriteCounts => ({
  total: matchedCount?.(mutate) ?? "''",
  inserted: countsInserted(mutate, resolution) ? insertedCount : "''",
  version: version?.sql.written(version),
})
