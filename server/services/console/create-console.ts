// The console at `/console/`. Its routes are loaded at the first request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { unknownPath } from '../../http/envelope.ts'
import { envelopeDialect, type EnvelopeTools } from '../../http/envelope-dialect.ts'
import { isLocalRequest } from '../../http/local-request.ts'
import { createRouter, originalTarget, type Guard, type Router } from '../../http/router.ts'
import type { ConsoleConfig } from './console-config.ts'
import type { ConsoleSettings } from './console-settings.ts'

/** Whether the server has the console at all. */
export const isConsoleOpen = (
  { console, services }: Pick<ConsoleConfig, 'console' | 'services'>,
  isDevelopment: boolean,
): boolean => services.includes('console') && (console === 'on' || (console === 'development' && isDevelopment))

/** @param tools read bodies and answer errors as for the other services */
export function createConsole(settings: ConsoleSettings, tools: EnvelopeTools): Router {
  return createRouter({
    basePath: '/console',
    dialect: envelopeDialect,
    tools,
    guards: [...(settings.snapshot().config.console === 'on' ? [] : [onlyLocal]), neverStored],
    routes: async () => (await import('./console-table.ts')).consoleRoutes(settings),
  })
}

/** During development, the console is open for clients on the same machine only. */
const onlyLocal: Guard = (request: IncomingMessage) => {
  if (!isLocalRequest(request)) throw unknownPath(request.method, originalTarget(request))
  return false
}

const neverStored: Guard = (_request, response: ServerResponse) => {
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
  return false
}
