// Explanations over HTTP.
import { errors } from '../../rest/errors.ts'
import type { Identify, RestObservation } from '../../rest/handler.ts'
import { explanationType } from '../../rest/media-type.ts'
import type { Answering, RestRequest } from '../../rest/rest-request.ts'
import type { RestResponse } from '../../rest/response/result.ts'
import type { ExplainingOptions, ScratchDatabase } from '../../running/serve-tools.ts'
import { Explainer } from './explainer.ts'
import { Turns } from './turns.ts'

/** An explanation runs a request several times, each within the time limits of the caller, on one connection. */
const maxAtOnce = 2

/** Explains requests, for the callers who may have them explained. */
export function explaining({ roles, onRequest, ...options }: ExplainingOptions): Answering {
  const database = takingTurns(options.database)
  const explainer = new Explainer({ ...options, database, identify: permitted(options.identify, roles) })
  return { answer: (request) => explain(explainer, request, onRequest) }
}

/** A database on which a few requests run at once, so that they leave connections for others. */
export function takingTurns(database: ScratchDatabase): ScratchDatabase {
  const turns = new Turns(maxAtOnce)
  return { scratch: (transaction, use) => turns.take(() => database.scratch(transaction, use)) }
}

const permitted =
  (identify: Identify, roles: () => readonly string[]): Identify =>
  async (request) => {
    if (roles().length === 0) throw errors.explainOff(explanationType)
    const identity = await identify(request)
    if (!roles().includes(identity.role)) throw errors.explainForbidden(identity.role)
    return identity
  }

/** Headers of the engine's response that do not describe its body. */
const keptHeaders = /^(?:access-control-|vary$|connection$|www-authenticate$|x-request-id$)/i

async function explain(
  explainer: Explainer,
  request: RestRequest,
  onRequest: (observation: RestObservation) => void,
): Promise<RestResponse> {
  const explained = await explainer.explain(request, { trusted: [], discloses: false })
  const { explanation, observation } = explained
  const response = explanation ? withBody(explained.response, JSON.stringify(explanation)) : explained.response
  if (observation) onRequest({ ...observation, request, response })
  return response
}

function withBody({ headers }: RestResponse, body: string): RestResponse {
  const length = String(Buffer.byteLength(body))
  return {
    status: 200,
    headers: [
      ...headers.filter(([name]) => keptHeaders.test(name)),
      ['Content-Type', `${explanationType}; charset=utf-8`],
      ['Content-Length', length],
      // It depends on the caller, and on when it was made.
      ['Cache-Control', 'no-store'],
    ],
    body: Buffer.from(body),
  }
}
