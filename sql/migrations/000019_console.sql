-- Only with the services: console
-- The console in the browser: its sessions, the codes of printed links, and the log of what was changed there.

create table rowhouse.console_sessions (
  token_hash bytea constraint console_sessions_pkey primary key
    constraint console_sessions_token_hash_check check (octet_length(token_hash) = 32),
  is_code boolean not null,
  actor text not null,
  key_hash bytea,
  auth_session uuid,
  user_id uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint console_sessions_account_check check ((auth_session is null) = (user_id is null))
);
create index console_sessions_expires_at_idx on rowhouse.console_sessions (expires_at);
comment on table rowhouse.console_sessions is
  E'Sessions of the console\n\nAnd the codes of printed links, which are exchanged for sessions once. Only the server has access.';
comment on column rowhouse.console_sessions.token_hash is 'SHA-256 of the cookie or code.';
comment on column rowhouse.console_sessions.is_code is 'Whether it is the code of a link, which a session replaces.';
comment on column rowhouse.console_sessions.actor is 'Who signed in, for people.';
comment on column rowhouse.console_sessions.key_hash is 'SHA-256 of the API key that the session ends with.';
comment on column rowhouse.console_sessions.auth_session is 'The session of the account that the session ends with.';
comment on column rowhouse.console_sessions.user_id is 'The account.';
comment on column rowhouse.console_sessions.created_at is 'When it began.';
comment on column rowhouse.console_sessions.expires_at is 'When it ends.';

create table rowhouse.console_log (
  id bigint generated always as identity constraint console_log_pkey primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  details jsonb not null
);
comment on table rowhouse.console_log is
  E'What was changed in the console\n\nChanges that its pages request of other services are recorded before they are sent.';
comment on column rowhouse.console_log.id is 'Generated.';
comment on column rowhouse.console_log.at is 'When.';
comment on column rowhouse.console_log.actor is 'Who was signed in.';
comment on column rowhouse.console_log.action is 'What was done: `sign in`, `look as`, `change`, `commit sql` and others.';
comment on column rowhouse.console_log.details is 'With what.';

alter table rowhouse.console_sessions enable row level security;
alter table rowhouse.console_log enable row level security;
create policy server on rowhouse.console_sessions to authenticator using (true) with check (true);
create policy server_reads on rowhouse.console_log for select to authenticator using (true);
create policy server_adds on rowhouse.console_log for insert to authenticator with check (true);
comment on policy server on rowhouse.console_sessions is 'The server manages them.';
comment on policy server_reads on rowhouse.console_log is 'The server shows it.';
comment on policy server_adds on rowhouse.console_log is 'The server adds to it, and removes nothing.';
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.console_sessions, rowhouse.console_log from public, anon, authenticated, service_role;
grant select, insert, delete on rowhouse.console_sessions to authenticator;
grant select, insert on rowhouse.console_log to authenticator;
