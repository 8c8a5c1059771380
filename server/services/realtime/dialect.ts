// The dialect of `/realtime/v1`: its router, its routes and their part of the OpenAPI document follow from it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { tokenRules, type CrossOriginRules } from '../../http/cross-origin.ts'
import { jsonBodyReader, requireLength, type JsonBodyReader } from '../../http/json-body.ts'
import { searchOf } from '../../http/query-string.ts'
import { noteRole } from '../../http/request-log.ts'
import {
  defineRoute,
  textParameters,
  type Responses,
  type Route,
  type RouteCall,
  type RouteDefinition,
  type RouteDialect,
  type RouteTools,
  type TypedDefinition,
} from '../../http/route.ts'
import type { RouterDialect } from '../../http/router.ts'
import { dto, text } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { bearerToken } from '../../identity/bearer.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import { mostSigns } from '../../text/json-text.ts'
import type { Fault } from '../../validation/fault.ts'
import { limitedBody } from '../limited-bytes.ts'
import { RealtimeError, realtimeErrors } from './realtime-error.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { TokenRefused, type Credential } from './tokens.ts'

/** Where all routes are. */
export const realtimePath = '/realtime/v1'

export type RealtimeContext = {
  /** Loads what sockets and routes share, at the first request. */
  readonly parts: () => Promise<RealtimeParts>
  readonly onError: (error: unknown) => void
}

/** What the routes need to be made. */
export type RealtimeTools = RouteTools & { readonly context: RealtimeContext }

export type RealtimeRoute = Route<RealtimeTools>

export type RealtimeCaller = { readonly credential: Credential; readonly parts: RealtimeParts }

/** The parts of a request. Of query parameters that are given twice, the first value counts. */
export type RealtimeCall<Body> = RouteCall<RealtimeCaller, URLSearchParams, Readonly<Record<string, string>>, Body>

type Description = RouteDefinition & {
  /** Descriptions of query parameters by name. */
  readonly query?: Readonly<Record<string, string>>
  /** Descriptions of request headers by name. */
  readonly headers?: Readonly<Record<string, string>>
  readonly responses: Responses
  /** Parameter of the query string that may have the token, for clients that cannot send headers. */
  readonly tokenParameter?: string
}

export type RealtimeRouteDefinition<Body> = TypedDefinition<Description, unknown, Body, RealtimeCall<Body>, void>

type Described = Description & { readonly handler: (call: never) => void | Promise<void> }

/** A route of `/realtime/v1`: identifies the caller and reads the body. The handler responds. */
export const defineRealtimeRoute = <Body = undefined>(definition: RealtimeRouteDefinition<Body>): RealtimeRoute =>
  defineRoute(realtimeDialect, definition)

const error = (description: string): ServiceResponse => ({ description, schema: dto('RealtimeErrorDto') })

export const realtimeDialect: RouterDialect<RealtimeTools> &
  RouteDialect<Described, RealtimeTools, RealtimeCaller, URLSearchParams> = {
  ignoresLastSlash: () => false,
  undecodable: () => realtimeErrors.notFound(),
  unknownPath: () => {
    throw realtimeErrors.notFound()
  },
  failed: (failure, { context }) => {
    const known = realtimeErrorOf(failure)
    // That the log cannot be read now, or that the server restarts, is an answer and no fault.
    const isAnswer = known === failure && known.cause === undefined
    if (known.status >= 500 && !isAnswer) context.onError(known.cause ?? failure)
    return (response) => sendRealtimeJson(response, known.status, known.body)
  },
  basePath: realtimePath,
  pathParameters: {
    topic: { description: 'Name of the topic, without `realtime:`.', schema: text },
    event: { description: 'Name of the event.', schema: text },
  },
  describe: ({ query, headers, responses }) => ({
    tag: 'realtime',
    security: ['bearer', 'apiKey'],
    parameters: [...textParameters('query', query), ...textParameters('header', headers)],
    responses: {
      401: error('No valid token or API key.'),
      500: error('Internal server error.'),
      503: error('The database is not available at the moment.'),
      ...responses,
    },
  }),
  prepare: ({ handler, tokenParameter }, { context }) => ({
    identify: async (request, response) => {
      const parts = await context.parts()
      const credential = await identified(request, parts, tokenParameter)
      noteRole(response, credential.identity.role)
      return { credential, parts }
    },
    readQuery: (_request, target) => searchOf(target),
    respond: async (call) => handler(call as never),
  }),
}

/** The token of the header, or the API key. */
async function identified(
  request: IncomingMessage,
  { tokens }: RealtimeParts,
  tokenParameter: string | undefined,
): Promise<Credential> {
  const { authorization, apikey } = request.headers
  const bearer = bearerToken(authorization)
  const key = Array.isArray(apikey) ? apikey[0] : apikey
  const parameter = tokenParameter === undefined ? undefined : searchOf(request.url ?? '').get(tokenParameter)
  return tokens.verify(bearer !== undefined && bearer !== '' ? bearer : (key ?? parameter ?? undefined))
}

function realtimeErrorOf(failure: unknown): RealtimeError {
  if (failure instanceof RealtimeError) return failure
  if (failure instanceof TokenRefused && failure.problem !== 'unavailable') return realtimeErrors.unauthorized()
  if (failure instanceof TokenRefused) return realtimeErrors.unavailable(failure.cause)
  if (isUnreachable(failure)) return realtimeErrors.unavailable(failure)
  return realtimeErrors.internal(failure)
}

function sendRealtimeJson(response: ServerResponse, status: number, body: unknown): void {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' }
  sendWhole(response, status, Buffer.from(JSON.stringify(body)), headers)
}

export const realtimeCrossOrigin: CrossOriginRules = tokenRules

/** Bytes of a body: some messages of the largest size. */
export const bodyLimit = 10_000_000

const tooLarge = (): RealtimeError => realtimeErrors.invalid({ payload: ['Payload size exceeds tenant limit'] })

/** Receives a body as it was sent, without decompressing it. */
export async function receiveBody(request: IncomingMessage): Promise<Buffer> {
  requireLength(request, bodyLimit, tooLarge)
  return limitedBody(request, bodyLimit, tooLarge)
}

export const readRealtimeBody: JsonBodyReader = jsonBodyReader({
  receive: receiveBody,
  mostSigns,
  notJson: (fault) => realtimeErrors.invalid({ body: [fault] }),
  invalid: (_first, all) => realtimeErrors.invalid(errorsOf(all)),
})

/** The errors of a field, or of the items of a list. */
type ItemErrors = Record<string, readonly string[]>
type Errors = Record<string, (string | ItemErrors)[]>

/** Faults as the original writes them: `{"messages":[{"topic":["can't be blank"]}]}`. */
function errorsOf(faults: readonly Fault[]): Errors {
  const errors: Errors = {}
  for (const { pointer, message } of faults) {
    const [, list = '', index, field] = pointer.split('/')
    const text = message === 'is required' || message.includes('fewer than') ? "can't be blank" : 'is invalid'
    const items = (errors[list] ??= [])
    if (index === undefined || field === undefined) items.push(text)
    else {
      while (items.length <= Number(index)) items.push({})
      const item = items[Number(index)]
      if (typeof item === 'object') item[field] = [text]
    }
  }
  return errors
}
