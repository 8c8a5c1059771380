// The service's own routes, said as data.
import type { JsonObject, JsonSchema } from './json-schema.ts'

export const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'apikey', description: 'A key of the API.' },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JSON Web Token.' },
  session: { type: 'apiKey', in: 'cookie', name: 'session', description: 'The cookie that signing in sets.' },
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
  /** Of the JSON body; without one there is none, or `media` says what there is. */
  readonly schema?: JsonSchema
  /** Media type of a body; `application/json` unless said otherwise. */
  readonly media?: string
  /** Descriptions by header name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** In schemas, `{ $ref: 'urn:…' }` refers to a schema of `schemas/` by its `$id`. */
export type ServiceRoute = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With `{name}` for parameters. */
  readonly path: string
  /** A name for the operation that no other has. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Credentials of which one is needed; none: open to everyone. */
  readonly security: readonly SecurityName[]
  /** Whether the route serves requests without any of them, too. */
  readonly optionalSecurity?: boolean
  readonly parameters?: readonly ServiceParameter[]
  /** The JSON body. */
  readonly body?: JsonSchema
  /** The body by media type, where it need not be JSON. */
  readonly bodies?: Readonly<Record<string, JsonSchema>>
  /** By status. */
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
