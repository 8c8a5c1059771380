// The resource of batches: `POST /$batch`.
import type { JsonObject, JsonSchema } from '../../http/json-schema.ts'
import { failures, sharedRefs, type RestContext } from './rest-component.ts'

const json = 'application/json'
const headers: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } }

const request: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[\\w.:~@-]{1,100}$' },
    method: { type: 'string', enum: ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'] },
    url: {
      description:
        'Relative to the REST resources, with a slash at its beginning. `${id#/pointer}` stands for a value in the response to an earlier request.',
      type: 'string',
      pattern: '^/',
    },
    headers: { ...headers, description: 'Headers of content, preferences and conditions.' },
    body: {
      description:
        'JSON, or a text for other media types. `{"$ref": "id#/pointer"}` stands for a value in the response to an earlier request.',
    },
    dependsOn: { type: 'array', items: { type: 'string' } },
  },
  required: ['id', 'method', 'url'],
  additionalProperties: false,
}

const response: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    status: { type: 'integer' },
    headers: { ...headers, description: 'Names are in lower case.' },
    body: { description: 'JSON, or a text for other media types; absent if there is no body.' },
  },
  required: ['id', 'status', 'headers'],
}

const listOf = (name: string, items: JsonSchema): JsonObject => ({
  [json]: {
    schema: { type: 'object', properties: { [name]: { type: 'array', items } }, required: [name] },
  },
})

/** The path item of batches. */
export const batchPath = ({ basePath }: RestContext): readonly [string, JsonObject] => [
  `${basePath}/$batch`,
  {
    post: {
      operationId: 'runBatch',
      tags: ['operations'],
      summary: 'Run several requests in one transaction',
      description:
        'All requests take effect, or none. After the first error, the response has its status and its error, with the id of the request in the member `request`. The format is that of OData 4.01.',
      parameters: sharedRefs('idempotencyKey'),
      requestBody: { required: true, content: listOf('requests', request) },
      responses: {
        200: { description: 'The responses, in the order of the requests.', content: listOf('responses', response) },
        ...failures(),
      },
    },
  },
]
