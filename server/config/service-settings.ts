// Settings that PostgREST does not have.
import type { ServiceConfig } from './config.ts'
import * as types from './setting-types.ts'
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
    type: types.text,
    default: '.data',
    description: 'Folder of the embedded database and the development keys.',
  }),
  services: service({
    name: 'services',
    variables: ['SERVICES'],
    type: types.choices(['rest', 'auth', 'profiles', 'reports', 'analysis', 'storage']),
    default: ['rest', 'auth', 'profiles', 'reports', 'analysis', 'storage'],
    description:
      'What the server has. The routes of other services respond with 404, and migrations create none of their tables: `rest,auth` leaves `public` to tables of your own.',
  }),
  migrateOnStart: service({
    name: 'migrate-on-start',
    variables: ['MIGRATE_ON_START'],
    type: types.boolean,
    default: false,
    description: 'Whether `serve` applies migrations at the start. The embedded database is always migrated.',
  }),
  migrationDatabaseUrl: service({
    name: 'migration-database-url',
    variables: ['MIGRATION_DATABASE_URL'],
    type: types.optionalText,
    default: null,
    defaultInWords: 'as `db-uri`',
    example: '"postgresql://owner@localhost:5432/postgres"',
    description: 'Connection string for migrations, which need a role with more privileges; or `@file`.',
  }),
  migrationsDir: service({
    name: 'migrations-dir',
    variables: ['MIGRATIONS_DIR'],
    type: types.optionalText,
    default: null,
    defaultInWords: '`migrations` or `supabase/migrations` in the working folder, if there is one',
    example: '"migrations"',
    description: 'Folder of migrations of your own, applied after those of the server; `none` for no folder.',
  }),
  schemasDir: service({
    name: 'schemas-dir',
    variables: ['SCHEMAS_DIR'],
    type: types.optionalText,
    default: null,
    defaultInWords: '`schemas` beside the folder of migrations, if there is one',
    example: '"schemas"',
    description: 'Folder of JSON Schemas for the bodies of your own tables; `none` for no folder.',
  }),
  dbPoolReserve: service({
    name: 'db-pool-reserve',
    variables: ['DB_POOL_RESERVE'],
    type: types.integer({ min: 0, max: 100 }),
    default: 2,
    description:
      'Connections of each process in addition to `db-pool`, opened when those are all in use: for signing in, `/ready`, and loading the schema.',
  }),
  dbPoolSpillMemory: service({
    name: 'db-pool-spill-memory',
    variables: ['DB_POOL_SPILL_MEMORY'],
    type: types.sizeOrZero,
    default: 32 * kibibyte * kibibyte,
    defaultInWords: '`32mb`',
    example: '"32mb"',
    description:
      'Memory for large responses to slow clients, which releases their database connections while other requests are waiting. `0` disables it.',
  }),
  dbPoolSpillDisk: service({
    name: 'db-pool-spill-disk',
    variables: ['DB_POOL_SPILL_DISK'],
    type: types.sizeOrZero,
    default: kibibyte ** 3,
    defaultInWords: '`1gb`',
    example: '"1gb"',
    description: 'Temporary files for large responses that do not fit into that memory. `0` disables them.',
  }),
  docsMode: service({
    name: 'docs-mode',
    variables: ['DOCS_MODE'],
    type: types.choice(['follow-privileges', 'ignore-privileges'], 'Invalid docs-mode.'),
    default: 'follow-privileges',
    defaultInWords: '`follow-privileges`; `ignore-privileges` with the embedded database',
    description: 'Whether `/docs` and `/openapi.json` show only what the caller may use, or everything.',
  }),
  restBasePath: service({
    name: 'rest-base-path',
    variables: ['REST_BASE_PATH'],
    type: types.mountPath,
    default: '/rest/v1',
    description: "Path of the REST API. `/` is compatible with PostgREST's paths.",
  }),
  restBodyLimit: service({
    name: 'rest-body-limit',
    variables: ['REST_BODY_LIMIT'],
    type: types.size,
    default: 10 * kibibyte * kibibyte,
    defaultInWords: '`10mb`',
    example: '"10mb"',
    description: 'Maximum size of a REST API request body: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  restBodyBudget: service({
    name: 'rest-body-budget',
    variables: ['REST_BODY_BUDGET'],
    type: types.size,
    default: 64 * kibibyte * kibibyte,
    defaultInWords: '`64mb`',
    example: '"64mb"',
    description:
      'Memory for REST API request bodies above 16 KiB. Further ones wait up to `db-pool-acquisition-timeout`, then get 503.',
  }),
  batchMaxRequests: service({
    name: 'batch-max-requests',
    variables: ['BATCH_MAX_REQUESTS'],
    type: types.integer({ min: 0, max: 100_000 }),
    default: 100,
    description: 'Maximum number of requests in a batch (`POST /$batch`).',
  }),
  batchMaxBytes: service({
    name: 'batch-max-bytes',
    variables: ['BATCH_MAX_BYTES'],
    type: types.size,
    default: 10 * kibibyte * kibibyte,
    defaultInWords: '`10mb`',
    example: '"10mb"',
    description:
      'Maximum size of a batch with the values of its references, and of the responses to its requests in total: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  restExportLimit: service({
    name: 'rest-export-limit',
    variables: ['REST_EXPORT_LIMIT'],
    type: types.integer({ min: 0, max: 1_000 }),
    default: 4,
    description:
      'Maximum number of NDJSON and CSV responses that are streamed row by row at once, each on its own connection; further ones get 503. Keep it below `db-pool`. `0`: nothing is streamed.',
  }),
  restExportCompression: service({
    name: 'rest-export-compression',
    variables: ['REST_EXPORT_COMPRESSION'],
    type: types.boolean,
    default: true,
    description: 'Whether streamed responses are compressed if the client accepts br, zstd or gzip.',
  }),
  restImportLimit: service({
    name: 'rest-import-limit',
    variables: ['REST_IMPORT_LIMIT'],
    type: types.sizeOrZero,
    default: kibibyte ** 3,
    defaultInWords: '`1gb`',
    example: '"1gb"',
    description:
      'Maximum size of a body that is imported: newline-delimited JSON, and CSV above `rest-body-limit`. `0` disables imports.',
  }),
  restImportSlots: service({
    name: 'rest-import-slots',
    variables: ['REST_IMPORT_SLOTS'],
    type: types.integer({ min: 1, max: 1000 }),
    default: 2,
    description:
      'Maximum number of imports at once per process. Further ones wait up to `db-pool-acquisition-timeout`, then get 503.',
  }),
  serverRequestTimeout: service({
    name: 'server-request-timeout',
    variables: ['SERVER_REQUEST_TIMEOUT'],
    type: types.integer({ min: 1, max: 86_400 }),
    default: 60,
    description:
      'Seconds in which a request must arrive, including its body. Otherwise it gets 408, and the connection is closed.',
  }),
  requestHeaderLimit: service({
    name: 'request-header-limit',
    variables: ['REQUEST_HEADER_LIMIT'],
    type: types.size,
    default: 50 * kibibyte,
    defaultInWords: '`50kb`',
    example: '"50kb"',
    description: 'Maximum size of URL and headers together: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  dbMaxCost: service({
    name: 'db-max-cost',
    variables: ['DB_MAX_COST'],
    type: types.optionalInteger({ min: 0 }),
    default: null,
    example: '100000',
    description:
      "Greatest cost of a request's statement by the planner's estimate. `alter role … set pgrst.max_cost` replaces it.",
  }),
  dbMaxEmbedDepth: service({
    name: 'db-max-embed-depth',
    variables: ['DB_MAX_EMBED_DEPTH'],
    type: types.optionalInteger({ min: 0 }),
    default: null,
    example: '3',
    description: 'Greatest number of embeds inside each other. `alter role … set pgrst.max_embed_depth` replaces it.',
  }),
  planCacheMaxEntries: service({
    name: 'plan-cache-max-entries',
    variables: ['PLAN_CACHE_MAX_ENTRIES'],
    type: types.integer({ min: 0, max: 1_000_000 }),
    default: 1000,
    description: 'Maximum number of request shapes whose plan or rejection is cached; 0 disables the cache.',
  }),
  bodyLimit: service({
    name: 'body-limit',
    variables: ['BODY_LIMIT'],
    type: types.size,
    default: 100 * kibibyte,
    defaultInWords: '`100kb`',
    example: '"100kb"',
    description: 'Maximum size of a request body on all other routes.',
  }),
  sessionSecrets: service({
    name: 'session-secrets',
    variables: ['SESSION_SECRETS'],
    type: types.sessionSecrets,
    default: [],
    example: '"$(NEW_SESSION_SECRET),$(OLD_SESSION_SECRET)"',
    description:
      'Secrets for signing session cookies, newest first, separated by commas, each at least 32 characters long.',
  }),
  secureCookies: service({
    name: 'secure-cookies',
    variables: ['SECURE_COOKIES'],
    type: types.optionalBoolean,
    default: null,
    defaultInWords: '`true`; `false` when the server listens on loopback or uses the embedded database',
    example: 'true',
    description:
      'Whether session cookies have the attribute `Secure` and the name `__Host-session`. Set it to `true` behind a TLS proxy on the same machine.',
  }),
  trustedProxies: service({
    name: 'trusted-proxies',
    variables: ['TRUSTED_PROXIES'],
    type: types.integer({ min: 0, max: 10 }),
    default: 0,
    description:
      'Number of proxies in front of the server that each append the address of their client to `X-Forwarded-For`. Rate limits by address depend on it.',
  }),
  authAccountLimit: service({
    name: 'auth-account-limit',
    variables: ['AUTH_ACCOUNT_LIMIT'],
    type: types.integer({ min: 1, max: 1_000_000 }),
    default: 10,
    description:
      'Wrong passwords for one account from one network in 15 minutes, after which its sign-ins from that network are rejected.',
  }),
  authAccountTotalLimit: service({
    name: 'auth-account-total-limit',
    variables: ['AUTH_ACCOUNT_TOTAL_LIMIT'],
    type: types.integer({ min: 1, max: 1_000_000 }),
    default: 100,
    description:
      'Wrong passwords for one account from all networks in 15 minutes, after which all its sign-ins are rejected.',
  }),
  authAddressLimit: service({
    name: 'auth-address-limit',
    variables: ['AUTH_ADDRESS_LIMIT'],
    type: types.integer({ min: 1, max: 1_000_000 }),
    default: 100,
    description:
      'Wrong passwords from one network in 15 minutes, and also registrations. A network is an IPv4 address or the first 64 bits of an IPv6 address.',
  }),
  serverWorkers: service({
    name: 'server-workers',
    variables: ['SERVER_WORKERS'],
    type: types.workers,
    default: 1,
    description:
      'Number of processes that share the port and the connections of `db-pool`; `auto` is one per processor.',
  }),
  explainRoles: service({
    name: 'explain-roles',
    variables: ['EXPLAIN_ROLES'],
    type: types.emptyableList,
    default: [],
    defaultInWords: 'none',
    example: '"authenticated"',
    description:
      'Roles that get an [explanation](#explain) of their requests with `Accept: application/vnd.rowhouse.explain+json`, separated by commas. They learn policies, privileges and numbers of rows, not hidden rows.',
  }),
  dbVersionColumn: service({
    name: 'db-version-column',
    variables: ['DB_VERSION_COLUMN'],
    type: types.optionalText,
    default: null,
    example: '"row_version"',
    description:
      'Column with the version of a row, for [conditional requests](#conditional-requests): a trigger must change it with every update. Relations without it use the system column `xmin`, which views do not have.',
  }),
  dbPoolSharing: service({
    name: 'db-pool-sharing',
    variables: ['DB_POOL_SHARING'],
    type: types.choice(
      ['all', 'reads', 'none'],
      'Invalid db-pool-sharing. Only `all`, `reads` and `none` are allowed.',
    ),
    default: 'all',
    description: 'Short statements that may share connections: `all`, only `reads`, or `none`.',
  }),
  dbSelectReadableColumns: service({
    name: 'db-select-readable-columns',
    variables: ['DB_SELECT_READABLE_COLUMNS'],
    type: types.boolean,
    default: false,
    description:
      'Whether `*` in `select`, or no `select`, means [the columns that the role may read](#columns-that-the-role-may-read). Otherwise it means all columns, as in PostgREST.',
  }),
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
