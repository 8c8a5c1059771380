// The service at `/functions/v1`. All but this is loaded with the first request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { lazy } from '../../common/lazy.ts'
import type { FunctionsService } from './functions-service.ts'
import type { FunctionsOptions } from './start-functions.ts'
import { FunctionStatistics } from './statistics.ts'

export type { FunctionsOptions } from './start-functions.ts'

export function createFunctions(options: FunctionsOptions): FunctionsService {
  const { onError, settings } = options
  const statistics = new FunctionStatistics()
  let isEnding = false
  const start = lazy(async () => {
    const { startFunctions } = await import('./start-functions.ts')
    return startFunctions(options, { statistics, isEnding: () => isEnding })
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { parts } = await start()
    const { answerCall } = await import('./answer-call.ts')
    await answerCall(request, response, parts)
  }
  return {
    handler: (request, response) =>
      void answer(request, response).catch((error: unknown) => {
        onError(error)
        response.destroy()
      }),
    reload: () => start.value()?.reader.reload(),
    figures: () => ({
      functions: statistics.functions,
      running: statistics.running,
      refusals: statistics.refusals,
      workers: start.value()?.runtime.statistics(),
    }),
    view: async () => {
      const { reader } = await start()
      const project = await reader.project()
      return {
        folder: project?.folder ?? null,
        url: settings().functionsUrl,
        functions: [...(project?.functions.values() ?? [])].map(({ name, entrypoint, verifyJwt }) => ({
          name,
          entrypoint,
          verifyJwt,
        })),
        notes: project?.notes ?? [],
      }
    },
    check: async (name) => (await start()).check(name),
    logs: (name) => start.value()?.runtime.logs(name) ?? [],
    stop: async () => {
      isEnding = true
      await (await start.settled())?.stop()
    },
  }
}
