// Passes for `limit` and `offset`, and for the setting `db-max-rows`.
import { parseTreePath, type AtPath } from '../request/field.ts'
import { trailingText } from '../request/parser.ts'
import type { RowRange } from '../request/range.ts'
import { updateAll } from './embed-path.ts'
import type { EmbedTree } from './embed-tree.ts'
import type { PlanContext } from './plan-context.ts'
import { mapTree } from './plan-tree.ts'
import type { ReadPlan } from './read-plan.ts'

/**
 * Adds ranges to their relations. Ranges of mutations are ignored. The names are parsed here, because their errors come
 * after all other errors in the query string.
 *
 * @throws ApiError PGRST100 or PGRST108
 */
export function addRanges(tree: EmbedTree, { request, settings }: PlanContext): EmbedTree {
  if (request.shape.action.kind === 'mutate' || request.ranges.size === 0) return tree
  const ranges: AtPath<RowRange>[] = []
  const trailing = trailingText(settings)
  for (const [name, value] of request.ranges) {
    const { path } = parseTreePath(name, trailing)
    // An invalid name such as `clients(.limit` has an empty path. It counts for the root unless there is a `limit`.
    if (path.length > 0 || name === 'limit' || !request.ranges.has('limit')) ranges.push({ path, value })
  }
  return updateAll(tree, ranges, settings.urlUseLegacyTargetNames, (target, [range = target.range]) => ({
    ...target,
    range,
  }))
}

/** Applies `db-max-rows` to every relation of a read; to embeds per row of their parent. */
export function limitRows(plan: ReadPlan, { request, settings: { dbMaxRows } }: PlanContext): ReadPlan {
  if (dbMaxRows === null || request.shape.action.kind === 'mutate') return plan
  return mapTree(plan, (node) => {
    const { offset, limit } = node.range
    return limit !== null && limit <= dbMaxRows ? node : { ...node, range: { offset, limit: dbMaxRows } }
  })
}
