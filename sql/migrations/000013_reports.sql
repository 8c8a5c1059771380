-- Only with the services: reports
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Domains, because PostgreSQL prepares the checks of a table again for each statement, and those of a domain only once per
-- connection: storing a report takes a fifth less time. In this schema, because writes by clients name the types.
create domain public.report_name as text
  constraint reports_name_check
    check (char_length(value) between 1 and 100 and value = btrim(value, E' \t\r\n'));
comment on domain public.report_name is
  'Name of a manufacturer or model: 1 to 100 characters, without leading or trailing white space.';
-- Depends on the clock, which is safe here: an accepted year remains valid.
create domain public.report_year as integer
  constraint reports_year_check
    check (value between 1886 and extract(year from statement_timestamp() at time zone 'UTC')::integer + 1);
comment on domain public.report_year is 'Model year of a vehicle, from 1886 to next year.';
create domain public.report_mileage as integer constraint reports_mileage_check check (value between 0 and 2000000);
comment on domain public.report_mileage is 'Mileage in kilometres, from 0 to 2000000.';
-- Also rejects NaN, which is greater than every number.
create domain public.report_price as numeric(11, 2) constraint reports_price_check check (value between 0 and 100000000);
comment on domain public.report_price is 'Price in euros, rounded to cents, from 0 to 100000000.';
create domain public.report_latitude as double precision constraint reports_lat_check check (value between -90 and 90);
comment on domain public.report_latitude is 'Degrees north, from -90 to 90.';
create domain public.report_longitude as double precision constraint reports_lng_check check (value between -180 and 180);
comment on domain public.report_longitude is 'Degrees east, from -180 to 180.';
create domain public.report_status as text
  constraint reports_status_check check (value in ('pending', 'approved', 'rejected'));
comment on domain public.report_status is 'pending, approved or rejected.';

create table public.reports (
  id uuid constraint reports_pkey primary key default gen_random_uuid(),
  user_id uuid not null default auth.uid() constraint reports_user_id_fkey references public.profiles on delete cascade,
  manufacturer public.report_name not null,
  model public.report_name not null,
  year public.report_year not null,
  mileage public.report_mileage not null,
  price public.report_price not null,
  lat public.report_latitude not null,
  lng public.report_longitude not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  status public.report_status not null default 'pending'
);
-- A user's reports, newest first. The id makes the order total, for keyset pagination.
create index reports_newest_idx on public.reports (user_id, created_at desc, id desc);
-- Reports awaiting review, oldest first.
create index reports_pending_idx on public.reports (created_at, id) where status = 'pending';
comment on table public.reports is
  E'Vehicle reports\n\nA report is pending until an administrator approves or rejects it. Its owner can change it only while it is pending, and only approved reports are used for valuations.';
comment on column public.reports.id is 'Generated id.';
comment on column public.reports.user_id is 'The owner; defaults to the caller.';
comment on column public.reports.manufacturer is 'Manufacturer, without leading or trailing white space.';
comment on column public.reports.model is 'Model, without leading or trailing white space.';
comment on column public.reports.year is 'Model year, from 1886 to next year.';
comment on column public.reports.mileage is 'Mileage in kilometres.';
comment on column public.reports.price is 'Price in euros, rounded to cents.';
comment on column public.reports.lat is 'Latitude of the vehicle''s location, in degrees north.';
comment on column public.reports.lng is 'Longitude of the vehicle''s location, in degrees east.';
comment on column public.reports.created_at is 'When the report was created.';
comment on column public.reports.updated_at is 'When the report was last changed or reviewed.';
comment on column public.reports.status is
  'pending, approved or rejected. Set by an administrator, with the function review_report.';

create trigger set_updated_at before update on public.reports
  for each row execute function rowhouse.set_updated_at();

-- Default privileges of Supabase would let users set the status of their reports.
revoke all on public.reports from anon, authenticated;
-- Users cannot set ids, times or the status, and cannot transfer a report to another user.
grant select, delete,
  insert (user_id, manufacturer, model, year, mileage, price, lat, lng),
  update (manufacturer, model, year, mileage, price, lat, lng)
on public.reports to authenticated;

-- The policies protect the status a second time, in case a wider grant is added later.
alter table public.reports enable row level security;
create policy owner_select on public.reports for select to authenticated using ((select auth.uid()) = user_id);
create policy owner_insert on public.reports for insert to authenticated
  with check ((select auth.uid()) = user_id and status = 'pending');
