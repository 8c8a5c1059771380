import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { authSettings } from '../../../server/config/auth-settings.ts'
import type { AuthSettings } from '../../../server/services/auth/settings.ts'
import type { Config } from '../../../server/config/config.ts'
import { ConfigError } from '../../../server/config/config-error.ts'
import { loadConfig, withDatabaseSettings, type LoadedConfig } from '../../../server/config/load.ts'

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-config-'))
t.teardown(() => rmSync(folder, { recursive: true }))

let files = 0
function fileOf(content: string | Buffer): string {
  files += 1
  const path = join(folder, `file-${files}.conf`)
  writeFileSync(path, content)
  return path
}

type Variables = Readonly<Record<string, string>>
type Row = { env?: Variables; file?: string; database?: Variables }

function load({ env = {}, file, database }: Row): LoadedConfig {
  const base = loadConfig({ env, file: file === undefined ? undefined : fileOf(file) })
  return database ? withDatabaseSettings(base, Object.entries(database)) : base
}

const secret = 'reallyreallyreallyreallyverysafe'

t.test('defaults', async (t) => {
  const { config, warnings } = load({})
  const expected: Omit<Config, keyof AuthSettings> = {
    adminServerHost: '127.0.0.1',
    adminServerPort: null,
    adminServerUnixSocket: null,
    adminServerUnixSocketMode: 0o660,
    backupDir: null,
    appSettings: [],
    authAccountLimit: 10,
    authAccountTotalLimit: 100,
    authAddressLimit: 100,
    authWaitingLimit: 16,
    bodyLimit: 102_400,
    clientErrorVerbosity: 'verbose',
    console: 'development',
    consoleDatabaseUrl: null,
    dataDir: '.data',
    dbAggregatesEnabled: false,
    dbAnonRole: 'anon',
    dbChannel: 'pgrst',
    dbChannelEnabled: true,
    dbConfig: true,
    dbExtraSearchPath: ['public'],
    dbHoistedTxSettings: ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation'],
    dbMaxRows: null,
    dbPlanEnabled: false,
    dbPool: 10,
    dbPoolAcquisitionTimeout: 10,
    dbPoolAutomaticRecovery: true,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
    databaseReplicaMaxLag: 10,
    databaseReplicaUrls: [],
    databaseReplicaWait: 100,
    databaseTraceContext: 'none',
    dbPoolReserve: 2,
    loadSheddingWait: 250,
    dbPoolSpillDisk: 1024 ** 3,
    dbPoolSpillMemory: 32 * 1024 ** 2,
    dbPreConfig: null,
    dbPreRequest: null,
    dbPreparedStatements: true,
    dbRootSpec: null,
    explainRoles: [],
    dbSchemas: ['public'],
    dbTxEnd: 'commit',
    dbUri: null,
    docsMode: 'ignore-privileges',
    jwtAud: null,
    jwtCacheMaxEntries: 1000,
    jwtRoleClaimKey: '$.role',
    jwtSecret: null,
    jwtSecretIsBase64: false,
    logLevel: 'info',
    mcpMaxBytes: 262_144,
    mcpMaxRows: 100,
    mcpMaxRunning: 16,
    mcpMode: 'read-only',
    mcpTimeout: 50,
    logQuery: false,
    migrateOnStart: true,
    migrationDatabaseUrl: null,
    migrationsDir: null,
    openapiMode: 'follow-privileges',
    otelExporterOtlpEndpoint: null,
    otelExporterOtlpProtocol: 'http/protobuf',
    otelPropagators: ['tracecontext', 'baggage'],
    otelResourceAttributes: [],
    otelSdkDisabled: false,
    otelServiceName: 'rowhouse',
    otelTracesSampler: 'parentbased_always_on',
    otelTracesSamplerArg: 1,
    openapiSecurityActive: false,
    openapiServerProxyUri: null,
    functionsAnonKey: null,
    functionsConcurrency: 100,
    functionsDatabaseUrl: null,
    functionsDir: null,
    functionsIdleTime: 60,
    functionsMaxRequestBytes: 52_428_800,
    functionsMaxResponseBytes: 104_857_600,
    functionsMemory: 268_435_456,
    functionsPublicUrl: null,
    functionsServiceRoleKey: null,
    functionsTimeout: 150,
    functionsUrl: null,
    functionsWorkers: 20,
    realtimeDatabaseUrl: null,
    realtimeMaxBufferedBytes: 4_194_304,
    realtimeMaxBytesPerSecond: 10_000_000,
    realtimeMaxChannelsPerClient: 100,
    realtimeMaxConnections: 16_384,
    realtimeMaxEventsPerSecond: 1000,
    realtimeMaxJoinsPerSecond: 100,
    realtimeMaxPayloadBytes: 3_000_000,
    realtimeMaxTransactionBytes: 67_108_864,
    realtimePresenceMaxCalls: 100,
    realtimePresenceWindowMs: 30_000,
    realtimePrivateOnly: false,
    realtimeReplayBytes: 16_777_216,
    realtimeReplaySeconds: 300,
    schedulesDatabaseUrl: [],
    schedulesKeepDays: 7,
    schedulesMaxRunning: 8,
    schedulesTimeLimit: 21_600,
    schedulesTimezone: null,
    restBasePath: '/rest/v1',
    requestHeaderLimit: 50 * 1024,
    dbMaxCost: null,
    dbMaxEmbedDepth: null,
    planCacheMaxEntries: 1000,
    dbReloadInterval: 0,
    dbVersionColumn: null,
    idempotencyMaxBytes: 1024 * 1024,
    idempotencyMaxKeys: 100_000,
    batchMaxRequests: 100,
    batchMaxBytes: 10_485_760,
    restBodyLimit: 10_485_760,
    restExportCompression: true,
    restExportLimit: 4,
    restImportLimit: 1_073_741_824,
    restImportSlots: 4,
    restBodyBudget: 67_108_864,
    serverRequestTimeout: 60,
    serverDrainTime: 0,
    schemasDir: null,
    secureCookies: null,
    serverCorsAllowedOrigins: [],
    serverHost: '127.0.0.1',
    serverPort: 3000,
    serverReuseport: false,
    serverTimingEnabled: false,
    serverTraceHeader: null,
    serverUnixSocket: null,
    serverUnixSocketMode: 0o660,
    sessionSecrets: [],
    trustedProxies: 0,
    dbPoolSharing: 'all',
    dbSelectReadableColumns: false,
    dbTxBlock: false,
    imageAnonymous: true,
    imageBasePath: '/api/v1/water-hyacinth',
    imageBatchLimit: 16,
    imageBodyBudget: 134_217_728,
    imageBodyLimit: 67_108_864,
    imageClassifier: null,
    imageDetector: null,
    imageFileLimit: 10_485_760,
    imagePixelLimit: 50,
    imageQueueLimit: 16,
    imageRateLimit: 600,
    imageRequireModel: false,
    imageSocketLimit: 64,
    imageThreads: 1,
    imageBucket: 'analysis-images',
    imageTimeout: 10,
    serverWorkers: 1,
    services: [
      'rest',
      'auth',
      'profiles',
      'reports',
      'analysis',
      'storage',
      'realtime',
      'webhooks',
      'schedules',
      'functions',
      'console',
    ],
    slowQueryPlan: 'none',
    slowQueryThreshold: 0,
    storageBackend: 'file',
    storageFileBackendPath: null,
    storageFileSizeLimit: 52_428_800,
    storageUnicodeNames: null,
    storageImageTransformationEnabled: true,
    storageImageTransformationLimitMaxSize: 2000,
    storageImageTransformationLimitMinSize: 1,
    storageMemoryCache: 16_777_216,
    storagePublicUrl: null,
    storageS3Bucket: null,
    storageS3Endpoint: null,
    storageS3Region: 'us-east-1',
    storageTusUrlExpiryMs: 3_600_000,
    storageUploadSignedUrlExpirationTime: 60,
    urlIgnoreTrailingText: false,
    urlUseLegacyTargetNames: true,
    webhooksAllowedHosts: [],
    webhooksConcurrency: 64,
    webhooksHostConcurrency: 32,
    webhooksKeepDead: 2_592_000,
    webhooksKeepDelivered: 259_200,
    webhooksMaxAttempts: 20,
    webhooksMaxPause: 14_400,
    webhooksMaxResponseBytes: 65_536,
    webhooksMaxTimeout: 60_000,
  }
  const ofAuth = new Set(Object.keys(authSettings).concat('authProviders', 'authHooks', 'authMailContents'))
  t.strictSame(Object.fromEntries(Object.entries(config).filter(([name]) => !ofAuth.has(name))), expected)
  t.strictSame(warnings, [])
})

