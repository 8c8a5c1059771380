import { lazy } from '../../../common/lazy.ts'
import { respondTo } from '../../answer.ts'
import type { Extension } from '../../extension.ts'
import { ApiError } from '../../errors.ts'
import type { RestResponse } from '../../response/result.ts'
import { run, runCrud } from '../../run-plan.ts'
import { ExportSlots } from './export-slots.ts'
import { RefusedRows } from './refused-rows.ts'
import { isStreamable, isStreamed } from './streamable.ts'

/** too_many_columns: a select list has at most 1,664, some of which precede those of the response. */
const tooManyColumns = '54011'

/** Loaded by the first export, since most servers never have one. */
const streaming = lazy(() => import('./stream-rows.ts'))

/** Responses with any number of rows, as NDJSON or CSV. */
export function exportedRows(): Extension {
  const slots = new ExportSlots()
  const refused = new RefusedRows()
  return {
    plan: (plan, { request }) => (isStreamable(plan, request.shape) ? { ...plan, isStreamed: true } : plan),
    execute: (plan, prepared, _http, identity, context) => {
      if (!isStreamed(plan)) return undefined
      const { config } = context.snapshot
      const { request } = prepared
      if (!context.mayStream || config.restExportLimit === 0 || request.input.tableShape) return undefined
      const whole = async (): Promise<RestResponse> =>
        respondTo(plan, await runCrud(plan, prepared, identity, context), prepared, context)
      const streamed = async (): Promise<RestResponse> => {
        const { streamRows } = await streaming()
        return streamRows(plan, request, {
          config,
          slots,
          refused,
          schemaCache: context.schemaCache,
          hasNoEffect: prepared.hasNoEffect,
          caller: context.caller,
          run: (statements, receiver) =>
            run(plan, prepared, identity, { ...context, caller: receiver }, statements, {
              receiver,
              main: statements[0],
            }),
          respond: (row) => respondTo(plan, row, prepared, context),
        })
      }
      return streamed().catch((error: unknown) => {
        if (prepared.hasNoEffect && error instanceof ApiError && error.code === tooManyColumns) return whole()
        throw error
      })
    },
  }
}
