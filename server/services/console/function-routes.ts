// `/console/api/functions`: functions, and what they have logged.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { PathParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { success } from '../../http/service-response.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import { listFunctions, logsOf } from './function-list.ts'
import type { FunctionsSource } from './functions-source.ts'
import { missingService, requireService } from './required-service.ts'

export function functionRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const shared = { tag: 'console', access, errors: { 404: missingService } } as const
  return [
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/functions',
      id: 'consoleFunctions',
      summary: 'Functions, whether they compile, and their calls',
      success: success(200, 'The functions.', { type: 'object' }),
      handler: async () => ({ details: await listFunctions(sourceOf(parts)) }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/functions/{name}/logs',
      id: 'consoleFunctionLogs',
      summary: 'What a function has logged',
      pathParameters: { name: nameParameter },
      success: success(200, 'The latest lines, the newest last.', { type: 'object' }),
      handler: async ({ path: { name } }) => ({ details: await logsOf(sourceOf(parts), name) }),
    }),
  ]
}

/** @throws Failure 404 without the service */
function sourceOf(parts: ConsoleParts): FunctionsSource {
  requireService(parts, 'functions')
  const source = parts.functions()
  if (!source) throw new Failure(404, 'The server does not have the service functions')
  return source
}

const nameParameter: PathParameter<string> = {
  description: 'Name of the function.',
  schema: { type: 'string' },
  read: (given) => {
    if (!/^[A-Za-z][A-Za-z0-9_-]{0,199}$/.test(given)) throw new Failure(404, 'There is no such function')
    return given
  },
}
