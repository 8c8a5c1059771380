// `/console/api/realtime`: channels, their members, and how far behind the log is.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { failure, success } from '../../http/service-response.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'

export const realtimeRoutes = ({ realtime }: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] => [
  defineEnvelopeRoute({
    method: 'get',
    path: '/console/api/realtime',
    id: 'consoleRealtime',
    tag: 'console',
    summary: 'Channels and members of this process, and the lag of the log',
    access,
    success: success(200, 'The channels.', { type: 'object' }),
    errors: { 404: failure('The server has no realtime service.') },
    handler: async () => {
      const details = await realtime()
      if (!details) throw new Failure(404, 'The server has no realtime service')
      return { details }
    },
  }),
]
