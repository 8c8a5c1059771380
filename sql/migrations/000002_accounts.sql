-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The caller
--
-- These functions replace those of GoTrue in a database that has them, and read the same settings: a claim from
-- `request.jwt.claim.<name>` if it is set, else from `request.jwt.claims`.

create or replace function auth.jwt() returns jsonb
language sql stable parallel safe
as $$
  select coalesce(
    nullif(pg_catalog.current_setting('request.jwt.claim', true), ''),
    nullif(pg_catalog.current_setting('request.jwt.claims', true), '')
  )::pg_catalog.jsonb
$$;
comment on function auth.jwt() is 'The claims of the caller; null without credentials.';

-- Policies and column defaults call this in nearly every statement, so it must be fast: the claims are parsed once, as json,
-- which builds no tree, and no regular expression has to match the whole text. A text that passes the three tests consists of
-- hexadecimal digits with dashes in the positions of a UUID's.
create or replace function auth.uid() returns uuid
language plpgsql stable parallel safe
as $$
declare
  subject text := coalesce(
    nullif(pg_catalog.current_setting('request.jwt.claim.sub', true), ''),
    nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.json ->> 'sub'
  );
begin
  return case
    when subject like '________-____-____-____-____________'
      and subject !~ '[^0-9a-fA-F-]'
      and pg_catalog.length(pg_catalog.replace(subject, '-', '')) = 32
    then subject::pg_catalog.uuid
  end;
end
$$;
comment on function auth.uid() is
  E'The id of the user that the caller acts for; null if there is none or the subject is not a UUID.\n\nIn a policy, write (select auth.uid()): PostgreSQL then calls it once per statement instead of once per row.';

create or replace function auth.role() returns text
language sql stable parallel safe
as $$
  select coalesce(
    nullif(pg_catalog.current_setting('request.jwt.claim.role', true), ''),
    nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb ->> 'role'
  )
$$;
comment on function auth.role() is 'The role claim of the caller.';

create or replace function auth.email() returns text
language sql stable parallel safe
as $$
  select coalesce(
    nullif(pg_catalog.current_setting('request.jwt.claim.email', true), ''),
    nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.jsonb ->> 'email'
  )
$$;
comment on function auth.email() is 'The e-mail claim of the caller.';

-- In a security definer function, the setting `role` is still the caller's.
create or replace function auth.is_admin() returns boolean
language sql stable parallel safe
as $$
  select coalesce(
    pg_catalog.current_setting('role', true) = 'service_role'
    or (pg_catalog.current_setting('role', true) = 'authenticated' and auth.jwt() ->> 'app_role' = 'admin'),
    false
  )
$$;
comment on function auth.is_admin() is 'Whether the caller is service_role or a user with the claim app_role: admin.';

grant execute on function auth.jwt(), auth.uid(), auth.role(), auth.email(), auth.is_admin()
to anon, authenticated, service_role, supabase_auth_admin;

-- Types of GoTrue

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('aal_level', array['aal1', 'aal2', 'aal3']),
      ('factor_type', array['totp', 'webauthn', 'phone']),
      ('factor_status', array['unverified', 'verified']),
      ('code_challenge_method', array['s256', 'plain']),
      ('one_time_token_type', array[
        'confirmation_token', 'reauthentication_token', 'recovery_token', 'email_change_token_new',
        'email_change_token_current', 'phone_change_token'
      ]),
      ('oauth_registration_type', array['dynamic', 'manual']),
      ('oauth_client_type', array['public', 'confidential']),
      ('oauth_authorization_status', array['pending', 'approved', 'denied', 'expired']),
      ('oauth_response_type', array['code'])
    ) as type (name, labels)
  loop
    if to_regtype('auth.' || wanted.name) is null then
      execute format(
        'create type auth.%I as enum (%s)', wanted.name,
        (select string_agg(quote_literal(label), ', ' order by place)
         from unnest(wanted.labels) with ordinality as labels (label, place))
      );
    end if;
  end loop;
