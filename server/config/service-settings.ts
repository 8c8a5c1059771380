// Settings of this program's own.
import type { ServiceConfig } from './config.ts'
import * as kinds from './kinds.ts'
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
}
