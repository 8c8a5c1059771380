// The dialect of `/storage/v1`: its router, its routes and their part of the OpenAPI document follow from it.
import type { ServerResponse } from 'node:http'
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
import { mostSigns } from '../../text/json-text.ts'
import { limitedBody } from '../limited-bytes.ts'
import type { CallerKind, StorageCaller } from './callers.ts'
import { storageErrorOf } from './database-storage-error.ts'
import { sendS3Refusal } from './s3-refusal.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'
import { errorBody, sendStorageJson } from './storage-response.ts'

/** Where all routes are. */
export const storagePath = '/storage/v1'

/** What the routes need to be made. */
export type StorageTools = RouteTools & { readonly context: StorageContext }

export type StorageRoute = Route<StorageTools>

export type StorageMethod = StorageRoute['method']

/** The parts of a request. Of query parameters that are given twice, the first value counts. */
export type StorageCall<Body> = RouteCall<StorageCaller, URLSearchParams, Readonly<Record<string, string>>, Body> & {
  readonly context: StorageContext
  /** For statements under the role of the caller. */
  readonly scope: StorageScope
}

/** A JSON response; undefined when the handler has responded itself. */
export type StorageReply =
  | { readonly status?: number; readonly headers?: Headers; readonly json: unknown }
  | { readonly status?: number; readonly headers?: Headers; readonly text: string }
  | undefined

type Headers = Readonly<Record<string, string>>

/** Below `/storage/v1`; fixed segments of paths precede parameters. Bodies that the handler reads itself are `bodies`. */
type Description = RouteDefinition & {
  readonly caller: CallerKind
  /** What `storage.operation()` returns to policies. */
  readonly operation: string
  /** Descriptions of query parameters by name. */
  readonly query?: Readonly<Record<string, string>>
  /** Descriptions of request headers by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Status and response. */
  readonly success: readonly [status: number, response: ServiceResponse]
  /** Descriptions of errors by `statusCode` of the body; the HTTP status of nearly all is 400. */
  readonly errors?: Readonly<Record<string, string>>
  /** Further responses by HTTP status. */
  readonly responses?: Responses
}

export type StorageRouteDefinition<Body> = TypedDefinition<Description, unknown, Body, StorageCall<Body>, StorageReply>

type Described = Description & { readonly handler: (call: never) => StorageReply | Promise<StorageReply> }

/** A route of `/storage/v1`: identifies the caller, reads the body, and sends the reply. */
export const defineStorageRoute = <Body = undefined>(definition: StorageRouteDefinition<Body>): StorageRoute =>
  defineRoute(storageDialect, definition)

export const storageDialect: RouterDialect<StorageTools> &
  RouteDialect<Described, StorageTools, StorageCaller, URLSearchParams> = {
  // Some clients end the address of the buckets with a slash.
  ignoresLastSlash: (path) => path === '/bucket/',
  undecodable: (name) => storageErrors.invalidKey(name.slice(0, 1024)),
  unknownPath: ({ method = '' }, response, target) => {
    const [, segment = ''] = target.split(/[/?]/, 2)
    if (segment === 's3') sendS3Refusal(response)
    else if (services.has(segment)) throw storageErrors.notFound(method, target)
    else sendUnknown(response, method, target)
  },
  failed: (error, { context }) => {
    const known = storageErrorOf(error)
    if (known.statusCode >= 500) context.onError(known.cause ?? error)
    return (response) => sendStorageJson(response, known.httpStatus, errorBody(known), known.headers)
  },
  basePath: storagePath,
  pathParameters: {
    bucket: { description: 'Id of the bucket.', schema: text },
    name: { description: 'Name of the object, with its folders.', schema: text },
    id: { description: 'id', schema: text },
  },
  describe: (definition) => ({
    tag: 'storage',
    security: definition.caller === 'anyone' ? [] : ['bearer', 'apiKey'],
    ...(definition.caller === 'optional' ? { optionalSecurity: true } : {}),
    parameters: [...textParameters('query', definition.query), ...textParameters('header', definition.headers)],
    responses: responsesOf(definition),
  }),
  prepare: ({ caller: kind, operation, success, handler }, { context }) => ({
    identify: async (request, response) => {
      const caller = await context.callers.identify(request, kind)
      noteRole(response, caller.identity.role)
      return caller
    },
    readQuery: (_request, target) => searchOf(target),
    respond: async (call) => {
      const { request, response, caller, target } = call
      const { method = '', headers: given } = request
      const scope = { identity: caller.identity, operation, method, path: target, headers: given }
      const reply = await handler({ ...call, context, scope } as never)
      if (reply === undefined) return
      const { status = success[0], headers = {} } = reply
      sendStorageJson(response, status, 'json' in reply ? JSON.stringify(reply.json) : reply.text, headers)
    },
  }),
}

