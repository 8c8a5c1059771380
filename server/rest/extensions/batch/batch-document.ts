// The path of batches, which PostgREST does not have.
import type { FixedObject, Member } from '../../openapi/ordered-json.ts'

const text = { type: 'string' }
const anyObject = { type: 'object' }

const list = (name: string, properties: FixedObject): FixedObject => ({
  properties: { [name]: { items: { properties, type: 'object' }, type: 'array' } },
  required: [name],
  type: 'object',
})

const requests = list('requests', { id: text, method: text, url: text, headers: anyObject, body: {} })
const responses = list('responses', { id: text, status: { type: 'integer' }, headers: anyObject, body: {} })

/** `POST /$batch`: several requests in one transaction, in the JSON format of OData 4.01. */
export const batchDocument: Member = [
  '/$batch',
  {
    post: {
      consumes: ['application/json'],
      parameters: [{ in: 'body', name: 'batch', required: true, schema: requests }],
      produces: ['application/json'],
      responses: { 200: { description: 'OK', schema: responses } },
      summary: 'Run several requests in one transaction',
      tags: ['Batch'],
    },
  },
]