end
$$;
comment on type auth.aal_level is 'Authenticator assurance level: aal2 after a second factor.';
comment on type auth.factor_type is 'Kinds of second factors.';
comment on type auth.factor_status is 'Whether a factor was verified since it was enrolled.';
comment on type auth.code_challenge_method is 'Methods of PKCE.';
comment on type auth.one_time_token_type is 'Purposes of one-time tokens.';
comment on type auth.oauth_registration_type is 'Whether a client has registered itself (dynamic), or an administrator has (manual).';
comment on type auth.oauth_client_type is 'Whether a client can keep a secret.';
comment on type auth.oauth_authorization_status is 'States of the request of a client for access to an account.';
comment on type auth.oauth_response_type is 'What the redirect to a client has.';

-- Tables of GoTrue
--
-- Columns, types, defaults and indexes are those of GoTrue, because people's migrations, seeds and dumps rely on them. Each
-- table is created empty and then gets its columns, so that a table of an existing Supabase database only gets the columns
-- that it lacks. Columns without a default are set by the statement that inserts the row, ids and times included.
--
-- Every refresh of a session writes refresh_tokens and audit_log_entries, so these have only the indexes that the service uses,
-- not those by instance_id, parent and updated_at.

create table if not exists auth.users (
  instance_id uuid,
  id uuid constraint users_pkey primary key
);
alter table auth.users
  add column if not exists aud varchar(255),
  add column if not exists role varchar(255),
  add column if not exists email varchar(255),
  add column if not exists encrypted_password varchar(255),
  add column if not exists email_confirmed_at timestamptz,
  add column if not exists invited_at timestamptz,
  add column if not exists confirmation_token varchar(255),
  add column if not exists confirmation_sent_at timestamptz,
  add column if not exists recovery_token varchar(255),
  add column if not exists recovery_sent_at timestamptz,
  add column if not exists email_change_token_new varchar(255),
  add column if not exists email_change varchar(255),
  add column if not exists email_change_sent_at timestamptz,
  add column if not exists last_sign_in_at timestamptz,
  add column if not exists raw_app_meta_data jsonb,
  add column if not exists raw_user_meta_data jsonb,
  add column if not exists is_super_admin boolean,
  add column if not exists created_at timestamptz,
  add column if not exists updated_at timestamptz,
  add column if not exists phone text default null constraint users_phone_key unique,
  add column if not exists phone_confirmed_at timestamptz,
  add column if not exists phone_change text default '',
  add column if not exists phone_change_token varchar(255) default '',
  add column if not exists phone_change_sent_at timestamptz,
  add column if not exists confirmed_at timestamptz
    generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
  add column if not exists email_change_token_current varchar(255) default '',
  add column if not exists email_change_confirm_status smallint default 0
    constraint users_email_change_confirm_status_check check (email_change_confirm_status between 0 and 2),
  add column if not exists banned_until timestamptz,
  add column if not exists reauthentication_token varchar(255) default '',
  add column if not exists reauthentication_sent_at timestamptz,
  add column if not exists is_sso_user boolean not null default false,
  add column if not exists deleted_at timestamptz,
  add column if not exists is_anonymous boolean not null default false,
  -- Not columns of GoTrue.
  add column if not exists app_role text
    constraint users_app_role_check check (char_length(app_role) between 1 and 100),
  add column if not exists email_unproven boolean not null default false,
  add column if not exists password_unproven boolean not null default false,
  add column if not exists phone_unproven boolean not null default false;
create index if not exists users_instance_id_idx on auth.users (instance_id);
create index if not exists users_instance_id_email_idx on auth.users (instance_id, lower(email));
create unique index if not exists users_email_partial_key on auth.users (email) where is_sso_user = false;
create unique index if not exists confirmation_token_idx on auth.users (confirmation_token)
  where confirmation_token !~ '^[0-9 ]*$';
create unique index if not exists recovery_token_idx on auth.users (recovery_token)
  where recovery_token !~ '^[0-9 ]*$';
create unique index if not exists email_change_token_current_idx on auth.users (email_change_token_current)
  where email_change_token_current !~ '^[0-9 ]*$';
