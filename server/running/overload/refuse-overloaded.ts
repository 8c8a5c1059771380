// Refuses requests while the server is overloaded.
import { basePathOf } from '../../adapters/base-path.ts'
import type { AppOptions } from '../app.ts'
import type { Parts } from '../composition-parts.ts'
import { observeRefusals, RefusalBatch } from './refusals.ts'
import { exemptFromShedding } from './load-shedding.ts'
import { overloadResponder } from './refusal-response.ts'

/** What `createApp` asks before it serves a request. Operations and preflight requests are never refused. */
export function refuseWhenOverloaded(parts: Parts): AppOptions['refuse'] {
  const { shedding, config, current, allowedOrigins, has } = parts
  const analysisPath = has('analysis') ? basePathOf(config.imageBasePath) : undefined
  const respond = overloadResponder({ analysisPath, allowedOrigins, verbosity: () => current().clientErrorVerbosity })
  const observe = observeRefusals(parts.log, parts.metrics, shedding.refusalLines)
  const isExempt = exemptFromShedding(analysisPath)
  const batch = new RefusalBatch<{ readonly answer: Parameters<typeof respond>; readonly since: number }>(
    ({ answer, since }) => {
      respond(...answer)
      const [request, response, target] = answer
      observe(request, response, target, performance.now() - since)
    },
  )
  return (request, response, target, isRest) => {
    const { method } = request
    const reason = shedding.reasonFor(method, isRest)
    if (reason === undefined || method === 'OPTIONS' || (!isRest && isExempt(target))) return false
    shedding.refused(reason)
    batch.add({ answer: [request, response, target, isRest], since: performance.now() })
    return true
  }
}
