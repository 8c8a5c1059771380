import { generateKeyPairSync } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  dumpConfig,
  dumpConfigJson,
  exampleConfig,
  exampleConfigJson,
  settingsTable,
} from '../../../server/config/dump.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { type Environment } from '../../../server/config/config-sources.ts'
import { authSettings } from '../../../server/config/auth-settings.ts'
import { functionsSettings } from '../../../server/config/functions-settings.ts'
import { mcpSettings } from '../../../server/config/mcp-settings.ts'
import { realtimeSettings } from '../../../server/config/realtime-settings.ts'
import { webhooksSettings } from '../../../server/config/webhooks-settings.ts'
import { schedulesSettings } from '../../../server/config/schedules-settings.ts'
import { serviceSettings } from '../../../server/config/service-settings.ts'
import { allSettings } from '../../../server/config/settings.ts'
import { storageSettings } from '../../../server/config/storage-settings.ts'
import { installedPostgrest, withoutPostgrest } from '../../support/postgrest.ts'

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-dump-'))
t.teardown(() => rmSync(folder, { recursive: true }))

let files = 0
function fileOf(content: string): string {
  files += 1
  const path = join(folder, `file-${files}.conf`)
  writeFileSync(path, content)
  return path
}

const dump = (env: Environment, content?: string): string =>
  dumpConfig(loadConfig({ env, file: content === undefined ? undefined : fileOf(content) }).config)

t.test('every PostgREST setting is dumped in order', async (t) => {
  const dumped = dump({})
  const own = dumped.indexOf('api-external-url')
  t.equal(
    dumped.slice(0, own),
    `admin-server-host = "127.0.0.1"
admin-server-port = ""
admin-server-unix-socket = ""
admin-server-unix-socket-mode = "660"
client-error-verbosity = "verbose"
db-aggregates-enabled = false
db-anon-role = "anon"
db-channel = "pgrst"
db-channel-enabled = true
db-config = true
db-extra-search-path = "public"
db-hoisted-tx-settings = "statement_timeout,plan_filter.statement_cost_limit,default_transaction_isolation"
db-max-rows = ""
db-plan-enabled = false
db-pool = 10
db-pool-acquisition-timeout = 10
db-pool-automatic-recovery = true
db-pool-max-idletime = 30
db-pool-max-lifetime = 1800
db-pre-config = ""
db-pre-request = ""
db-prepared-statements = true
db-root-spec = ""
db-schemas = "public"
db-tx-end = "commit"
db-uri = ""
jwt-aud = ""
jwt-cache-max-entries = 1000
jwt-role-claim-key = "$$.role"
jwt-secret = ""
jwt-secret-is-base64 = false
log-level = "info"
log-query = false
openapi-mode = "follow-privileges"
openapi-security-active = false
openapi-server-proxy-uri = ""
server-cors-allowed-origins = ""
server-host = "127.0.0.1"
server-port = 3000
server-reuseport = false
server-timing-enabled = false
server-trace-header = ""
server-unix-socket = ""
server-unix-socket-mode = "660"
url-use-legacy-target-names = true
`,
  )
  const rest = dumped.slice(own).trimEnd().split('\n')
  const tables = [
    ...[serviceSettings, authSettings, storageSettings, realtimeSettings],
    ...[webhooksSettings, schedulesSettings, functionsSettings, mcpSettings],
  ]
  const names = tables.flatMap((table: Record<string, { name: string }>) =>
    Object.values(table).map(({ name }) => name),
  )
  t.strictSame(
    rest.map((line) => line.split(' = ')[0]),
    names.sort(),
    'followed by every setting of this program',
  )
  t.ok(rest.includes('data-dir = ".data"'))
  t.ok(rest.includes('rest-body-limit = 10485760'))
})

t.test('the dump as JSON', async (t) => {
  const config = loadConfig({
    env: {
      PGRST_DB_ANON_ROLE: 'a"b',
      PGRST_DB_MAX_ROWS: '7',
      PGRST_JWT_ROLE_CLAIM_KEY: '$.a',
      SESSION_SECRETS: 's'.repeat(32),
    },
  }).config
  const json = JSON.parse(dumpConfigJson(config)) as Record<string, unknown>
  t.match(json, {
    'db-anon-role': 'a"b',
    'db-max-rows': 7,
    'db-uri': null,
    'db-config': true,
    'jwt-role-claim-key': '$.a',
    'session-secrets': 's'.repeat(32),
  })
  t.strictSame(Object.keys(json).sort(), allSettings.map(({ name }) => name).sort())
  const example = JSON.parse(exampleConfigJson()) as Record<string, unknown>[]
  t.equal(example.length, allSettings.length)
  t.match(
    example.find(({ name }) => name === 'server-port'),
    { variables: ['PGRST_SERVER_PORT', 'PORT'], example: '3000' },
  )
})