create policy owner_update on public.reports for update to authenticated
  using ((select auth.uid()) = user_id and status = 'pending')
  with check ((select auth.uid()) = user_id and status = 'pending');
create policy owner_delete on public.reports for delete to authenticated using ((select auth.uid()) = user_id);
create policy service on public.reports to service_role using (true) with check (true);
comment on policy owner_select on public.reports is 'Users can read their own reports.';
comment on policy owner_insert on public.reports is 'Users can add reports of their own, which are pending.';
comment on policy owner_update on public.reports is 'Users can change their own reports until they are reviewed.';
comment on policy owner_delete on public.reports is 'Users can delete their own reports.';
comment on policy service on public.reports is 'The secret key can read and write all reports.';

-- Reviews. Functions that run with their owner's rights are in the schema `rowhouse`, which is never exposed; exposed
-- functions run with the caller's rights.

create function rowhouse.review_report(id uuid, approved boolean) returns public.reports
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  reviewed public.reports;
begin
  if not auth.is_admin() then
    raise insufficient_privilege using message = 'only an administrator reviews reports';
  end if;
  if $2 is null then
    raise null_value_not_allowed using message = '"approved" must be true or false';
  end if;
  update public.reports set status = case when $2 then 'approved' else 'rejected' end
  where reports.id = $1
  returning reports.* into reviewed;
  if not found then
    raise sqlstate 'PT404' using message = 'there is no such report';
  end if;
  return reviewed;
end
$$;
comment on function rowhouse.review_report(uuid, boolean) is 'Approves or rejects a report, for administrators.';

create function rowhouse.pending_reports(at_most integer, after_time timestamptz, after_id uuid)
returns setof public.reports
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if not auth.is_admin() then
    raise insufficient_privilege using message = 'only an administrator sees the reports of others';
  end if;
  return query
    select * from public.reports
    where status = 'pending' and ($2 is null or (created_at, id) > ($2, $3))
    order by created_at, id
    limit least(greatest(coalesce($1, 100), 0), 1000);
end
$$;
comment on function rowhouse.pending_reports(integer, timestamptz, uuid) is
  'Reports awaiting review, oldest first, at most 1000: those after the given report, or the first ones if its time is null.';

create function public.review_report(id uuid, approved boolean) returns public.reports
language sql set search_path = pg_catalog, pg_temp
as $$
  select * from rowhouse.review_report($1, $2)
$$;
comment on function public.review_report(uuid, boolean) is
  E'Approve or reject a report\n\nFor administrators: service_role, or users with the claim app_role: admin.';

create function public.pending_reports(at_most integer default 100) returns setof public.reports
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select * from rowhouse.pending_reports($1, null, null)
$$;
comment on function public.pending_reports(integer) is
  E'Reports awaiting review\n\nOldest first, at most 1000. For administrators: service_role, or users with the claim app_role: admin.';

grant execute on function
  rowhouse.review_report(uuid, boolean),
  rowhouse.pending_reports(integer, timestamptz, uuid),
  public.review_report(uuid, boolean),
  public.pending_reports(integer)
to authenticated, service_role;

-- Valuation of a vehicle, by other users' approved reports on the same manufacturer and model.

-- `Alfa Romeo`, `ALFA  ROMEO` and `alfaromeo` are the same name. White space is removed from both, so the space between
-- them is an unambiguous separator. The length is limited for the index: NFKC may turn one character into eighteen.
create function rowhouse.vehicle_key(manufacturer text, model text) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp
as $$
  select
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($1, 'NFKC'), '\s', '', 'g')), 100)
    || ' ' ||
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($2, 'NFKC'), '\s', '', 'g')), 100)
$$;
comment on function rowhouse.vehicle_key(text, text) is 'Manufacturer and model, normalised for comparison without regard to case and white space.';

-- Sorts the reports on one model year of a model by mileage, so a scan in either direction starts with the nearest.
create index reports_comparable_idx
  on public.reports (rowhouse.vehicle_key(manufacturer, model), year, mileage, id)
  where status = 'approved';

-- The currency of all prices.
create function rowhouse.price_currency() returns text
language sql immutable parallel safe
return 'EUR';
comment on function rowhouse.price_currency() is 'The currency of the prices of all reports.';

