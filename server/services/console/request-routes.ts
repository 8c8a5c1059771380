// `/console/api/requests` and `/statements`: what the server does, while one looks.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { PathParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { failure, success, text } from '../../http/service-response.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import type { SlowStatements } from './request-protocol.ts'
import { streamRequests } from './request-stream.ts'

export function requestRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { requests } = parts
  return [
    {
      method: 'get',
      path: '/console/api/requests',
      id: 'consoleRequests',
      tag: 'console',
      summary: 'The requests that this process answers, as they end',
      security: access.security,
      responses: {
        ...access.errors,
        200: { description: 'Events `start` and `requests`.', schema: text, media: 'text/event-stream' },
      },
      prepare: () => async (request, response) => {
        await access.identify(request, response)
        streamRequests(requests, response, async () => access.identify(request, response))
      },
    },
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/requests/{number}',
      id: 'consoleRequest',
      tag: 'console',
      summary: 'The steps, statements and plan of a request',
      access,
      pathParameters: { number: numberParameter },
      success: success(200, 'The request.', { type: 'object' }),
      errors: { 404: failure('The request is not recorded, or no more.') },
      handler: async ({ path: { number } }) => {
        const details = await requests.details(number)
        if (!details) throw new Failure(404, 'The request is not recorded any more')
        return { details }
      },
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/statements',
      id: 'consoleStatements',
      tag: 'console',
      summary: 'The statements that have taken the most time',
      access,
      success: success(200, 'The statements.', { type: 'object' }),
      handler: async () => ({ details: await statementsOf(parts) }),
    }),
  ]
}

const numberParameter: PathParameter<number> = {
  description: 'Number of the request.',
  schema: { type: 'integer' },
  read: (given) => {
    if (!/^\d{1,15}$/.test(given)) throw new Failure(404, 'The request is not recorded any more')
    return Number(given)
  },
}

async function statementsOf({ requests, tools }: ConsoleParts): Promise<SlowStatements> {
  const found = await (await tools()).operations.slowStatements()
  return found
    ? { source: 'pg_stat_statements', statements: found }
    : { source: 'seen', statements: requests.statements() }
}
