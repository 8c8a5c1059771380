// Pass that adds the items of embeds to the select lists of their parents.
import { errors } from '../errors.ts'
import { isToOne } from '../../catalogue/relationship.ts'
import { embedName } from './embed-path.ts'
import { mapShared } from './plan-tree.ts'
import type { EmbedPlan, ReadPlan, RelationSelectField, SpreadSelectField } from './read-plan.ts'

/**
 * Maximum number of columns that the spreads of a request pass on: ten times as many as a select list of PostgreSQL has
 * at most. Without a limit, a long select list in many spreads inside each other would occupy the process for seconds.
 */
const maxSpreadColumns = 16_640

/**
 * Proceeds from the innermost embeds outwards, because a spread passes on the fields of nested spreads.
 *
 * @throws ApiError PGRSTX83
 */
export function addRelationSelects<P extends ReadPlan>(plan: P): P {
  let passedOn = 0
  const add = <Q extends ReadPlan>(to: Q): Q => {
    if (to.embeds.length === 0) return to
    const embeds = mapShared<EmbedPlan>(to.embeds, add)
    const relationSelect = embeds.map((embed): RelationSelectField => {
      const selected = selectFromParent(embed)
      if (selected.kind === 'spread') passedOn += selected.fields.length
      if (passedOn > maxSpreadColumns) throw errors.tooManySpreadColumns(passedOn, maxSpreadColumns)
      return selected
    })
    return { ...to, embeds, relationSelect }
  }
  return add(plan)
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
