// Route definitions, from which both the routers and the OpenAPI document are derived.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DtoValidator } from '../validation/validator.ts'
import type { JsonBodyReader } from './json-body.ts'
import type { PathParameter } from './path-id.ts'
import { text, type SchemaOf } from './service-response.ts'
import type { ServiceParameter, ServiceResponse, ServiceRoute } from './service-route.ts'

/** What all routes need to be prepared. */
export type RouteTools = {
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  readonly readBody: JsonBodyReader
}

/** What the router has read of the request target. */
export type RoutedTarget = {
  /** Path parameters by name, decoded. */
  readonly parameters: Readonly<Record<string, string>>
  /** The target below the path of the router, with the query string. */
  readonly target: string
}

/** Responds to the requests of a route. Its errors are answered by the dialect of the router. */
export type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  routed: RoutedTarget,
) => void | Promise<void>

/** A route for the router and the document. `Tools` is what its handler needs. */
export type Route<Tools = RouteTools> = ServiceRoute & {
  /** Leaves the route out of the OpenAPI document, because it is an alias or a part of a page. */
  readonly hidden?: boolean
  /**
   * Creates the handler, once, before the first request.
   *
   * @throws Error when a JSON Schema that the route names does not exist
   */
  readonly prepare: (tools: Tools) => RouteHandler
}

/** Responses by status. */
export type Responses = Readonly<Record<number, ServiceResponse>>

/** What the definitions of all dialects have. */
export type RouteDefinition = Pick<ServiceRoute, 'method' | 'path' | 'id' | 'summary' | 'description' | 'bodies'> & {
  /** Path parameters by name. */
  readonly pathParameters?: Readonly<Record<string, PathParameter<unknown>>>
  /** Schema of the JSON body. */
  readonly body?: SchemaOf<unknown>
  /** Whether a missing body is `{}`, as some clients send it. */
  readonly bodyOptional?: boolean
  /** Leaves the route out of the OpenAPI document. Routes for HEAD and OPTIONS are left out anyway. */
  readonly hidden?: boolean
}

/** A definition whose handler has types for path parameters and body. */
export type TypedDefinition<Definition extends RouteDefinition, Path, Body, Call, Reply> = Omit<
  Definition,
  'pathParameters' | 'body'
> & {
  readonly pathParameters?: { readonly [Name in keyof Path]: PathParameter<Path[Name]> }
  readonly body?: SchemaOf<Body>
  readonly handler: (call: Call) => Reply | Promise<Reply>
}

/** A request of a route whose parts have been read and validated. */
export type RouteCall<Caller, Query, Path = unknown, Body = unknown> = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller
  readonly query: Query
  /** Path parameters by name. */
  readonly path: Path
  /** Undefined without a schema of the body. */
  readonly body: Body
  /** The JSON of the body; empty without a schema of the body. */
  readonly bodyText: string
  /** The target below the path of the service, with the query string. */
  readonly target: string
}

/** What a dialect does with each request of a route, in this order; path and body are read before `respond`. */
export type RouteSteps<Caller, Query> = {
  /** Identifies the caller. */
  readonly identify: (request: IncomingMessage, response: ServerResponse) => Caller | Promise<Caller>
  /** Reads the query string, and counts the request if it has a limit. */
  readonly readQuery: (request: IncomingMessage, target: string) => Query | Promise<Query>
  /** Calls the handler of the definition, and sends its reply. */
  readonly respond: (call: RouteCall<Caller, Query>) => Promise<void>
  /**
   * Called when the request fails, if `identify` leaves checks to the handler, which may not have reached them: the
   * error of a caller without access comes before all others.
   */
  readonly confirm?: ((caller: Caller) => Promise<void>) | undefined
}

type Described = Pick<ServiceRoute, 'tag' | 'security' | 'optionalSecurity' | 'responses'> &
  Required<Pick<ServiceRoute, 'parameters'>>

/** How the definitions of a service are described, and how their requests are answered. */
export type RouteDialect<Definition extends RouteDefinition, Tools extends RouteTools, Caller, Query> = {
  /** Path that the paths of the definitions are below. */
  readonly basePath: string
  /** Path parameters that the definitions do not describe themselves. */
  readonly pathParameters?: DescribedParameters
  /** The description of a route. Path parameters are added. */
  readonly describe: (definition: Definition) => Described
  /** Called once for each route, before the first request. */
  readonly prepare: (definition: Definition, tools: Tools) => RouteSteps<Caller, Query>
}

/**
 * A route in the dialect of its service.
 *
 * @throws Error when the path and the path parameters have different names
 */
export function defineRoute<Definition extends RouteDefinition, Tools extends RouteTools, Caller, Query>(
  dialect: RouteDialect<Definition, Tools, Caller, Query>,
  definition: Definition,
): Route<Tools> {
  const { method, path, id, summary, description, body, bodies } = definition
  const hidden = definition.hidden === true || method === 'head' || method === 'options'
  const { parameters: more, ...described } = dialect.describe(definition)
  const parameters = [...pathParametersOf(definition, hidden, dialect.pathParameters), ...more]
  return {
    ...described,
    method,
    path: dialect.basePath + path,
    id,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(description === undefined ? {} : { description }),
    ...(body === undefined ? {} : { body }),
    ...(bodies === undefined ? {} : { bodies }),
    ...(hidden ? { hidden } : {}),
    prepare: (tools) => handlerOf(definition, dialect.prepare(definition, tools), tools),
  }
}

type DescribedParameters = Readonly<Record<string, Pick<ServiceParameter, 'description' | 'schema'>>>

function pathParametersOf(
  { id, path, pathParameters = {} }: RouteDefinition,
  isHidden: boolean,
  common: DescribedParameters = {},
): readonly ServiceParameter[] {
  const names = Array.from(path.matchAll(/\{\*?([^}]*)\}/g), ([, name = '']) => name)
  const own = Object.keys(pathParameters)
  const described = names.flatMap((name) => {
    const parameter = pathParameters[name] ?? common[name]
    return parameter
      ? [{ name, in: 'path' as const, description: parameter.description, schema: parameter.schema }]
      : []
  })
  if ((described.length < names.length && !isHidden) || own.some((name) => !names.includes(name))) {
    throw new Error(`route ${id}: the path and the parameters have different names`)
  }
  return described
}

/** Descriptions of parameters that may be any text. */
export const textParameters = (
  place: 'query' | 'header',
  descriptions: Readonly<Record<string, string>> = {},
): readonly ServiceParameter[] =>
  Object.entries(descriptions).map(([name, description]) => ({ name, in: place, description, schema: text }))

function handlerOf<Caller, Query>(
  { pathParameters = {}, body: schema, bodyOptional = false }: RouteDefinition,
  { identify, readQuery, respond, confirm }: RouteSteps<Caller, Query>,
  { validator, readBody }: RouteTools,
): RouteHandler {
  const readers = Object.entries(pathParameters)
  const validate = schema && validator.forDto(schema.$ref)
  return async (request, response, { parameters, target }) => {
    const caller = await identify(request, response)
    try {
      const query = await readQuery(request, target)
      const path =
        readers.length === 0
          ? parameters
          : Object.fromEntries(readers.map(([name, { read }]) => [name, read(parameters[name] ?? '')]))
      const read = validate && (await readBody(request, response, validate, bodyOptional))
      const { value: body, text: bodyText } = read ?? { value: undefined, text: '' }
      await respond({ request, response, caller, query, path, body, bodyText, target })
    } catch (error) {
      await confirm?.(caller)
      throw error
    }
  }
}
