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
    name: 'node-env',
    variables: ['NODE_ENV'],
    kind: kinds.secureCookies,
    default: false,
    defaultInWords: '`development`',
    description: 'Cookies are marked Secure unless this is `development` or `test`.',
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
    description: 'Wrong passwords for one account in 15 minutes, after which its sign-ins are refused.',
  }),
  authAddressLimit: service({
    name: 'auth-address-limit',
    variables: ['AUTH_ADDRESS_LIMIT'],
    kind: kinds.integer({ min: 1, max: 1_000_000 }),
    default: 100,
    description: 'Wrong passwords from one network address in 15 minutes, and as many registrations from it.',
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
    kind: kinds.choice(['all', 'reads', 'none'], 'Invalid db-pool-sharing. Only `all`, `reads` and `none` are allowed.'),
    default: 'all',
    description: 'Which brief statements share connections: `all`, `reads` only, or `none`.',
  }),
}