create unique index if not exists email_change_token_new_idx on auth.users (email_change_token_new)
  where email_change_token_new !~ '^[0-9 ]*$';
create unique index if not exists reauthentication_token_idx on auth.users (reauthentication_token)
  where reauthentication_token !~ '^[0-9 ]*$';
create index if not exists users_is_anonymous_idx on auth.users (is_anonymous);
-- Not an index of GoTrue. Only seeds and providers write other letters than lower-case ASCII.
create index if not exists users_ascii_email_idx on auth.users (lower(email collate "C")) where is_sso_user = false;
comment on table auth.users is 'Accounts.';
comment on column auth.users.instance_id is 'Always the zero UUID, or null in seeds.';
comment on column auth.users.id is 'The subject (sub) of the account''s tokens and sessions.';
comment on column auth.users.aud is 'The claim aud of the account''s tokens.';
comment on column auth.users.role is 'The claim role of the account''s tokens: a database role.';
comment on column auth.users.email is 'Address of the account in lower case.';
comment on column auth.users.encrypted_password is
  'Hash of the password: Argon2id in PHC string format, or bcrypt in imported and seeded accounts.';
comment on column auth.users.email_confirmed_at is 'When the address was confirmed; null if it was not.';
comment on column auth.users.raw_app_meta_data is 'Data that only administrators change, such as the providers of identities.';
comment on column auth.users.raw_user_meta_data is
  'Data that users change themselves, such as first_name, last_name and full_name.';
comment on column auth.users.last_sign_in_at is 'When a session was last started.';
comment on column auth.users.created_at is 'When the account was registered.';
comment on column auth.users.updated_at is 'When the account was last changed.';
comment on column auth.users.banned_until is 'The account cannot sign in before this time.';
comment on column auth.users.is_sso_user is 'Such accounts may have the same address as others.';
comment on column auth.users.deleted_at is 'When the account was deleted, if its row was kept.';
comment on column auth.users.is_anonymous is 'Whether the account has neither address nor password yet.';
comment on column auth.users.app_role is
  'The claim app_role of the account''s sessions and tokens; admin may review reports. Set by the DBA.';
comment on column auth.users.email_unproven is
  'Whether the account is used although its owner has not proved the address: it has a cookie or a provider''s identity before the address is confirmed, or the settings or an administrator have confirmed the address. The first proof ends all other ways into the account.';
comment on column auth.users.password_unproven is
  'Whether the password was chosen at a sign-up whose address or phone number has not been confirmed yet.';
comment on column auth.users.phone_unproven is
  'Whether the phone number counts as confirmed although its owner has not proved it.';

create table if not exists auth.identities (
  provider_id text not null,
  user_id uuid not null constraint identities_user_id_fkey references auth.users on delete cascade,
  identity_data jsonb not null,
  provider text not null
);
alter table auth.identities
  add column if not exists last_sign_in_at timestamptz,
  add column if not exists created_at timestamptz,
  add column if not exists updated_at timestamptz,
  add column if not exists email text generated always as (lower(identity_data ->> 'email')) stored,
  add column if not exists id uuid default gen_random_uuid() constraint identities_pkey primary key;
create unique index if not exists identities_provider_id_provider_unique on auth.identities (provider_id, provider);
create index if not exists identities_user_id_idx on auth.identities (user_id);
create index if not exists identities_email_idx on auth.identities (email text_pattern_ops);
comment on table auth.identities is 'Ways to sign in to an account: its e-mail address, phone number, or accounts of OAuth providers.';
comment on column auth.identities.provider_id is 'Id of the account at the provider; the user''s id for e-mail and phone.';
comment on column auth.identities.identity_data is 'What the provider says about the user; at least the member sub.';

