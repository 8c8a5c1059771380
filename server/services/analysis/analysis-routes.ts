// The routes of the image analysis. Its router and its part of the OpenAPI document are made from them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { baseDescription, pathBelow } from './description.ts'
import { healthResponse } from './health-response.ts'
import { predict, predictBatch, predictOlder, type PredictSettings } from './predict-routes.ts'
import { Problem, sendJson } from './problem.ts'
import type { JsonSchema } from '../../http/json-schema.ts'
import type { Route } from '../../http/route.ts'
import { dto, record, text } from '../../http/service-response.ts'
import type { SecurityName, ServiceParameter, ServiceResponse } from '../../http/service-route.ts'

/** What the handlers need. */
export type AnalysisRouteSettings = PredictSettings & {
  /** Paths of ONNX files; null: none. */
  readonly classifier: string | null
  readonly detector: string | null
}

type AnalysisRoute = Route<AnalysisRouteSettings>

/** Makes a handler with the settings. */
const by =
  (
    answer: (
      request: IncomingMessage,
      response: ServerResponse,
      settings: AnalysisRouteSettings,
    ) => void | Promise<void>,
  ): AnalysisRoute['prepare'] =>
  (settings) =>
  (request, response) =>
    answer(request, response, settings)

const tag = 'image analysis'
const path = { type: 'string', format: 'uri-reference' }
const detail = record({ detail: text })

/** An error response in the format of these routes. */
const problem = (description: string): ServiceResponse => ({ description, schema: detail })
const retrying = (description: string): ServiceResponse => ({
  ...problem(description),
  headers: { 'Retry-After': 'Seconds after which to try again.' },
})

const problems: Readonly<Record<number, ServiceResponse>> = {
  400: problem('The body or the image cannot be decoded.'),
  401: problem('The credentials are invalid, or missing where they are required.'),
  403: problem('The credentials do not allow storing runs.'),
  413: problem('A file, the image or the whole body is too large, or there are too many files.'),
  415: problem('The file is not a JPEG, PNG or WebP image.'),
  422: { description: 'A field is missing or invalid.', schema: dto('HTTPValidationError') },
  429: retrying('Too many images per minute.'),
  500: problem('The analysis failed.'),
  503: retrying('No analysis is available, or too many images are waiting.'),
  504: problem('The analysis timed out.'),
}

/** Optional unless `image-anonymous` is off. Storing a run requires one of them. */
const security: readonly SecurityName[] = ['bearer', 'apiKey', 'session']

const parameters: readonly ServiceParameter[] = [
  {
    name: 'store',
    in: 'query',
    description: 'Whether the prediction is stored as a classification run of the caller.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'keep_image',
    in: 'query',
    description: 'Whether the image is kept with the stored run, as an object in the folder of the caller.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'image_source',
    in: 'query',
    description: 'Source of the image, for a stored run.',
    schema: { $ref: 'urn:rowhouse:ClassificationRunInput#/properties/image_source' },
  },
  {
    name: 'image_uri',
    in: 'query',
    description:
      'Address of the image, for a stored run that does not keep it. Defaults to a URI with the hash of the image.',
    schema: { $ref: 'urn:rowhouse:ClassificationRunInput#/properties/image_uri' },
  },
]

const binary: JsonSchema = { type: 'string', contentMediaType: 'application/octet-stream' }
const form = (field: string, schema: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    [field]: schema,
    store: { type: 'boolean' },
    keep_image: { type: 'boolean' },
    image_source: text,
    image_uri: text,
  },
  required: [field],
})
const oneImage: Readonly<Record<string, JsonSchema>> = {
  'multipart/form-data': form('file', binary),
  'application/json': form('image_base64', { type: 'string', description: 'Base64, or a `data:` URL.' }),
  ...Object.fromEntries(['image/jpeg', 'image/png', 'image/webp'].map((type) => [type, {}])),
}

