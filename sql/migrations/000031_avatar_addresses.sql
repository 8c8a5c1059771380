-- Only with the services: profiles, reports, analysis
-- The address of a picture is on the web or on the device of a client.
-- Other schemes are refused: a page that makes a link of `javascript:` or `data:` would execute it.
alter table public.profiles add constraint profiles_avatar_url_scheme_check
  check (avatar_url ~* '^(https?|file|content|ph):') not valid;
do $$
begin
  alter table public.profiles validate constraint profiles_avatar_url_scheme_check;
exception
  -- Earlier rows stay as they are until they are changed.
  when check_violation then
    raise notice 'public.profiles has rows whose avatar_url has a scheme that new rows may not have';
end
$$;
