// Answers requests as the engine would, and undoes them.
import type { Answering } from '../../rest/rest-request.ts'
import type { ExplainingOptions } from '../../running/serve-tools.ts'
import { Explainer } from './explainer.ts'
import { takingTurns } from './http.ts'

/**
 * Runs requests in transactions that are rolled back, as their callers. A request that reaches something a rollback may not undo
 * is not run.
 */
export function previewing({ onRequest, ...options }: Omit<ExplainingOptions, 'roles'>): Answering {
  const explainer = new Explainer({ ...options, database: takingTurns(options.database) })
  return {
    answer: async (request) => {
      const { response, observation } = await explainer.explain(request, {
        trusted: [],
        discloses: false,
        onlyRuns: true,
      })
      if (observation) onRequest({ ...observation, request, response })
      return response
    },
  }
}
