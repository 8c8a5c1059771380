// The dialect of `/auth/v1`: its router, its routes and their part of the OpenAPI document follow from it. Errors, unknown
// paths and methods have GoTrue's format.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tokenRules, type CrossOriginRules } from '../../http/cross-origin.ts'
import { bodyReceiver, jsonBodyReader, type JsonBodyReader } from '../../http/json-body.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
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
import { dto } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { jsonMembers } from '../../text/json-members.ts'
import { notStorable } from '../../text/storable-text.ts'
import type { Fault } from '../../validation/fault.ts'
import { secretFields, type SecretField, type SecretName } from '../secrets.ts'
import type { AuthAdmin, AuthUser } from './auth-caller.ts'
import type { AuthContext } from './auth-context.ts'
import { AuthError, authErrors } from './auth-error.ts'
import type { RequestLimit } from './auth-limits.ts'
import { queryOf } from './auth-query.ts'
import { sendAuthError, sendAuthJson } from './auth-response.ts'
import { authErrorOf, loggedError } from './database-auth-error.ts'

/** What the routes need to be made. */
export type AuthTools = RouteTools & {
  readonly context: AuthContext
  /** Receives errors that are not the client's. */
  readonly onError: (error: unknown) => void
}

export type AuthRoute = Route<AuthTools> & {
  /** The secrets that the route takes. */
  readonly secrets: readonly SecretName[]
  /** Undefined: none; null: the handler counts. */
  readonly limit: RequestLimit | null | undefined
}

/** `anyone`: no token is read. `user`: a user's token. `admin`: a token or secret API key with an admin role. */
export type CallerKind = 'anyone' | 'user' | 'admin'

type CallerOf<Kind extends CallerKind> = { anyone: undefined; user: AuthUser; admin: AuthAdmin }[Kind]

/** The parts of a request. The response is for headers and cookies only. */
export type AuthCall<Kind extends CallerKind, Body, Path = unknown> = RouteCall<
  CallerOf<Kind>,
  URLSearchParams,
  Path,
  Body
> & {
  readonly context: AuthContext
  /** The raw values of the members of the body, which keep all digits of numbers. Empty without a body. */
  readonly bodyMembers: ReadonlyMap<string, string>
  /** Path of the route as the definition has it, for limits of the handler's. */
  readonly route: string
}

/** A response: JSON, as a value or as text; a redirect; or another body. */
export type AuthReply =
  | { readonly status?: number; readonly headers?: Headers; readonly json: unknown }
  | { readonly status?: number; readonly headers?: Headers; readonly text: string }
  | { readonly status?: number; readonly headers?: Headers; readonly html: string }
  | { readonly status?: number; readonly headers?: Headers; readonly redirect: string }
  | { readonly status: 204; readonly headers?: Headers; readonly empty: true }

type Headers = Readonly<Record<string, string>>

type Description = RouteDefinition & {
  readonly caller: CallerKind
  /** Whether the token of a user may be one of a client of the OAuth server. */
  readonly allowsClients?: boolean
  /** Counted before the body is read. Null where the handler counts. */
  readonly limit?: RequestLimit | null
  /** The secrets of the table in `services/secrets.ts` that the route takes. Its doors must name the route. */
  readonly secrets?: readonly SecretName[]
  /** Names of parameters that are those of secrets, but that the route only stores for the client. */
  readonly kept?: readonly string[]
  /** Descriptions by name. */
  readonly query?: Readonly<Record<string, string>>
  /** Status and description of the response. */
  readonly success: readonly [status: number, description: string]
  /** Schema of the response. */
  readonly schema?: JsonSchema
  /** Descriptions of errors by status. Those of the caller, the body and the limit are added. */
  readonly errors?: Readonly<Record<number, string>>
}

export type AuthRouteDefinition<Kind extends CallerKind, Body, Path> = TypedDefinition<
  Description,
  Path,
  Body,
  AuthCall<Kind, Body, Path>,
  AuthReply
> & { readonly caller: Kind }

type Described = Description & { readonly handler: (call: never) => AuthReply | Promise<AuthReply> }

/** What a route must have whose body has a member with the name of a secret: it cannot be written without a limit. */
type Guarded<Body> = [Extract<keyof Body, SecretField>] extends [never]
  ? unknown
  : { readonly secrets: readonly [SecretName, ...SecretName[]]; readonly limit: RequestLimit | null }

/** Where all routes are. */
export const authPath = '/auth/v1'

/**
 * A route of `/auth/v1`: notes the role of the credentials, identifies the caller, counts the limit, reads the body, and sends the
 * reply.
 *
 * @throws Error when a parameter has the name of a secret, and the definition has no secrets or no limit
 */
export function defineAuthRoute<Kind extends CallerKind, Body = undefined, Path = unknown>(
  definition: AuthRouteDefinition<Kind, Body, Path> & Guarded<Body>,
): AuthRoute {
  const described: Described = definition
  requireLimit(described)
  return { ...defineRoute(authDialect, described), secrets: definition.secrets ?? [], limit: definition.limit }
}

const isSecret = (name: string): boolean => secretFields.some((field) => field === name)

function requireLimit({ id, query = {}, kept = [], secrets = [], limit }: Description): void {
  const names = Object.keys(query).filter((name) => isSecret(name) && !kept.includes(name))
  if ((names.length > 0 || secrets.length > 0) && (secrets.length === 0 || limit === undefined)) {
    throw new Error(`route ${id} takes ${names.join()}: it needs the names of its secrets and a limit`)
  }
}

