-- Tokens that name a session end with it. The server calls this before the statement of a request whose token has the
-- claim `session_id`, in the same round trip and transaction. The answer is PostgREST's for a token whose claims are refused.
-- https://docs.postgrest.org/en/v16/references/errors.html#raise-errors-with-http-status-codes
create function auth.check_session(session_id uuid, user_id uuid) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not exists (
    select from auth.sessions
    where sessions.id = $1 and sessions.user_id = $2 and sessions.revoked_at is null and sessions.expires_at > now()
  ) then
    raise sqlstate 'PGRST' using
      message = '{"code": "PGRST303", "message": "The session of this token has ended", "details": null, "hint": null}',
      detail = '{"status": 401, "headers": {"WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"The session of this token has ended\""}}';
  end if;
end
$$;
comment on function auth.check_session(uuid, uuid) is
  'Raises 401 unless the session is the user''s, and neither revoked nor expired, nor its account deleted.';
revoke execute on function auth.check_session(uuid, uuid) from public;
grant execute on function auth.check_session(uuid, uuid) to authenticator;

-- Tells running servers, which remember API keys, to forget one that was revoked, changed or deleted.
create function rowhouse.api_key_changed() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  perform pg_catalog.pg_notify('rowhouse', 'forget key ' || pg_catalog.encode(old.key_hash, 'hex'));
  return null;
end
$$;
revoke execute on function rowhouse.api_key_changed() from public;
create trigger api_key_changed after update or delete on auth.api_keys
  for each row execute function rowhouse.api_key_changed();
