-- Who may do what at all; which rows, the policies say. `anon` gets no table.
grant usage on schema public to anon, authenticated, service_role;
grant usage on schema auth to anon, authenticated, service_role, authenticator;
grant execute on function auth.jwt(), auth.uid(), auth.role(), auth.email() to anon, authenticated, service_role;

grant execute on function
  auth.create_user(text, text),
  auth.find_user(text),
  auth.create_session(uuid, bytea, interval),
  auth.find_session(bytea),
  auth.revoke_session(bytea),
  auth.find_api_key(bytea)
to authenticator;

-- A user sets neither keys nor times, and hands no row over to somebody else.
grant select, delete,
  insert (display_name, avatar_url),
  update (display_name, avatar_url)
on public.profiles to authenticated;

grant select, delete,
  insert (user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version),
  update (image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version)
on public.classification_runs to authenticated;

grant select, delete,
  insert (user_id, manufacturer, model, year, mileage, price, lat, lng),
  update (manufacturer, model, year, mileage, price, lat, lng)
on public.reports to authenticated;

grant select, insert, update, delete
on public.profiles, public.classification_runs, public.reports to service_role;
