// Pass that adds aliases to selected fields that Postgres would name differently or not at all.
import { functionName } from '../request/select.ts'
import type { PlannedField, PlannedSelectField } from './field.ts'
import { mapShared, mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/** Adds aliases. Keeps those that the client chose. */
export function addAliases(plan: ReadPlan): ReadPlan {
  return mapTree(plan, (node) => {
    const select = mapShared(node.select, (item) => {
      const alias = item.alias === null ? defaultAlias(item, node.spread !== null) : null
      return alias === null ? item : { ...item, alias }
    })
    return select === node.select ? node : { ...node, select }
  })
}

function defaultAlias({ field, aggregate }: PlannedSelectField, inSpread: boolean): string | null {
  // The parent of a spread refers to the aggregate by name.
  if (aggregate !== null) return inSpread ? functionName(aggregate) : null
  if (field.jsonPath.length > 0) return lastKey(field)
  return field.transform === null ? null : field.name
}

/** The last name on a JSON path: `key` in `data->key->2`, `data` in `data->3`. */
function lastKey({ name, jsonPath }: PlannedField): string {
  for (let at = jsonPath.length - 1; at >= 0; at--) {
    const operand = jsonPath[at]?.operand
    if (operand?.kind === 'key') return operand.text
  }
  return name
}
