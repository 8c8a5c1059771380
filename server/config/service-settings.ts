// Settings of this program's own.
import type { ServiceConfig } from './config.ts'
import * as kinds from './setting-types.ts'
import type { Setting } from './setting.ts'

type ServiceSettings = { readonly [K in keyof ServiceConfig]: Setting<ServiceConfig[K]> }

const service = <T>(setting: Omit<Setting<T>, 'origin' | 'change'>): Setting<T> => ({
  ...setting,
  origin: 'rowhouse',
  change: 'restart',
})

const kibibyte = 1024

export const serviceSettings: ServiceSettings = {
  dataDir: service({
    name: 'data-dir',
    variables: ['DATA_DIR'],
    kind: kinds.text,
    default: '.data',
    description: 'Folder of the embedded database and the development keys.',
  }),
  migrateOnStart: service({
    name: 'migrate-on-start',
    variables: ['MIGRATE_ON_START'],
    kind: kinds.boolean,
    default: false,
    description: 'Whether `serve` applies the migrations first. The embedded database is always migrated.',
  }),
  migrationDatabaseUrl: service({
    name: 'migration-database-url',
    variables: ['MIGRATION_DATABASE_URL'],
    kind: kinds.optionalText,
    default: null,
    defaultInWords: 'as `db-uri`',
    example: '"postgresql://owner@localhost:5432/postgres"',
    description: 'Connection string for the migrations, whose role may do more; or `@file`.',
  }),
  dbPoolReserve: service({
    name: 'db-pool-reserve',
    variables: ['DB_POOL_RESERVE'],
    kind: kinds.integer({ min: 0, max: 100 }),
    default: 2,
    description:
      'Further connections of each process beside `db-pool`, opened when all of these are in use: for signing in, `/ready`, and loading the schema.',
  }),
  dbPoolSpillMemory: service({
    name: 'db-pool-spill-memory',
    variables: ['DB_POOL_SPILL_MEMORY'],
    kind: kinds.sizeOrZero,
    default: 32 * kibibyte * kibibyte,
    defaultInWords: '`32mb`',
    example: '"32mb"',
    description:
      'Memory for large responses to slow clients, so that their connections are free while other requests wait for one. `0`: none.',
  }),
  dbPoolSpillDisk: service({
    name: 'db-pool-spill-disk',
    variables: ['DB_POOL_SPILL_DISK'],
    kind: kinds.sizeOrZero,
    default: kibibyte ** 3,
    defaultInWords: '`1gb`',
    example: '"1gb"',
    description: 'The same in temporary files, for what does not fit into that memory. `0`: none.',
  }),
  docsMode: service({
    name: 'docs-mode',
    variables: ['DOCS_MODE'],
    kind: kinds.choice(['follow-privileges', 'ignore-privileges'], 'Invalid docs-mode.'),
    default: 'follow-privileges',
    defaultInWords: '`follow-privileges`; `ignore-privileges` with the embedded database',
    description: 'Whether `/docs` and `/openapi.json` show what the caller may use, or everything.',
  }),
  restBasePath: service({
    name: 'rest-base-path',
    variables: ['REST_BASE_PATH'],
    kind: kinds.mountPath,
    default: '/rest/v1',
    description: "Path of the REST API. `/` gives PostgREST's own paths.",
  }),
  restBodyLimit: service({
    name: 'rest-body-limit',
    variables: ['REST_BODY_LIMIT'],
    kind: kinds.size,
    default: 10 * kibibyte * kibibyte,
    defaultInWords: '`10mb`',
    example: '"10mb"',
    description: 'Largest request body of the REST API: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  restBodyBudget: service({
    name: 'rest-body-budget',
    variables: ['REST_BODY_BUDGET'],
    kind: kinds.size,
    default: 64 * kibibyte * kibibyte,
    defaultInWords: '`64mb`',
    example: '"64mb"',
    description:
      'Bytes of request bodies above 16 KiB that the REST API holds at one time. Further ones wait as long as for a connection (`db-pool-acquisition-timeout`), then get 503.',
  }),
  serverRequestTimeout: service({
    name: 'server-request-timeout',
    variables: ['SERVER_REQUEST_TIMEOUT'],
    kind: kinds.integer({ min: 1, max: 86_400 }),
    default: 60,
    description:
      'Seconds in which a request, body included, must have arrived; otherwise 408, and the connection is closed.',
  }),
  requestHeaderLimit: service({
    name: 'request-header-limit',
    variables: ['REQUEST_HEADER_LIMIT'],
    kind: kinds.size,
    default: 50 * kibibyte,
    defaultInWords: '`50kb`',
    example: '"50kb"',
    description: 'Largest head of a request, its URL and headers together: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  planCacheMaxEntries: service({
    name: 'plan-cache-max-entries',
    variables: ['PLAN_CACHE_MAX_ENTRIES'],
    kind: kinds.integer({ min: 0, max: 1_000_000 }),
    default: 1000,
    description: 'Maximum number of request shapes whose plan or rejection is cached; 0 for none.',
  }),
  bodyLimit: service({
    name: 'body-limit',
    variables: ['BODY_LIMIT'],
    kind: kinds.size,
    default: 100 * kibibyte,
    defaultInWords: '`100kb`',
    example: '"100kb"',
    description: 'Largest request body of every other route.',
  }),
  sessionSecrets: service({
    name: 'session-secrets',
    variables: ['SESSION_SECRETS'],
    kind: kinds.sessionSecrets,
    default: [],
    example: '"$(NEW_SESSION_SECRET),$(OLD_SESSION_SECRET)"',
    description:
      'Secrets that session cookies are signed with, the newest first, separated by commas, each of at least 32 characters.',
  }),
  secureCookies: service({
    name: 'secure-cookies',
    variables: ['SECURE_COOKIES'],
    kind: kinds.optionalBoolean,
    default: null,
    defaultInWords: '`true`; `false` when the server listens on loopback or uses the embedded database',
    example: 'true',
    description:
      'Whether session cookies are for TLS only (`Secure`), and also named `__Host-session`. Set it to `true` behind a proxy with TLS on the same machine.',
  }),
  trustedProxies: service({
    name: 'trusted-proxies',
    variables: ['TRUSTED_PROXIES'],
    kind: kinds.integer({ min: 0, max: 10 }),
    default: 0,
    description:
      'Number of proxies in front of the server that each add the address of their client to `X-Forwarded-For`. Limits by address need it.',
  }),
  authAccountLimit: service({
    name: 'auth-account-limit',
    variables: ['AUTH_ACCOUNT_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1_000_000 }),
    default: 10,
    description:
      'Wrong passwords for one account from one network in 15 minutes, after which its sign-ins from there are refused.',
  }),
  authAccountTotalLimit: service({
    name: 'auth-account-total-limit',
    variables: ['AUTH_ACCOUNT_TOTAL_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1_000_000 }),
    default: 100,
    description:
      'Wrong passwords for one account from all networks in 15 minutes, after which all its sign-ins are refused.',
  }),
  authAddressLimit: service({
    name: 'auth-address-limit',
    variables: ['AUTH_ADDRESS_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1_000_000 }),
    default: 100,
    description:
      'Wrong passwords from one network in 15 minutes, and as many registrations from it. A network is an IPv4 address, or the first 64 bits of an IPv6 address.',
  }),
  serverWorkers: service({
    name: 'server-workers',
    variables: ['SERVER_WORKERS'],
    kind: kinds.workers,
    default: 1,
    description: 'Processes that share the port and the connections of `db-pool`; `auto`: one for each processor.',
  }),
  dbPoolSharing: service({
    name: 'db-pool-sharing',
    variables: ['DB_POOL_SHARING'],
    kind: kinds.choice(
      ['all', 'reads', 'none'],
      'Invalid db-pool-sharing. Only `all`, `reads` and `none` are allowed.',
    ),
    default: 'all',
    description: 'Which brief statements share connections: `all`, `reads` only, or `none`.',
  }),
  imageBasePath: service({
    name: 'image-base-path',
    variables: ['IMAGE_BASE_PATH'],
    kind: kinds.mountPathOrRoot,
    default: '/api/v1/water-hyacinth',
    description: 'Path of the image analysis. `/`, or empty: the root.',
  }),
  imageClassifier: service({
    name: 'image-classifier',
    variables: ['IMAGE_CLASSIFIER'],
    kind: kinds.optionalText,
    default: null,
    example: '"models/classifier.onnx"',
    description: 'ONNX file of the model that classifies images. A JSON file of the same name may describe it.',
  }),
  imageDetector: service({
    name: 'image-detector',
    variables: ['IMAGE_DETECTOR'],
    kind: kinds.optionalText,
    default: null,
    example: '"models/detector.onnx"',
    description: 'ONNX file of the model that finds regions in images. A JSON file of the same name may describe it.',
  }),
  imageRequireModel: service({
    name: 'image-require-model',
    variables: ['IMAGE_REQUIRE_MODEL'],
    kind: kinds.boolean,
    default: false,
    description:
      'Whether images are refused (503) where no model is configured, instead of measuring their green cover.',
  }),
  imageAnonymous: service({
    name: 'image-anonymous',
    variables: ['IMAGE_ANONYMOUS'],
    kind: kinds.boolean,
    default: true,
    description:
      'Whether callers without credentials, or with a publishable key alone, may have images analysed; otherwise 401.',
  }),
  imageRateLimit: service({
    name: 'image-rate-limit',
    variables: ['IMAGE_RATE_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1_000_000 }),
    default: 600,
    description:
      'Images in a minute from one user, or from one network where nobody is signed in; further ones get 429.',
  }),
  imageFileLimit: service({
    name: 'image-file-limit',
    variables: ['IMAGE_FILE_LIMIT'],
    kind: kinds.size,
    default: 10 * kibibyte * kibibyte,
    defaultInWords: '`10mb`',
    example: '"10mb"',
    description: 'Largest image: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  imageBodyLimit: service({
    name: 'image-body-limit',
    variables: ['IMAGE_BODY_LIMIT'],
    kind: kinds.size,
    default: 64 * kibibyte * kibibyte,
    defaultInWords: '`64mb`',
    example: '"64mb"',
    description: 'Largest request body with images.',
  }),
  imageBatchLimit: service({
    name: 'image-batch-limit',
    variables: ['IMAGE_BATCH_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1000 }),
    default: 16,
    description: 'Maximum number of images in one request.',
  }),
  imagePixelLimit: service({
    name: 'image-pixel-limit',
    variables: ['IMAGE_PIXEL_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1000 }),
    default: 50,
    description: 'Largest image in megapixels.',
  }),
  imageQueueLimit: service({
    name: 'image-queue-limit',
    variables: ['IMAGE_QUEUE_LIMIT'],
    kind: kinds.integer({ min: 1, max: 10_000 }),
    default: 16,
    description: 'Images that may wait while one is analysed; further ones get 503.',
  }),
  imageTimeout: service({
    name: 'image-timeout',
    variables: ['IMAGE_TIMEOUT'],
    kind: kinds.integer({ min: 1, max: 3600 }),
    default: 10,
    description: 'Seconds in which an image is analysed, otherwise 504; of these it may wait for half, otherwise 503.',
  }),
  imageBodyBudget: service({
    name: 'image-body-budget',
    variables: ['IMAGE_BODY_BUDGET'],
    kind: kinds.size,
    default: 128 * kibibyte * kibibyte,
    defaultInWords: '`128mb`',
    example: '"128mb"',
    description: 'Bytes of uploaded images that the process holds at one time. Further ones wait, then get 503.',
  }),
  imageSocketLimit: service({
    name: 'image-socket-limit',
    variables: ['IMAGE_SOCKET_LIMIT'],
    kind: kinds.integer({ min: 0, max: 10_000 }),
    default: 64,
    description: 'WebSocket connections for live detection at one time, a quarter of them from one network.',
  }),
  imageThreads: service({
    name: 'image-threads',
    variables: ['IMAGE_THREADS'],
    kind: kinds.integer({ min: 1, max: 256 }),
    default: 1,
    description: 'Threads that decode and analyse an image.',
  }),
}