-- Valuations say nothing of a single report: they need five reporters, and their prices are rounded. With fewer reports, there
-- is no estimate.
create function rowhouse.fewest_comparables() returns integer
language sql immutable parallel safe
return 5;
comment on function rowhouse.fewest_comparables() is 'The number of comparable reports that an estimate needs.';

create function rowhouse.rounded_price(price numeric) returns numeric
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp
as $$
declare
  smallest_step constant numeric := 10;
  -- 1, 10, 100 … with as many digits as the price.
  power constant numeric := 10::numeric ^ (pg_catalog.length(pg_catalog.trunc(price)::text) - 1);
  step constant numeric := greatest(
    smallest_step,
    power * case when price < 2 * power then 0.05 when price < 5 * power then 0.1 else 0.25 end
  );
begin
  return pg_catalog.round(price / step) * step;
end
$$;
comment on function rowhouse.rounded_price(numeric) is
  'A price, rounded to a step of 2 to 5 percent, and at least 10: 10310 to 10500, 21390 to 21000, 9120 to 9000.';

-- Both prices are rounded first: otherwise, who varies one of them could find the other one.
create function rowhouse.rounded_mean(one numeric, other numeric) returns numeric
language sql immutable strict parallel safe
return rowhouse.rounded_price((rowhouse.rounded_price(one) + rowhouse.rounded_price(other)) / 2);
comment on function rowhouse.rounded_mean(numeric, numeric) is 'The mean of two prices, rounded as each of them is.';

/*
  Returns {estimate, low, high, currency, comparables, confidence, method}. Names in capitals are the constants defined at
  the beginning of the function, or the functions above.

  Candidates. Approved reports with the same key, except the caller's own (for an administrator: except `reporter`'s). The
  work is bounded, however many there are: of each model year, at most ceil(NEAREST / (1 + years apart)) with at least
  the mileage, and as many with less, read from the index in order. At most OVERSAMPLING times as many are read, so a
  caller who owns most reports on a model costs no more than others.

  Weight of a comparable. 1 / ((1 + (years / HALF_YEARS)²) (1 + (km of mileage / HALF_MILEAGE)²)
  (1 + (km of distance / HALF_DISTANCE)²)), with the distance along the great circle. No reporter has more than
  LARGEST_SHARE of the total weight: if one would, the weights are blended with equal shares for all reporters, just
  enough. So no single reporter decides an estimate, neither by many reports nor by being the only one nearby, and a
  request for a remote location does not disclose the price of the only vehicle there.

  Estimate, low, high. Weighted median and quartiles of the prices: the smallest price at which half of the weight (a
  quarter, three quarters) is reached; if it is reached exactly, the mean of this price and the next. Weights are
  whole numbers at that point, so the comparison is exact. All three are rounded, so that none is the price of a report:
  to a step of 2 to 5 percent, and at least SMALLEST_STEP.

  Confidence. From 0 to 1: s / (s + HALF_CONFIDENCE), where s is the sum of the weights before blending, 1 for a
  comparable identical to the vehicle; times estimate / (estimate + high - low), of the rounded prices.

  With fewer than FEWEST_COMPARABLES, or fewer than FEWEST_REPORTERS, there is no estimate, and `method` says why.
*/
create function rowhouse.weighted_valuation(
  key text, first_year integer, last_year integer, year integer, mileage integer, lat double precision,
  lng double precision, excluded uuid
) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
-- The scans below are bounded only if they use the index, so the planner must not choose another plan for common models.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_variable
declare
  price_currency constant text := rowhouse.price_currency();
  fewest_comparables constant integer := rowhouse.fewest_comparables();
  -- With fewer reporters, there is no estimate: it would say too much about each of them.
  fewest_reporters constant integer := 5;
  -- Maximum share of the total weight that one reporter may have.
  largest_share constant float8 := 0.4;
  -- Differences that halve the weight of a comparable: in model years, kilometres driven, kilometres of distance.
  half_years constant float8 := 2;
  half_mileage constant float8 := 30000;
  half_distance constant float8 := 250;
  -- Sum of weights at which the confidence is one half, before the spread of prices reduces it.
  half_confidence constant float8 := 3;
  -- Maximum number of comparables of the vehicle's model year on either side of its mileage.
  nearest constant float8 := 50;
  -- Reports read per comparable, to be able to skip those of the caller.
  oversampling constant integer := 4;
  -- Kilometres; the earth is treated as a sphere.
  earth_radius constant float8 := 6371;
  -- Weights are rounded to whole numbers of these fractions of 1, so that sums do not depend on their order.
  parts_of_closeness constant float8 := 1e9;
  parts_of_weight constant float8 := 1e12;
  -- Decimals of the confidence.
  decimals constant integer := 2;
