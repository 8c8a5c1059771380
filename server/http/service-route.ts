// Routes of the services as data, and their OpenAPI descriptions.
import type { JsonObject, JsonSchema } from './json-schema.ts'

export const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'apikey', description: 'An API key.' },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JSON Web Token.' },
  session: { type: 'apiKey', in: 'cookie', name: 'session', description: 'The session cookie, which signing in sets.' },
} as const satisfies JsonObject

export type SecurityName = keyof typeof securitySchemes

export type ServiceParameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

export type ServiceResponse = {
  readonly description: string
  /** Schema of the body; a response without a schema has no body. */
  readonly schema?: JsonSchema
  /** Media type of the body; by default `application/json`. */
  readonly media?: string
  /** Descriptions by header name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** In schemas, `{ $ref: 'urn:…' }` refers to a schema of `schemas/` by its `$id`. */
export type ServiceRoute = {
  readonly method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete' | 'options'
  /** `{name}` is a parameter of one segment, `{*name}` at the end one of any number of segments. */
  readonly path: string
  /** Unique name of the operation. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Credentials, of which one is required; empty for a route that is open to everyone. */
  readonly security: readonly SecurityName[]
  /** Whether the credentials are optional. */
  readonly optionalSecurity?: boolean
  readonly parameters?: readonly ServiceParameter[]
  /** The JSON body. */
  readonly body?: JsonSchema
  /** Bodies by media type, if the body may be other than JSON. */
  readonly bodies?: Readonly<Record<string, JsonSchema>>
  /** Responses by status. */
  readonly responses: Readonly<Record<number, ServiceResponse>>
}

/** The Operation Object of a route. `resolve` rewrites references by `$id`. */
export function operationOf(route: ServiceRoute, resolve: (schema: JsonSchema) => JsonSchema): JsonObject {
  const { id, tag, summary, description, security, optionalSecurity, parameters, body, responses } = route
  const bodies = route.bodies ?? (body && { 'application/json': body })
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: [...security.map((name) => ({ [name]: [] })), ...(optionalSecurity ? [{}] : [])],
    ...(parameters
      ? {
          parameters: parameters.map((parameter) => ({
            ...parameter,
            ...(parameter.in === 'path' ? { required: true } : {}),
            schema: resolve(parameter.schema),
          })),
        }
      : {}),
    ...(bodies
      ? {
          requestBody: {
            required: true,
            content: Object.fromEntries(
              Object.entries(bodies).map(([media, schema]) => [media, { schema: resolve(schema) }]),
            ),
          },
        }
      : {}),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [status, responseOf(response, resolve)]),
    ),
  }
}

function responseOf(
  { description, schema, media = 'application/json', headers }: ServiceResponse,
  resolve: (schema: JsonSchema) => JsonSchema,
): JsonObject {
  return {
    description,
    ...(headers
      ? {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]),
          ),
        }
      : {}),
    ...(schema ? { content: { [media]: { schema: resolve(schema) } } } : {}),
  }
}
