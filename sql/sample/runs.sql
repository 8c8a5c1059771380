-- Classification runs of an account. $1: its id.
insert into public.classification_runs (
  id, user_id, image_uri, image_source, result_label, confidence, is_positive, recommendation, model_version, created_at
)
select
  md5('rowhouse sample run ' || n || profiles.id)::uuid,
  profiles.id,
  'https://example.com/lake/' || n || '.jpg',
  (array['camera', 'gallery', 'file'])[1 + n % 3],
  label,
  55 + n * 7 % 45,
  label = 'Water Hyacinth',
  case label when 'Water Hyacinth' then 'Report it to the local authority.' else 'Nothing to do.' end,
  '1.0.0',
  now() - n * interval '3 hours'
from public.profiles
cross join generate_series(1, 12) as n
cross join lateral (select (array['Water Hyacinth', 'No Water Hyacinth', 'Needs Review'])[1 + n % 3] as label) as labels
where profiles.id = $1::uuid
on conflict do nothing
returning id
