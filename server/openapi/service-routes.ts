// Every route of the service beside the REST resources. A new route is a new entry here, its body a schema in `schemas/`.
import type { JsonSchema } from './json-schema.ts'
import type { ServiceParameter, ServiceResponse, ServiceRoute } from './service-route.ts'

const uuid: JsonSchema = { type: 'string', format: 'uuid' }
const text: JsonSchema = { type: 'string' }

/** An object with all of these properties. */
const record = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** Components of the routes below. A schema of `schemas/` with the same name takes the place of one of these. */
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

const component = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A schema of `schemas/`, by its `$id`. */
const dto = (name: string): JsonSchema => ({ $ref: `urn:rowhouse:${name}` })

/** `{status: "success", statusCode, data}` */
const success = (
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
const noSuchReport = failure('There is no such report for the caller.')
const notAnId = failure('The id is no UUID.')
const otherSite = failure('The request comes from a page of another site.')
const tooMany: ServiceResponse = {
  ...failure('Too many attempts.'),
  headers: { 'Retry-After': 'Seconds after which to try again.' },
}

const idParameter = (description: string, schema: JsonSchema = uuid): ServiceParameter => ({
  name: 'id',
  in: 'path',
  description,
  schema,
})

/** Parameters of a query, by the schema that it is checked against. */
const queryParameters = (
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
      ...success(201, 'The new account.', dto('NewAccount')),
      ...bodyFailures,
      403: otherSite,
      409: failure('The e-mail address is registered already.'),
      429: tooMany,
      ...serverErrors,
    },
  },
  {
    method: 'post',
    path: '/auth/sign-in',
    id: 'signIn',
    tag: 'accounts',
    summary: 'Sign in',
    description: 'A session that the request has a cookie of is ended: the new one takes its place.',
    security: [],
    body: dto('SignInDto'),
    responses: {
      ...success(200, 'Signed in.', dto('Account'), { 'Set-Cookie': 'The session.' }),
      ...bodyFailures,
      401: failure('The e-mail address or the password is wrong.'),
      403: otherSite,
      429: tooMany,
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
      403: otherSite,
      ...serverErrors,
    },
  },
  {
    method: 'post',
    path: '/auth/token',
    id: 'createToken',
    tag: 'accounts',
    summary: 'Get a token for the REST API',
    description: 'The token acts as the user for its time, even when the session ends before.',
    security: ['session'],
    responses: {
      ...success(200, 'The token.', dto('AccessToken')),
      401: notSignedIn,
      403: otherSite,
      501: { description: 'The keys of the settings cannot sign tokens.', schema: component('Error') },
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/auth/me',
    id: 'showAccount',
    tag: 'accounts',
    summary: 'Who is signed in',
    security: ['session'],
    responses: { ...success(200, 'The account.', dto('OwnAccount')), 401: notSignedIn, ...serverErrors },
  },
  {
    method: 'patch',
    path: '/auth/me',
    id: 'changeAccount',
    tag: 'accounts',
    summary: 'Change the e-mail address or the password',
    description: 'A new password ends all other sessions.',
    security: ['session'],
    body: dto('UpdateAccountDto'),
    responses: {
      ...success(200, 'The account as it is now.', dto('OwnAccount')),
      ...bodyFailures,
      401: notSignedIn,
      403: failure('The current password is wrong, or the request comes from a page of another site.'),
      409: failure('The e-mail address is registered already.'),
      429: tooMany,
      ...serverErrors,
    },
  },
  {
    method: 'delete',
    path: '/auth/me',
    id: 'deleteAccount',
    tag: 'accounts',
    summary: 'Delete the account and all its rows',
    security: ['session'],
    body: dto('DeleteAccountDto'),
    responses: {
      ...success(200, 'It is gone.', { type: 'null' }, { 'Set-Cookie': 'Takes the cookie away.' }),
      ...bodyFailures,
      401: notSignedIn,
      403: failure('The password is wrong, or the request comes from a page of another site.'),
      429: tooMany,
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/auth/sessions',
    id: 'listSessions',
    tag: 'accounts',
    summary: 'The sessions of the account, the newest first, at most 100',
    security: ['session'],
    responses: {
      ...success(200, 'Those that are not over.', { type: 'array', items: dto('Session') }),
      401: notSignedIn,
      ...serverErrors,
    },
  },
  {
    method: 'delete',
    path: '/auth/sessions/{id}',
    id: 'revokeSessions',
    tag: 'accounts',
    summary: 'End a session, or all others',
    security: ['session'],
    parameters: [
      idParameter('Of the session; `others` for all but the one of this request.', {
        anyOf: [uuid, { const: 'others' }],
      }),
    ],
    responses: {
      ...success(200, 'Ended.', dto('RevokedSessions')),
      400: notAnId,
      401: notSignedIn,
      403: otherSite,
      404: failure('The caller has no such session.'),
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/report',
    id: 'listReports',
    tag: 'reports',
    summary: 'The own reports, the newest first',
    security: ['session'],
    parameters: queryParameters(
      'ListReportsQuery',
      { limit: 'Most reports of the page; 20 when left out.', cursor: '`next_cursor` of the page before.' },
      false,
    ),
    responses: {
      ...success(200, 'A page of them.', { type: 'array', items: dto('Report') }, undefined, {
        next_cursor: { description: 'For the next page; null on the last.', type: ['string', 'null'] },
      }),
      400: failure('The query is not valid.'),
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
      ...success(201, 'The stored report.', dto('Report')),
      ...bodyFailures,
      401: notSignedIn,
      403: failure('The policies of the database do not allow it, or the request comes from a page of another site.'),
      409: failure('The profile of the user was deleted.'),
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/report/estimate',
    id: 'estimateReport',
    tag: 'reports',
    summary: 'What a vehicle is worth',
    description:
      'By the approved reports of others about the same manufacturer and model, the closer in year, mileage and place the more they count.',
    security: ['session'],
    parameters: queryParameters(
      'EstimateQuery',
      {
        manufacturer: 'In any case, with or without blanks.',
        model: 'In any case, with or without blanks.',
        year: 'Model year.',
        mileage: 'Kilometres.',
        lat: 'Degrees north.',
        lng: 'Degrees east.',
      },
      true,
    ),
    responses: {
      ...success(200, 'The valuation.', dto('Valuation')),
      400: failure('The query is not valid.'),
      401: notSignedIn,
      ...serverErrors,
    },
  },
  {
    method: 'get',
    path: '/report/{id}',
    id: 'showReport',
    tag: 'reports',
    summary: 'One of the own reports, with its valuation',
    security: ['session'],
    parameters: [idParameter('Of the report.')],
    responses: {
      ...success(200, 'The report.', dto('Report')),
      400: notAnId,
      401: notSignedIn,
      404: noSuchReport,
      ...serverErrors,
    },
  },
  {
    method: 'patch',
    path: '/report/{id}',
    id: 'changeReport',
    tag: 'reports',
    summary: 'Change a report that is pending',
    security: ['session'],
    parameters: [idParameter('Of the report.')],
    body: dto('UpdateReportDto'),
    responses: {
      ...success(200, 'The report as it is now.', dto('Report')),
      ...bodyFailures,
      401: notSignedIn,
      403: otherSite,
      404: noSuchReport,
      409: failure('The report is approved or rejected.'),
      ...serverErrors,
    },
  },
  {
    method: 'delete',
    path: '/report/{id}',
    id: 'deleteReport',
    tag: 'reports',
    summary: 'Delete a report',
    security: ['session'],
    parameters: [idParameter('Of the report.')],
    responses: {
      ...success(200, 'It is gone.', { type: 'null' }),
      400: notAnId,
      401: notSignedIn,
      403: otherSite,
      404: noSuchReport,
      ...serverErrors,
    },
  },
  {
    method: 'patch',
    path: '/report/{id}/approval',
    id: 'reviewReport',
    tag: 'reports',
    summary: 'Approve or reject a report',
    description: 'For administrators, whose accounts have the app_role `admin`.',
    security: ['session'],
    parameters: [idParameter('Of the report.')],
    body: dto('ApprovalDto'),
    responses: {
      ...success(200, 'The report as it is now.', dto('Report')),
      ...bodyFailures,
      401: notSignedIn,
      403: failure('The caller is no administrator, or the request comes from a page of another site.'),
      404: failure('There is no such report.'),
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