/** Below these, an unknown route has an error of storage; elsewhere it has that of the original's HTTP framework. */
const services: ReadonlySet<string> = new Set(['bucket', 'object', 'render', 'vector', 'cdn'])

function sendUnknown(response: ServerResponse, method: string, target: string): void {
  const { message, error, statusCode } = storageErrors.notFound(method, target)
  sendStorageJson(response, statusCode, JSON.stringify({ message, error, statusCode }))
}

const failure = (description: string): ServiceResponse => ({ description, schema: dto('StorageErrorDto') })

function responsesOf({
  caller,
  body,
  success: [status, response],
  errors = {},
  responses = {},
}: Description): Responses {
  const described: Readonly<Record<string, string>> = {
    ...(caller === 'anyone' || caller === 'optional' ? {} : { 403: 'the token is not accepted, or a policy refuses' }),
    ...(body === undefined ? {} : { 400: 'the body is not valid' }),
    ...errors,
  }
  const words = Object.entries(described).map(([code, description]) => `${code}: ${description}`)
  const client: Responses =
    words.length === 0 ? {} : { 400: failure(`By the \`statusCode\` of the body: ${words.join('; ')}.`) }
  return {
    ...client,
    500: failure('Internal server error.'),
    503: failure('The database is not available at the moment.'),
    ...responses,
    [status]: response,
  }
}

/** All headers are allowed as requested: metadata and resumable uploads have many. */
export const storageCrossOrigin: CrossOriginRules = {
  ...tokenRules,
  exposed: [
    'Content-Range',
    'ETag',
    'X-Transformations',
    'Location',
    'Upload-Offset',
    'Upload-Length',
    'Upload-Metadata',
    'Upload-Expires',
    'Tus-Version',
    'Tus-Resumable',
    'Tus-Max-Size',
    'Tus-Extension',
    'Tus-Checksum-Algorithm',
    'Upload-Defer-Length',
  ].join(', '),
}

/** Bytes of a body. */
const bodyLimit = 1024 * 1024

/** Reads a body as it was sent, without decompressing it. */
export const readStorageBody: JsonBodyReader = jsonBodyReader({
  receive: (request) => {
    requireLength(request, bodyLimit, storageErrors.bodyTooLarge)
    return limitedBody(request, bodyLimit, storageErrors.bodyTooLarge)
  },
  checkReceived: (type, size) => {
    if (size === 0 && type === undefined) throw storageErrors.validation('body must be object')
    if (type === undefined || !isJson(type)) throw storageErrors.invalidContentType()
    if (size === 0) throw storageErrors.emptyBody()
  },
  mostSigns,
  notJson: (fault) => (fault === 'has too many values' ? storageErrors.bodyTooLarge() : storageErrors.invalidJson()),
  invalid: ({ pointer, message }) => storageErrors.validation(faultText(pointer, message)),
})

const isJson = (type: string): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)

/** A fault in the words of the original: `body must have required property 'name'`, `body/limit must be integer`. */
function faultText(pointer: string, message: string): string {
  if (message !== 'is required') return `body${pointer} ${message}`
  const end = pointer.lastIndexOf('/')
  return `body${pointer.slice(0, end)} must have required property '${pointer.slice(end + 1)}'`
}
