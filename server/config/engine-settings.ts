// Settings of the REST API that PostgREST does not have.
import type { EngineSettings, LoadSettings } from '../rest/settings.ts'
import { service } from './service-setting.ts'
import * as types from './setting-types.ts'
import type { Setting } from './setting.ts'

const kibibyte = 1024

type Values = EngineSettings & Pick<LoadSettings, 'dbReloadInterval'>

export const engineSettings: { readonly [K in keyof Values]: Setting<Values[K]> } = {
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
  idempotencyMaxKeys: service({
    name: 'idempotency-max-keys',
    variables: ['IDEMPOTENCY_MAX_KEYS'],
    type: types.integer({ min: 0, max: 1_000_000_000 }),
    default: 100_000,
    description:
      'Maximum number of [`Idempotency-Key`s](../rest/extensions/idempotency/README.md) that a caller may use in 24 hours; further ones get 429. Numbers above 5000 are estimated from a part of the keys, and let up to a fifth more through. `0`: unlimited.',
  }),
  idempotencyMaxBytes: service({
    name: 'idempotency-max-bytes',
    variables: ['IDEMPOTENCY_MAX_BYTES'],
    type: types.size,
    default: kibibyte * kibibyte,
    defaultInWords: '`1mb`',
    example: '"1mb"',
    description:
      'Maximum size of the body of a response that is kept for an `Idempotency-Key`: bytes, or a number with `kb`, `mb`, `gb`. The repetition of a request with a larger one gets 410.',
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
    default: 4,
    description:
      'Maximum number of imports at once per process, half of them of one user. Further ones wait up to `db-pool-acquisition-timeout`, then get 503, or 429 if the user has its half.',
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
  dbReloadInterval: {
    name: 'db-reload-interval',
    origin: 'rowhouse',
    change: 'reload',
    variables: ['DB_RELOAD_INTERVAL'],
    type: types.integer({ min: 0, max: 86_400 }),
    default: 0,
    description:
      'Seconds between checks whether schema, privileges or settings in the database have changed, which then reload them without a notification, for example [behind a pooler](../postgres/poolers.md). `0`: no checks.',
  },
  requestHeaderLimit: service({
    name: 'request-header-limit',
    variables: ['REQUEST_HEADER_LIMIT'],
    type: types.size,
    default: 50 * kibibyte,
    defaultInWords: '`50kb`',
    example: '"50kb"',
    description:
      'Maximum size of URL and headers together, also of each request in a batch: bytes, or a number with `kb`, `mb`, `gb`.',
  }),
  planCacheMaxEntries: service({
    name: 'plan-cache-max-entries',
    variables: ['PLAN_CACHE_MAX_ENTRIES'],
    type: types.integer({ min: 0, max: 1_000_000 }),
    default: 1000,
    description:
      'Maximum number of request shapes whose plan or rejection is cached, with 32 KiB each on average; 0 disables the cache.',
  }),
  dbVersionColumn: service({
    name: 'db-version-column',
    variables: ['DB_VERSION_COLUMN'],
    type: types.optionalText,
    default: null,
    example: '"row_version"',
    description:
      'Column with the version of a row, for [conditional requests](../rest/extensions/conditional-requests/README.md): a trigger must change it with every update. Relations without it use the system column `xmin`, which views do not have.',
  }),
  dbPoolSharing: service({
    name: 'db-pool-sharing',
    variables: ['DB_POOL_SHARING'],
    type: types.choice(
      ['all', 'reads', 'none'],
      'Invalid db-pool-sharing. Only `all`, `reads` and `none` are allowed.',
    ),
    default: 'all',
    description:
      'Short statements that may share connections: `all` (writes while commits are fast), only `reads`, or `none`. Without `db-prepared-statements`, none do.',
  }),
  dbSelectReadableColumns: service({
    name: 'db-select-readable-columns',
    variables: ['DB_SELECT_READABLE_COLUMNS'],
    type: types.boolean,
    default: false,
    description:
      'Whether `*` in `select`, or no `select`, means [the columns that the role may read](../rest/extensions/readable-columns/README.md). Otherwise it means all columns, as in PostgREST.',
  }),
  dbTxBlock: service({
    name: 'db-tx-block',
    variables: ['DB_TX_BLOCK'],
    type: types.boolean,
    default: false,
    description:
      'Whether the statements of a request are always sent within `BEGIN` and `COMMIT`, as [Citus](../postgres/citus.md) needs it. Otherwise they are one implicit transaction where that is the same to Postgres.',
  }),
  urlIgnoreTrailingText: service({
    name: 'url-ignore-trailing-text',
    variables: ['URL_IGNORE_TRAILING_TEXT'],
    type: types.boolean,
    default: false,
    description:
      'Whether text after a complete value in the query string, as in `id=in.(1,2)junk`, is ignored, as in PostgREST. Otherwise such a request is rejected.',
  }),
}