begin
  return (
    with comparable as materialized (
      select near.*, pg_catalog.floor(0.5 + parts_of_closeness / (
        (1 + years * years) * (1 + distance_driven * distance_driven) * (1 + distance * distance)
      )) as closeness
      from (
        select candidate.id, candidate.user_id, candidate.price,
          (candidate.year - weighted_valuation.year) / half_years as years,
          (candidate.mileage - weighted_valuation.mileage) / half_mileage as distance_driven,
          2 * earth_radius * asin(least(1, sqrt(
            sin(radians(candidate.lat - weighted_valuation.lat) / 2) * sin(radians(candidate.lat - weighted_valuation.lat) / 2)
            + cos(radians(weighted_valuation.lat)) * cos(radians(candidate.lat))
              * sin(radians(candidate.lng - weighted_valuation.lng) / 2) * sin(radians(candidate.lng - weighted_valuation.lng) / 2)
          ))) / half_distance as distance
        from pg_catalog.generate_series(first_year, last_year) as model_year
        cross join lateral (
          select pg_catalog.ceil(nearest / (1 + abs(model_year - weighted_valuation.year)))::bigint as most
        ) as quota
        cross join lateral (
          (
            select * from (
              select reports.* from public.reports
              where reports.status = 'approved'
                and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
                and reports.year = model_year
                and reports.mileage >= weighted_valuation.mileage
              order by reports.mileage, reports.id
              limit oversampling * quota.most
            ) as above
            where above.user_id is distinct from excluded
            order by above.mileage, above.id
            limit quota.most
          )
          union all
          (
            select * from (
              select reports.* from public.reports
              where reports.status = 'approved'
                and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
                and reports.year = model_year
                and reports.mileage < weighted_valuation.mileage
              order by reports.mileage desc, reports.id desc
              limit oversampling * quota.most
            ) as below
            where below.user_id is distinct from excluded
            order by below.mileage desc, below.id desc
            limit quota.most
          )
        ) as candidate
      ) as near
    ),
    reporters as (
      select user_id, count(*) as reports, greatest(sum(closeness), 1) as closeness from comparable group by user_id
    ),
    balance as (
      select count(*)::float8 as reporters, sum(reports) as comparables, sum(closeness) as total,
        case when count(*) >= fewest_reporters and max(closeness) / sum(closeness) > largest_share
          then (max(closeness) / sum(closeness) - largest_share) / (max(closeness) / sum(closeness) - 1 / count(*)::float8)
          else 0
        end as mixed,
        sum(closeness) / parts_of_closeness as likeness
      from reporters
    ),
    weighed as (
      select price, 4 * sum(weight) over (order by price, id) as reached, sum(weight) over () as whole
      from (
        select comparable.price, comparable.id, greatest(1, pg_catalog.floor(0.5 + parts_of_weight * (
          (1 - mixed) * (comparable.closeness / total) + mixed / (balance.reporters * reporters.reports)
        )))::bigint as weight
        from comparable join reporters using (user_id) cross join balance
        where balance.reporters >= fewest_reporters
      ) as shares
    ),
    quartiles as (
      select
        rowhouse.rounded_mean(min(price) filter (where reached >= whole), min(price) filter (where reached > whole)) as low,
        rowhouse.rounded_mean(
          min(price) filter (where reached >= 2 * whole), min(price) filter (where reached > 2 * whole)
        ) as estimate,
        rowhouse.rounded_mean(
          min(price) filter (where reached >= 3 * whole), min(price) filter (where reached > 3 * whole)
        ) as high
      from weighed
    )
    select pg_catalog.json_build_object(
      'estimate', pg_catalog.trim_scale(estimate),
      'low', pg_catalog.trim_scale(low),
      'high', pg_catalog.trim_scale(high),
      'currency', price_currency,
      'comparables', coalesce(comparables, 0),
      'confidence', case
        when estimate is null then 0
        when high = 0 then round((likeness / (likeness + half_confidence))::numeric, decimals)
        else round((likeness / (likeness + half_confidence))::numeric * estimate / (estimate + high - low), decimals)
      end,
      'method', case
        when coalesce(comparables, 0) < fewest_comparables
          then pg_catalog.format('none: fewer than %s comparable reports', fewest_comparables)
        when reporters < fewest_reporters
          then pg_catalog.format('none: comparable reports of fewer than %s reporters', fewest_reporters)
        else 'weighted median of comparable reports'
      end
    )
    from balance cross join quartiles
  );
