// Route definitions, from which both the router and the OpenAPI document are derived.
import type { Request, RequestHandler, Response } from 'express'
import type { Validator } from '../validation/validator.ts'
import { sendSuccess, type Success } from './envelope.ts'
import type { BodyReader } from './json-body.ts'
import type { JsonSchema } from './json-schema.ts'
import type { PathParameter } from './path-id.ts'
import { readQuery } from './query-string.ts'
import { bodyFailures, invalid, notAnId, otherSite, serverErrors, type SchemaOf } from './service-response.ts'
import type { SecurityName, ServiceParameter, ServiceResponse, ServiceRoute } from './service-route.ts'

/** What the handlers of all routes need. */
export type RouteTools = {
  readonly validator: Pick<Validator, 'forDto'>
  readonly readBody: BodyReader
}

/** A route for the router and the document. `Tools` is what its handler needs. */
export type Route<Tools = RouteTools> = ServiceRoute & {
  /** Leaves the route out of the OpenAPI document, because it is an alias or a part of a page. */
  readonly hidden?: boolean
  /**
   * Creates the handler, once, before the first request.
   *
   * @throws Error when a JSON Schema that the route names does not exist
   */
  readonly prepare: (tools: Tools) => RequestHandler
}

/** Responses by status. */
export type Responses = Readonly<Record<number, ServiceResponse>>

/** Who may call a route, and how the router identifies the caller. */
export type Access<Caller> = {
  /** Credentials, of which one is required; empty for a route that is open to everyone. */
  readonly security: readonly SecurityName[]
  /** Responses to callers without access. */
  readonly errors: Responses
  /** @throws Failure one of `errors` */
  readonly identify: (request: Request, response: Response) => Caller | Promise<Caller>
  /**
   * Called when the request fails, if `identify` leaves checks to the handler, which may not have reached them: the
   * error of a caller without access comes before all others.
   *
   * @throws Failure one of `errors`
   */
  readonly confirm?: (caller: Caller) => Promise<void>
}

/** The query string of a route, with its JSON Schema. */
export type QueryParameters<Query> = {
  readonly schema: SchemaOf<Query>
  /** Descriptions by name. */
  readonly parameters: Readonly<Record<string, string>>
  readonly required: boolean
  /** Names of parameters that are numbers. */
  readonly numeric: readonly string[]
}

/** The validated parts of a request. */
export type Call<Caller, Path, Query, Body> = {
  readonly caller: Caller
  readonly path: Path
  readonly query: Query
  readonly body: Body
  readonly request: Request
  /** For headers only: the router sends the status and the body. */
  readonly response: Response
}

type RouteDefinition<Caller, Path, Query, Body> = Omit<
  ServiceRoute,
  'security' | 'parameters' | 'body' | 'responses'
> & {
  readonly access: Access<Caller>
  /** Path parameters by name. */
  readonly pathParameters?: { readonly [Name in keyof Path]: PathParameter<Path[Name]> }
  readonly query?: QueryParameters<Query>
  readonly body?: SchemaOf<Body>
  readonly success: { readonly status: number; readonly response: ServiceResponse }
  /**
   * Error responses of the handler itself. Those that follow from the other parts are added: those of `access`, 400 for
   * parameters, 400, 413 and 415 for a body, 403 for writes from pages of other sites, 500 and 503.
   */
  readonly errors?: Responses
  /** @throws Failure one of `errors` */
  readonly handler: (call: Call<Caller, Path, Query, Body>) => Success | Promise<Success>
}

/**
 * A route whose responses are in the envelope. It identifies the caller first, then checks the path, the query string
 * and the body, in this order.
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
    // The types of parts that the definition leaves out are their defaults.
    const respond = async (): Promise<Success> => {
      const path = Object.fromEntries(readers.map(([name, { read }]) => [name, read(String(request.params[name]))]))
      return handler({
        caller,
        path: path as Path,
        query: (validateQuery && readQuery<Query>(request, numeric, validateQuery)) as Query,
        body: (validateBody && (await readBody<Body>(request, response, validateBody))) as Body,
        request,
        response,
      })
    }
    try {
      sendSuccess(response, success.status, await respond())
    } catch (error) {
      await access.confirm?.(caller)
      throw error
    }
  }
}
