// What the answers and parameters of the service's own routes have in common.
import type { JsonSchema } from './json-schema.ts'
import type { ServiceParameter, ServiceResponse } from './service-route.ts'

export const uuid: JsonSchema = { type: 'string', format: 'uuid' }
export const text: JsonSchema = { type: 'string' }

/** An object with all of these properties. */
export const record = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** Components of all routes. A schema of `schemas/` with the same name takes the place of one of these. */
export const serviceSchemas: Readonly<Record<string, JsonSchema>> = {
  Failure: {
    description: 'What was wrong with the request.',
    type: 'object',
    properties: {
      status: { const: 'fail' },
      statusCode: { type: 'integer', minimum: 400, maximum: 499 },
      message: text,
      errors: {
        description: 'Every fault of the body.',
        type: 'array',
        items: record({
          field: { description: 'Name of the property, or a JSON pointer when it lies deeper.', type: 'string' },
          message: text,
        }),
      },
    },
    required: ['status', 'statusCode', 'message'],
  },
  Error: record({
    status: { const: 'error' },
    statusCode: { type: 'integer', minimum: 500, maximum: 599 },
    message: text,
  }),
}

export const component = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A schema of `schemas/`, by its `$id`. */
export const dto = (name: string): JsonSchema => ({ $ref: `urn:rowhouse:${name}` })

/** `{status: "success", statusCode, data}` */
export const success = (
  statusCode: number,
  description: string,
  data: JsonSchema,
  headers?: ServiceResponse['headers'],
  more: Readonly<Record<string, JsonSchema>> = {},
): Readonly<Record<number, ServiceResponse>> => ({
  [statusCode]: {
    description,
    schema: record({ status: { const: 'success' }, statusCode: { const: statusCode }, data, ...more }),
    ...(headers ? { headers } : {}),
  },
})

export const failure = (description: string): ServiceResponse => ({ description, schema: component('Failure') })

/** Answers of every route that reads a JSON body. */
export const bodyFailures: Readonly<Record<number, ServiceResponse>> = {
  400: failure('The body is not valid.'),
  413: failure('The body is too large.'),
  415: failure('The body is not JSON in UTF-8.'),
}

export const serverErrors: Readonly<Record<number, ServiceResponse>> = {
  500: { description: 'Something went wrong on the server.', schema: component('Error') },
  503: { description: 'Something that this needs is missing at the moment.', schema: component('Error') },
}

export const notSignedIn = failure('Nobody is signed in.')
export const noSuchReport = failure('There is no such report for the caller.')
export const notAnId = failure('The id is no UUID.')
export const otherSite = failure('The request comes from a page of another site.')
export const tooMany: ServiceResponse = {
  ...failure('Too many attempts.'),
  headers: { 'Retry-After': 'Seconds after which to try again.' },
}

export const idParameter = (description: string, schema: JsonSchema = uuid): ServiceParameter => ({
  name: 'id',
  in: 'path',
  description,
  schema,
})

/** Parameters of a query, by the schema that it is checked against. */
export const queryParameters = (
  schema: string,
  parameters: Readonly<Record<string, string>>,
  required: boolean,
): readonly ServiceParameter[] =>
  Object.entries(parameters).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    required,
    schema: { $ref: `urn:rowhouse:${schema}#/properties/${name}` },
  }))
