// Requests to the REST API that accept `application/vnd.rowhouse.explain+json` are explained instead of answered.
import { lazy } from '../common/lazy.ts'
import { explanationType } from '../rest/media-type.ts'
import type { Answering } from '../rest/rest-request.ts'

/**
 * The engine, with explanations. All other requests are the engine's.
 *
 * @param load creates what explains requests, at the first of them
 */
export function withExplanations(engine: Answering, load: () => Promise<Answering>): Answering {
  const explaining = lazy(load)
  return {
    answer: (request) =>
      request.header('accept')?.includes(explanationType) === true && request.method !== 'OPTIONS'
        ? explaining().then((it) => it.answer(request))
        : engine.answer(request),
  }
}
