-- Only with the services: analysis
create table public.classification_runs (
  id uuid constraint classification_runs_pkey primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid()
    constraint classification_runs_user_id_fkey references public.profiles on delete cascade,
  image_uri text not null
    constraint classification_runs_image_uri_check check (char_length(image_uri) between 1 and 2048)
    -- On the web or on the device of a client, or the hash by which the server names an image (ni): a page that makes a link
    -- of `javascript:` or `data:` would execute it.
    constraint classification_runs_image_uri_scheme_check check (image_uri ~* '^(https?|file|content|ph|ni):'),
  image_source text not null
    constraint classification_runs_image_source_check check (char_length(image_source) between 1 and 100),
  result_label text not null
    constraint classification_runs_result_label_check check (char_length(result_label) between 1 and 200),
  -- Also rejects NaN, which is greater than every number.
  confidence numeric not null
    constraint classification_runs_confidence_check check (confidence between 0 and 100),
  is_positive boolean not null,
  recommendation text
    constraint classification_runs_recommendation_check check (char_length(recommendation) <= 10000),
  model_version text
    constraint classification_runs_model_version_check check (char_length(model_version) between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Detailed results of the server's image analysis.
  analysis jsonb constraint classification_runs_analysis_check
    check (jsonb_typeof(analysis) = 'object' and octet_length(analysis::text) <= 100000)
);
-- A user's runs, newest first. The id makes the order total, for keyset pagination.
create index classification_runs_newest_idx on public.classification_runs (user_id, created_at desc, id desc);
comment on table public.classification_runs is
  E'Results of image classification\n\nUsers can read and change only their own.';
comment on column public.classification_runs.id is 'Chosen by the client, or generated.';
comment on column public.classification_runs.user_id is 'The owner; defaults to the caller.';
comment on column public.classification_runs.image_uri is 'URI of the image; may be a file on the client''s device.';
comment on column public.classification_runs.image_source is 'Source of the image: camera, gallery or file.';
comment on column public.classification_runs.result_label is 'The result, as shown by the client.';
comment on column public.classification_runs.confidence is 'Confidence in percent, from 0 to 100.';
comment on column public.classification_runs.is_positive is 'Whether the image shows the searched object.';
comment on column public.classification_runs.recommendation is 'Recommended action.';
comment on column public.classification_runs.model_version is 'Version of the model that classified the image.';
comment on column public.classification_runs.analysis is
  'Boxes in pixels of the upright image, their coverage in percent, and the risk level; null if the image was not analysed by this server.';
comment on column public.classification_runs.created_at is 'When the image was classified; may be set by the client.';
comment on column public.classification_runs.updated_at is 'When the row was last changed.';

create trigger set_updated_at before update on public.classification_runs
  for each row execute function rowhouse.set_updated_at();

-- See profiles.sql.
revoke all on public.classification_runs from anon, authenticated;
-- Clients that work offline choose the ids and times of their runs.
grant select, delete,
  insert (id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version,
    analysis, created_at),
  update (id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version,
    analysis, created_at)
on public.classification_runs to authenticated;

alter table public.classification_runs enable row level security;
create policy owner_select on public.classification_runs for select to authenticated
  using ((select auth.uid()) = user_id);
create policy owner_insert on public.classification_runs for insert to authenticated
  with check ((select auth.uid()) = user_id);
create policy owner_update on public.classification_runs for update to authenticated
  using ((select auth.uid()) = user_id) with check ((select auth.uid()) = user_id);
create policy owner_delete on public.classification_runs for delete to authenticated
  using ((select auth.uid()) = user_id);
create policy service on public.classification_runs to service_role using (true) with check (true);
comment on policy owner_select on public.classification_runs is 'Users can read their own runs.';
comment on policy owner_insert on public.classification_runs is 'Users can add runs of their own.';
comment on policy owner_update on public.classification_runs is 'Users can change their own runs.';
comment on policy owner_delete on public.classification_runs is 'Users can delete their own runs.';
comment on policy service on public.classification_runs is 'The secret key can read and write all runs.';
