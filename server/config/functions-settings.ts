// The settings of `/functions/v1`.
import type { FunctionsSettings } from '../services/functions/settings.ts'
import { supabaseSetting } from './service-setting.ts'
import type { Setting } from './setting.ts'
import * as types from './setting-types.ts'

const mebibyte = 1024 * 1024

export const functionsSettings: { readonly [K in keyof FunctionsSettings]: Setting<FunctionsSettings[K]> } = {
  functionsDir: supabaseSetting('FUNCTIONS_DIR', types.optionalText, null, {
    description: 'Folder of [functions](../services/functions/README.md), one folder for each; `none` for no folder.',
    defaultInWords: '`functions` or `supabase/functions` in the working folder, if there is one',
    example: '"supabase/functions"',
    change: 'restart',
  }),
  functionsUrl: supabaseSetting('FUNCTIONS_URL', types.httpUrl, null, {
    description:
      'Base URL of a server of your own that runs the functions instead, such as Deno or the edge runtime. Calls are passed on to it, at `/` and the name of the function, once their token is verified.',
    defaultInWords: 'none: worker processes of Node run the files',
    example: '"http://127.0.0.1:9000"',
  }),
  functionsPublicUrl: supabaseSetting('FUNCTIONS_PUBLIC_URL', types.httpUrl, null, {
    description: 'URL of this server for functions: `SUPABASE_URL` of their environment.',
    defaultInWords: 'that of `api-external-url` without `/auth/v1`, or else the address that the server listens on',
    example: '"https://api.example.org"',
  }),
  functionsAnonKey: supabaseSetting('FUNCTIONS_ANON_KEY', types.connectionString, null, {
    description: 'API key or token for `SUPABASE_ANON_KEY` of functions; or `@file`.',
    defaultInWords: 'the publishable development key; otherwise a token, if the server can sign tokens',
    example: '"sb_publishable_…"',
  }),
  functionsServiceRoleKey: supabaseSetting('FUNCTIONS_SERVICE_ROLE_KEY', types.connectionString, null, {
    description:
      'API key or token for `SUPABASE_SERVICE_ROLE_KEY` of functions, which bypasses all policies; or `@file`.',
    defaultInWords: 'the secret development key; otherwise a token, if the server can sign tokens',
    example: '"sb_secret_…"',
  }),
  functionsDatabaseUrl: supabaseSetting('FUNCTIONS_DATABASE_URL', types.connectionString, null, {
    description: 'Connection string for `SUPABASE_DB_URL` of functions, with a login of their own; or `@file`.',
    defaultInWords: "the embedded database's own; otherwise none",
    example: '"postgresql://functions@localhost:5432/postgres"',
  }),
  functionsTimeout: supabaseSetting('FUNCTIONS_TIMEOUT', types.integer({ min: 1, max: 86_400 }), 150, {
    description: 'Seconds of a call, after which it gets 504 or its response breaks off.',
  }),
  functionsMemory: supabaseSetting('FUNCTIONS_MEMORY', types.size, 256 * mebibyte, {
    description: 'Memory of a worker process. One that uses more ends, with the calls in it.',
    defaultInWords: '`256mb`',
    example: '"256mb"',
  }),
  functionsConcurrency: supabaseSetting('FUNCTIONS_CONCURRENCY', types.integer({ min: 1, max: 100_000 }), 100, {
    description:
      'Maximum number of calls of a function at the same time, which `server-workers` share. Further ones get 503 with `Retry-After`.',
  }),
  functionsWorkers: supabaseSetting('FUNCTIONS_WORKERS', types.integer({ min: 1, max: 1000 }), 20, {
    description:
      'Maximum number of worker processes of all functions, which `server-workers` share. Idle ones end to make room for others.',
  }),
  functionsIdleTime: supabaseSetting('FUNCTIONS_IDLE_TIME', types.integer({ min: 1, max: 86_400 }), 60, {
    description: 'Seconds after which a worker process without calls ends.',
  }),
  functionsMaxRequestBytes: supabaseSetting('FUNCTIONS_MAX_REQUEST_BYTES', types.size, 50 * mebibyte, {
    description: 'Maximum size of the body of a call. Larger ones get 413.',
    defaultInWords: '`50mb`',
    example: '"50mb"',
  }),
  functionsMaxResponseBytes: supabaseSetting('FUNCTIONS_MAX_RESPONSE_BYTES', types.size, 100 * mebibyte, {
    description: 'Maximum size of the body of a response, which breaks off there.',
    defaultInWords: '`100mb`',
    example: '"100mb"',
  }),
}
