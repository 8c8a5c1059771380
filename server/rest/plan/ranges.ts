// Passes for `limit` and `offset`, and for the setting `db-max-rows`.
import { parseTreePath, type AtPath } from '../request/field.ts'
import type { RowRange } from '../request/range.ts'
import { updateAll } from './embed-path.ts'
import type { EmbedTree } from './embed-tree.ts'
import type { PlanContext } from './plan-context.ts'
import { mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/**
 * Ranges of a mutation were once limits of what it writes; now they are ignored. The names of ranges are parsed here,
 * after everything else of the query string, as the faults in them come last.
 *
 * @throws ApiError PGRST100 or PGRST108
 */
export function addRanges(tree: EmbedTree, { request, settings }: PlanContext): EmbedTree {
  if (request.shape.action.kind === 'mutate' || request.ranges.size === 0) return tree
  const ranges: AtPath<RowRange>[] = []
  for (const [name, value] of request.ranges) {
    const { path } = parseTreePath(name)
    // The path ends where the name stops being one: `clients(.limit` is at the top level, where `limit` itself counts.
    if (path.length > 0 || name === 'limit' || !request.ranges.has('limit')) ranges.push({ path, value })
  }
  return updateAll(tree, ranges, settings.urlUseLegacyTargetNames, (target, range) => ({ ...target, range }))
}

/** `db-max-rows` limits the rows of every relation of a read, those of embeds per row of their parent. */
export function limitRows(plan: ReadPlan, { request, settings: { dbMaxRows } }: PlanContext): ReadPlan {
  if (dbMaxRows === null || request.shape.action.kind === 'mutate') return plan
  return mapTree(plan, (node) => {
    const { offset, limit } = node.range
    return limit !== null && limit <= dbMaxRows ? node : { ...node, range: { offset, limit: dbMaxRows } }
  })
}