export const authDialect: RouterDialect<AuthTools> & RouteDialect<Described, AuthTools, unknown, URLSearchParams> = {
  ignoresLastSlash: () => true,
  methodNotAllowed: (_method, allowed) =>
    new AuthError(405, null, 'Method Not Allowed', { headers: { Allow: allowed } }),
  unknownPath: () => {
    throw new AuthError(404, null, 'Not Found')
  },
  failed: (error, { onError }) => {
    const known = authErrorOf(error)
    // The owner of the database reads about errors of triggers in the log, whatever their status.
    if (known.status >= 500 || 'database' in known.body) onError(loggedError(known.cause ?? error))
    return (response) => sendAuthError(response, known)
  },
  basePath: authPath,
  describe: (definition) => ({
    tag: 'sign-in',
    security: security[definition.caller],
    parameters: textParameters('query', definition.query),
    responses: responsesOf(definition),
  }),
  prepare: ({ path: route, caller, allowsClients, limit, success, handler }, { context }) => {
    const identify = identifyBy[caller]
    return {
      identify: (request, response) => {
        context.credentialRole(request, (role) => noteRole(response, role))
        return identify(context, request, allowsClients)
      },
      readQuery: async (request) => {
        const query = queryOf(request)
        const counted = typeof limit === 'function' ? limit(query) : limit
        if (counted) await context.limits.countRequest(counted, route, request)
        return query
      },
      respond: async ({ bodyText, ...parts }) => {
        const bodyMembers = bodyText === '' ? new Map<string, string>() : jsonMembers(bodyText)
        send(parts.response, await handler({ ...parts, context, route, bodyMembers } as never), success[0])
      },
    }
  },
}

const security = { anyone: [], user: ['bearer'], admin: ['bearer', 'apiKey'] } as const

type Identify = (context: AuthContext, request: IncomingMessage, allowsClients?: boolean) => unknown

const identifyBy: Readonly<Record<CallerKind, Identify>> = {
  anyone: () => undefined,
  user: ({ callers }, request, allowsClients) => callers.user(request, allowsClients),
  admin: ({ callers }, request) => callers.admin(request),
}

const errorSchema = dto('AuthErrorDto')
const failure = (description: string): ServiceResponse => ({ description, schema: errorSchema })

function responsesOf({ caller, limit, body, success, schema, errors = {} }: Description): Responses {
  const [status, description] = success
  const described: Readonly<Record<number, string | undefined>> = {
    500: 'Internal server error, or an error of a trigger or hook.',
    503: 'The database is not available at the moment.',
    ...(caller === 'anyone' ? {} : { 401: 'There is no token.', 403: 'The token is not accepted.' }),
    ...(limit === undefined || limit === null ? {} : { 429: 'Too many requests.' }),
    ...(body === undefined ? {} : { 400: 'The body is not valid.', 413: 'The body is too large.' }),
    ...errors,
  }
  return {
    ...Object.fromEntries(Object.entries(described).map(([code, words]) => [code, failure(words ?? '')])),
    [status]: { description, ...(schema === undefined ? {} : { schema }) },
  }
}

const allowedHeaders = [
  'Accept',
  'Authorization',
  'Content-Type',
  'apikey',
  'MCP-Protocol-Version',
  'X-Client-IP',
  'X-Client-Info',
  'X-JWT-AUD',
  'X-Supabase-Api-Version',
  'X-Request-Id',
]

/** @param moreHeaders further request headers that are allowed, read at each preflight request */
export const authCrossOrigin = (moreHeaders: () => readonly string[]): CrossOriginRules => ({
  ...tokenRules,
  methods: 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  headers: () => [...allowedHeaders, ...moreHeaders()].join(', '),
  exposed: 'X-Total-Count, Link, X-Supabase-Api-Version, x-sb-error-code, Retry-After, Location',
})

/** Bytes of a body. */
const bodyLimit = 1024 * 1024

const badJson = (why: string): AuthError =>
  new AuthError(400, 'bad_json', `Could not parse request body as JSON: ${why}`)

/** JSON of the wrong shape is as JSON that cannot be parsed, as in GoTrue. */
function invalidBody({ pointer, message }: Fault): AuthError {
  const words = `${pointer === '' ? 'the body' : pointer.slice(1)} ${message}`
  return message === notStorable ? authErrors.invalid(words) : badJson(words)
}

/**
 * Reads JSON bodies as GoTrue does: of any content type; names that are not known are ignored.
 *
 * @returns throws AuthError 400 `bad_json`, `validation_failed`; 413 `request_entity_too_large`
 */
export const readAuthBody: JsonBodyReader = jsonBodyReader({
  receive: bodyReceiver(bodyLimit, (fault, cause) =>
    fault === 'too large'
      ? new AuthError(413, 'request_entity_too_large', `Request body too large (max ${bodyLimit} bytes)`)
      : new AuthError(400, 'bad_json', 'Could not read the request body', { cause }),
  ),
  // A null in the place of an object has no members, as in GoTrue.
  nullIsEmpty: true,
  notJson: badJson,
  invalid: invalidBody,
})

function send(response: ServerResponse, reply: AuthReply, defaultStatus: number): void {
  const { status = defaultStatus, headers = {} } = reply
  if ('json' in reply) sendAuthJson(response, status, JSON.stringify(reply.json), headers)
  else if ('text' in reply) sendAuthJson(response, status, reply.text, headers)
  else if ('html' in reply)
    sendAuthJson(response, status, reply.html, { 'Content-Type': 'text/html; charset=utf-8', ...headers })
  else if ('redirect' in reply) {
    response.writeHead(status, {
      Location: reply.redirect,
      'Content-Length': 0,
      'Cache-Control': 'no-store',
      ...headers,
    })
    response.end()
  } else {
    response.writeHead(status, headers)
    response.end()
  }
}