const qualified = (schema: string, name: string): object => ({ schema, name })

const values: readonly [Row, Partial<Config>][] = [
  // Sources
  [{ env: { PGRST_DB_POOL: '5' } }, { dbPool: 5 }],
  [{ file: 'db-pool = 6' }, { dbPool: 6 }],
  [{ file: 'db-pool = "6"' }, { dbPool: 6 }],
  [{ env: { PGRST_DB_POOL: '5' }, file: 'db-pool = 6' }, { dbPool: 5 }],
  [{ env: { PGRST_DB_MAX_ROWS: '5' }, database: { db_max_rows: '7' } }, { dbMaxRows: 7 }],
  [{ file: 'db-max-rows = 5', database: { db_max_rows: '7' } }, { dbMaxRows: 7 }],
  [{ env: { PGRST_DB_MAX_ROWS: '5' }, file: 'db-max-rows = 6', database: { db_max_rows: '' } }, { dbMaxRows: null }],
  [{ database: { db_pool: '7', server_port: '1', log_level: 'debug' } }, { dbPool: 10, serverPort: 3000, logLevel: 'info' }],
  // An empty value is unset, but hides sources of lower precedence
  [{ env: { PGRST_DB_POOL: '' }, file: 'db-pool = 6' }, { dbPool: 10 }],
  [{ env: { PGRST_ADMIN_SERVER_PORT: '' } }, { adminServerPort: null }],
  [{ env: { PGRST_DB_EXTRA_SEARCH_PATH: '' } }, { dbExtraSearchPath: [] }],
  [{ env: { PGRST_DB_HOISTED_TX_SETTINGS: '' } }, { dbHoistedTxSettings:
    ['statement_timeout', 'plan_filter.statement_cost_limit', 'default_transaction_isolation'] }],
  // Deprecated names
  [{ env: { PGRST_MAX_ROWS: '5' } }, { dbMaxRows: 5 }],
  [{ env: { PGRST_MAX_ROWS: '5' }, file: 'db-max-rows = 6' }, { dbMaxRows: 6 }],
  [{ env: { PGRST_DB_MAX_ROWS: '' }, file: 'max-rows = 6' }, { dbMaxRows: 6 }],
  [{ env: { PGRST_DB_POOL_TIMEOUT: '5' } }, { dbPoolMaxIdletime: 5 }],
  [{ env: { PGRST_DB_POOL_TIMEOUT: '5', PGRST_DB_POOL_MAX_IDLETIME: '6' } }, { dbPoolMaxIdletime: 5 }],
  [{ file: 'db-schema = "a"' }, { dbSchemas: ['a'] }],
  [{ file: 'pre-request = "check"' }, { dbPreRequest: qualified('', 'check') as Config['dbPreRequest'] }],
  [{ file: 'root-spec = "root"' }, { dbRootSpec: qualified('', 'root') as Config['dbRootSpec'] }],
  [{ file: 'role-claim-key = "$$.a"' }, { jwtRoleClaimKey: '$.a' }],
  [{ file: 'secret-is-base64 = true' }, { jwtSecretIsBase64: true }],
  // Numbers
  [{ env: { PGRST_DB_POOL: ' 7 ' } }, { dbPool: 7 }],
  [{ env: { PGRST_DB_POOL: '0x10' } }, { dbPool: 16 }],
  [{ env: { PGRST_JWT_CACHE_MAX_ENTRIES: '-1' } }, { jwtCacheMaxEntries: -1 }],
  [{ file: 'db-pool = 1e1' }, { dbPool: 10 }],
  [{ env: { PGRST_SERVER_PORT: '0' } }, { serverPort: 0 }],
  // Booleans
  ...([
    ['true', true], ['True', true], ['TRUE', true], ['"true"', true], ['t.r.u.e', true], ['1', true], ['2', true],
    ['false', false], ['FALSE', false], ['0', false], ['-1', false],
  ] as const).map(([text, flag]): [Row, Partial<Config>] => [{ env: { PGRST_LOG_QUERY: text } }, { logQuery: flag }]),
  [{ file: 'log-query = on' }, { logQuery: true }],
  [{ file: 'db-channel-enabled = off' }, { dbChannelEnabled: false }],
  // Identifiers and lists
  [{ env: { PGRST_DB_SCHEMAS: 'multi,   tenant,setup' } }, { dbSchemas: ['multi', 'tenant', 'setup'] }],
  [{ env: { PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'http://a.com, http://b.com' } },
    { serverCorsAllowedOrigins: ['http://a.com', 'http://b.com'] }],
  [{ env: { PGRST_DB_PRE_REQUEST: 'api.check.it' } }, { dbPreRequest: { schema: 'api', name: 'check.it' } }],
  [{ env: { PGRST_DB_PRE_REQUEST: 'check.' } }, { dbPreRequest: { schema: '', name: 'check' } }],
  [{ env: { PGRST_DB_PRE_CONFIG: '__proto__' } }, { dbPreConfig: { schema: '', name: '__proto__' } }],
  // Modes, audiences, addresses
  [{ env: { PGRST_SERVER_UNIX_SOCKET_MODE: '600' } }, { serverUnixSocketMode: 0o600 }],
  [{ env: { PGRST_SERVER_UNIX_SOCKET_MODE: '777' } }, { serverUnixSocketMode: 0o777 }],
  [{ env: { PGRST_ADMIN_SERVER_UNIX_SOCKET_MODE: '0666' } }, { adminServerUnixSocketMode: 0o666 }],
  [{ env: { PGRST_JWT_AUD: 'no uri' } }, { jwtAud: 'no uri' }],
  [{ env: { PGRST_JWT_AUD: 'urn:example:api' } }, { jwtAud: 'urn:example:api' }],
  [{ env: { PGRST_JWT_AUD: 'https://user@[::1]:80/a%20b?c#d' } }, { jwtAud: 'https://user@[::1]:80/a%20b?c#d' }],
  [{ env: { PGRST_OPENAPI_SERVER_PROXY_URI: 'https://example.com:8443/base' } },
    { openapiServerProxyUri: 'https://example.com:8443/base' }],
  [{ env: { PGRST_SERVER_TRACE_HEADER: 'X-Request-Id' } }, { serverTraceHeader: 'X-Request-Id' }],
  // Other values of enumerations
  [{ env: { PGRST_CLIENT_ERROR_VERBOSITY: 'minimal' } }, { clientErrorVerbosity: 'minimal' }],
  [{ env: { PGRST_DB_TX_END: 'rollback-allow-override' } }, { dbTxEnd: 'rollback-allow-override' }],
  [{ env: { PGRST_OPENAPI_MODE: 'disabled' } }, { openapiMode: 'disabled' }],
  [{ env: { PGRST_LOG_LEVEL: 'crit' } }, { logLevel: 'crit' }],
  // The database and its default anonymous role
  // The default log level
  [{ env: { PGRST_LOG_LEVEL: '' } }, { logLevel: 'info' }],
  [{ env: { PGRST_LOG_LEVEL: '', PGRST_DB_URI: 'x' } }, { logLevel: 'error' }],
  [{ env: { PGRST_DB_URI: 'x' } }, { logLevel: 'error' }],
  [{ file: 'db-uri = "x"' }, { logLevel: 'error' }],
  [{ env: { DATABASE_URL: 'x' } }, { logLevel: 'info' }],
  [{ env: { DATABASE_URL: 'x', PGRST_DB_URI: 'x' } }, { logLevel: 'error' }],
  [{ env: { PGRST_DB_URI: 'x', PGRST_LOG_LEVEL: 'info' } }, { logLevel: 'info' }],
  [{ env: { PGRST_DB_URI: 'x' }, file: 'log-level = "warn"' }, { logLevel: 'warn' }],
  // The default address
  [{ env: { PGRST_DB_URI: 'x' } }, { serverHost: '!4', adminServerHost: '!4' }],
  [{ env: { PGRST_DB_URI: 'x', HOST: '127.0.0.1' } }, { serverHost: '127.0.0.1', adminServerHost: '127.0.0.1' }],
  [{ env: { DATABASE_URL: 'x' } }, { serverHost: '127.0.0.1' }],
  // The anonymous role
  [{ env: { DATABASE_URL: 'postgres://x' } }, { dbUri: 'postgres://x', dbAnonRole: 'anon', migrateOnStart: false }],
  [{ env: { PGRST_DB_URI: 'postgres://x' } }, { dbUri: 'postgres://x', dbAnonRole: null, migrateOnStart: false }],
  [{ file: 'db-uri = "postgres://x"' }, { dbUri: 'postgres://x', dbAnonRole: null }],
  [{ env: { DATABASE_URL: 'x', PGRST_DB_URI: 'x' } }, { dbUri: 'x', dbAnonRole: null }],
  [{ env: { DATABASE_URL: 'x', PGRST_DB_URI: '' } }, { dbUri: 'x', dbAnonRole: 'anon' }],
  [{ env: { DATABASE_URL: 'x' }, file: 'db-uri = "y"' }, { dbUri: 'x', dbAnonRole: 'anon' }],
  [{ env: { DATABASE_URL: '' } }, { dbUri: null, dbAnonRole: 'anon', migrateOnStart: true }],
  // A database named by libpq's variables, or by a file of PostgREST
  ...['PGHOST', 'PGHOSTADDR', 'PGPORT', 'PGDATABASE', 'PGUSER', 'PGSERVICE'].map((name): [Row, Partial<Config>] => [
    { env: { [name]: 'x' } },
    { dbUri: 'postgresql://', dbAnonRole: null, serverHost: '!4', logLevel: 'error', migrateOnStart: false },
  ]),
  [{ env: { PGHOST: '' } }, { dbUri: null, dbAnonRole: 'anon' }],
  [{ env: { PGPASSWORD: 'x', PGSSLMODE: 'require', PGAPPNAME: 'x', PGTZ: 'UTC', PGOPTIONS: '-c a=b' } }, { dbUri: null }],
  [{ env: { PGHOST: 'x', DATABASE_URL: 'postgres://y' } }, { dbUri: 'postgres://y', dbAnonRole: 'anon' }],
  [{ env: { PGHOST: 'x', PGRST_DB_URI: '' } }, { dbUri: 'postgresql://' }],
  [{ env: { PGHOST: 'x', DATA_DIR: '/data' } }, { dbUri: 'postgresql://' }],
  [{ file: 'db-anon-role = "web"' }, { dbUri: 'postgresql://', dbAnonRole: 'web', serverHost: '!4', logLevel: 'error' }],
  [{ file: 'app.settings.a = "b"' }, { dbUri: 'postgresql://', dbAnonRole: null }],
  [{ env: { DATABASE_URL: 'postgres://y' }, file: 'db-schemas = "x"' }, { dbUri: 'postgres://y', dbAnonRole: 'anon' }],
  [{ file: '# db-schemas = "x"' }, { dbUri: null, dbAnonRole: 'anon' }],
  [{ file: 'auth-account-limit = 5' }, { dbUri: null, dbAnonRole: 'anon' }],
  [{ file: 'db-schemas = "x"\ndata-dir = "/data"' }, { dbUri: null, dbAnonRole: 'anon' }],
  [{ file: 'db-schemas = "x"\ndb-uri = ""' }, { dbUri: null, dbAnonRole: 'anon' }],
  [{ env: { PGHOST: 'x' }, file: 'data-dir = "/data"' }, { dbUri: 'postgresql://' }],
  [{ env: { MIGRATION_DATABASE_URL: 'postgres://owner@x' } }, { dbUri: null, migrationDatabaseUrl: 'postgres://owner@x' }],
  [{ env: { PGRST_DB_URI: 'x', PGRST_DB_ANON_ROLE: 'web' } }, { dbAnonRole: 'web' }],
  [{ env: { PGRST_DB_URI: 'x' }, database: { db_anon_role: 'web' } }, { dbAnonRole: 'web' }],
  [{ env: { PGRST_DB_ANON_ROLE: '' } }, { dbAnonRole: null }],
  [{ env: { DATABASE_URL: 'x', PGRST_DB_ANON_ROLE: 'web' }, database: { db_anon_role: '' } }, { dbAnonRole: null }],
  [{ env: { REST_BASE_PATH: '/' } }, { dbAnonRole: 'anon', restBasePath: '/' }],
  [{ env: { DATABASE_URL: 'x', MIGRATE_ON_START: 'true', MIGRATION_DATABASE_URL: 'y' } },
    { migrateOnStart: true, migrationDatabaseUrl: 'y' }],
  [{ env: { MIGRATE_ON_START: 'false' } }, { migrateOnStart: true }],
  // Host and port
  [{ env: { PORT: '4000', HOST: '0.0.0.0' } }, { serverPort: 4000, serverHost: '0.0.0.0', adminServerHost: '0.0.0.0' }],
  [{ env: { PORT: '4000', PGRST_SERVER_PORT: ' 4000' } }, { serverPort: 4000 }],
  [{ env: { PORT: '4000', PGRST_SERVER_PORT: '' } }, { serverPort: 4000 }],
  [{ env: { PORT: '', PGRST_SERVER_PORT: '4000' } }, { serverPort: 4000 }],
  [{ env: { PORT: '4000' }, file: 'server-port = 5000' }, { serverPort: 4000 }],
  [{ env: { PGRST_SERVER_HOST: '!4', PGRST_ADMIN_SERVER_HOST: '::1' } }, { serverHost: '!4', adminServerHost: '::1' }],
  // Settings of this program
  [{ file: 'rest-base-path = "/api"\ndata-dir = "/var/lib/x"' }, { restBasePath: '/api', dataDir: '/var/lib/x' }],
  [{ env: { REST_BASE_PATH: '/' } }, { restBasePath: '/' }],
  [{ env: { REST_BASE_PATH: 'rest/v1/' } }, { restBasePath: '/rest/v1' }],
  [{ env: { REST_BASE_PATH: '' } }, { restBasePath: '/rest/v1' }],
  [{ env: { REST_BASE_PATH: '/api' } }, { restBasePath: '/api', imageBasePath: '/api/v1/water-hyacinth' }],
  [{ env: { IMAGE_BASE_PATH: '' } }, { imageBasePath: '/' }],
  [{ env: { IMAGE_BASE_PATH: 'images/' } }, { imageBasePath: '/images' }],
  [{ env: { IMAGE_CLASSIFIER: '' } }, { imageClassifier: null }],
  ...([
    ['1', 1], ['1024', 1024], ['1b', 1], ['100kb', 102_400], ['100 KB', 102_400], ['1KiB', 1024], ['10mb', 10_485_760],
    ['10M', 10_485_760], ['2gb', 2_147_483_648],
  ] as const).flatMap(([text, bytes]): [Row, Partial<Config>][] => [
    [{ env: { REST_BODY_LIMIT: text } }, { restBodyLimit: bytes }],
    [{ env: { BODY_LIMIT: text } }, { bodyLimit: bytes }],
  ]),
  [{ file: 'body-limit = 2048' }, { bodyLimit: 2048 }],
  [{ env: { SESSION_SECRETS: `${'a'.repeat(32)}, ${'b'.repeat(40)}` } },
    { sessionSecrets: ['a'.repeat(32), 'b'.repeat(40)] }],
  [{ env: { SECURE_COOKIES: '' } }, { secureCookies: null }],
  [{ env: { SECURE_COOKIES: 'true' } }, { secureCookies: true }],
  [{ env: { SECURE_COOKIES: 'false' } }, { secureCookies: false }],
  [{ env: { NODE_ENV: 'production' } }, { secureCookies: null }],
  // Secrets
  [{ env: { PGRST_JWT_SECRET: secret } }, { jwtSecret: secret }],
  [{ env: { PGRST_JWT_SECRET: '' } }, { jwtSecret: null }],
  [{ env: { PGRST_JWT_SECRET: '{"keys":[]}' } }, { jwtSecret: '{"keys":[]}' }],
  [{ env: { PGRST_JWT_SECRET: Buffer.from(secret).toString('base64'), PGRST_JWT_SECRET_IS_BASE64: 'true' } },
    { jwtSecret: Buffer.from(secret), jwtSecretIsBase64: true }],
  [{ env: { PGRST_JWT_SECRET: Buffer.alloc(34, 0xfb).toString('base64url').padEnd(48, '.'),
    PGRST_JWT_SECRET_IS_BASE64: 'true' } }, { jwtSecret: Buffer.alloc(34, 0xfb) }],
  [{ env: { PGRST_JWT_SECRET: secret }, database: { jwt_secret: 'x'.repeat(32) } }, { jwtSecret: 'x'.repeat(32) }],
  [{ env: { PGRST_JWT_SECRET: Buffer.from(secret).toString('base64') }, database: { jwt_secret_is_base64: 'true' } },
    { jwtSecret: Buffer.from(secret) }],
  // Settings for SQL
  [{ env: { PGRST_APP_SETTINGS_test2: 'b', PGRST_APP_SETTINGS_test: 'env' },
    file: 'app.settings.test = "file"\napp.settings.Z = ""\napp.settings.flag = false\napp.settings.number = 80' },
    { appSettings: [
      ['app.settings.Z', ''], ['app.settings.flag', 'Bool False'], ['app.settings.number', 'Number 80.0'],
      ['app.settings.test', 'env'], ['app.settings.test2', 'b'],
    ] }],
  [{ file: 'app.settings.deep.er = "left out"' }, { appSettings: [] }],
  // A value of another type in the file
  [{ file: 'db-channel-enabled = 13\ndb-max-rows = true\ndb-pool = []' },
    { dbChannelEnabled: true, dbMaxRows: null, dbPool: 10 }],
  [{ file: 'db-anon-role = 5\ndb-channel = true' }, { dbAnonRole: 'Number 5.0', dbChannel: 'Bool True' }],
] // prettier-ignore

