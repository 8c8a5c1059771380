-- Exchanging a refresh token costs the database less: one query reads and locks what it needs, and the server makes the next
-- token. Servers of earlier versions call the function of before, which does the same now.

-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- A revoked token that is the parent of the active one gives the active one again: the client has lost the response. Any
-- other revoked token is accepted only within the reuse interval; after that it may have been stolen, so the family ends.
create function auth.refresh_session(
  token text, successor text, reuse_interval interval, rotates boolean, timebox interval, inactivity interval, low_aal interval,
  single_per_user boolean, ip text, user_agent text
)
returns json
language plpgsql set search_path = '' set lock_timeout = '5s'
as $$
#variable_conflict use_column
declare
  presented auth.refresh_tokens;
  active auth.refresh_tokens;
  current_session auth.sessions;
  account auth.users;
  locked record;
  fault text;
  issued text;
begin
  -- Concurrent refreshes of a session wait here for each other, and then see what the others have done to the token.
  select sessions as of_session, refresh_tokens as of_token, users as of_user into locked
  from auth.refresh_tokens
  join auth.sessions on sessions.id = refresh_tokens.session_id
  join auth.users on users.id = sessions.user_id
  where refresh_tokens.token = $1
  for no key update of sessions, refresh_tokens;
  if not found then
    -- A token without a session is of no use any more.
    delete from auth.refresh_tokens where refresh_tokens.token = $1;
    if found then
      return auth.session_error('session_not_found', 'No Valid Session Found', 'the session has ended');
    end if;
    return auth.session_error('refresh_token_not_found', 'Refresh Token Not Found', 'the token is unknown');
  end if;
  current_session := locked.of_session;
  presented := locked.of_token;
  account := locked.of_user;
  if auth.is_banned(account) then
    return auth.session_error('user_banned', 'User Banned', 'the user is banned');
  end if;
  fault := auth.session_fault(current_session, presented.updated_at, $5, $6, $7);
  if fault is not null then
    return auth.session_error('session_expired', fault, 'the session has expired');
  end if;
  -- The condition is not evaluated before, because a query costs more than a parameter.
  if $8 then
    if exists (
      select from auth.sessions as other
      where other.user_id = account.id and other.id <> current_session.id
        and auth.session_fault(other, null, $5, $6, $7) is null
        and coalesce(other.refreshed_at at time zone 'UTC', other.created_at)
          > coalesce(current_session.refreshed_at at time zone 'UTC', presented.updated_at, current_session.created_at)
    ) then
      return auth.session_error(
        'session_expired', 'Session Expired (Revoked by Newer Login)', 'the user has a newer session'
      );
    end if;
  end if;
  if coalesce(presented.revoked, false) then
    select refresh_tokens.* into active from auth.refresh_tokens
    where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked is false
    order by refresh_tokens.id desc limit 1;
    if active.parent = $1 then
      issued := active.token;
    -- Without an active token, the family has ended.
    elsif active.id is null or clock_timestamp() > presented.updated_at + $3 then
      if $4 then
        update auth.refresh_tokens set revoked = true, updated_at = now()
        where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked is false;
      end if;
      return auth.session_error(
        'refresh_token_already_used', 'Already Used',
        format(
          'token %s of session %s was used %s ago, and its successor since%s',
          presented.id, current_session.id, date_trunc('second', clock_timestamp() - presented.updated_at),
          case when $4 then '; all tokens of the session are revoked' else '' end
        )
      );
    end if;
  end if;
  if issued is not null then
    successor := null;
  end if;
  -- Tokens that were used long ago are no longer needed to detect their reuse. Once a day, because it reads all of a session.
  if date(coalesce(current_session.refreshed_at, current_session.created_at at time zone 'UTC')) < date(now() at time zone 'UTC') then
    delete from auth.refresh_tokens
    where refresh_tokens.session_id = current_session.id and refresh_tokens.revoked
      and refresh_tokens.updated_at < now() - interval '7 days' and refresh_tokens.id <> presented.id;
  end if;
  -- In one statement, because separate ones cost more.
  with used as (
    update auth.refresh_tokens set revoked = true, updated_at = now()
    where refresh_tokens.id = presented.id and refresh_tokens.revoked is not true and successor is not null
  ), created as (
    insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, parent, session_id)
    select
      '00000000-0000-0000-0000-000000000000', successor, account.id::text, false, now(), now(), $1, current_session.id
    where successor is not null
  ), recorded as (
    insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
    select
      '00000000-0000-0000-0000-000000000000', gen_random_uuid(), auth.audit_payload(account, entry.action, 'token', null),
      now(), left(coalesce($9, ''), 64)
    from (values ('token_revoked', successor is not null), ('token_refreshed', true)) as entry (action, applies)
    where entry.applies
  )
  update auth.sessions
  set refreshed_at = now() at time zone 'UTC', updated_at = now(), user_agent = $10, ip = $9::inet
  where sessions.id = current_session.id;
  -- What is issued has none of the columns that have changed.
  return auth.issued_session(current_session, account, coalesce(issued, successor));
end
$$;
comment on function auth.refresh_session(
  text, text, interval, boolean, interval, interval, interval, boolean, text, text
) is
  E'Exchanges a refresh token for its successor, a new random token, and returns the session, or {error}: status, code, message, and a reason for the log.\n\nConcurrent calls with one token return the same successor.';

create or replace function auth.refresh_session(
  token text, reuse_interval interval, rotates boolean, timebox interval, inactivity interval, low_aal interval,
  single_per_user boolean, ip text, user_agent text
)
returns json
language sql set search_path = ''
as $$
  select auth.refresh_session($1, auth.new_refresh_token(), $2, $3, $4, $5, $6, $7, $8, $9)
$$;

grant execute on function
  auth.refresh_session(text, text, interval, boolean, interval, interval, interval, boolean, text, text)
to supabase_auth_admin;

call rowhouse.end_private_functions();