const secret = 'reallyreallyreallyreallyverysafe'
const lines: readonly [Environment, string][] = [
  [{ PGRST_DB_SCHEMAS: 'multi,   tenant,setup' }, 'db-schemas = "multi,tenant,setup"'],
  [{ PGRST_DB_MAX_ROWS: '1000' }, 'db-max-rows = 1000'],
  [{ PGRST_ADMIN_SERVER_PORT: '3001' }, 'admin-server-port = 3001'],
  [{ PGRST_DB_PRE_REQUEST: 'api.check' }, 'db-pre-request = "api.check"'],
  [{ PGRST_DB_ROOT_SPEC: 'root' }, 'db-root-spec = "root"'],
  [{ PGRST_SERVER_UNIX_SOCKET_MODE: '777' }, 'server-unix-socket-mode = "777"'],
  [{ PGRST_DB_EXTRA_SEARCH_PATH: '' }, 'db-extra-search-path = ""'],
  [{ PGRST_DB_ANON_ROLE: 'a"b' }, 'db-anon-role = "a\\"b"'],
  [{ PGRST_JWT_SECRET: secret }, `jwt-secret = "${secret}"`],
  [{ PGRST_JWT_SECRET: '{"keys":[]}' }, 'jwt-secret = "{\\"keys\\":[]}"'],
  [{ PGRST_JWT_SECRET_IS_BASE64: 'true', PGRST_JWT_SECRET: Buffer.from(secret).toString('base64') },
    `jwt-secret = "${Buffer.from(secret).toString('base64')}"`],
  [{ PGRST_JWT_ROLE_CLAIM_KEY: '$.a["b c"][?(@ == "x")]' }, `jwt-role-claim-key = "$$.a['b c'][?(@ == 'x')]"`],
  [{ PGRST_JWT_ROLE_CLAIM_KEY: '.roles[?(@ ^== "x")]' }, 'jwt-role-claim-key = ".\\"roles\\"[?(@ ^== \\"x\\")]"'],
  [{ PGRST_APP_SETTINGS_test: 'a "b"' }, 'app.settings.test = "a \\"b\\""'],
] // prettier-ignore

t.test('values are dumped in their normal form', async (t) => {
  for (const [env, line] of lines) {
    const dumped = dump(env)
    t.ok(dumped.split('\n').includes(line), line)
    t.equal(dump({}, dumped), dumped, 'a dump can be parsed, and its dump is the same')
  }
})

