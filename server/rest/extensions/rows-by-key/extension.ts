import type { Extension } from '../../extension.ts'
import { rowAddress } from './row-by-key-request.ts'
import { respondRowByKey } from './row-by-key-response.ts'

/** Rows by their key in the path: `/classification_runs/{id}`. */
export const rowsByKey: Extension = {
  address: rowAddress,
  respond: (response, plan, row, { request: { input } }) =>
    input.tableShape ? respondRowByKey(response, plan, row, input.tableShape) : response,
}
