// Every setting of PostgREST v16's configuration page, under each of its names.
// https://docs.postgrest.org/en/stable/references/configuration.html
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../server/config/config.ts'
import { databaseSettingNames, loadConfig, withDatabaseSettings } from '../../../server/config/load.ts'
import { postgrestSettings } from '../../../server/config/postgrest-settings.ts'
import { settingsTable } from '../../../server/config/dump.ts'

/**
 * Name, a value other than the default, and the name in the database if there is one. The value is in the notation of
 * the file.
 */
const page: readonly (readonly [name: string, value: string, inDatabase?: string])[] = [
  ['admin-server-host', 'localhost'],
  ['admin-server-port', '3001'],
  ['admin-server-unix-socket', '/run/admin.sock'],
  ['admin-server-unix-socket-mode', '600'],
  ['client-error-verbosity', 'minimal', 'client_error_verbosity'],
  ['db-aggregates-enabled', 'true', 'db_aggregates_enabled'],
  ['db-anon-role', 'web', 'db_anon_role'],
  ['db-channel', 'other'],
  ['db-channel-enabled', 'false'],
  ['db-config', 'false'],
  ['db-pre-config', 'api.pre_config', 'db_pre_config'],
  ['db-extra-search-path', 'extensions', 'db_extra_search_path'],
  ['db-hoisted-tx-settings', 'lock_timeout', 'db_hoisted_tx_settings'],
  ['db-max-rows', '7', 'db_max_rows'],
  ['db-plan-enabled', 'true', 'db_plan_enabled'],
  ['db-pool', '7'],
  ['db-pool-acquisition-timeout', '7'],
  ['db-pool-max-idletime', '7'],
  ['db-pool-max-lifetime', '7'],
  ['db-pool-automatic-recovery', 'false'],
  ['db-pre-request', 'api.check', 'db_pre_request'],
  ['db-prepared-statements', 'false', 'db_prepared_statements'],
  ['db-root-spec', 'api.root', 'db_root_spec'],
  ['db-schemas', 'api', 'db_schemas'],
  ['db-tx-end', 'rollback', 'db_tx_end'],
  ['db-uri', 'postgresql://host/name'],
  ['jwt-aud', 'someone', 'jwt_aud'],
  ['jwt-role-claim-key', '$.app.role', 'jwt_role_claim_key'],
  ['jwt-secret', 'x'.repeat(32), 'jwt_secret'],
  ['jwt-secret-is-base64', 'true', 'jwt_secret_is_base64'],
  ['jwt-cache-max-entries', '7', 'jwt_cache_max_entries'],
  ['log-level', 'crit'],
  ['log-query', 'true'],
  ['openapi-mode', 'disabled', 'openapi_mode'],
  ['openapi-security-active', 'true', 'openapi_security_active'],
  ['openapi-server-proxy-uri', 'https://host/base', 'openapi_server_proxy_uri'],
  ['server-cors-allowed-origins', 'https://host', 'server_cors_allowed_origins'],
  ['server-host', 'localhost'],
  ['server-port', '4000'],
  ['server-reuseport', 'true'],
  ['server-trace-header', 'X-Trace', 'server_trace_header'],
  ['server-timing-enabled', 'true', 'server_timing_enabled'],
  ['server-unix-socket', '/run/server.sock'],
  ['server-unix-socket-mode', '600'],
  ['url-use-legacy-target-names', 'false', 'url_use_legacy_target_names'],
]

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-settings-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const keyOf = (name: string): keyof Config =>
  name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as keyof Config
const variableOf = (name: string): string => `PGRST_${name.toUpperCase().replaceAll('-', '_')}`

t.test('every name is accepted', async (t) => {
  t.strictSame(
    page.map(([name]) => name).sort(),
    Object.values(postgrestSettings)
      .map(({ name }) => name)
      .sort(),
    'no other setting',
  )
  const table = settingsTable()
  const base = loadConfig({ env: {} })
  for (const [name, value, inDatabase] of page) {
    const key = keyOf(name)
    const inEnvironment = loadConfig({ env: { [variableOf(name)]: value } })
    t.notSame(inEnvironment.config[key], base.config[key], `${name} changes the configuration`)
    t.strictSame(inEnvironment.warnings, [], `${variableOf(name)} is known`)

    const file = join(folder, `${name}.conf`)
    const literal =
      /^(true|false|\d+)$/.test(value) && !name.endsWith('-mode') ? value : `"${value.replaceAll('$', '$$$$')}"`
    writeFileSync(file, `${name} = ${literal}\n`)
    const inFile = loadConfig({ env: {}, file })
    t.strictSame(inFile.config[key], inEnvironment.config[key], `${name} in the file is the same`)
    t.strictSame(inFile.warnings, [], `${name} is known`)

    t.equal(
      databaseSettingNames.includes(name.replaceAll('-', '_')),
      inDatabase !== undefined,
      `${name} in the database`,
    )
    if (inDatabase !== undefined) {
      const stored = withDatabaseSettings(base, [[inDatabase, value]])
      t.strictSame(stored.config[key], inEnvironment.config[key], `pgrst.${inDatabase} is the same`)
    }
    t.match(table, `| \`${name}\` | \`${variableOf(name)}\``, `${name} is in the table`)
  }
})

t.test('a family of names: app.settings.*', async (t) => {
  const file = join(folder, 'app.conf')
  writeFileSync(file, 'app.settings.one = "1"\napp.settings.two = "file"\n')
  const { config, warnings } = loadConfig({ env: { PGRST_APP_SETTINGS_two: 'environment' }, file })
  t.strictSame(config.appSettings, [
    ['app.settings.one', '1'],
    ['app.settings.two', 'environment'],
  ])
  t.strictSame(warnings, [])
})

t.test('obsolete names are accepted with a warning', async (t) => {
  for (const name of [
    'internal-schema-cache-query-sleep',
    'internal-schema-cache-query-sleep-before-queries',
    'admin-server-config-enabled',
    'jwt-cache-max-lifetime',
  ]) {
    const { warnings } = loadConfig({ env: { [variableOf(name)]: '1' } })
    t.match(warnings, [new RegExp(`^${variableOf(name)} is ignored: `)], name)
    t.match(settingsTable(), `\`${name}\``)
  }
  t.match(loadConfig({ env: { GHCRTS: '-T' } }).warnings, [/^GHCRTS is ignored/])
})
