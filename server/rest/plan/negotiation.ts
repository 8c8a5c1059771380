// Content negotiation: chooses the media type of the response and its handler.
// RFC 9110, section 12; https://docs.postgrest.org/en/stable/references/api/media_type_handlers.html
import type { MediaHandler, ResolvedHandler } from '../../catalogue/media-handler.ts'
import { mediaHandlerKey } from '../../catalogue/media-handler.ts'
import { errors } from '../errors.ts'
import type { MediaType } from '../media-type.ts'
import { decodeMediaType, encodeMediaType } from '../media-type.ts'
import type { PlannedRequest } from '../request/api-request.ts'
import type { PlanContext } from './plan-context.ts'

export type Negotiated = {
  readonly handler: MediaHandler
  /** The handler of a GET request in place of HEAD. */
  readonly bodyHandler: MediaHandler
  readonly mediaType: MediaType
  readonly explain: boolean
}

const noHandler: MediaHandler = { kind: 'none' }
const ndjson: MediaHandler = { kind: 'ndjson' }
const ndjsonType: MediaType = { kind: 'other', text: 'application/x-ndjson' }

/** Whether a media type is `application/x-ndjson`, with any parameters. */
const isNdjson = (mediaType: MediaType): boolean =>
  mediaType.kind === 'other' && /^application\/x-ndjson(?:;|$)/i.test(mediaType.text)

/**
 * Chooses the first acceptable media type that has a handler.
 *
 * @param wholeRows whether handlers for the relation's own row type apply
 * @throws ApiError PGRST107 when there is none
 */
export function negotiate(context: PlanContext, wholeRows: boolean): Negotiated {
  const { request } = context
  for (const accepted of request.accept) {
    const found = produce(context, accepted, wholeRows)
    if (!found) continue
    const { mediaType } = found
    return {
      handler: hasBody(request) ? found.handler : noHandler,
      bodyHandler: found.handler,
      mediaType,
      explain: mediaType.kind === 'plan',
    }
  }
  // PostgREST refuses such a request, so this is the last choice, not one in the order of the header.
  if (request.accept.some(isNdjson)) {
    const handler = hasBody(request) ? ndjson : noHandler
    return { handler, bodyHandler: ndjson, mediaType: ndjsonType, explain: false }
  }
  throw errors.mediaType(request.accept.map(encodeMediaType))
}

function hasBody({ shape: { action, preferences }, input }: PlannedRequest): boolean {
  if (action.kind === 'mutate') return preferences.representation === 'representation'
  // HEAD with a condition compares the entity tag of the body.
  if (input.conditions?.ifNoneMatch !== undefined) return true
  if (action.kind === 'read') return !action.headersOnly
  return action.kind !== 'call' || action.method !== 'head'
}

type Produced = { readonly handler: MediaHandler; readonly mediaType: MediaType }

function produce(context: PlanContext, mediaType: MediaType, wholeRows: boolean): Produced | undefined {
  if (mediaType.kind === 'plan') {
    if (!context.settings.dbPlanEnabled) return undefined
    const handler = vendored(mediaType.for) ?? lookUp(context, mediaType.for, wholeRows)?.handler
    return handler && { handler, mediaType }
  }
  const handler = vendored(mediaType)
  if (handler) return { handler, mediaType }
  const resolved = lookUp(context, mediaType, wholeRows)
  return resolved && { handler: resolved.handler, mediaType: decodeMediaType(resolved.mime) }
}

/** PostgREST's own media types for JSON. Handlers of the database do not replace them. */
function vendored(mediaType: MediaType): MediaHandler | undefined {
  if (mediaType.kind === 'single-json' || mediaType.kind === 'array-json-strip') return mediaType
  return undefined
}

const anyMime = '*/*'

function lookUp(
  { cache: { mediaHandlers }, relation }: PlanContext,
  mediaType: MediaType,
  wholeRows: boolean,
): ResolvedHandler | undefined {
  const mime = encodeMediaType(mediaType)
  const ofRelation = wholeRows
    ? (mediaHandlers.get(mediaHandlerKey(relation, anyMime)) ?? mediaHandlers.get(mediaHandlerKey(relation, mime)))
    : undefined
  return ofRelation ?? mediaHandlers.get(mediaHandlerKey(null, mime))
}
