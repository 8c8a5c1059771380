// Route definitions of `/auth/v1`, from which both the router and the OpenAPI document are derived.
import type { Request, Response } from 'express'
import { noteRole } from '../../http/request-log.ts'
import type { Route, Responses } from '../../http/route.ts'
import type { PathParameter } from '../../http/path-id.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import { dto, type SchemaOf } from '../../http/service-response.ts'
import type { ServiceParameter, ServiceResponse } from '../../http/service-route.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { secretFields, type SecretField, type SecretName } from '../secrets.ts'
import type { AuthBodyReader } from './auth-body.ts'
import type { AuthAdmin, AuthUser } from './auth-caller.ts'
import type { AuthContext } from './auth-context.ts'
import type { RequestLimit } from './auth-limits.ts'
import { sendAuthJson } from './auth-response.ts'
import { queryOf } from './auth-query.ts'

/** What the routes need to be made. */
export type AuthTools = {
  readonly context: AuthContext
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  readonly readBody: AuthBodyReader
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

/** The parts of a request. */
export type AuthCall<Kind extends CallerKind, Body, Path = unknown> = {
  readonly context: AuthContext
  readonly caller: CallerOf<Kind>
  readonly body: Body
  /** The raw values of the members of the body, which keep all digits of numbers. Empty without a body. */
  readonly bodyMembers: ReadonlyMap<string, string>
  readonly query: URLSearchParams
  /** Path parameters by name. */
  readonly path: Path
  readonly request: Request
  /** Path of the route as the definition has it, for limits of the handler's. */
  readonly route: string
  /** For headers and cookies only. */
  readonly response: Response
}

/** A response: JSON, as a value or as text; a redirect; or another body. */
export type AuthReply =
  | { readonly status?: number; readonly headers?: Headers; readonly json: unknown }
  | { readonly status?: number; readonly headers?: Headers; readonly text: string }
  | { readonly status?: number; readonly headers?: Headers; readonly html: string }
  | { readonly status?: number; readonly headers?: Headers; readonly redirect: string }
  | { readonly status: 204; readonly headers?: Headers; readonly empty: true }

type Headers = Readonly<Record<string, string>>

export type AuthRouteDefinition<Kind extends CallerKind, Body, Path> = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/auth/v1`: `/token`. Parameters are written `{name}`. */
  readonly path: string
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly caller: Kind
  /** Counted before the body is read. Null where the handler counts. */
  readonly limit?: RequestLimit | null
  /** The secrets of the table in `services/secrets.ts` that the route takes. Its doors must name the route. */
  readonly secrets?: readonly SecretName[]
  /** Schema of the JSON body. A body of another type is 400 `bad_json`. */
  readonly body?: SchemaOf<Body>
  /** Whether a missing body is `{}`, as some clients send it. */
  readonly bodyOptional?: boolean
  readonly pathParameters?: { readonly [Name in keyof Path]: PathParameter<Path[Name]> }
  /** Descriptions by name. */
  readonly query?: Readonly<Record<string, string>>
  /** Status and description of the response. */
  readonly success: readonly [status: number, description: string]
  /** Schema of the response. */
  readonly schema?: JsonSchema
  /** Descriptions of errors by status. Those of the caller, the body and the limit are added. */
  readonly errors?: Readonly<Record<number, string>>
  /** Leaves the route out of the OpenAPI document. */
  readonly hidden?: boolean
  readonly handler: (call: AuthCall<Kind, Body, Path>) => AuthReply | Promise<AuthReply>
}

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
  requireLimit(definition)
  const { method, path, id, summary, description, caller, body, hidden } = definition
  const parameters = parametersOf(definition)
  return {
    method,
    path: authPath + path,
    id,
    tag: 'sign-in',
    summary,
    ...(description === undefined ? {} : { description }),
    security: caller === 'anyone' ? [] : caller === 'user' ? ['bearer'] : ['bearer', 'apiKey'],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { body }),
    responses: responsesOf(definition),
    secrets: definition.secrets ?? [],
    limit: definition.limit,
    ...(hidden === true ? { hidden } : {}),
    prepare: (tools) => handlerOf(definition, tools),
  }
}

const isSecret = (name: string): boolean => secretFields.some((field) => field === name)

function requireLimit<Kind extends CallerKind, Body, Path>({
  id,
  query = {},
  secrets = [],
  limit,
}: AuthRouteDefinition<Kind, Body, Path>): void {
  const names = Object.keys(query).filter(isSecret)
  if ((names.length > 0 || secrets.length > 0) && (secrets.length === 0 || limit === undefined)) {
    throw new Error(`route ${id} takes ${names.join()}: it needs the names of its secrets and a limit`)
  }
}

const text: JsonSchema = { type: 'string' }

const parametersOf = <Kind extends CallerKind, Body, Path>({
  pathParameters,
  query = {},
}: AuthRouteDefinition<Kind, Body, Path>): ServiceParameter[] => [
  ...Object.entries<PathParameter<unknown>>(pathParameters ?? {}).map(([name, { description, schema }]) => ({
    name,
    in: 'path' as const,
    description,
    schema,
  })),
  ...Object.entries(query).map(([name, description]) => ({ name, in: 'query' as const, description, schema: text })),
]

const errorSchema = dto('AuthErrorDto')
const failure = (description: string): ServiceResponse => ({ description, schema: errorSchema })

function responsesOf<Kind extends CallerKind, Body, Path>(
  definition: AuthRouteDefinition<Kind, Body, Path>,
): Responses {
  const { caller, limit, body, success, schema, errors = {} } = definition
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

const identifyBy = {
  anyone: () => undefined,
  user: ({ callers }: AuthContext, request: Request) => callers.user(request),
  admin: ({ callers }: AuthContext, request: Request) => callers.admin(request),
} as const satisfies Readonly<Record<CallerKind, unknown>>

function handlerOf<Kind extends CallerKind, Body, Path>(
  definition: AuthRouteDefinition<Kind, Body, Path>,
  { context, validator, readBody }: AuthTools,
): (request: Request, response: Response) => Promise<void> {
  const { path: route, caller: kind, limit, body: schema, bodyOptional = false, success, handler } = definition
  const readers = Object.entries<PathParameter<unknown>>(definition.pathParameters ?? {})
  const validate = schema && validator.forDto(schema.$ref)
  return async (request, response) => {
    context.credentialRole(request, (role) => noteRole(response, role))
    const identify = identifyBy[kind]
    const caller = (await identify(context, request)) as CallerOf<Kind>
    const query = queryOf(request)
    const counted = typeof limit === 'function' ? limit(query) : limit
    if (counted) await context.limits.countRequest(counted, route, request)
    const path = Object.fromEntries(readers.map(([name, { read }]) => [name, read(String(request.params[name]))]))
    const read = validate && (await readBody(request, response, validate, bodyOptional))
    const reply = await handler({
      context,
      caller,
      // The validator has checked the type.
      body: read?.value as Body,
      bodyMembers: read?.members ?? new Map<string, string>(),
      query,
      // The readers are those of the parameters.
      path: path as Path,
      request,
      route,
      response,
    })
    send(response, reply, success[0])
  }
}

function send(response: Response, reply: AuthReply, defaultStatus: number): void {
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
