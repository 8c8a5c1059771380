// The schema auth as people's SQL relies on it: columns, privileges, and the functions that identify the caller.
import t from 'tap'
import { isForServices } from '../../server/postgres/migration-services.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Columns with their types, as the contract names them. */
const columns: Readonly<Record<string, string>> = {
  users: `instance_id uuid, id uuid, aud varchar, role varchar, email varchar, encrypted_password varchar,
    email_confirmed_at timestamptz, invited_at timestamptz, confirmation_token varchar, confirmation_sent_at timestamptz,
    recovery_token varchar, recovery_sent_at timestamptz, email_change_token_new varchar, email_change varchar,
    email_change_sent_at timestamptz, last_sign_in_at timestamptz, raw_app_meta_data jsonb, raw_user_meta_data jsonb,
    is_super_admin bool, created_at timestamptz, updated_at timestamptz, phone text, phone_confirmed_at timestamptz,
    phone_change text, phone_change_token varchar, phone_change_sent_at timestamptz, confirmed_at timestamptz,
    email_change_token_current varchar, email_change_confirm_status int2, banned_until timestamptz,
    reauthentication_token varchar, reauthentication_sent_at timestamptz, is_sso_user bool, deleted_at timestamptz,
    is_anonymous bool, app_role text, email_unproven bool, password_unproven bool, phone_unproven bool`,
  identities: `provider_id text, user_id uuid, identity_data jsonb, provider text, last_sign_in_at timestamptz,
    created_at timestamptz, updated_at timestamptz, email text, id uuid`,
  sessions: `id uuid, user_id uuid, created_at timestamptz, updated_at timestamptz, factor_id uuid, aal aal_level,
    not_after timestamptz, refreshed_at timestamp, user_agent text, ip inet, tag text, oauth_client_id uuid,
    refresh_token_hmac_key text, refresh_token_counter int8, scopes text, id_hash bytea, passkey_id uuid`,
  refresh_tokens: `instance_id uuid, id int8, token varchar, user_id varchar, revoked bool, created_at timestamptz,
    updated_at timestamptz, parent varchar, session_id uuid`,
  mfa_factors: `id uuid, user_id uuid, friendly_name text, factor_type factor_type, status factor_status,
    created_at timestamptz, updated_at timestamptz, secret text, phone text, last_challenged_at timestamptz,
    web_authn_credential jsonb, web_authn_aaguid uuid, last_webauthn_challenge_data jsonb, last_totp_step int8`,
  mfa_challenges: `id uuid, factor_id uuid, created_at timestamptz, verified_at timestamptz, ip_address inet,
    otp_code text, web_authn_session_data jsonb, attempts int4`,
  mfa_amr_claims: `session_id uuid, created_at timestamptz, updated_at timestamptz, authentication_method text, id uuid`,
  one_time_tokens: `id uuid, user_id uuid, token_type one_time_token_type, token_hash text, relates_to text,
    created_at timestamp, updated_at timestamp, wrong_tries int2, password_hash text, code_hash text, invites bool`,
  flow_state: `id uuid, user_id uuid, auth_code text, code_challenge_method code_challenge_method, code_challenge text,
    provider_type text, provider_access_token text, provider_refresh_token text, created_at timestamptz,
    updated_at timestamptz, authentication_method text, auth_code_issued_at timestamptz, invite_token text,
    referrer text, oauth_client_state_id uuid, linking_target_id uuid, email_optional bool, linking_session_id uuid`,
  webauthn_credentials: `id uuid, user_id uuid, credential_id bytea, public_key bytea, attestation_type text, aaguid uuid,
    sign_count int8, transports jsonb, backup_eligible bool, backed_up bool, friendly_name text, created_at timestamptz,
    updated_at timestamptz, last_used_at timestamptz`,
  webauthn_challenges: `id uuid, user_id uuid, challenge_type text, session_data jsonb, created_at timestamptz,
    expires_at timestamptz`,
  oauth_clients: `id uuid, client_secret_hash text, registration_type oauth_registration_type, redirect_uris text,
    grant_types text, client_name text, client_uri text, logo_uri text, created_at timestamptz, updated_at timestamptz,
    deleted_at timestamptz, client_type oauth_client_type, token_endpoint_auth_method text`,
  oauth_authorizations: `id uuid, authorization_id text, client_id uuid, user_id uuid, redirect_uri text, scope text,
    state text, resource text, code_challenge text, code_challenge_method code_challenge_method,
    response_type oauth_response_type, status oauth_authorization_status, authorization_code text,
    created_at timestamptz, expires_at timestamptz, approved_at timestamptz, nonce text, session_id uuid,
    used_at timestamptz, issued_session_id uuid`,
  oauth_consents: `id uuid, user_id uuid, client_id uuid, scopes text, granted_at timestamptz, revoked_at timestamptz`,
  audit_log_entries: 'instance_id uuid, id uuid, payload json, created_at timestamptz, ip_address varchar',
}

