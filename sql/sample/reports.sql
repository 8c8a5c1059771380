-- Approved reports of the sample accounts, twenty on each of three models: enough for an estimate.
insert into public.reports
  (id, user_id, manufacturer, model, year, mileage, price, lat, lng, status, created_at)
select
  md5('rowhouse sample report ' || model || n)::uuid,
  md5('rowhouse sample account ' || 1 + n % 5)::uuid,
  manufacturer,
  model,
  2023 - n % 8,
  8000 + 11000 * (n % 8) + 790 * n,
  -- The price decreases with age and mileage, and varies between sellers.
  round(new_price * (1 - 0.07 * (n % 8)) - 0.04 * 790 * n + 130 * (n * 7 % 11), -1),
  50.1 + 0.3 * (n % 9),
  8.6 + 0.4 * (n % 12),
  'approved',
  now() - n * interval '1 day'
from (values ('Toyota', 'Corolla', 21500), ('Volkswagen', 'Golf', 24500), ('Fiat', 'Panda', 13500))
  as models (manufacturer, model, new_price)
cross join generate_series(1, 20) as n
where exists (select from public.profiles where id = md5('rowhouse sample account ' || 1 + n % 5)::uuid)
on conflict do nothing
returning id
