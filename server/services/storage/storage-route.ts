// Route definitions of `/storage/v1`, from which both the router and the OpenAPI document are derived.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonSchema } from '../../http/json-schema.ts'
import { noteRole } from '../../http/request-log.ts'
import type { SchemaOf } from '../../http/service-response.ts'
import type { ServiceParameter, ServiceResponse, ServiceRoute } from '../../http/service-route.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import type { CallerKind, StorageCaller } from './callers.ts'
import { readStorageBody } from './storage-body.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { sendStorageJson } from './storage-response.ts'

/** Where all routes are. */
export const storagePath = '/storage/v1'

/** What the routes need to be made. */
export type StorageTools = {
  readonly context: StorageContext
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
}

/** A request as the router has read it. */
export type StorageRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path parameters by name, decoded. */
  readonly path: Readonly<Record<string, string>>
  /** Of a name that is given twice, the first value counts. */
  readonly query: URLSearchParams
  /** The target below `/storage/v1`, with the query string. */
  readonly target: string
}

/** The parts of a request. */
export type StorageCall<Body> = StorageRequest & {
  readonly context: StorageContext
  readonly caller: StorageCaller
  /** For statements under the role of the caller. */
  readonly scope: StorageScope
  readonly body: Body
}

/** A JSON response; undefined when the handler has responded itself. */
export type StorageReply =
  | { readonly status?: number; readonly headers?: Headers; readonly json: unknown }
  | { readonly status?: number; readonly headers?: Headers; readonly text: string }
  | undefined

type Headers = Readonly<Record<string, string>>

export type StorageMethod = 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete' | 'options'

export type StorageRoute = {
  readonly method: StorageMethod
  /**
   * Below `/storage/v1`: `/object/{bucket}/{*name}`. `{bucket}` is a segment, `{*name}` at the end is one or more.
   * Fixed segments precede parameters.
   */
  readonly path: string
  /** Undefined: the route is not in the OpenAPI document. */
  readonly description: ServiceRoute | undefined
  /** Creates the handler, once, before the first request. */
  readonly prepare: (tools: StorageTools) => (request: StorageRequest) => Promise<void>
}

export type StorageRouteDefinition<Body> = {
  readonly method: StorageMethod
  readonly path: string
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly caller: CallerKind
  /** What `storage.operation()` returns to policies. */
  readonly operation: string
  /** Schema of the JSON body. */
  readonly body?: SchemaOf<Body>
  /** Whether a missing body is `{}`. */
  readonly bodyOptional?: boolean
  /** For the document: bodies by media type, if the handler reads the body itself. */
  readonly bodies?: Readonly<Record<string, JsonSchema>>
  /** Descriptions of query parameters by name. */
  readonly query?: Readonly<Record<string, string>>
  /** Descriptions of request headers by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Status and response. */
  readonly success: readonly [status: number, response: ServiceResponse]
  /** Descriptions of errors by `statusCode` of the body; the HTTP status of nearly all is 400. */
  readonly errors?: Readonly<Record<string, string>>
  /** Further responses by HTTP status. */
  readonly responses?: Readonly<Record<number, ServiceResponse>>
  /** Leaves the route out of the OpenAPI document. */
  readonly hidden?: boolean
  readonly handler: (call: StorageCall<Body>) => StorageReply | Promise<StorageReply>
}

/** A route of `/storage/v1`: identifies the caller, reads the body, and sends the reply. */
export function defineStorageRoute<Body = undefined>(definition: StorageRouteDefinition<Body>): StorageRoute {
  const { method, path, hidden } = definition
  return {
    method,
    path,
    description:
      hidden === true || method === 'head' || method === 'options' ? undefined : describe(definition, method),
    prepare: (tools) => handlerOf(definition, tools),
  }
}

function handlerOf<Body>(
  { caller: kind, operation, body: schema, bodyOptional = false, success, handler }: StorageRouteDefinition<Body>,
  { context, validator }: StorageTools,
): (request: StorageRequest) => Promise<void> {
  const validate = schema && validator.forDto(schema.$ref)
  return async (parts) => {
    const { request, response, target } = parts
    const caller = await context.callers.identify(request, kind)
    noteRole(response, caller.identity.role)
    // The validator has checked the type.
    const body = (validate && (await readStorageBody(request, validate, bodyOptional))) as Body
    const { identity } = caller
    const scope = { identity, operation, method: request.method ?? '', path: target, headers: request.headers }
    const reply = await handler({ ...parts, context, caller, scope, body })
    if (reply === undefined) return
    const { status = success[0], headers = {} } = reply
    sendStorageJson(response, status, 'json' in reply ? JSON.stringify(reply.json) : reply.text, headers)
  }
}

const text: JsonSchema = { type: 'string' }
const errorSchema: JsonSchema = { $ref: 'urn:rowhouse:StorageErrorDto' }

function describe<Body>(
  definition: StorageRouteDefinition<Body>,
  method: Exclude<StorageMethod, 'head' | 'options'>,
): ServiceRoute {
  const { path, id, summary, description, caller, body, bodies } = definition
  const parameters = parametersOf(definition)
  return {
    method,
    path: storagePath + path.replaceAll('{*', '{'),
    id,
    tag: 'storage',
    summary,
    ...(description === undefined ? {} : { description }),
    security: caller === 'anyone' ? [] : ['bearer', 'apiKey'],
    ...(caller === 'optional' ? { optionalSecurity: true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { body }),
    ...(bodies === undefined ? {} : { bodies }),
    responses: responsesOf(definition),
  }
}

const parameterDescriptions: Readonly<Record<string, string>> = {
  bucket: 'Id of the bucket.',
  name: 'Name of the object, with its folders.',
}

function parametersOf<Body>({ path, query = {}, headers = {} }: StorageRouteDefinition<Body>): ServiceParameter[] {
  const inPath = Array.from(path.matchAll(/\{\*?([^}]*)\}/g), ([, name = '']) => name)
  return [
    ...inPath.map((name) => ({
      name,
      in: 'path' as const,
      description: parameterDescriptions[name] ?? name,
      schema: text,
    })),
    ...Object.entries(query).map(([name, description]) => ({ name, in: 'query' as const, description, schema: text })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header' as const,
      description,
      schema: text,
    })),
  ]
}

function responsesOf<Body>({
  caller,
  body,
  success: [status, response],
  errors = {},
  responses = {},
}: StorageRouteDefinition<Body>): Readonly<Record<number, ServiceResponse>> {
  const described: Readonly<Record<string, string>> = {
    ...(caller === 'anyone' || caller === 'optional' ? {} : { 403: 'the token is not accepted, or a policy refuses' }),
    ...(body === undefined ? {} : { 400: 'the body is not valid' }),
    ...errors,
  }
  const words = Object.entries(described).map(([code, description]) => `${code}: ${description}`)
  const failure = (description: string): ServiceResponse => ({ description, schema: errorSchema })
  const client: Readonly<Record<number, ServiceResponse>> =
    words.length === 0 ? {} : { 400: failure(`By the \`statusCode\` of the body: ${words.join('; ')}.`) }
  return {
    ...client,
    500: failure('Internal server error.'),
    503: failure('The database is not available at the moment.'),
    ...responses,
    [status]: response,
  }
}
