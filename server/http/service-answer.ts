// What the answers and parameters of the service's own routes have in common.
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

/** A schema of `schemas/`, by its `$id`, with the type of the values that it accepts. */
export type SchemaOf<T> = JsonSchema & { readonly $ref: string; readonly [valid]?: T }

export const dto = <T>(name: string): SchemaOf<T> => ({ $ref: `urn:rowhouse:${name}` })

/** The response of a route that did what it was asked for. */
export type SuccessResponse = { readonly status: number; readonly response: ServiceResponse }

/** `{status: "success", message, details}`, with an exact message where the response has one. */
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
  /** Beside the details. */
  readonly more?: Readonly<Record<string, JsonSchema>>
}

/** `{status: "success", message}` */
export const done = (description: string, headers?: ServiceResponse['headers']): SuccessResponse => ({
  status: 200,
  response: { description, schema: dto('MessageSuccessResponseDto'), ...(headers ? { headers } : {}) },
})

/** A page of a list: beside it, where the next one begins. */
export const page = (description: string, item: string): SuccessResponse =>
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

export const notAnId = invalid('The id is not a UUID.')
export const otherSite = failure('The request comes from a page of another site.')
