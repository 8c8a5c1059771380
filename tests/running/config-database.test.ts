import pg from 'pg'
import t from 'tap'
import { databaseSettingNames } from '../../server/config/load.ts'
import { readDatabaseSettings, type SettingsQuery } from '../../server/config/database-settings.ts'
import { readRoleSettings } from '../../server/rest/role-settings.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
// Roles belong to the whole cluster, so their names contain the name of the database.
const role = (name: string): string => `${database.name}_${name}`
const roles = ['authenticator', 'author', 'isolated', 'privileged', 'plain', 'stranger']
await database.query(roles.map((name) => `create role ${role(name)} login password 'secret';`).join('\n'))
t.teardown(async () => {
  await database.query(roles.map((name) => `drop owned by ${role(name)}; drop role ${role(name)};`).join('\n'))
  await database.drop()
})

/** Queries that run in the same read-only transaction as the calls of `use`. */
async function inTransaction<T>(use: (query: SettingsQuery) => Promise<T>, login = 'authenticator'): Promise<T> {
  const client = new pg.Client({ connectionString: database.uri(role(login), 'secret') })
  await client.connect()
  try {
    await client.query('begin read only')
    return await use(async (text, values) => (await client.query<Record<string, unknown>>(text, values)).rows)
  } finally {
    await client.end()
  }
}

t.test('settings of the connected role', async (t) => {
  const authenticator = role('authenticator')
  await database.query(`
    alter role ${authenticator} set pgrst.db_schemas = 'test, tenant1';
    alter role ${authenticator} set pgrst.jwt_secret = 'REALLY=REALLY=REALLY=REALLY=VERY=SAFE';
    alter role ${authenticator} set pgrst.db_extra_search_path = '';
    alter role ${authenticator} set pgrst.db_pool = '5';
    alter role ${authenticator} set pgrst.not_existing = 'ignored';
    alter role ${authenticator} set statement_timeout = '7s';
    alter role ${authenticator} in database ${database.name} set pgrst.db_schemas = 'one, two';
    alter role ${authenticator} in database postgres set pgrst.db_max_rows = '1111';
    alter role ${role('stranger')} set pgrst.jwt_aud = 'ignored';
    alter database ${database.name} set pgrst.db_plan_enabled = 'true';
    create schema "Settings";
    grant usage on schema "Settings" to ${authenticator};
    create function "Settings"."pre config"() returns void language sql as $$
      select set_config('pgrst.db_schemas', 'hidden', true), set_config('pgrst.jwt_aud', 'from the function', true),
        set_config('pgrst.db_pool', 'ignored', true)
    $$;
    create function "Settings".several() returns setof int language sql as $$
      select set_config('pgrst.jwt_aud', 'several', true); select generate_series(1, 3)
    $$;
  `)
  const stored = {
    db_extra_search_path: '',
    db_schemas: 'one, two',
    jwt_secret: 'REALLY=REALLY=REALLY=REALLY=VERY=SAFE',
  }
  const read = async (preConfig: { schema: string; name: string } | null): Promise<Record<string, string>> =>
    Object.fromEntries(await inTransaction((query) => readDatabaseSettings(query, preConfig)))
  t.strictSame(await read(null), stored, 'settings of the role; those for this database take precedence')
  t.strictSame(
    await read({ schema: 'Settings', name: 'pre config' }),
    { ...stored, db_plan_enabled: 'true', jwt_aud: 'from the function' },
    'settings of the function have lower precedence',
  )
  t.match(
    await read({ schema: 'Settings', name: 'several' }),
    { jwt_aud: 'several' },
    'a function that returns many rows',
  )
  await t.rejects(read({ schema: '', name: 'no_such"; drop table x; --' }), { code: '42883' })
  t.strictSame(
    await inTransaction((query) => readDatabaseSettings(query, null), 'plain'),
    [],
    'another role has no settings',
  )
})

t.test('names of settings in the database', async (t) => {
  t.strictSame([...databaseSettingNames].sort(), [
    'client_error_verbosity', 'db_aggregates_enabled', 'db_anon_role', 'db_extra_search_path', 'db_hoisted_tx_settings',
    'db_max_rows', 'db_plan_enabled', 'db_pre_config', 'db_pre_request', 'db_prepared_statements', 'db_root_spec',
    'db_schemas', 'db_tx_end', 'gotrue_jwt_keys', 'gotrue_jwt_secret', 'jwt_aud', 'jwt_cache_max_entries', 'jwt_role_claim_key', 'jwt_secret',
    'jwt_secret_is_base64', 'openapi_mode', 'openapi_security_active', 'openapi_server_proxy_uri',
    'server_cors_allowed_origins', 'server_timing_enabled', 'server_trace_header', 'url_use_legacy_target_names',
  ]) // prettier-ignore
})

t.test('settings of the roles that requests run as', async (t) => {
  const { version } =
    (await database.query("select current_setting('server_version_num')::int as version")).rows[0] ?? {}
  await database.query(`
    grant ${role('author')}, ${role('isolated')}, ${role('privileged')}, ${role('plain')} to ${role('authenticator')};
    alter role ${role('author')} set statement_timeout = '10s';
    alter role ${role('author')} set "my.custom" = 'not a setting that Postgres knows';
    alter role ${role('author')} set application_name = 'a=b, "c"';
    alter role ${role('author')} in database ${database.name} set work_mem = '9MB';
    alter role ${role('isolated')} set default_transaction_isolation = 'REPEATABLE READ';
    alter role ${role('privileged')} set default_transaction_isolation = 'serializable';
    alter role ${role('privileged')} set log_min_messages = 'fatal';
    alter role ${role('privileged')} set log_min_duration_statement = 1;
    alter role ${role('stranger')} set statement_timeout = '1s';
    grant set on parameter log_min_messages to ${role('authenticator')};
  `)
  t.ok(Number(version) >= 150_000)
  const { settings, isolationLevels } = await inTransaction(readRoleSettings)
  t.strictSame(
    Object.fromEntries(settings),
    {
      [role('author')]: [
        ['application_name', 'a=b, "c"'],
        ['statement_timeout', '10s'],
      ],
      [role('privileged')]: [['log_min_messages', 'fatal']],
    },
    'without settings that require a superuser, unless granted',
  )
  t.strictSame(Object.fromEntries(isolationLevels), {
    [role('isolated')]: 'repeatable read',
    [role('privileged')]: 'serializable',
  })
  const none = await inTransaction(readRoleSettings, 'stranger')
  t.strictSame([none.settings.size, none.isolationLevels.size], [0, 0])

  const before15: SettingsQuery = async (text) => {
    if (text.includes('has_parameter_privilege')) throw new Error('there is no such function')
    if (text.includes('server_version_num')) return [{ number: 140_012 }]
    return [
      { role: 'r', name: 'statement_timeout', value: '1s', context: 'user' },
      { role: 'r', name: 'log_min_messages', value: 'fatal', context: 'superuser' },
    ]
  }
  t.strictSame(Object.fromEntries((await readRoleSettings(before15)).settings), { r: [['statement_timeout', '1s']] })
})
