// `/admin/audit`: the audit log.
import { originalTarget } from '../../../http/router.ts'
import { dto } from '../../../http/service-response.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { adminStatements } from './admin-statements.ts'
import { pageHeaders, pageOf, skippedBy } from './page.ts'

/** Members of the payload by the scope of a query. */
const scopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['author', ['actor_username', 'actor_name']],
  ['action', ['action']],
  ['type', ['log_type']],
])

export const auditRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/admin/audit',
    id: 'authAdminListAuditEntries',
    summary: 'The audit log, newest first',
    caller: 'admin',
    query: {
      query: 'Scope and part of a text: `author:ann`, `action:login`, `type:factor`.',
      page: 'Number of the page, from 1.',
      per_page: 'Entries per page; by default 50.',
    },
    success: [
      200,
      'A page of entries. `X-Total-Count` is the number of all, `Link` leads to the next and the last page.',
    ],
    schema: { type: 'array', items: dto('AuthAuditEntryDto') },
    errors: { 400: 'The query is not valid.' },
    handler: async ({ query, context, request }) => {
      const page = pageOf(query)
      const { members, part } = searchOf(query.get('query') ?? '')
      const [[entries, total] = []] = await context.database.askRows(adminStatements.listAuditEntries, [
        `{${members.join()}}`,
        part,
        page.size,
        skippedBy(page),
      ])
      return {
        text: entries ?? '[]',
        headers: pageHeaders(originalTarget(request), page, Number(total)),
      }
    },
  }),
]

/** @throws AuthError 400 */
function searchOf(text: string): { readonly members: readonly string[]; readonly part: string } {
  if (text === '') return { members: [], part: '' }
  const colon = text.indexOf(':')
  const members = colon < 0 ? undefined : scopes.get(text.slice(0, colon))
  if (!members) throw authErrors.invalid(`Invalid query scope: ${text}`)
  return { members, part: text.slice(colon + 1) }
}
