import type { Extension } from '../../extension.ts'
import { PageCursors } from './page-cursor.ts'
import { withPageHeaders } from './page-links.ts'
import { withPlannedPage } from './page-planner.ts'
import { cursorOf, cursorParameter, pageInput, readPage, withPage } from './page-request.ts'

/** Pages that begin at a row instead of an offset. */
export const keysetPages: Extension = {
  parts: (_config, secrets) => ({ cursors: new PageCursors(secrets) }),
  parameter: cursorParameter,
  paging: { cursorOf, pageInput, withPage },
  request: (request, http, { snapshot: { cursors }, schemaCache }) =>
    cursors ? readPage(request, http, cursors, schemaCache) : request,
  plan: withPlannedPage,
  respond: (response, plan, row, { request }, { snapshot: { cursors } }) =>
    cursors && row.location.length > 0 && plan.kind !== 'mutate'
      ? withPageHeaders(response, plan, row, request.input.page, cursors)
      : response,
}
