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

/** A schema of `schemas/`, by its `$id`. */
export const dto = (name: string): JsonSchema => ({ $ref: `urn:rowhouse:${name}` })

/** `{status: "success", message, details}`, with an exact message where the response has one. */
export const success = (
  statusCode: number,
  description: string,
  details: JsonSchema,
  { message, headers, more = {} }: SuccessParts = {},
): Readonly<Record<number, ServiceResponse>> => ({
  [statusCode]: {
    description,
    schema: record({
      status: { const: 'success' },
      ...(message === undefined ? {} : { message: { const: message } }),
      details,
      ...more,
    }),
    ...(headers ? { headers } : {}),
  },
})

type SuccessParts = {
  readonly message?: string
  readonly headers?: ServiceResponse['headers']
  /** Beside the details. */
  readonly more?: Readonly<Record<string, JsonSchema>>
}

/** `{status: "success", message}` */
export const done = (
  description: string,
  headers?: ServiceResponse['headers'],
): Readonly<Record<200, ServiceResponse>> => ({
  200: { description, schema: dto('MessageSuccessResponseDto'), ...(headers ? { headers } : {}) },
})

/** A page of a list: beside it, where the next one begins. */
export const page = (description: string, item: string): Readonly<Record<number, ServiceResponse>> =>
  success(
    200,
    description,
    { type: 'array', items: dto(item) },
    {
      more: { nextCursor: { description: 'For the next page; null on the last.', type: ['string', 'null'] } },
    },
  )

export const failure = (description: string): ServiceResponse => ({ description, schema: dto('ErrorResponseDto') })

/** 400, naming what is wrong with each field. */
export const invalid = (description: string): ServiceResponse => ({
  description,
  schema: dto('ValidationErrorResponseDto'),
})

/** Responses of every route that reads a JSON body. */
export const bodyFailures: Readonly<Record<number, ServiceResponse>> = {
  400: {
    description: 'The body is not valid, or not JSON.',
    schema: { anyOf: [dto('ValidationErrorResponseDto'), dto('ErrorResponseDto')] },
  },
  413: failure('The body is too large.'),
  415: failure('The body is not JSON in UTF-8.'),
}

export const serverErrors: Readonly<Record<number, ServiceResponse>> = {
  500: failure('Something went wrong on the server.'),
  503: failure('Something that this needs is missing at the moment.'),
}

export const notSignedIn = failure('Nobody is signed in.')
export const noSuchReport = failure('There is no such report for the caller.')
export const notAnId = invalid('The id is not a UUID.')
export const otherSite = failure('The request comes from a page of another site.')
export const notAdministrator = failure('The caller is not an administrator.')
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
