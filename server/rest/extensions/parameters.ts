// The parameters of the query string that PostgREST does not have.
import type { FurtherParameter } from '../request/further-parameters.ts'
import { groupingParameters } from './distinct/groupings.ts'
import { cursorParameter } from './keyset-pages/page-request.ts'

export const furtherParameters: readonly FurtherParameter[] = [groupingParameters, cursorParameter]