create table if not exists auth.sessions (
  id uuid constraint sessions_pkey primary key,
  user_id uuid not null constraint sessions_user_id_fkey references auth.users on delete cascade
);
alter table auth.sessions
  add column if not exists created_at timestamptz,
  add column if not exists updated_at timestamptz,
  add column if not exists factor_id uuid,
  add column if not exists aal auth.aal_level,
  add column if not exists not_after timestamptz,
  add column if not exists refreshed_at timestamp,
  add column if not exists user_agent text,
  add column if not exists ip inet,
  add column if not exists tag text,
  add column if not exists oauth_client_id uuid,
  add column if not exists refresh_token_hmac_key text,
  add column if not exists refresh_token_counter bigint,
  add column if not exists scopes text constraint sessions_scopes_length check (char_length(scopes) <= 4096),
  -- Not a column of GoTrue. Ids of cookies and API keys are stored only as SHA-256 hashes, which are useless to anyone who
  -- reads the tables.
  add column if not exists id_hash bytea
    constraint sessions_id_hash_key unique
    constraint sessions_id_hash_check check (octet_length(id_hash) = 32);
create index if not exists user_id_created_at_idx on auth.sessions (user_id, created_at);
create index if not exists sessions_user_id_idx on auth.sessions (user_id);
create index if not exists sessions_not_after_idx on auth.sessions (not_after desc);
create index if not exists sessions_oauth_client_id_idx on auth.sessions (oauth_client_id);
comment on table auth.sessions is 'Sessions of accounts, with a cookie or with refresh tokens. A session that ends is deleted.';
comment on column auth.sessions.id is
  'Identifies the session to its user and in tokens. A cookie contains a different, secret id.';
comment on column auth.sessions.user_id is 'The account.';
comment on column auth.sessions.created_at is 'When the session began.';
comment on column auth.sessions.updated_at is 'When the session was last changed.';
comment on column auth.sessions.factor_id is 'The factor that raised the session to aal2.';
comment on column auth.sessions.not_after is 'When the session ends, unless it is extended; null for no fixed end.';
comment on column auth.sessions.refreshed_at is 'When the session was last refreshed or extended, in UTC.';
comment on column auth.sessions.user_agent is 'User-Agent of the request that started or last refreshed the session.';
comment on column auth.sessions.ip is 'Client address of that request.';
comment on column auth.sessions.id_hash is 'SHA-256 of the secret id in the cookie; null for a session without a cookie.';

create table if not exists auth.refresh_tokens (
  instance_id uuid,
  id bigserial constraint refresh_tokens_pkey primary key
);
alter table auth.refresh_tokens
  add column if not exists token varchar(255) constraint refresh_tokens_token_unique unique,
  add column if not exists user_id varchar(255),
  add column if not exists revoked boolean,
  add column if not exists created_at timestamptz,
  add column if not exists updated_at timestamptz,
  add column if not exists parent varchar(255),
  add column if not exists session_id uuid
    constraint refresh_tokens_session_id_fkey references auth.sessions on delete cascade;
create index if not exists refresh_tokens_session_id_revoked_idx on auth.refresh_tokens (session_id, revoked);
comment on table auth.refresh_tokens is 'Refresh tokens of sessions. A used token is revoked and has a successor.';
comment on column auth.refresh_tokens.user_id is 'The account''s id, as text.';
comment on column auth.refresh_tokens.parent is 'The token that was used to get this one.';

create table if not exists auth.mfa_factors (
  id uuid constraint mfa_factors_pkey primary key,
  user_id uuid not null constraint mfa_factors_user_id_fkey references auth.users on delete cascade,
  friendly_name text,
  factor_type auth.factor_type not null,
  status auth.factor_status not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  secret text
);
alter table auth.mfa_factors
  add column if not exists phone text,
  add column if not exists last_challenged_at timestamptz constraint mfa_factors_last_challenged_at_key unique,
  add column if not exists web_authn_credential jsonb,
  add column if not exists web_authn_aaguid uuid,
  add column if not exists last_webauthn_challenge_data jsonb,
  -- Not a column of GoTrue.
  add column if not exists last_totp_step bigint;
create unique index if not exists mfa_factors_user_friendly_name_unique on auth.mfa_factors (friendly_name, user_id)
  where trim(both from friendly_name) <> '';
