// `/console/api/webhooks`: webhooks, and the calls that they and others cause.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import { uuidParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { findCall, listCalls, resendCalls } from './call-list.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import { missingService, requireService } from './required-service.ts'
import type { CallFigures, CallsQuery, NewWebhook, ResendRequest, WebhookReport } from './webhook-protocol.ts'
import { webhookEntries } from './webhook-list.ts'

export function webhookRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { database, record } = parts
  const shared = { tag: 'console', access, errors: { 404: missingService } } as const
  const id = uuidParameter('Id of the call.')
  return [
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/webhooks',
      id: 'consoleWebhooks',
      summary: 'Webhooks of the database, and how many calls wait',
      success: success(200, 'The webhooks.', { type: 'object' }),
      handler: async () => {
        requireService(parts, 'webhooks')
        const [figures, webhooks] = await Promise.all([callFigures(parts), webhookEntries(database.query)])
        return { details: { figures, webhooks } satisfies WebhookReport }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/webhooks/sql',
      id: 'consoleWebhookSql',
      summary: 'The migration of a new webhook',
      body: dto<NewWebhook>('ConsoleWebhookDto'),
      success: success(200, 'The migration, and a name for it.', { type: 'object' }),
      errors: { ...shared.errors, 422: failure('The webhook is not possible. The message says why.') },
      handler: async ({ body }) => {
        requireService(parts, 'webhooks')
        return { details: await (await parts.tools()).operations.webhookMigration(body) }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/webhooks/calls',
      id: 'consoleCalls',
      summary: 'Outgoing calls, the newest first',
      query: {
        schema: dto<CallsQuery>('ConsoleCallsQuery'),
        parameters: {
          state: '`waiting`, which includes those that are being sent; `delivered` or `dead`.',
          webhook: 'Name of the webhook, or its end.',
          text: 'What the URL before its query string contains.',
          before: 'Id of a call: older ones are returned.',
        },
        required: false,
        numeric: [],
      },
      success: success(200, 'A page of calls.', { type: 'object' }),
      handler: async ({ query: { state, ...selection } }) => {
        requireService(parts, 'webhooks')
        const states = state === undefined ? undefined : statesOf[state]
        return { details: await listCalls(database.query, { ...selection, states }) }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/webhooks/calls/{id}',
      id: 'consoleCall',
      summary: 'An outgoing call with its response, without secrets',
      pathParameters: { id },
      success: success(200, 'The call.', { type: 'object' }),
      handler: async ({ path }) => {
        requireService(parts, 'webhooks')
        const details = await findCall(database.query, path.id)
        if (!details) throw new Failure(404, `There is no call ${path.id}`)
        return { details }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/webhooks/calls/{id}/send',
      id: 'consoleSendCall',
      summary: 'Send a call again that was put aside',
      pathParameters: { id },
      success: done('It is sent again.'),
      errors: { ...shared.errors, 409: failure('The call was not put aside.') },
      handler: async ({ caller, path }) => {
        requireService(parts, 'webhooks')
        const [row] = await database.query('select rowhouse.resend_call($1) as is_sent', [path.id])
        if (row?.is_sent !== true) await refuseToSend(parts, path.id)
        await record(caller, 'send call again', { id: path.id })
        return { message: 'The call is sent again' }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/webhooks/resend',
      id: 'consoleSendCalls',
      summary: 'Send calls again that were put aside, at most so many at once',
      body: dto<ResendRequest>('ConsoleResendDto'),
      success: success(200, 'How many are sent again, and where the next request goes on.', { type: 'object' }),
      handler: async ({ caller, body }) => {
        requireService(parts, 'webhooks')
        const details = await resendCalls(database.query, body)
        if (details.sent > 0) await record(caller, 'send calls again', { ...body, sent: details.sent })
        return { details }
      },
    }),
  ]
}

const statesOf = { waiting: ['waiting', 'sending'], delivered: ['delivered'], dead: ['dead'] } as const

async function callFigures({ database }: ConsoleParts): Promise<CallFigures> {
  const [row] = await database.query('select to_json(figures) as figures from rowhouse.call_figures() as figures', [])
  const figures = row?.figures as Omit<CallFigures, 'oldestWaiting'> & { readonly oldest_waiting_ms: number | null }
  const { waiting, sending, dead, oldest_waiting_ms: oldestWaiting } = figures
  return { waiting, sending, dead, oldestWaiting }
}

/** @throws Failure 404, 409 */
async function refuseToSend({ database }: ConsoleParts, id: string): Promise<never> {
  const call = await findCall(database.query, id)
  if (!call) throw new Failure(404, `There is no call ${id}`)
  throw new Failure(409, `The call was not put aside: its state is ${call.state}`)
}
