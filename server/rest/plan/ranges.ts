// Passes for `limit` and `offset`, and for the setting `db-max-rows`.
import type { AtPath, EmbedPath } from '../request/field.ts'
import type { RowRange } from '../request/range.ts'
import { updateAll } from './embed-path.ts'
import type { PlanContext } from './plan-context.ts'
import { mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/**
 * Ranges of a mutation were once limits of what it writes; now they are ignored.
 *
 * @throws ApiError PGRST108
 */
export function addRanges(plan: ReadPlan, { request, settings }: PlanContext): ReadPlan {
  if (request.action.kind === 'mutate' || request.ranges.size === 0) return plan
  const ranges: AtPath<RowRange>[] = []
  for (const [key, range] of request.ranges) ranges.push({ path: embedPath(key), value: range })
  return updateAll(plan, ranges, settings.urlUseLegacyTargetNames, (target, range) => ({ ...target, range }))
}

/** `clients."a.b".limit` -> `clients`, `a.b`. */
function embedPath(key: string): EmbedPath {
  if (!key.includes('.')) return []
  const names: string[] = []
  let name = ''
  let quoted = false
  for (let at = 0; at < key.length; at++) {
    const character = key.charAt(at)
    if (quoted && character === '\\') name += key.charAt(++at)
    else if (character === '"') quoted = !quoted
    else if (quoted || character !== '.') name += character
    else {
      names.push(name)
      name = ''
    }
  }
  return names
}

/** `db-max-rows` limits the rows of every relation of a read, those of embeds per row of their parent. */
export function limitRows(plan: ReadPlan, { request, settings: { dbMaxRows } }: PlanContext): ReadPlan {
  if (dbMaxRows === null || request.action.kind === 'mutate') return plan
  return mapTree(plan, (node) => {
    const { offset, limit } = node.range
    return limit !== null && limit <= dbMaxRows ? node : { ...node, range: { offset, limit: dbMaxRows } }
  })
}