t.test('columns', async (t) => {
  for (const [table, wanted] of Object.entries(columns)) {
    const { rows } = await database.query(
      `select string_agg(column_name || ' ' || udt_name, ', ' order by ordinal_position) as found
       from information_schema.columns where table_schema = 'auth' and table_name = $1`,
      [table],
    )
    t.equal(rows[0]?.found, wanted.replace(/\s+/g, ' '), table)
  }
})

t.test('everything of a user goes with it', async (t) => {
  const { rows } = await database.query(
    `select conrelid::regclass::text as name from pg_constraint
     where contype = 'f' and connamespace = 'auth'::regnamespace and confdeltype <> 'c'`,
  )
  t.strictSame(rows, [])
})

t.test('the role of /auth/v1 has the tables, and no others', async (t) => {
  const { rows } = await database.query(
    `select relname::text as name, has_table_privilege('supabase_auth_admin', oid, 'select, insert, update, delete') as may
     from pg_class where relnamespace in ('auth'::regnamespace, 'public'::regnamespace) and relkind = 'r' order by 1`,
  )
  t.strictSame(
    rows.filter(({ may }) => may !== true).map(({ name }) => name),
    ['api_keys', 'classification_runs', 'profiles', 'reports'],
  )
  await withClient(database.authenticatorUri, async (client) => {
    await client.query('begin; set local role supabase_auth_admin')
    const added = await client.query(
      `with added as (insert into auth.users (id, email) values (gen_random_uuid(), 'a@example.org') returning id)
       insert into auth.sessions (id, user_id) select gen_random_uuid(), id from added`,
    )
    t.equal(added.rowCount, 1, 'policies let it write')
    await client.query("insert into auth.refresh_tokens (token) values ('a')")
    t.equal((await client.query('select from auth.users')).rowCount, 1, 'and read')
    await t.rejects(client.query('select from auth.api_keys'), { code: '42501' })
    await client.query('rollback')
    for (const role of ['anon', 'authenticated', 'service_role']) {
      await client.query(`begin; set local role ${role}`)
      t.equal((await client.query('select auth.uid()')).rowCount, 1, `${role} has usage`)
      await t.rejects(client.query('select from auth.users'), { code: '42501' }, role)
      await client.query('rollback')
    }
  })
})

t.test('addresses are unique, except those of SSO', async (t) => {
  const add = (email: string, more = '') =>
    database.query(
      `insert into auth.users (id, email, is_sso_user) values (gen_random_uuid(), $1, ${more || 'false'})`,
      [email],
    )
  await add('twin@example.org')
  await t.rejects(add('twin@example.org'), { code: '23505' })
  await add('twin@example.org', 'true')
  await add('twin@example.org', 'true')
  t.equal((await database.query("select from auth.find_user('TWIN@example.org')")).rowCount, 1)
  await database.query('delete from auth.users')
})