create unique index if not exists unique_phone_factor_per_user on auth.mfa_factors (user_id, phone);
create index if not exists factor_id_created_at_idx on auth.mfa_factors (user_id, created_at);
create index if not exists mfa_factors_user_id_idx on auth.mfa_factors (user_id);
comment on table auth.mfa_factors is 'Second factors of accounts.';
comment on column auth.mfa_factors.secret is 'Key of an authenticator app, in Base32.';
comment on column auth.mfa_factors.last_totp_step is
  'Time step of the last code that was accepted. No code of this step or an earlier one is accepted again.';

create table if not exists auth.mfa_challenges (
  id uuid constraint mfa_challenges_pkey primary key,
  factor_id uuid not null constraint mfa_challenges_auth_factor_id_fkey references auth.mfa_factors on delete cascade,
  created_at timestamptz not null,
  verified_at timestamptz,
  ip_address inet not null
);
alter table auth.mfa_challenges
  add column if not exists otp_code text,
  add column if not exists web_authn_session_data jsonb,
  -- Not a column of GoTrue.
  add column if not exists attempts integer not null default 0;
create index if not exists mfa_challenge_created_at_idx on auth.mfa_challenges (created_at desc);
create index if not exists mfa_challenges_factor_id_idx on auth.mfa_challenges (factor_id);
comment on table auth.mfa_challenges is 'Challenges of second factors.';
comment on column auth.mfa_challenges.otp_code is 'Hash of the code that was sent to the phone.';
comment on column auth.mfa_challenges.attempts is 'How many codes were tried.';

create table if not exists auth.mfa_amr_claims (
  session_id uuid not null constraint mfa_amr_claims_session_id_fkey references auth.sessions on delete cascade,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  authentication_method text not null,
  constraint mfa_amr_claims_session_id_authentication_method_pkey unique (session_id, authentication_method)
);
alter table auth.mfa_amr_claims
  add column if not exists id uuid constraint amr_id_pk primary key;
comment on table auth.mfa_amr_claims is 'How the user of a session has authenticated: the claim amr.';

create table if not exists auth.one_time_tokens (
  id uuid constraint one_time_tokens_pkey primary key,
  user_id uuid not null constraint one_time_tokens_user_id_fkey references auth.users on delete cascade,
  token_type auth.one_time_token_type not null,
  token_hash text not null constraint one_time_tokens_token_hash_check check (char_length(token_hash) > 0),
  relates_to text not null,
  created_at timestamp not null default now(),
  updated_at timestamp not null default now()
);
-- Not columns of GoTrue.
alter table auth.one_time_tokens
  add column if not exists wrong_tries smallint not null default 0
    constraint one_time_tokens_wrong_tries_check check (wrong_tries >= 0),
  add column if not exists password_hash text,
  add column if not exists code_hash text,
  add column if not exists invites boolean not null default false;
create index if not exists one_time_tokens_token_hash_hash_idx on auth.one_time_tokens using hash (token_hash);
create index if not exists one_time_tokens_relates_to_hash_idx on auth.one_time_tokens using hash (relates_to);
create unique index if not exists one_time_tokens_user_id_token_type_key on auth.one_time_tokens (user_id, token_type);
comment on table auth.one_time_tokens is
  'Hashes of the links and codes that were sent to users; at most one of each per user and purpose.';
comment on column auth.one_time_tokens.token_hash is
  'Hexadecimal SHA-256 of the token of the link, with its prefix pkce_ if the request had a code challenge.';
comment on column auth.one_time_tokens.relates_to is 'The address or phone number that the code was sent to.';
comment on column auth.one_time_tokens.wrong_tries is 'How often a wrong code was entered for the address while this one was valid.';
comment on column auth.one_time_tokens.password_hash is
  'Hash of the password of the sign-up that the code confirms; null if it confirms no sign-up with a password.';
comment on column auth.one_time_tokens.code_hash is
  'Hash of the address and the keyed hash of the code. The key is derived from those of access tokens, and is not in the database. Null if no code is accepted.';
comment on column auth.one_time_tokens.invites is 'Whether the link is that of an invitation.';

