-- Detailed results of the server's image analysis.
alter table public.classification_runs
  add column analysis jsonb
    check (jsonb_typeof(analysis) = 'object' and octet_length(analysis::text) <= 100000);
comment on column public.classification_runs.analysis is
  'Boxes in pixels of the upright image, their coverage in percent, and the risk level; null if the image was not analysed by this server.';

grant insert (analysis), update (analysis) on public.classification_runs to authenticated;
