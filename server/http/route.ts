// A route of the service, written once: the router and the OpenAPI document are both derived from it.
import type { Request, RequestHandler, Response } from 'express'
import type { Validator } from '../validation/validator.ts'
import { sendSuccess, type Success } from './envelope.ts'
import type { BodyReader } from './json-body.ts'
import type { JsonSchema } from './json-schema.ts'
import type { PathParameter } from './path-id.ts'
import { readQuery } from './query-string.ts'
import { bodyFailures, invalid, notAnId, otherSite, serverErrors, type SchemaOf } from './service-answer.ts'
import type { SecurityName, ServiceParameter, ServiceResponse, ServiceRoute } from './service-route.ts'

/** What the handlers of all routes need. */
export type RouteTools = {
  readonly validator: Pick<Validator, 'forDto'>
  readonly readBody: BodyReader
}

/** A route as the router and the document use it. `Tools` is what its handler needs. */
export type Route<Tools = RouteTools> = ServiceRoute & {
  /** Leaves the route out of the OpenAPI document: another name of a route, or a part of a page. */
  readonly hidden?: boolean
  /**
   * Makes the handler, once, before the first request.
   *
   * @throws Error when a JSON Schema that the route names does not exist
   */
  readonly prepare: (tools: Tools) => RequestHandler
}

/** Responses by status. */
export type Responses = Readonly<Record<number, ServiceResponse>>

/** Who may call a route, and how the router learns who it is. */
export type Access<Caller> = {
  /** Credentials of which one is needed; none: open to everyone. */
  readonly security: readonly SecurityName[]
  /** Responses to callers who may not. */
  readonly errors: Responses
  /** @throws Failure one of `errors` */
  readonly identify: (request: Request, response: Response) => Caller | Promise<Caller>
}

/** The query of a route, by the JSON Schema that it is checked against. */
export type QueryParameters<Query> = {
  readonly schema: SchemaOf<Query>
  /** Descriptions by name. */
  readonly parameters: Readonly<Record<string, string>>
  readonly required: boolean
  /** Parameters that stand for numbers. */
  readonly numeric: readonly string[]
}

/** What a handler gets: all of it is checked. */
export type Call<Caller, Path, Query, Body> = {
  readonly caller: Caller
  readonly path: Path
  readonly query: Query
  readonly body: Body
  readonly request: Request
  /** For headers: the router sends the status and the body. */
  readonly response: Response
}

type RouteDefinition<Caller, Path, Query, Body> = Omit<
  ServiceRoute,
  'security' | 'parameters' | 'body' | 'responses'
> & {
  readonly access: Access<Caller>
  /** By the names in the path. */
  readonly pathParameters?: { readonly [Name in keyof Path]: PathParameter<Path[Name]> }
  readonly query?: QueryParameters<Query>
  readonly body?: SchemaOf<Body>
  readonly success: { readonly status: number; readonly response: ServiceResponse }
  /**
   * What the handler itself may answer. Responses that follow from the other parts are added: those of `access`, 400 for
   * parameters, 400, 413 and 415 for a body, 403 for writes from pages of other sites, 500 and 503.
   */
  readonly errors?: Responses
  /** @throws Failure one of `errors` */
  readonly handler: (call: Call<Caller, Path, Query, Body>) => Success | Promise<Success>
}

/**
 * A route whose responses are in the envelope. The caller is known before anything of the request is read; then the path,
 * the query and the body are checked, in this order.
 *
 * @throws Error when the path and `pathParameters` have different names
 */
export function defineRoute<Caller, Path = Record<never, never>, Query = undefined, Body = undefined>(
  definition: RouteDefinition<Caller, Path, Query, Body>,
): Route {
  const { method, path, id, tag, summary, description, access, body } = definition
  const parameters = parametersOf(definition)
  return {
    method,
    path,
    id,
    tag,
    summary,
    ...(description === undefined ? {} : { description }),
    security: access.security,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { body }),
    responses: responsesOf(definition),
    prepare: (tools) => handlerOf(definition, tools),
  }
}

function parametersOf<Caller, Path, Query, Body>({
  id,
  path,
  pathParameters,
  query,
}: RouteDefinition<Caller, Path, Query, Body>): readonly ServiceParameter[] {
  const described = Object.entries<PathParameter<unknown>>(pathParameters ?? {})
  const names = Array.from(path.matchAll(/\{([^}]*)\}/g), ([, name]) => name)
  if (names.join() !== described.map(([name]) => name).join()) {
    throw new Error(`route ${id}: the path and the parameters have different names`)
  }
  return [
    ...described.map(([name, { description, schema }]) => ({ name, in: 'path' as const, description, schema })),
    ...Object.entries(query?.parameters ?? {}).map(([name, description]) => ({
      name,
      in: 'query' as const,
      description,
      required: query?.required === true,
      schema: { $ref: `${query?.schema.$ref}#/properties/${name}` } satisfies JsonSchema,
    })),
  ]
}

const responsesOf = <Caller, Path, Query, Body>({
  method,
  access,
  pathParameters,
  query,
  body,
  success,
  errors,
}: RouteDefinition<Caller, Path, Query, Body>): Responses => ({
  ...serverErrors,
  ...(method === 'get' ? none : { 403: otherSite }),
  ...access.errors,
  ...(pathParameters ? { 400: notAnId } : none),
  ...(query ? { 400: invalid('The query is not valid.') } : none),
  ...(body ? bodyFailures : none),
  ...errors,
  [success.status]: success.response,
})

const none: Responses = {}

function handlerOf<Caller, Path, Query, Body>(
  { access, pathParameters, query, body, success, handler }: RouteDefinition<Caller, Path, Query, Body>,
  { validator, readBody }: RouteTools,
): RequestHandler {
  const readers = Object.entries<PathParameter<unknown>>(pathParameters ?? {})
  const numeric = new Set(query?.numeric)
  const validateQuery = query && validator.forDto(query.schema.$ref)
  const validateBody = body && validator.forDto(body.$ref)
  return async (request, response) => {
    const caller = await access.identify(request, response)
    const path = Object.fromEntries(readers.map(([name, { read }]) => [name, read(String(request.params[name]))]))
    // A part that the definition leaves out has the type of its default.
    const call = {
      caller,
      path: path as Path,
      query: (validateQuery && readQuery<Query>(request, numeric, validateQuery)) as Query,
      body: (validateBody && (await readBody<Body>(request, response, validateBody))) as Body,
      request,
      response,
    }
    sendSuccess(response, success.status, await handler(call))
  }
}
