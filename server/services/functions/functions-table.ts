// The routes of functions as `/openapi.json` describes them. What a function takes and returns is its own matter.
import type { ServiceResponse, ServiceRoute } from '../../http/service-route.ts'
import { functionsPath } from './dialect.ts'

const anything = { description: 'What the function takes and returns.' }

const failure = (description: string): ServiceResponse => ({
  description,
  schema: {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code: { description: 'A word, or the status.', type: ['string', 'integer'] },
      message: { type: 'string' },
    },
  },
})

const shared = {
  path: `${functionsPath}/{name}`,
  tag: 'edge functions',
  security: ['bearer', 'apiKey'],
  parameters: [
    {
      name: 'name',
      in: 'path',
      description: 'Name of the function. A path may follow, which the function reads.',
      schema: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]*$' },
    },
  ],
  responses: {
    200: { description: 'The response of the function, with any status.', schema: anything, media: '*/*' },
    401: failure('No valid token or API key, unless `verify_jwt` of the function is false.'),
    404: failure('There is no function of this name.'),
    413: failure('The body is too large.'),
    500: failure('The function has failed.'),
    501: failure('A WebSocket.'),
    502: failure('The server of the functions cannot be reached.'),
    503: failure('The function cannot be started, or too many calls run.'),
    504: failure('The function has not responded in time.'),
  },
} satisfies Omit<ServiceRoute, 'method' | 'id' | 'summary'>

export const functionsRoutes: readonly ServiceRoute[] = [
  {
    ...shared,
    method: 'post',
    id: 'invokeFunction',
    summary: 'Call a function',
    description: 'Other methods call the function, too.',
    bodies: { 'application/json': anything, '*/*': anything },
  },
  { ...shared, method: 'get', id: 'getFunction', summary: 'Call a function without a body' },
]
