import type { Extension } from '../../extension.ts'
import { groupingParameters } from './groupings.ts'
import { addGroupings, checkGroupings, withGroupings, withoutArguments, withReturnedColumns } from './plan-groupings.ts'

/** The parameters `distinct` and `having`. */
export const groupings: Extension = {
  parameter: groupingParameters,
  call: withoutArguments,
  tree: addGroupings,
  node: withGroupings,
  read: checkGroupings,
  plan: withReturnedColumns,
}