t.test('the example file is valid', async (t) => {
  const example = exampleConfig()
  t.strictSame(
    loadConfig({ env: {}, file: fileOf(example) }).config,
    loadConfig({ env: {} }).config,
    'it changes nothing',
  )
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = [{ ...privateKey.export({ format: 'jwk' }), kid: 'example', key_ops: ['sign', 'verify'] }]
  const file = fileOf(
    example
      .replaceAll(/^# (?=[a-z])/gm, '')
      .replace('@/run/secrets/jwt-secret', secret)
      .replace('@/run/secrets/jwt-keys', `@${fileOf(JSON.stringify(keys))}`),
  )
  const variables = { NEW_SESSION_SECRET: 'n'.repeat(32), OLD_SESSION_SECRET: 'o'.repeat(32) }
  const others = { JWT_SECRET: 'j'.repeat(32), SMTP_PASSWORD: 'secret' }
  const { config, warnings } = loadConfig({ env: { ...variables, ...others }, file })
  t.strictSame(warnings, [], 'it contains only settings, with valid values')
  t.strictSame(config.sessionSecrets, Object.values(variables))
  t.strictSame(config.appSettings, [['app.settings.greeting', 'hello']])
  for (const { name } of allSettings) t.match(example, `\n# ${name} = `, name)
})

t.test('the settings table of the guides', async (t) => {
  const rows = settingsTable().split('\n')
  for (const { name } of allSettings) t.equal(rows.filter((row) => row.startsWith(`| \`${name}\` |`)).length, 1, name)
  for (const row of rows.filter((line) => line.startsWith('|'))) {
    t.equal(row.replaceAll('\\|', '').split('|').length, 7, row)
  }
  t.ok(
    rows.includes(
      '| `server-port` | `PGRST_SERVER_PORT`, `PORT` | `3000` | Port to listen on; 0 for any free one. | a restart |',
    ),
  )
  t.ok(
    rows.includes(
      '- `jwt-cache-max-lifetime` (`PGRST_JWT_CACHE_MAX_LIFETIME`): replaced by jwt-cache-max-entries in PostgREST 14',
    ),
  )
})

// PostgREST 12 has most of the settings, and parses them in the same way.
const postgrest = installedPostgrest() ?? ''

const same: readonly [Environment, string?][] = [
  [{}],
  [{ PGRST_DB_POOL: '5', PGRST_DB_MAX_ROWS: '7', PGRST_DB_POOL_TIMEOUT: '9' }],
  [{ PGRST_DB_POOL_TIMEOUT: '9', PGRST_DB_POOL_MAX_IDLETIME: '8' }],
  [{ PGRST_DB_POOL: ' 0x10 ', PGRST_DB_MAX_ROWS: '' }],
  [{ PGRST_DB_SCHEMAS: 'a,  b,c ', PGRST_DB_EXTRA_SEARCH_PATH: '', PGRST_DB_TX_END: 'rollback' }],
  [{ PGRST_DB_SCHEMA: 'old', PGRST_MAX_ROWS: '5', PGRST_PRE_REQUEST: 'a.b', PGRST_ROOT_SPEC: 'c' }],
  [{ PGRST_DB_PREPARED_STATEMENTS: 'fAlSe', PGRST_DB_PLAN_ENABLED: '2', PGRST_DB_CHANNEL_ENABLED: '"false"' }],
  [{ PGRST_JWT_SECRET: secret, PGRST_JWT_AUD: 'urn:a:b', PGRST_SERVER_UNIX_SOCKET_MODE: '0666' }],
  [{ PGRST_JWT_SECRET: Buffer.from(secret).toString('base64'), PGRST_JWT_SECRET_IS_BASE64: 'True' }],
  [{ PGRST_APP_SETTINGS_B: '"x"', PGRST_APP_SETTINGS_a: '' }, 'app.settings.c = "file"\napp.settings.a = "file"'],
  [{ PGRST_DB_POOL: '5' }, 'db-pool = 6\nlog-level = "info"\n# comment\nserver-port = 4000'],
  [{ VALUE: 'from env' }, 'db-anon-role = "$(VALUE)"\ndb-channel = "a\\"b$$\\u00e9"'],
  [{}, 'db-channel-enabled = 13\ndb-max-rows = true\napp.settings.test = false\napp.settings.n = 1e7'],
  [{}, 'app {\n settings { x = 0.05\n y = 80 } }\nserver-trace-header = "X-Id"'],
  [{}, 'role-claim-key = ".a[0].\\"b c\\""\nsecret-is-base64 = on'],
  [{ PGRST_OPENAPI_MODE: 'disabled', PGRST_OPENAPI_SERVER_PROXY_URI: 'http://a.com:80/x' }],
  [{ PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'http://a.com , http://b.com', PGRST_LOG_LEVEL: '' }],
] // prettier-ignore

t.test("PostgREST's dump is the same", { skip: withoutPostgrest }, async (t) => {
  // Settings whose defaults differ, or that only one of the two programs has.
  const pinned = { PGRST_DB_CONFIG: 'false', PGRST_DB_URI: 'postgresql://', PGRST_SERVER_HOST: '!4' }
  const entries = (text: string): Map<string, string> =>
    new Map(text.trim().split('\n').map((line): [string, string] => {
      const [name = '', ...value] = line.split(' = ')
      return [name, value.join(' = ')]
    })) // prettier-ignore
  for (const [given, content] of same) {
    const env = { PGRST_JWT_ROLE_CLAIM_KEY: content?.includes('role-claim-key') ? '' : '.role', ...pinned, ...given }
    const file = content === undefined ? [] : [fileOf(content)]
    const theirs = entries(
      execFileSync(postgrest, ['--dump-config', ...file], { env, encoding: 'utf8', timeout: 20_000 }),
    )
    const ours = entries(dump(env, content))
    for (const { name } of [...Object.values(serviceSettings), ...Object.values(authSettings)]) ours.delete(name)
    theirs.delete('jwt-cache-max-lifetime')
    for (const [name, value] of theirs)
      t.equal(ours.get(name), value, `${JSON.stringify(given)} ${content ?? ''} ${name}`)
  }
})

const refused: readonly Environment[] = [
  { PGRST_SERVER_UNIX_SOCKET_MODE: '800' },
  { PGRST_SERVER_UNIX_SOCKET_MODE: '599' },
  { PGRST_SERVER_UNIX_SOCKET_MODE: '778' },
  { PGRST_JWT_AUD: 'http://%%localhorst.invalid' },
  { PGRST_LOG_LEVEL: 'never' },
  { PGRST_DB_TX_END: 'random' },
  { PGRST_OPENAPI_MODE: 'follow-' },
  { PGRST_OPENAPI_SERVER_PROXY_URI: 'htp:/@@localhorst.invalid' },
  { PGRST_JWT_SECRET_IS_BASE64: 'true', PGRST_JWT_SECRET: 'no base-64!' },
  { PGRST_JWT_ROLE_CLAIM_KEY: '.role##' },
]

t.test('PostgREST rejects the same values', { skip: withoutPostgrest }, async (t) => {
  for (const given of refused) {
    const env = { PGRST_DB_CONFIG: 'false', ...given }
    t.throws(
      () => execFileSync(postgrest, ['--dump-config'], { env, stdio: 'pipe', timeout: 20_000 }),
      JSON.stringify(given),
    )
    t.throws(() => loadConfig({ env }), { name: 'ConfigError' }, JSON.stringify(given))
  }
})
