// Passes that add filters and logic trees to the relations that they apply to.
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { Table } from '../../catalogue/table.ts'
import { withHint, type Hints } from '../request/hint.ts'
import type { AtPath } from '../request/field.ts'
import type { FieldLogicTree } from './field.ts'
import { resolveFilter, resolveLogic } from './field-resolution.ts'
import { updateAll } from './embed-path.ts'
import type { PlanContext } from './plan-context.ts'
import type { EmbedTree } from './embed-tree.ts'

/** The filters of the result: all in reads and calls. In mutations, root filters choose the rows to write instead. */
const applying = <T>({ request }: PlanContext, parameters: readonly AtPath<T>[]): readonly AtPath<T>[] =>
  request.shape.action.kind === 'read' || request.shape.action.kind === 'call'
    ? parameters
    : parameters.filter(({ path }) => path.length > 0)

/** The table of the name in the request. */
const tableOf = ({ cache, relation }: PlanContext, { relationName }: EmbedTree): Table | undefined =>
  cache.tables.get(qualifiedKey(relation.schema, relationName))

/** @throws ApiError PGRST108 */
export function addFilters(tree: EmbedTree, context: PlanContext, hints: Hints): EmbedTree {
  const { request, cache, settings } = context
  const filters = applying(context, request.queryParams.filters)
  return withHint(request.queryParams.filterKeys, hints, () =>
    updateAll(tree, filters, settings.urlUseLegacyTargetNames, (target, added) => {
      const table = tableOf(context, target)
      const planned = added.map((filter): FieldLogicTree => ({
        kind: 'filter',
        filter: resolveFilter(table, cache.representations, filter),
      }))
      return { ...target, where: planned.concat(target.where) }
    }),
  )
}

/** @throws ApiError PGRST108 */
export function addLogic(tree: EmbedTree, context: PlanContext): EmbedTree {
  const { request, cache, settings } = context
  const trees = applying(context, request.queryParams.logic)
  return updateAll(tree, trees, settings.urlUseLegacyTargetNames, (target, added) => {
    const table = tableOf(context, target)
    const planned = added.map((condition) => resolveLogic(table, cache.representations, condition))
    return { ...target, where: planned.concat(target.where) }
  })
}