/** The routes of the image analysis at and below its prefix. Errors have FastAPI's form: see `problem.ts`. */
export function analysisRoutes(prefix: string): readonly AnalysisRoute[] {
  const at = (below: string): string => pathBelow(prefix, below)
  const own: readonly AnalysisRoute[] = [
    {
      method: 'get',
      path: prefix,
      id: 'describeImageAnalysis',
      tag,
      summary: 'List the paths of the image analysis',
      security: [],
      responses: {
        200: {
          description: 'The paths.',
          schema: record({
            base_url_path: path,
            health: path,
            predict: path,
            predict_batch: path,
            live_detect_websocket: path,
            openapi: path,
          }),
        },
      },
      prepare: by((_request, response) => sendJson(response, 200, baseDescription(prefix))),
    },
    {
      method: 'get',
      path: at('/ready'),
      id: 'imageAnalysisReadiness',
      tag,
      summary: 'Check whether images can be analysed',
      security: [],
      responses: {
        200: { description: 'Images can be analysed.', schema: record({ status: { const: 'ready' } }) },
        503: {
          description: 'Images cannot be analysed, with the reason.',
          schema: record({ status: { const: 'not ready' }, detail: text }),
        },
      },
      prepare: by(async (_request, response, { predictor }) => {
        const reason = await predictor.unusable()
        if (reason) sendJson(response, 503, { status: 'not ready', detail: reason.detail })
        else sendJson(response, 200, { status: 'ready' })
      }),
    },
  ]
  return [
    // At the root, `/` and `/ready` are routes of the whole service.
    ...(prefix === '/' ? [] : own),
    {
      method: 'get',
      path: at('/health'),
      id: 'imageAnalysisHealth',
      tag,
      summary: 'Show which models are loaded',
      security: [],
      responses: { 200: { description: 'Always.', schema: dto('HealthResponse') } },
      prepare: by((_request, response, settings) => sendJson(response, 200, healthResponse(settings))),
    },
    {
      method: 'post',
      path: at('/predict'),
      id: 'predict',
      tag,
      summary: 'Detect water hyacinth in an image',
      description: 'Works without credentials, unless the setting `image-anonymous` is off.',
      security,
      optionalSecurity: true,
      parameters,
      bodies: oneImage,
      responses: { 200: { description: 'What was found.', schema: dto('PredictionResponse') }, ...problems },
      prepare: by(predict),
    },
    {
      method: 'post',
      path: at('/predict/batch'),
      id: 'predictBatch',
      tag,
      summary: 'Detect water hyacinth in several images',
      security,
      optionalSecurity: true,
      parameters: [
        ...parameters,
        {
          name: 'errors',
          in: 'query',
          description: 'With `include`, the array also contains images that could not be analysed.',
          schema: { const: 'include' },
        },
      ],
      bodies: { 'multipart/form-data': form('files', { type: 'array', items: binary }) },
      responses: {
        200: {
          description: 'The predictions, in the order of the images.',
          headers: { 'X-Batch-Failed': 'Number of images that could not be analysed.' },
          schema: {
            type: 'array',
            items: {
              anyOf: [
                dto('BatchPredictionItem'),
                record({ image: text, index: { type: 'integer', minimum: 0 }, error: text }),
              ],
            },
          },
        },
        ...problems,
      },
      prepare: by(predictBatch),
    },
    {
      method: 'get',
      path: at('/v1/health'),
      id: 'olderImageAnalysisHealth',
      tag,
      summary: 'Check that the image analysis responds (older format)',
      security: [],
      responses: { 200: { description: 'It does.', schema: record({ status: { const: 'healthy' } }) } },
      prepare: by((_request, response) => sendJson(response, 200, { status: 'healthy' })),
    },
    {
      method: 'post',
      path: at('/v1/predict'),
      id: 'olderPredict',
      tag,
      summary: 'Detect water hyacinth in an image (older format)',
      description: 'An image that needs a review gets 503, because the older format cannot express that.',
      security,
      optionalSecurity: true,
      parameters,
      bodies: oneImage,
      responses: { 200: { description: 'What was found.', schema: dto('PredictionSchema') }, ...problems },
      prepare: by(predictOlder),
    },
    {
      method: 'get',
      path: at('/ws/live-detect'),
      id: 'liveDetect',
      tag,
      summary: 'Detect water hyacinth in frames, by WebSocket',
      description:
        'Each message is `{frame_id?, image_base64}`. The reply is a `PredictionResponse` with the `frame_id`, or ' +
        '`{frame_id, detail, status_code}`. The server closes the connection with code 1013 when no analysis is available.',
      security,
      optionalSecurity: true,
      responses: {
        101: { description: 'The connection goes on as a WebSocket.' },
        401: problem('The credential is not valid, or there is none where one is needed.'),
        403: problem('The request comes from a page of another site.'),
        426: problem('The request does not ask for a WebSocket.'),
        500: problem('Something went wrong on the server.'),
        503: retrying('The database cannot be reached at the moment.'),
      },
      // Requests for a WebSocket do not come here: see `live-detection.ts`.
      prepare: by(() => {
        throw new Problem(426, 'This is a WebSocket.', { Connection: 'Upgrade', Upgrade: 'websocket' })
      }),
    },
  ]
}
