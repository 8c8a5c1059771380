// Determines whether a request may have effects outside its transaction, such as those of a function that uses dblink.
import { qualifiedKey, type QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { ActionPlan, CrudPlan } from './plan.ts'
import type { EmbedPlan, ReadPlan } from './read-plan.ts'

/**
 * Whether everything that a plan reads or calls is known to be declared stable or immutable. False when that is not
 * known.
 */
export function hasNoEffect(plan: ActionPlan, cache: SchemaCache): boolean {
  if (plan.kind !== 'read' && plan.kind !== 'mutate' && plan.kind !== 'call') return true
  if (plan.kind === 'mutate' || plan.explain || hasCustomHandler(plan)) return false
  if (plan.kind === 'read') return readsOnly(plan.read, plan.read.from, cache)
  if (!cache.isSound) return false
  const { volatility, parameters, returns } = plan.routine
  // The default of a parameter is an expression, which may be volatile.
  if (volatility === 'volatile' || parameters.some(({ required, variadic }) => !required && !variadic)) return false
  // The rows may have computed columns.
  const isRecord = returns.type.schema === 'pg_catalog' && returns.type.name === 'record'
  if (returns.composite && !isRecord && !isStable(returns.type, cache)) return false
  return withoutAggregates(plan.read) && plan.read.embeds.every((embed) => embedReadsOnly(embed, cache))
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
  return readsOnly(plan.read, into, cache)
}

/** Whether a media type handler of the database creates the body. It may be volatile. */
const hasCustomHandler = ({ handler }: CrudPlan): boolean => handler.kind === 'custom'

const isStable = ({ schema, name }: QualifiedIdentifier, cache: SchemaCache): boolean =>
  cache.stableRelations.has(qualifiedKey(schema, name))

const readsOnly = (read: ReadPlan, relation: QualifiedIdentifier, cache: SchemaCache): boolean =>
  isStable(relation, cache) && withoutAggregates(read) && read.embeds.every((embed) => embedReadsOnly(embed, cache))

/** Whether reading an embed has no effect. Functions of computed relationships are checked with the parent. */
function embedReadsOnly(embed: EmbedPlan, cache: SchemaCache): boolean {
  const { toParent } = embed
  if (toParent.kind === 'foreign-key') {
    const { cardinality } = toParent
    if (cardinality.kind === 'many-to-many' && !isStable(cardinality.junction.table, cache)) return false
  }
  return readsOnly(embed, toParent.foreignTable, cache)
}

const withoutAggregates = ({ select, having }: ReadPlan): boolean =>
  having === undefined && select.every(({ aggregate }) => aggregate === null)
