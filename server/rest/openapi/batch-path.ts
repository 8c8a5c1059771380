// The path of batches, which PostgREST does not have.
import { object, type Member } from './ordered-json.ts'

const text = object(['type', 'string'])
const list = (name: string, ...members: readonly Member[]): Member => [
  'schema',
  object(
    [
      'properties',
      object([
        name,
        object(['items', object(['properties', object(...members)], ['type', 'object'])], ['type', 'array']),
      ]),
    ],
    ['required', [name]],
    ['type', 'object'],
  ),
]

/** `POST /$batch`: several requests in one transaction, in the JSON format of OData 4.01. */
export const batchPath: Member = [
  '/$batch',
  object([
    'post',
    object(
      ['consumes', ['application/json']],
      [
        'parameters',
        [
          object(
            ['in', 'body'],
            ['name', 'batch'],
            ['required', true],
            list(
              'requests',
              ['id', text],
              ['method', text],
              ['url', text],
              ['headers', object(['type', 'object'])],
              ['body', object()],
            ),
          ),
        ],
      ],
      ['produces', ['application/json']],
      [
        'responses',
        object([
          '200',
          object(
            ['description', 'OK'],
            list(
              'responses',
              ['id', text],
              ['status', object(['type', 'integer'])],
              ['headers', object(['type', 'object'])],
              ['body', object()],
            ),
          ),
        ]),
      ],
      ['summary', 'Run several requests in one transaction'],
      ['tags', ['Batch']],
    ),
  ]),
]
