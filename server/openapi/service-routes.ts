// Every route of the service beside the REST resources. A new route is a new entry here, its body a schema in `schemas/`.
import type { JsonSchema } from './json-schema.ts'
import type { ServiceResponse, ServiceRoute } from './service-route.ts'

const uuid: JsonSchema = { type: 'string', format: 'uuid' }
const email: JsonSchema = { type: 'string', format: 'email' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const text: JsonSchema = { type: 'string' }
const number: JsonSchema = { type: 'number' }

/** An object with all of these properties. */
const record = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** Components of the routes below. A schema of `schemas/` with the same name takes the place of one of these. */
export const serviceSchemas: Readonly<Record<string, JsonSchema>> = {
  Account: record({ id: uuid, email }),
  NewAccount: record({ id: uuid, email, created_at: time }),
  Report: record({
    id: uuid,
    user_id: uuid,
    manufacturer: text,
    model: text,
    year: { type: 'integer' },
    mileage: number,
    price: number,
    lat: number,
    lng: number,
    created_at: time,
  }),
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

const component = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A body of `schemas/`, by its `$id`. */
const dto = (name: string): JsonSchema => ({ $ref: `urn:rowhouse:${name}` })

/** `{status: "success", statusCode, data}` */
const success = (
  statusCode: number,
  description: string,
  data: JsonSchema,
  headers?: ServiceResponse['headers'],
): Readonly<Record<number, ServiceResponse>> => ({
  [statusCode]: {
    description,
    schema: record({ status: { const: 'success' }, statusCode: { const: statusCode }, data }),
    ...(headers ? { headers } : {}),
  },
})

const failure = (description: string): ServiceResponse => ({ description, schema: component('Failure') })

/** Answers of every route that reads a JSON body. */
const bodyFailures: Readonly<Record<number, ServiceResponse>> = {
  400: failure('The body is not valid.'),
  413: failure('The body is too large.'),
  415: failure('The body is not JSON in UTF-8.'),
}

const serverErrors: Readonly<Record<number, ServiceResponse>> = {
  500: { description: 'Something went wrong on the server.', schema: component('Error') },
  503: { description: 'Something that this needs is missing at the moment.', schema: component('Error') },
}

const notSignedIn = failure('Nobody is signed in.')

export const serviceRoutes: readonly ServiceRoute[] = [
  {
    method: 'post',
    path: '/auth/register',
    id: 'register',
    tag: 'accounts',
    summary: 'Make an account',
    security: [],
    body: dto('RegisterDto'),
    responses: {
      ...success(201, 'The new account.', component('NewAccount')),
      ...bodyFailures,
      409: failure('The e-mail address is registered already.'),
      ...serverErrors,
    },
  },
  {
    method: 'post',
    path: '/auth/sign-in',
    id: 'signIn',
    tag: 'accounts',
    summary: 'Sign in',
    security: [],
    body: dto('SignInDto'),
    responses: {
      ...success(200, 'Signed in.', component('Account'), { 'Set-Cookie': 'The session.' }),
      ...bodyFailures,
      401: failure('The e-mail address or the password is wrong.'),
      ...serverErrors,
    },
  },
  {
    method: 'post',
    path: '/auth/sign-out',
    id: 'signOut',
    tag: 'accounts',
    summary: 'Sign out',
    security: ['session'],
    responses: {
      ...success(200, 'Signed out.', { type: 'null' }, { 'Set-Cookie': 'Takes the cookie away.' }),
      401: notSignedIn,
      ...serverErrors,
    },
  },
  {
    method: 'post',
    path: '/report',
    id: 'createReport',
    tag: 'reports',
    summary: 'Report a vehicle',
    security: ['session'],
    body: dto('CreateReportDto'),
    responses: {
      ...success(201, 'The stored report.', component('Report')),
      ...bodyFailures,
      401: notSignedIn,
      403: failure('The policies of the database do not allow it.'),
      409: failure('The profile of the user was deleted.'),
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/health',
    id: 'health',
    tag: 'operations',
    summary: 'Whether the process answers',
    security: [],
    responses: { 200: { description: 'It does.', schema: record({ status: { const: 'ok' } }) } },
  },
  {
    method: 'get',
    path: '/ready',
    id: 'ready',
    tag: 'operations',
    summary: 'Whether the service can do its work',
    security: [],
    responses: {
      200: { description: 'It can.', schema: readiness('ready') },
      503: { description: 'It cannot, for the checks that are false.', schema: readiness('not ready') },
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'describe',
    tag: 'operations',
    summary: 'This document',
    security: [],
    responses: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
  },
  {
    method: 'get',
    path: '/docs/',
    id: 'docs',
    tag: 'operations',
    summary: 'This document as a page',
    security: [],
    responses: { 200: { description: 'A page.', media: 'text/html', schema: text } },
  },
]

function readiness(status: string): JsonSchema {
  return record({
    status: { const: status },
    checks: { type: 'object', additionalProperties: { type: 'boolean' } },
  })
}