t.test('the caller, by the settings of old and new PostgREST', async (t) => {
  const id = '11111111-2222-4333-8444-555555555555'
  const other = '99999999-2222-4333-8444-555555555555'
  const claims = { sub: id, role: 'authenticated', email: 'a@example.org', app_metadata: { n: 1 } }
  const rows: readonly (readonly [string, Readonly<Record<string, string>>, object])[] = [
    ['nothing', {}, { uid: null, role: null, email: null, jwt: null }],
    ['empty settings', { 'request.jwt.claims': '', 'request.jwt.claim.sub': '' }, { uid: null, role: null, jwt: null }],
    [
      'all claims',
      { 'request.jwt.claims': JSON.stringify(claims) },
      { uid: id, role: 'authenticated', email: 'a@example.org', jwt: claims },
    ],
    [
      'single claims take precedence',
      {
        'request.jwt.claims': JSON.stringify(claims),
        'request.jwt.claim.sub': other,
        'request.jwt.claim.role': 'anon',
        'request.jwt.claim.email': 'b@example.org',
      },
      { uid: other, role: 'anon', email: 'b@example.org', jwt: claims },
    ],
    ['a subject that is no UUID', { 'request.jwt.claims': '{"sub": "auth0|1"}' }, { uid: null }],
    ['a single subject that is no UUID', { 'request.jwt.claim.sub': 'x' }, { uid: null }],
  ]
  await withClient(database.adminUri, async (client) => {
    for (const [name, settings, wanted] of rows) {
      await client.query('begin')
      for (const [setting, value] of Object.entries(settings)) {
        await client.query('select set_config($1, $2, true)', [setting, value])
      }
      const found = await client.query('select auth.uid(), auth.role(), auth.email(), auth.jwt()')
      t.match(found.rows[0], wanted, name)
      await client.query('rollback')
    }
  })
})

t.test('pgcrypto is in the schema extensions', async (t) => {
  const { rows } = await database.query(
    "select extnamespace::regnamespace::text as schema from pg_extension where extname = 'pgcrypto'",
  )
  t.strictSame(rows, [{ schema: 'extensions' }])
})

t.test('profiles get the full name of the data of a sign-up', async (t) => {
  const rows: readonly (readonly [object | null, string | null])[] = [
    [null, null],
    [{}, null],
    [{ full_name: 'Ann Lee', name: 'A', first_name: 'B' }, 'Ann Lee'],
    [{ full_name: ' ', name: 'A', first_name: 'B' }, 'A'],
    [{ first_name: 'Ann', last_name: 'Lee' }, 'Ann Lee'],
    [{ last_name: 'Lee' }, 'Lee'],
    [{ full_name: 'x'.repeat(600) }, 'x'.repeat(511)],
    [{ full_name: 7 }, '7'],
  ]
  for (const [data, wanted] of rows) {
    const added = await database.query(
      'insert into auth.users (id, raw_user_meta_data) values (gen_random_uuid(), $1) returning id',
      [data],
    )
    const profile = await database.query('select full_name, display_name from public.profiles where id = $1', [
      added.rows[0]?.id,
    ])
    t.strictSame(profile.rows, [{ full_name: wanted, display_name: null }], JSON.stringify(data)?.slice(0, 50))
  }
})

t.test('migrations of services', (t) => {
  for (const [line, services, wanted] of [
    ['', ['rest'], true],
    ['-- Only with the services: a, b', undefined, true],
    ['-- Only with the services: a, b', ['b', 'c'], true],
    ['-- Only with the services: a, b', ['c'], false],
    ['-- Only without the services: a, b', undefined, false],
    ['-- Only without the services: a, b', ['a', 'c'], false],
    ['-- Only without the services: a, b', ['c'], true],
  ] as const) {
    t.equal(isForServices(`${line}\nselect 1`, services), wanted, `${line} ${String(services)}`)
  }
  t.end()
})