end
$$;
comment on function rowhouse.weighted_valuation(
  text, integer, integer, integer, integer, double precision, double precision, uuid
) is
  'Valuation of a vehicle by the approved reports with a key, which begin and end with these model years, except those of the user `excluded`.';

-- The settings and the plan of the function above take longer to start than everything else that stores a report, so
-- it is not called for a vehicle without any comparable report.
create function rowhouse.valuation(
  manufacturer text, model text, year integer, mileage integer, lat double precision, lng double precision,
  reporter uuid
) returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  key constant text := rowhouse.vehicle_key(manufacturer, model);
  first_year constant integer := (
    select reports.year from public.reports
    where reports.status = 'approved' and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
    order by reports.year limit 1
  );
begin
  if first_year is not null then
    return rowhouse.weighted_valuation(
      key,
      first_year,
      (
        select reports.year from public.reports
        where reports.status = 'approved' and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
        order by reports.year desc limit 1
      ),
      year, mileage, lat, lng,
      -- Only an administrator may exclude another reporter: the difference discloses that reporter's prices.
      coalesce(case when auth.is_admin() then reporter end, auth.uid())
    );
  end if;
  return pg_catalog.json_build_object(
    'estimate', null, 'low', null, 'high', null, 'currency', rowhouse.price_currency(), 'comparables', 0,
    'confidence', 0, 'method', pg_catalog.format('none: fewer than %s comparable reports', rowhouse.fewest_comparables())
  );
end
$$;
comment on function rowhouse.valuation(text, text, integer, integer, double precision, double precision, uuid) is
  'Valuation of a vehicle by other users'' approved reports. For administrators, the reports of `reporter` are excluded instead of their own.';

create function public.estimate_report(
  manufacturer text, model text, year integer, mileage integer, lat double precision, lng double precision
) returns json
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
begin
  if (year between 1886 and 9999 and mileage between 0 and 2000000 and lat between -90 and 90 and lng between -180 and 180
    and length(manufacturer) between 1 and 100 and length(model) between 1 and 100) is not true
  then
    raise numeric_value_out_of_range using
      message = 'a vehicle has a manufacturer, a model, a year, a mileage, a latitude and a longitude, each within its limits';
  end if;
  return rowhouse.valuation(manufacturer, model, year, mileage, lat, lng, null);
end
$$;
comment on function public.estimate_report(text, text, integer, integer, double precision, double precision) is
  E'Estimate the value of a vehicle\n\nBased on other users'' approved reports: {estimate, low, high, currency, comparables, confidence, method}. `mileage` is in kilometres; `estimate`, `low` and `high` are null with too few comparable reports.';

-- Without a setting of its own, so that PostgreSQL inlines it: all names are qualified.
create function public.valuation(report public.reports) returns json
language sql stable
as $$
  select rowhouse.valuation(
    $1.manufacturer, $1.model, $1.year, $1.mileage, $1.lat, $1.lng, $1.user_id
  )
$$;
comment on function public.valuation(public.reports) is
  E'Value of the vehicle of a report\n\nA computed column, `select=*,valuation`: {estimate, low, high, currency, comparables, confidence, method}, based on other users'' approved reports.';

-- Writing a report computes its key for the index, so writers need the right to execute vehicle_key.
grant execute on function
  rowhouse.vehicle_key(text, text),
  rowhouse.valuation(text, text, integer, integer, double precision, double precision, uuid),
  public.estimate_report(text, text, integer, integer, double precision, double precision),
  public.valuation(public.reports)
to authenticated, service_role;
revoke all on function
  public.review_report(uuid, boolean),
  public.pending_reports(integer),
  public.estimate_report(text, text, integer, integer, double precision, double precision),
  public.valuation(public.reports)
from anon;

call rowhouse.end_private_functions();
