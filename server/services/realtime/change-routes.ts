// Row changes by HTTP.
import { dto, text } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { defineRealtimeRoute, type RealtimeRoute } from './dialect.ts'

const failure = (description: string): ServiceResponse => ({ description, schema: dto('RealtimeErrorDto') })

export const changeRoutes: readonly RealtimeRoute[] = [
  defineRealtimeRoute({
    method: 'get',
    path: '/changes',
    id: 'streamChanges',
    summary: 'Streams changes of rows as server-sent events.',
    description:
      'Each event has its position as `id`, with which a client that comes back resumes. The event `system` says that changes are missing, or why the stream ends.',
    query: {
      event: '`INSERT`, `UPDATE`, `DELETE` or `*`, the default.',
      schema: 'Schema of the table.',
      table: 'The table. Without it, all tables of the schema.',
      filter: 'Conditions for columns, such as `room_id=eq.5`.',
      select: 'Columns of the events, separated by commas.',
      types: '`text`: numbers that JavaScript rounds are strings.',
      leave: '`true`: reports updates after which a row no longer matches.',
      since: 'The last position that the client has seen, if it cannot send `Last-Event-ID`.',
      apikey: 'The token, if the client cannot send headers.',
    },
    headers: { 'Last-Event-ID': 'The last position that the client has seen.' },
    tokenParameter: 'apikey',
    responses: {
      200: { description: 'The events.', schema: text, media: 'text/event-stream' },
      400: failure('The parameters are not valid, or do not fit the table.'),
      429: failure('Too many connections.'),
      503: failure('Row changes are not available at the moment. The message says what is missing.'),
    },
    handler: async ({ caller: { credential, parts }, request, response, query }) => {
      const lastId = request.headers['last-event-id']
      const since = typeof lastId === 'string' && lastId !== '' ? lastId : (query.get('since') ?? undefined)
      await parts.streams.open({ request, response, credential, binding: bindingOf(query), since })
    },
  }),
]

/** The binding of `postgres_changes` that the query describes. */
function bindingOf(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const binding: Record<string, unknown> = {}
  for (const name of ['event', 'schema', 'table', 'filter', 'types']) {
    const value = query.get(name)
    if (value !== null) binding[name] = value
  }
  const select = query.get('select')
  if (select !== null) binding.select = select.split(',').map((name) => name.trim())
  if (query.get('leave') === 'true') binding.leave = true
  return binding
}
