// Determines what a request may do besides its response: effects outside its transaction, such as those of a function that
// uses dblink, and settings.
import { qualifiedKey, type QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { ActionPlan, CrudPlan } from './plan.ts'
import type { EmbedPlan, ReadPlan } from './read-plan.ts'

/**
 * Whether everything that a plan reads or calls is known to be declared stable or immutable. False when that is not
 * known.
 */
export const hasNoEffect = (plan: ActionPlan, cache: SchemaCache): boolean =>
  usesOnly(cache.stableRelations, plan, cache)

/**
 * Whether a plan has no effect, and nothing that it reads or calls can set `response.headers` or `response.status`. False
 * when that is not known. The pre-request function is not part of a plan: where there is one, it may set both.
 */
export function isQuiet(plan: ActionPlan, cache: SchemaCache): boolean {
  if (plan.kind === 'call' && !cache.quietRoutines.has(qualifiedKey(plan.routine.schema, plan.routine.name)))
    return false
  return usesOnly(cache.quietRelations, plan, cache)
}

/** Whether a plan reads only some of the relations, and calls only functions that are declared stable or immutable. */
function usesOnly(allowed: Relations, plan: ActionPlan, cache: SchemaCache): boolean {
  if (plan.kind !== 'read' && plan.kind !== 'mutate' && plan.kind !== 'call') return true
  if (plan.kind === 'mutate' || plan.explain || hasCustomHandler(plan)) return false
  if (plan.kind === 'read') return readsOnly(allowed, plan.read, plan.read.from)
  if (!cache.isSound) return false
  const { volatility, parameters, returns } = plan.routine
  // The default of a parameter is an expression, which may be volatile.
  if (volatility === 'volatile' || parameters.some(({ required, variadic }) => !required && !variadic)) return false
  // The rows may have computed columns.
  const isRecord = returns.type.schema === 'pg_catalog' && returns.type.name === 'record'
  if (returns.composite && !isRecord && !has(allowed, returns.type)) return false
  return embedsOnly(allowed, plan.read)
}

/**
 * Whether nothing that a plan executes can set anything for the session of its connection: it has no effect at all, or its
 * command runs no trigger and no function that is not declared stable or immutable.
 */
export function keepsSession(plan: ActionPlan, cache: SchemaCache): boolean {
  if (plan.kind !== 'mutate') return hasNoEffect(plan, cache)
  const { mutate } = plan
  const { into } = mutate
  const table = cache.tables.get(qualifiedKey(into.schema, into.name))
  const isInsert = mutate.kind === 'insert' && !mutate.onConflict
  const runs = isInsert ? table?.insertRunsFunctions : table?.writeRunsFunctions
  if (runs !== false || plan.explain || hasCustomHandler(plan) || !cache.isSound) return false
  return readsOnly(cache.stableRelations, plan.read, into)
}

/**
 * Whether nothing that a write executes can set `response.headers` or `response.status`, or the format of dates. The pre-request
 * function may.
 */
export const isQuietWrite = (plan: CrudPlan & { kind: 'mutate' }, cache: SchemaCache): boolean =>
  has(cache.quietlyWritten, plan.mutate.into) && keepsSession(plan, cache)

/** Whether a media type handler of the database creates the body. It may be volatile. */
const hasCustomHandler = ({ handler }: CrudPlan): boolean => handler.kind === 'custom'

/** Relations by `qualifiedKey`. */
type Relations = ReadonlySet<string>

const has = (allowed: Relations, { schema, name }: QualifiedIdentifier): boolean =>
  allowed.has(qualifiedKey(schema, name))

const readsOnly = (allowed: Relations, read: ReadPlan, relation: QualifiedIdentifier): boolean =>
  has(allowed, relation) && embedsOnly(allowed, read)

const embedsOnly = (allowed: Relations, read: ReadPlan): boolean =>
  withoutAggregates(read) && read.embeds.every((embed) => embedReadsOnly(allowed, embed))

/** Whether an embed reads only some of the relations. Functions of computed relationships are checked with the parent. */
function embedReadsOnly(allowed: Relations, embed: EmbedPlan): boolean {
  const { toParent } = embed
  if (toParent.kind === 'foreign-key') {
    const { cardinality } = toParent
    if (cardinality.kind === 'many-to-many' && !has(allowed, cardinality.junction.table)) return false
  }
  return readsOnly(allowed, embed, toParent.foreignTable)
}

const withoutAggregates = ({ select, having }: ReadPlan): boolean =>
  having === undefined && select.every(({ aggregate }) => aggregate === null)
