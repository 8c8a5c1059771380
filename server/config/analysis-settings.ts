// The settings of the image analysis.
import type { AnalysisSettings } from '../services/analysis/settings.ts'
import { service } from './service-setting.ts'
import * as types from './setting-types.ts'
import type { Setting } from './setting.ts'

const kibibyte = 1024

export const analysisSettings: { readonly [K in keyof AnalysisSettings]: Setting<AnalysisSettings[K]> } = {
  imageBasePath: service({
    name: 'image-base-path',
    variables: ['IMAGE_BASE_PATH'],
    type: types.mountPathOrRoot,
    default: '/api/v1/water-hyacinth',
    description: 'Path of the image analysis. `/` or an empty value is the root.',
  }),
  imageClassifier: service({
    name: 'image-classifier',
    variables: ['IMAGE_CLASSIFIER'],
    type: types.optionalText,
    default: null,
    example: '"models/classifier.onnx"',
    description: 'ONNX file of the model that classifies images, optionally described by a JSON file of the same name.',
  }),
  imageDetector: service({
    name: 'image-detector',
    variables: ['IMAGE_DETECTOR'],
    type: types.optionalText,
    default: null,
    example: '"models/detector.onnx"',
    description:
      'ONNX file of the model that detects regions in images, optionally described by a JSON file of the same name.',
  }),
  imageRequireModel: service({
    name: 'image-require-model',
    variables: ['IMAGE_REQUIRE_MODEL'],
    type: types.boolean,
    default: false,
    description: 'Whether to reject images (503) if no model is configured, instead of measuring their green cover.',
  }),
  imageAnonymous: service({
    name: 'image-anonymous',
    variables: ['IMAGE_ANONYMOUS'],
    type: types.boolean,
    default: true,
    description:
      'Whether callers without credentials, or with only a publishable key, may have images analysed. Otherwise they get 401.',
  }),
  imageRateLimit: service({
    name: 'image-rate-limit',
    variables: ['IMAGE_RATE_LIMIT'],
    type: types.integer({ min: 1, max: 1_000_000 }),
    default: 600,
    description: 'Images per minute from one user, or from one network without sign-in. Further ones get 429.',
  }),
  imageFileLimit: service({
    name: 'image-file-limit',
    variables: ['IMAGE_FILE_LIMIT'],
    type: types.size,
    default: 10 * kibibyte * kibibyte,
    defaultInWords: '`10mb`',
    example: '"10mb"',
    description: 'Maximum size of an image: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  imageBodyLimit: service({
    name: 'image-body-limit',
    variables: ['IMAGE_BODY_LIMIT'],
    type: types.size,
    default: 64 * kibibyte * kibibyte,
    defaultInWords: '`64mb`',
    example: '"64mb"',
    description: 'Maximum size of a request body with images.',
  }),
  imageBatchLimit: service({
    name: 'image-batch-limit',
    variables: ['IMAGE_BATCH_LIMIT'],
    type: types.integer({ min: 1, max: 1000 }),
    default: 16,
    description: 'Maximum number of images in one request.',
  }),
  imagePixelLimit: service({
    name: 'image-pixel-limit',
    variables: ['IMAGE_PIXEL_LIMIT'],
    type: types.integer({ min: 1, max: 1000 }),
    default: 50,
    description: 'Maximum megapixels of an image.',
  }),
  imageQueueLimit: service({
    name: 'image-queue-limit',
    variables: ['IMAGE_QUEUE_LIMIT'],
    type: types.integer({ min: 1, max: 10_000 }),
    default: 16,
    description: 'Maximum number of images that wait while one is analysed. Further ones get 503.',
  }),
  imageTimeout: service({
    name: 'image-timeout',
    variables: ['IMAGE_TIMEOUT'],
    type: types.integer({ min: 1, max: 3600 }),
    default: 10,
    description: 'Timeout per image in seconds (504), of which it may wait for half (503).',
  }),
  imageBodyBudget: service({
    name: 'image-body-budget',
    variables: ['IMAGE_BODY_BUDGET'],
    type: types.size,
    default: 128 * kibibyte * kibibyte,
    defaultInWords: '`128mb`',
    example: '"128mb"',
    description: 'Memory of a process for uploaded images. Further ones wait, then get 503.',
  }),
  imageSocketLimit: service({
    name: 'image-socket-limit',
    variables: ['IMAGE_SOCKET_LIMIT'],
    type: types.integer({ min: 0, max: 10_000 }),
    default: 64,
    description:
      'Maximum number of WebSocket connections for live detection, up to a quarter of them from one network.',
  }),
  imageThreads: service({
    name: 'image-threads',
    variables: ['IMAGE_THREADS'],
    type: types.integer({ min: 1, max: 256 }),
    default: 1,
    description: 'Number of threads for decoding and analysing an image.',
  }),
  imageBucket: service({
    name: 'image-bucket',
    variables: ['IMAGE_BUCKET'],
    type: types.text,
    default: 'analysis-images',
    description: 'Bucket of analysed images that callers keep, created as a private one. Its policies decide who may.',
  }),
}
