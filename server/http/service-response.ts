// Descriptions that the routes of the services share.
import type { JsonSchema } from './json-schema.ts'
import type { ServiceResponse } from './service-route.ts'

export const text: JsonSchema = { type: 'string' }

/** An object with all of these properties. */
export const record = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

declare const valid: unique symbol

/** A reference to a schema of `schemas/` by its `$id`, with the type of its values. */
export type SchemaOf<T> = JsonSchema & { readonly $ref: string; readonly [valid]?: T }

export const dto = <T>(name: string): SchemaOf<T> => ({ $ref: `urn:rowhouse:${name}` })

/** The response of a route to a successful request. */
export type SuccessResponse = { readonly status: number; readonly response: ServiceResponse }

/** `{status: "success", message, details}`, with the exact message if the response has one. */
export const success = (
  status: number,
  description: string,
  details: JsonSchema,
  { message, headers, more = {} }: SuccessParts = {},
): SuccessResponse => ({
  status,
  response: {
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
  /** Properties besides the details. */
  readonly more?: Readonly<Record<string, JsonSchema>>
}

/** `{status: "success", message}` */
export const done = (description: string, headers?: ServiceResponse['headers']): SuccessResponse => ({
  status: 200,
  response: { description, schema: dto('MessageSuccessResponseDto'), ...(headers ? { headers } : {}) },
})

/** A page of a list, with the cursor of the next page. */
export const page = (description: string, item: string): SuccessResponse =>
  success(
    200,
    description,
    { type: 'array', items: dto(item) },
    {
      more: { nextCursor: { description: 'Cursor of the next page; null on the last.', type: ['string', 'null'] } },
    },
  )

export const failure = (description: string): ServiceResponse => ({ description, schema: dto('ErrorResponseDto') })

/** 400, with what is wrong with each field. */
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
  500: failure('Internal server error.'),
  503: failure('The database or a required setting is not available at the moment.'),
}

export const notAnId = invalid('The id is not a UUID.')
export const otherSite = failure('The request comes from a page of another site.')
