-- Only with the services: analysis
-- The address of an image is on the web or on the device of a client, or the hash by which the server names an image (ni).
-- Other schemes are refused: a page that makes a link of `javascript:` or `data:` would execute it.
alter table public.classification_runs add constraint classification_runs_image_uri_scheme_check
  check (image_uri ~* '^(https?|file|content|ph|ni):') not valid;
do $$
begin
  alter table public.classification_runs validate constraint classification_runs_image_uri_scheme_check;
exception
  -- Earlier rows stay as they are until they are changed.
  when check_violation then
    raise notice 'public.classification_runs has rows whose image_uri has a scheme that new rows may not have';
end
$$;