create table if not exists auth.flow_state (
  id uuid constraint flow_state_pkey primary key,
  user_id uuid,
  auth_code text,
  code_challenge_method auth.code_challenge_method,
  code_challenge text,
  provider_type text not null,
  provider_access_token text,
  provider_refresh_token text,
  created_at timestamptz,
  updated_at timestamptz,
  authentication_method text not null
);
alter table auth.flow_state
  add column if not exists auth_code_issued_at timestamptz,
  add column if not exists invite_token text,
  add column if not exists referrer text,
  add column if not exists oauth_client_state_id uuid,
  add column if not exists linking_target_id uuid,
  add column if not exists email_optional boolean not null default false,
  -- Not a column of GoTrue.
  add column if not exists linking_session_id uuid,
  -- In earlier versions of GoTrue, every flow had a challenge.
  alter column auth_code drop not null,
  alter column code_challenge_method drop not null,
  alter column code_challenge drop not null;
create index if not exists idx_auth_code on auth.flow_state (auth_code);
create index if not exists idx_user_id_auth_method on auth.flow_state (user_id, authentication_method);
create index if not exists flow_state_created_at_idx on auth.flow_state (created_at desc);
comment on table auth.flow_state is 'Sign-ins that continue in another request: with PKCE, or at an OAuth provider.';
comment on column auth.flow_state.invite_token is
  'Hash of the token of the invitation that is accepted, as in auth.one_time_tokens.token_hash.';
comment on column auth.flow_state.linking_session_id is 'The session that links an identity to its account.';

create table if not exists auth.oauth_client_states (
  id uuid constraint oauth_client_states_pkey primary key,
  provider_type text not null,
  code_verifier text,
  created_at timestamptz not null
);
create index if not exists idx_oauth_client_states_created_at on auth.oauth_client_states (created_at);
comment on table auth.oauth_client_states is 'Code verifiers of sign-ins at OAuth providers.';

create table if not exists auth.audit_log_entries (
  instance_id uuid,
  id uuid constraint audit_log_entries_pkey primary key,
  payload json,
  created_at timestamptz
);
alter table auth.audit_log_entries
  add column if not exists ip_address varchar(64) not null default '';
comment on table auth.audit_log_entries is 'What users and administrators did with accounts.';

-- Tables that GoTrue does not have

create table if not exists auth.mfa_recovery_codes (
  id uuid not null default gen_random_uuid() constraint mfa_recovery_codes_pkey primary key,
  user_id uuid not null constraint mfa_recovery_codes_user_id_fkey references auth.users on delete cascade,
  code_hash text not null,
  created_at timestamptz not null default now(),
  used_at timestamptz,
  session_id uuid,
  constraint mfa_recovery_codes_user_id_code_hash_key unique (user_id, code_hash)
);
comment on table auth.mfa_recovery_codes is 'Codes that replace a lost second factor, each once.';
comment on column auth.mfa_recovery_codes.code_hash is 'Hash of the code.';
comment on column auth.mfa_recovery_codes.used_at is 'When the code was used; null if it was not.';
comment on column auth.mfa_recovery_codes.session_id is 'The session that got the code.';

-- Row-level security is on without policies for the API's roles, as in Supabase: they can access accounts, sessions and keys
-- only through functions. The statements of /auth/v1 run as supabase_auth_admin, which has neither API keys nor BYPASSRLS.
do $$
declare
  name text;
begin
  foreach name in array array[
    'users', 'identities', 'sessions', 'refresh_tokens', 'mfa_factors', 'mfa_challenges', 'mfa_amr_claims',
    'one_time_tokens', 'flow_state', 'oauth_client_states', 'audit_log_entries', 'mfa_recovery_codes'
  ]
  loop
    execute format('alter table auth.%I enable row level security', name);
    execute format('grant select, insert, update, delete on auth.%I to supabase_auth_admin', name);
    execute format('create policy service on auth.%I to supabase_auth_admin using (true) with check (true)', name);
    execute format('comment on policy service on auth.%I is %L', name, 'The service of /auth/v1 reads and writes all rows.');
  end loop;
end
$$;
grant usage, select on sequence auth.refresh_tokens_id_seq to supabase_auth_admin;

call rowhouse.end_private_functions();
