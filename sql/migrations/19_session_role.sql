-- A token carries its account's app_role for as long as it is valid. The check of its session now compares the two, so
-- that an administrator who is demoted stops being one at once. Servers of before go on with the function of two arguments.
create function auth.check_session(session_id uuid, user_id uuid, app_role text) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if not exists (
    select from auth.sessions join auth.users on users.id = sessions.user_id
    where sessions.id = $1 and sessions.user_id = $2 and sessions.revoked_at is null and sessions.expires_at > now()
      and ($3 is null or users.app_role = $3)
  ) then
    raise sqlstate 'PGRST' using
      message = '{"code": "PGRST303", "message": "The session of this token has ended", "details": null, "hint": null}',
      detail = '{"status": 401, "headers": {"WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"The session of this token has ended\""}}';
  end if;
end
$$;
comment on function auth.check_session(uuid, uuid, text) is
  'Raises 401 unless the session is the user''s, neither revoked nor expired, and the account still has the app_role, if one is given.';
revoke execute on function auth.check_session(uuid, uuid, text) from public;
grant execute on function auth.check_session(uuid, uuid, text) to authenticator;
