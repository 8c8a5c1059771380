// The dialect of `/auth`, `/report` and the operations, whose responses are in the envelope of `envelope.ts`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure, failures, sendFailure, sendSuccess, unknownPath, type Success } from './envelope.ts'
import { bodyReceiver, jsonBodyReader, type BodyFault, type JsonBodyReader } from './json-body.ts'
import type { JsonSchema } from './json-schema.ts'
import { readQuery } from './query-string.ts'
import {
  defineRoute,
  type Responses,
  type Route,
  type RouteCall,
  type RouteDefinition,
  type RouteDialect,
  type RouteTools,
  type TypedDefinition,
} from './route.ts'
import { originalTarget, type RouterDialect } from './router.ts'
import {
  bodyFailures,
  invalid,
  notAnId,
  otherSite,
  serverErrors,
  type SchemaOf,
  type SuccessResponse,
} from './service-response.ts'
import type { SecurityName } from './service-route.ts'

/** What the routes of the envelope need, and its errors. */
export type EnvelopeTools = RouteTools & {
  /** Receives errors that are not the client's, to log them. */
  readonly onError: (error: unknown) => void
  /** Maps other errors to responses, such as those of the database. */
  readonly failureOf: (error: unknown) => Failure | undefined
}

/** Who may call a route, and how the router identifies the caller. */
export type Access<Caller> = {
  /** Credentials, of which one is required; empty for a route that is open to everyone. */
  readonly security: readonly SecurityName[]
  /** Responses to callers without access. */
  readonly errors: Responses
  /** @throws Failure one of `errors` */
  readonly identify: (request: IncomingMessage, response: ServerResponse) => Caller | Promise<Caller>
  /** @throws Failure one of `errors`; see `RouteSteps` */
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

type Description = RouteDefinition & {
  readonly tag: string
  readonly access: Omit<Access<unknown>, 'confirm'> & Pick<Access<never>, 'confirm'>
  readonly query?: QueryParameters<unknown>
  readonly success: SuccessResponse
  /**
   * Error responses of the handler itself. Those that follow from the other parts are added: those of `access`, 400 for
   * parameters, 400, 413 and 415 for a body, 403 for writes from pages of other sites, 500 and 503.
   */
  readonly errors?: Responses
}

type Definition<Caller, Path, Query, Body> = TypedDefinition<
  Omit<Description, 'access' | 'query'>,
  Path,
  Body,
  RouteCall<Caller, Query, Path, Body>,
  Success
> & { readonly access: Access<Caller>; readonly query?: QueryParameters<Query> }

type Described = Description & { readonly handler: (call: never) => Success | Promise<Success> }

/**
 * A route whose responses are in the envelope. It identifies the caller first, then checks the query string, the path and
 * the body, in this order.
 *
 * @throws Error when the path and `pathParameters` have different names
 */
export const defineEnvelopeRoute = <Caller, Path = Record<never, never>, Query = undefined, Body = undefined>(
  definition: Definition<Caller, Path, Query, Body>,
): Route => defineRoute(envelopeDialect, definition)

export const envelopeDialect: RouterDialect<EnvelopeTools> & RouteDialect<Described, RouteTools, unknown, unknown> = {
  ignoresLastSlash: () => true,
  methodNotAllowed: (method, allowed) =>
    new Failure(405, `The method ${method} is not allowed here`, { headers: { Allow: allowed } }),
  unknownPath: (request) => {
    throw unknownPath(request.method, originalTarget(request))
  },
  failed: (error, { onError, failureOf }) => {
    const failure = ownFailure(error) ?? failureOf(error) ?? new Failure(500, 'Something went wrong on the server')
    if (failure.statusCode >= 500) onError(error)
    return (response) => sendFailure(response, failure)
  },
  basePath: '',
  describe: (definition) => ({
    tag: definition.tag,
    security: definition.access.security,
    parameters: Object.entries(definition.query?.parameters ?? {}).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      required: definition.query?.required === true,
      schema: { $ref: `${definition.query?.schema.$ref}#/properties/${name}` } satisfies JsonSchema,
    })),
    responses: responsesOf(definition),
  }),
  prepare: ({ access, query, success, handler }, { validator }) => {
    const numeric = new Set(query?.numeric)
    const validate = query && validator.forDto(query.schema.$ref)
    return {
      identify: access.identify,
      readQuery: (request) => validate && readQuery(request, numeric, validate),
      respond: async (call) => sendSuccess(call.response, success.status, await handler(call as never)),
      // The caller is the one that `identify` has returned.
      confirm: access.confirm as Access<unknown>['confirm'],
    }
  },
}

function ownFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  // The path has invalid percent-encoding.
  if (error instanceof URIError) return new Failure(400, 'The address is not valid')
  return undefined
}

const none: Responses = {}

const responsesOf = ({ method, access, pathParameters, query, body, success, errors }: Description): Responses => ({
  ...serverErrors,
  ...(method === 'get' ? none : { 403: otherSite }),
  ...access.errors,
  ...(pathParameters ? { 400: notAnId } : none),
  ...(query ? { 400: invalid('The query is not valid.') } : none),
  ...(body ? bodyFailures : none),
  ...errors,
  [success.status]: success.response,
})

/**
 * A reader of bodies of at most `limit` bytes (after decompression).
 *
 * @returns throws Failure 415 for another content type, encoding or charset; 413 for a larger body; 400 with the faults
 *   of an invalid body
 */
export const envelopeBodyReader = (limit: number): JsonBodyReader =>
  jsonBodyReader({
    receive: bodyReceiver(limit, (fault, cause) => receivingFailure(fault, limit, cause)),
    checkType: (type = '') => {
      if (!isJson(type)) throw new Failure(415, 'The body must be application/json in UTF-8')
    },
    checkReceived: (_type, size) => {
      if (size === 0) throw new Failure(400, 'The body is empty')
    },
    notJson: (fault) => new Failure(400, `The body ${fault}`),
    invalid: (_first, all) => failures.faults(all),
  })

/** `application/json`, whose only charset is UTF-8 (RFC 8259, section 8.1). */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    type.trim() === 'application/json' &&
    parameters.every((parameter) => {
      const [name = '', value = ''] = parameter.split('=')
      return name.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value)
    })
  )
}

function receivingFailure(fault: BodyFault, limit: number, cause: unknown): Failure {
  switch (fault) {
    case 'too large':
      return new Failure(413, `The body is larger than ${limit} bytes`)
    case 'unsupported encoding':
      return new Failure(415, 'The content encoding of the body is not supported')
    case 'unreadable':
      return new Failure(400, 'The body could not be read', { cause })
    default:
      return fault satisfies never
  }
}