t.test('values', async (t) => {
  for (const [row, expected] of values) {
    const { config } = load(row)
    t.match(config, expected, JSON.stringify(row))
    for (const key of Object.keys(expected) as (keyof Config)[]) t.strictSame(config[key], expected[key])
  }
})

t.test('values that name a file', async (t) => {
  const binary = Buffer.alloc(40, 0xff)
  const rows: readonly [Variables, string | Buffer, Partial<Config>][] = [
    [{}, secret, { jwtSecret: secret }],
    [{}, `${secret}\n`, { jwtSecret: secret }],
    [{}, `${secret}\n\n`, { jwtSecret: `${secret}\n` }],
    [{}, binary, { jwtSecret: binary }],
    [{ PGRST_JWT_SECRET_IS_BASE64: '1' }, ` ${binary.toString('base64')}\n`, { jwtSecret: binary }],
  ]
  for (const [env, content, expected] of rows) {
    const { config } = loadConfig({ env: { ...env, PGRST_JWT_SECRET: `@${fileOf(content)}` } })
    t.strictSame(config.jwtSecret, expected.jwtSecret, JSON.stringify(String(content)))
  }
  const uri = fileOf(' postgres://user:secret@host/db \n')
  const loaded = loadConfig({ env: { PGRST_DB_URI: `@${uri}`, MIGRATION_DATABASE_URL: `@${uri}` } })
  t.equal(loaded.config.dbUri, 'postgres://user:secret@host/db')
  t.equal(loaded.config.migrationDatabaseUrl, 'postgres://user:secret@host/db')
})

