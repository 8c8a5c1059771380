import { respondTo } from '../../answer.ts'
import type { Extension } from '../../extension.ts'
import { run } from '../../run-plan.ts'
import { ExportSlots } from './export-slots.ts'
import { RefusedRows } from './refused-rows.ts'
import { isStreamable, isStreamed } from './streamable.ts'
import { streamRows } from './stream-rows.ts'

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
    },
  }
}
