// Settings that PostgREST does not have, apart from those of sign-in, storage, realtime and functions.
import { analysisSettings } from './analysis-settings.ts'
import type { ServiceConfig, ServiceName } from './config.ts'
import { engineSettings } from './engine-settings.ts'
import { operationSettings } from './operation-settings.ts'
import { service } from './service-setting.ts'
import * as types from './setting-types.ts'
import type { Setting } from './setting.ts'

const kibibyte = 1024

const serviceNames: readonly ServiceName[] = [
  ...(['rest', 'auth', 'auth-v1', 'profiles', 'reports', 'analysis', 'storage'] as const),
  ...(['realtime', 'webhooks', 'schedules', 'functions', 'mcp', 'console'] as const),
]

export const serviceSettings: { readonly [K in keyof ServiceConfig]: Setting<ServiceConfig[K]> } = {
  dataDir: service({
    name: 'data-dir',
    variables: ['DATA_DIR'],
    type: types.text,
    default: '.data',
    description: 'Folder of the embedded database and the development keys.',
  }),
  backupDir: service({
    name: 'backup-dir',
    variables: ['BACKUP_DIR'],
    type: types.optionalText,
    default: null,
    defaultInWords: 'none',
    example: '"/mnt/backup/rowhouse"',
    description:
      'Folder of the [backups of the embedded database](../tools/backups/README.md): `serve` archives its write-ahead log there.',
  }),
  services: service({
    name: 'services',
    variables: ['SERVICES'],
    type: types.choices(serviceNames),
    default: serviceNames.filter((name) => name !== 'auth-v1' && name !== 'mcp'),
    description:
      'What the server has. The routes of other services respond with 404, and migrations create none of their tables: `rest,auth` leaves `public` to tables of your own. `auth-v1` in the place of `auth` leaves out the sign-in with cookies (`/auth/signup` and the others). `mcp` adds [tools for agents](../services/mcp/README.md).',
  }),
  console: service({
    name: 'console',
    variables: ['CONSOLE'],
    type: types.choice(['development', 'on', 'off'], 'Invalid console.'),
    default: 'development',
    description:
      'When the [console](../services/console/README.md) is open: `development` for clients on the same machine while the server has the embedded database and listens on loopback; `on` also elsewhere, for the secret key and accounts of administrators; `off` never.',
  }),
  consoleDatabaseUrl: service({
    name: 'console-database-url',
    variables: ['CONSOLE_DATABASE_URL'],
    type: types.connectionString,
    default: null,
    defaultInWords: 'none: SQL runs during development only',
    example: '"postgresql://console_sql@localhost:5432/postgres"',
    description:
      'Connection string of the [console](../services/console/README.md) for SQL outside of development, with a login role that can take the roles of requests only; or `@file`.',
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
    type: types.connectionString,
    default: null,
    defaultInWords: 'as `db-uri`',
    example: '"postgresql://owner@localhost:5432/postgres"',
    description: 'Connection string for migrations, which need a role with more privileges; or `@file`.',
  }),
  databaseReplicaUrls: service({
    name: 'database-replica-urls',
    variables: ['DATABASE_REPLICA_URLS'],
    type: types.words,
    default: [],
    defaultInWords: 'none',
    example: '"postgresql://authenticator@replica-1/postgres postgresql://authenticator@replica-2/postgres"',
    description:
      'Connection strings of [read replicas](../postgres/replicas/README.md), separated by spaces; or `@file`. Each has `db-pool` connections of its own.',
  }),
  databaseReplicaMaxLag: service({
    name: 'database-replica-max-lag',
    variables: ['DATABASE_REPLICA_MAX_LAG'],
    type: types.integer({ min: 1, max: 86_400 }),
    default: 10,
    description: 'Seconds by which a replica may lag behind the primary. One that lags more is not used.',
  }),
  databaseReplicaWait: service({
    name: 'database-replica-wait',
    variables: ['DATABASE_REPLICA_WAIT'],
    type: types.integer({ min: 0, max: 60_000 }),
    default: 100,
    description:
      "Milliseconds that a read waits for a replica to replay its client's last write. After that it runs on the primary.",
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
  loadSheddingWait: service({
    name: 'load-shedding-wait',
    variables: ['LOAD_SHEDDING_WAIT'],
    type: types.integer({ min: 0, max: 60_000 }),
    default: 250,
    description:
      'Milliseconds that requests may wait for their turn while the server is [overloaded](../running/overload/README.md). Further ones get 503 with `Retry-After`. `0`: none is refused.',
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
      'Memory for JSON above 2 MiB, and for large responses to slow clients while other requests wait for their connections. `0` disables it.',
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
  serverRequestTimeout: service({
    name: 'server-request-timeout',
    variables: ['SERVER_REQUEST_TIMEOUT'],
    type: types.integer({ min: 1, max: 86_400 }),
    default: 60,
    description:
      'Seconds in which a request must arrive, including its body. Otherwise it gets 408, and the connection is closed.',
  }),
  serverDrainTime: service({
    name: 'server-drain-time',
    variables: ['SERVER_DRAIN_TIME'],
    type: types.integer({ min: 0, max: 3600 }),
    default: 0,
    description:
      'Seconds after SIGTERM in which the server goes on serving while `/ready` is 503, so that a [balancer](../running/operations/processes.md) stops using it before it stops listening.',
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
      'Secrets for signing session cookies, newest first, separated by commas, each at least 32 characters long; or `@file`.',
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
      'Wrong passwords from one network in 15 minutes, and also registrations. A network is an IPv4 address or the first 64 bits of an IPv6 address; all clients of an IPv6 /56 may make twice as many, those of a /48 four times as many.',
  }),
  authWaitingLimit: service({
    name: 'auth-waiting-limit',
    variables: ['AUTH_WAITING_LIMIT'],
    type: types.integer({ min: 1, max: 100 }),
    default: 16,
    description:
      'Passwords from one network that wait to be hashed at the same time; further sign-ins and registrations get 429. All networks together have 100 places.',
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
      'Roles that get an [explanation](../tools/explain/README.md) of their requests with `Accept: application/vnd.rowhouse.explain+json`, separated by commas. They learn policies, privileges and numbers of rows, not hidden rows.',
  }),
  ...engineSettings,
  ...analysisSettings,
  ...operationSettings,
}