t.test('reload', async (t) => {
  const path = fileOf('')
  const key = fileOf(secret)
  const write = (role: string): void =>
    writeFileSync(
      path,
      `db-uri = "postgres://${role}"\ndb-anon-role = "${role}"\njwt-secret = "@${key}"\nrest-base-path = "/${role}"`,
    )
  write('one')
  const first = loadConfig({ env: {}, file: path })
  write('two')
  writeFileSync(key, 'y'.repeat(32))
  const overlaid = withDatabaseSettings(first, [['db_plan_enabled', 'true']])
  t.match(overlaid.config, { dbAnonRole: 'one', dbPlanEnabled: true, jwtSecret: secret }, 'files are read once')
  t.match(
    withDatabaseSettings(overlaid, []).config,
    { dbPlanEnabled: false },
    'settings of the database can be removed',
  )
  const next = loadConfig({ env: {}, file: path, previous: overlaid })
  t.match(
    next.config,
    { dbAnonRole: 'two', dbUri: 'postgres://one', restBasePath: '/one', jwtSecret: 'y'.repeat(32) },
    'database and address cannot change',
  )
})

const logLevels = 'crit, error, warn, info, debug'
const openApiModes = 'follow-privileges, ignore-privileges, disabled'
const faults: readonly [Row, ...[string, string][]][] = [
  [{ env: { PGRST_DB_POOL: 'ten' } }, ['PGRST_DB_POOL', 'must be a whole number']],
  [
    { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' } },
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'must be an http or https URL without a user, such as http://localhost:4318'],
  ],
  [
    { env: { OTEL_TRACES_SAMPLER_ARG: '1.5' } },
    ['OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1, such as 0.1'],
  ],
  [
    { env: { OTEL_RESOURCE_ATTRIBUTES: 'a=b,%zz=c' } },
    [
      'OTEL_RESOURCE_ATTRIBUTES',
      'must be name=value, separated by commas, percent-encoded: deployment.environment.name=production',
    ],
  ],
  [
    { env: { OTEL_PROPAGATORS: 'tracecontext,b3' } },
    [
      'OTEL_PROPAGATORS',
      'Unknown value. Check your configuration. "b3" is not one of tracecontext, baggage, none',
    ],
  ],
  [
    { env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' } },
    [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'Invalid otel-exporter-otlp-protocol. Check your configuration. "grpc" is not one of http/protobuf, http/json',
    ],
  ],
  [{ env: { PGRST_DB_POOL: '1.5' } }, ['PGRST_DB_POOL', 'must be a whole number']],
  [{ env: { PGRST_DB_POOL: '0' } }, ['PGRST_DB_POOL', 'must be 1 or more']],
  [{ env: { PGRST_DB_POOL: '9007199254740993' } }, ['PGRST_DB_POOL', 'is too large']],
  [{ env: { PGRST_DB_MAX_ROWS: '-1' } }, ['PGRST_DB_MAX_ROWS', 'must be 0 or more']],
  [{ env: { PORT: '70000' } }, ['PORT', 'must be a number between 0 and 65535']],
  [{ env: { IMAGE_BASE_PATH: '/', REST_BASE_PATH: '/' } }, ['IMAGE_BASE_PATH', 'must not be the same as rest-base-path']],
  [{ env: { IMAGE_BASE_PATH: '/report/images' } },
    ['IMAGE_BASE_PATH', 'must not begin with /report, which other routes use']],
  [{ env: { PGRST_LOG_QUERY: 'yes' } }, ['PGRST_LOG_QUERY', 'must be true or false']],
  [{ env: { PORT: '3001', PGRST_SERVER_PORT: '3002' } },
    ['PGRST_SERVER_PORT and PORT', 'are the same setting, but have different values']],
  [{ env: { HOST: 'a', PGRST_SERVER_HOST: 'b' } }, ['PGRST_SERVER_HOST and HOST', 'are the same setting, but have different values']],
  [{ env: { DATABASE_URL: 'postgres://a:secret@b', PGRST_DB_URI: 'postgres://b' } },
    ['PGRST_DB_URI and DATABASE_URL', 'are the same setting, but have different values']],
  [{ env: { PGRST_SERVER_PORT: '3000', PGRST_ADMIN_SERVER_PORT: '3000' } },
    ['PGRST_ADMIN_SERVER_PORT', 'admin-server-port cannot be the same as server-port']],
  [{ env: { PORT: '4001', PGRST_ADMIN_SERVER_PORT: '4001' } },
    ['PGRST_ADMIN_SERVER_PORT', 'admin-server-port cannot be the same as server-port']],
  ...['800', '599', '778', 'rwx', '1777'].map((mode): [Row, [string, string]] => [
    { env: { PGRST_SERVER_UNIX_SOCKET_MODE: mode } },
    ['PGRST_SERVER_UNIX_SOCKET_MODE', `Invalid server-unix-socket-mode: ${
      mode === '800' || mode === 'rwx' ? 'not an octal' : 'needs to be between 600 and 777'}`],
  ]),
  [{ file: 'admin-server-unix-socket-mode = 660' },
    ['admin-server-unix-socket-mode in FILE', 'Invalid admin-server-unix-socket-mode: not an octal']],
  [{ env: { PGRST_LOG_LEVEL: 'loud' } },
    ['PGRST_LOG_LEVEL', `Invalid logging level. Check your configuration. "loud" is not one of ${logLevels}`]],
  [{ env: { PGRST_LOG_LEVEL: 'warning' } }, ['PGRST_LOG_LEVEL',
    `Invalid logging level. Check your configuration. "warning" is not one of ${logLevels}; did you mean warn?`]],
  [{ env: { PGRST_LOG_LEVEL: 'toString' } },
    ['PGRST_LOG_LEVEL', `Invalid logging level. Check your configuration. "toString" is not one of ${logLevels}`]],
  [{ env: { PGRST_DB_TX_END: 'random' } },
    ['PGRST_DB_TX_END', 'Invalid transaction termination. Check your configuration. "random" is not one of commit, ' +
      'commit-allow-override, rollback, rollback-allow-override']],
  [{ env: { PGRST_OPENAPI_MODE: 'follow-' } }, ['PGRST_OPENAPI_MODE',
    `Invalid openapi-mode. Check your configuration. "follow-" is not one of ${openApiModes}`]],
  [{ env: { PGRST_CLIENT_ERROR_VERBOSITY: 'x' } },
    ['PGRST_CLIENT_ERROR_VERBOSITY', 'Invalid client-error-verbosity. Check your configuration. "x" is not one of verbose, minimal']],
  ...['foo://%%$$^^.com', 'http://%%localhorst.invalid', 'a:b c', ':x', 'http://a:b', 'http://[1::2::3]'].map(
    (audience): [Row, [string, string]] => [{ env: { PGRST_JWT_AUD: audience } },
      ['PGRST_JWT_AUD', 'jwt-aud should be a string or a valid URI']]),
  ...['htp:/@@localhorst.invalid', 'example.com', 'ftp://a.com', 'http://', 'http:///a', 'http://user@a.com', 'http://a.com:0',
    'http://a.com:65536', 'http://a.com:', 'http://a.com?', 'http://a.com?x=1', 'http://a.com/#x', 'http:a'].map(
    (uri): [Row, [string, string]] => [{ env: { PGRST_OPENAPI_SERVER_PROXY_URI: uri } },
      ['PGRST_OPENAPI_SERVER_PROXY_URI',
        'Malformed proxy uri, a correct example: https://example.com:8443/basePath']]),
  [{ env: { PGRST_DB_SCHEMAS: 'pg_catalog' } }, ['PGRST_DB_SCHEMAS', "db-schemas does not allow schema: 'pg_catalog'"]],
  [{ env: { PGRST_DB_SCHEMAS: 'public, information_schema' } },
    ['PGRST_DB_SCHEMAS', "db-schemas does not allow schema: 'information_schema'"]],
  [{ env: { PGRST_JWT_ROLE_CLAIM_KEY: '$.a;b' } },
    ['PGRST_JWT_ROLE_CLAIM_KEY', 'failed to parse role-claim-key value ($.a;b)']],
  [{ env: { PGRST_SERVER_TRACE_HEADER: 'a b' } }, ['PGRST_SERVER_TRACE_HEADER', 'must be the name of an HTTP header']],
  [{ env: { PGRST_SERVER_TRACE_HEADER: 'a\r\nb' } }, ['PGRST_SERVER_TRACE_HEADER', 'must be the name of an HTTP header']],
  [{ file: 'db-anon-role = "a\\u0000b"' }, ['db-anon-role in FILE', 'must not contain the character NUL']],
  [{ env: { PGRST_JWT_SECRET: 'short_secret' } },
    ['PGRST_JWT_SECRET', 'The JWT secret must be at least 32 characters long.']],
  [{ env: { PGRST_JWT_SECRET: 'no base-64!', PGRST_JWT_SECRET_IS_BASE64: 'true' } },
    ['PGRST_JWT_SECRET', 'the secret is not valid base64']],
  [{ env: { PGRST_JWT_SECRET: '@/nowhere/at/all' } },
    ['PGRST_JWT_SECRET', "ENOENT: no such file or directory, open '/nowhere/at/all'"]],
  [{ env: { PGRST_DB_URI: '@/nowhere/at/all' } },
    ['PGRST_DB_URI', "ENOENT: no such file or directory, open '/nowhere/at/all'"]],
  [{ database: { db_max_rows: 'many' } }, ['pgrst.db_max_rows in the database', 'must be a whole number']],
  [{ database: { jwt_secret: 'short' } },
    ['pgrst.jwt_secret in the database', 'The JWT secret must be at least 32 characters long.']],
  [{ env: { 'PGRST_APP_SETTINGS_a-b': 'x' } },
    ['PGRST_APP_SETTINGS_a-b', 'is not a valid name of a PostgreSQL setting']],
  ...['/rest?x', '/rest#x', '//', '/a//b', '/a/../b', '/.', '/a b', '/a%20b', 'http://x', '/a;b', '/é'].map(
    (path): [Row, [string, string]] => [{ env: { REST_BASE_PATH: path } },
      ['REST_BASE_PATH', 'must be a path such as /rest/v1, of letters, digits and the characters - . _ ~']]),
  ...['0', '-1', '1.5mb', 'big', '10tb', '9999999999gb', 'mb'].map((limit): [Row, [string, string]] => [
    { env: { BODY_LIMIT: limit } }, ['BODY_LIMIT', 'must be a size such as 100kb, 10mb or 1048576']]),
  [{ env: { SESSION_SECRETS: `${'a'.repeat(32)},short` } },
    ['SESSION_SECRETS', 'each secret must be at least 32 characters long; number 2 of 2 is not']],
  [{ env: { SESSION_SECRETS: `${'a'.repeat(32)},` } },
    ['SESSION_SECRETS', 'each secret must be at least 32 characters long; number 2 of 2 is not']],
  [{ env: { SESSION_SECRETS: '@/nowhere/at/all' } },
    ['SESSION_SECRETS', "ENOENT: no such file or directory, open '/nowhere/at/all'"]],
  [{ env: { SESSION_SECRETS: '@/dev/null' } },
    ['SESSION_SECRETS', 'each secret must be at least 32 characters long; number 1 of 1 is not']],
  // Several errors at once
  [{ env: { PGRST_LOG_LEVEL: 'x', BODY_LIMIT: 'x', PGRST_JWT_SECRET: 'x' }, file: 'db-pool = "x"\nopenapi-mode = "x"' },
    ['PGRST_LOG_LEVEL', `Invalid logging level. Check your configuration. "x" is not one of ${logLevels}`],
    ['PGRST_JWT_SECRET', 'The JWT secret must be at least 32 characters long.'],
    ['db-pool in FILE', 'must be a whole number'],
    ['openapi-mode in FILE', `Invalid openapi-mode. Check your configuration. "x" is not one of ${openApiModes}`],
    ['BODY_LIMIT', 'must be a size such as 100kb, 10mb or 1048576']],
] // prettier-ignore

t.test('invalid values are rejected', async (t) => {
  for (const [row, ...expected] of faults) {
    try {
      load(row)
      t.fail(`accepted: ${JSON.stringify(row)}`)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const found = error.problems.map(({ source, message }) => [source.replace(/in \/.*/, 'in FILE'), message])
      t.strictSame(found, expected, JSON.stringify(row))
      t.equal(
        error.message,
        ['Error in config', ...error.problems.map(({ source, message }) => `  ${source}: ${message}`)].join('\n'),
      )
    }
  }
})

t.test('an unreadable file does not hide other invalid values', async (t) => {
  t.throws(() => loadConfig({ env: { PGRST_DB_POOL: 'x' }, file: '/nowhere/at/all' }), {
    message: [
      'Error in config',
      "  configuration file: ENOENT: no such file or directory, open '/nowhere/at/all'",
      '  PGRST_DB_POOL: must be a whole number',
    ].join('\n'),
  })
  const path = fileOf('yaml:\n  is:\n')
  t.throws(() => loadConfig({ env: {}, file: path }), {
    message: `Error in config\n  configuration file: ${path}:1:5: expected '=' or '{'`,
  })
})

t.test('warnings', async (t) => {
  const rows: readonly [Row, readonly string[]][] = [
    [{ env: { PGRST_DB_SCHEMA: 'a', PGRST_APP_SETTINGS_x: 'y', PATH: '/bin', OTHER: '1' } }, []],
    [{ env: { PGRST_DB_SHEMAS: 'a' } }, ['PGRST_DB_SHEMAS is not a setting; did you mean PGRST_DB_SCHEMAS?']],
    [{ env: { PGRST_LOGLEVEL: 'a' } }, ['PGRST_LOGLEVEL is not a setting; did you mean PGRST_LOG_LEVEL?']],
    [{ env: { PGRST_SOMETHING_ELSE: 'a' } }, ['PGRST_SOMETHING_ELSE is not a setting']],
    [{ env: { [`PGRST_${'X'.repeat(5000)}`]: 'a' } }, [`PGRST_${'X'.repeat(5000)} is not a setting`]],
    [{ env: { PGRST_DB_USE_LEGACY_GUCS: 'true', GHCRTS: '-N' } }, [
      'PGRST_DB_USE_LEGACY_GUCS is ignored: removed in PostgREST 12',
      'GHCRTS is ignored: belongs to the runtime of PostgREST',
    ]],
    [{ file: 'db-chanel = "x"\nraw-media-types = "x"\napp.settings.any = "x"' }, [
      'db-chanel is not a setting; did you mean db-channel?',
      'raw-media-types is ignored: removed in PostgREST 12: media types are domains',
    ]],
    [{ env: { PGRST_JWT_ROLE_CLAIM_KEY: '.roles.user_role' } }, [
      'The config `jwt-role-claim-key=."roles"."user_role"` is using the deprecated JSPath syntax.',
      'Update `jwt-role-claim-key=."roles"."user_role"` to the new JSONPath syntax as support for JSPath will be removed in a future release. See the migration guide on how to update: https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md#migration-to-v16',
    ]],
    [{ file: 'db-channel-enabled = 13' }, ['db-channel-enabled in FILE is not a boolean and is ignored']],
  ] // prettier-ignore
  for (const [row, expected] of rows) {
    const warnings = load(row).warnings.map((warning) => warning.replace(/in \/\S+/, 'in FILE'))
    t.strictSame(warnings, expected, JSON.stringify(row).slice(0, 100))
  }
})
