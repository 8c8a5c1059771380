// Pass that adds the items of embeds to the select lists of their parents.
import { isToOne } from '../../schema-cache/relationship.ts'
import { embedName } from './embed-path.ts'
import { mapShared } from './plan-tree.ts'
import type { EmbedPlan, ReadPlan, RelationSelectField, SpreadSelectField } from './read-plan.ts'

/** Proceeds from the innermost embeds outwards, because a spread passes on the fields of nested spreads. */
export function addRelationSelects<P extends ReadPlan>(plan: P): P {
  if (plan.embeds.length === 0) return plan
  const embeds = mapShared<EmbedPlan>(plan.embeds, addRelationSelects)
  const relationSelect = embeds.map(selectFromParent)
  return { ...plan, embeds, relationSelect }
}

function selectFromParent(embed: EmbedPlan): RelationSelectField {
  const { aggregateAlias, spread, toParent } = embed
  if (spread !== null) return { kind: 'spread', fields: spreadFields(embed), aggregateAlias }
  const mode = isToOne(toParent) ? 'object' : 'array'
  return { kind: 'json', name: embedName(embed), aggregateAlias, mode, empty: isEmpty(embed) }
}

/** Whether neither a relation nor any of its embeds selects anything. */
const isEmpty = ({ select, embeds }: ReadPlan): boolean => select.length === 0 && embeds.every(isEmpty)

function spreadFields({ select, relationSelect }: ReadPlan): SpreadSelectField[] {
  const own = select.map(({ alias, field }) => spreadField(alias ?? field.name))
  const related = relationSelect.flatMap((item) => (item.kind === 'spread' ? item.fields : [spreadField(item.name)]))
  return [...own, ...related]
}

const spreadField = (name: string): SpreadSelectField => ({ name, aggregate: null, aggregateCast: null, alias: null })
