-- What a vehicle is worth, from the approved reports of others about the same manufacturer and model.

-- `Alfa Romeo`, `ALFA  ROMEO` and `alfaromeo` are the same name. No blank is left in one, so a blank parts the two. The
-- length is bounded for the index: a character may become eighteen in its compatible form.
create function rowhouse.vehicle_key(manufacturer text, model text) returns text
language sql immutable strict parallel safe set search_path = ''
as $$
  select
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($1, 'NFKC'), '\s', '', 'g')), 100)
    || ' ' ||
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($2, 'NFKC'), '\s', '', 'g')), 100)
$$;
comment on function rowhouse.vehicle_key(text, text) is 'Manufacturer and model without regard to case and blanks.';

-- One model year of one model lies in it by mileage, so the nearest on either side are the first of a scan.
create index reports_comparable_idx
  on public.reports (rowhouse.vehicle_key(manufacturer, model), year, mileage, id)
  where status = 'approved';

/*
  {estimate, low, high, currency, comparables, confidence, method}

  Candidates. Approved reports with the same key, but none of the caller's own (for an administrator: none of
  `reporter`'s). The work is bounded however many there are: of each model year at most ceil(50 / (1 + years apart)) with
  a mileage from the wanted one up, and as many below it, each taken from the index in its order; among the first four
  times as many, so that somebody who owns most of a model's reports costs no more than others.

  Weight of a comparable. 1 / ((1 + (years / 2)²) (1 + (km of mileage / 30000)²) (1 + (km of distance / 250)²)), the
  distance along the great circle on a sphere of 6371 km. Then no reporter has more than 40 % of all weight: where one
  would, the weights are mixed with equal shares of all reporters, just enough. So one reporter alone decides no
  estimate, neither by many reports nor by being alone nearby; and whoever asks for a lonely spot does not get the price of
  the one vehicle there.

  Estimate, low, high. Weighted median and quartiles of the prices: the smallest price at which half of the weight (a
  quarter, three quarters) is reached; where it is reached exactly, the mean of this price and the next. Weights are
  whole numbers by then, so `exactly` means it.

  Confidence. From 0 to 1: s / (s + 3), where s sums the weights before the mixing, a comparable just like the vehicle
  counting as 1; times estimate / (estimate + high - low).

  With fewer than 3 comparables, or from fewer than 3 reporters, there is no estimate, and `method` says so.
*/
create function rowhouse.valuation(
  manufacturer text, model text, year integer, mileage numeric, lat double precision, lng double precision,
  reporter uuid
) returns jsonb
language plpgsql stable security definer
set search_path = ''
-- The scans below are bounded only in the order of the index; no guess about a model's share of the table may change that.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_variable
declare
  key constant text := rowhouse.vehicle_key(manufacturer, model);
  -- Only an administrator may leave out somebody else: the difference would tell what that person has reported.
  excluded constant uuid := coalesce(case when auth.is_admin() then reporter end, auth.uid());
  first_year constant integer := (
    select reports.year from public.reports
    where reports.status = 'approved' and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
    order by reports.year limit 1
  );
  last_year constant integer := (
    select reports.year from public.reports
    where reports.status = 'approved' and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
    order by reports.year desc limit 1
  );
begin
  return (
    with comparable as materialized (
      select near.*, pg_catalog.floor(0.5 + 1e9::float8 / (
        (1 + years * years) * (1 + distance_driven * distance_driven) * (1 + distance * distance)
      )) as closeness
      from (
        select candidate.id, candidate.user_id, candidate.price,
          (candidate.year - valuation.year) / 2::float8 as years,
          (candidate.mileage - valuation.mileage)::float8 / 30000 as distance_driven,
          2 * 6371 * asin(least(1, sqrt(
            sin(radians(candidate.lat - valuation.lat) / 2) * sin(radians(candidate.lat - valuation.lat) / 2)
            + cos(radians(valuation.lat)) * cos(radians(candidate.lat))
              * sin(radians(candidate.lng - valuation.lng) / 2) * sin(radians(candidate.lng - valuation.lng) / 2)
          ))) / 250 as distance
        from pg_catalog.generate_series(first_year, last_year) as model_year
        cross join lateral (
          select pg_catalog.ceil(50::float8 / (1 + abs(model_year - valuation.year)))::bigint as most
        ) as quota
        cross join lateral (
          (
            select * from (
              select reports.* from public.reports
              where reports.status = 'approved'
                and rowhouse.vehicle_key(reports.manufacturer, reports.model) = key
                and reports.year = model_year
                and reports.mileage >= valuation.mileage
              order by reports.mileage, reports.id
              limit 4 * quota.most
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
                and reports.mileage < valuation.mileage
              order by reports.mileage desc, reports.id desc
              limit 4 * quota.most
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
        case when count(*) >= 3 and max(closeness) / sum(closeness) > 0.4
          then (max(closeness) / sum(closeness) - 0.4) / (max(closeness) / sum(closeness) - 1 / count(*)::float8)
          else 0
        end as mixed
      from reporters
    ),
    weighed as (
      select price, 4 * sum(weight) over (order by price, id) as reached, sum(weight) over () as whole
      from (
        select comparable.price, comparable.id, greatest(1, pg_catalog.floor(0.5 + 1e12::float8 * (
          (1 - mixed) * (comparable.closeness / total) + mixed / (balance.reporters * reporters.reports)
        )))::bigint as weight
        from comparable join reporters using (user_id) cross join balance
        where balance.reporters >= 3
      ) as shares
    ),
    quartiles as (
      select
        (min(price) filter (where reached >= whole) + min(price) filter (where reached > whole)) / 2 as low,
        (min(price) filter (where reached >= 2 * whole) + min(price) filter (where reached > 2 * whole)) / 2 as estimate,
        (min(price) filter (where reached >= 3 * whole) + min(price) filter (where reached > 3 * whole)) / 2 as high
      from weighed
    )
    select pg_catalog.jsonb_build_object(
      'estimate', pg_catalog.trim_scale(round(estimate, 2)),
      'low', pg_catalog.trim_scale(round(low, 2)),
      'high', pg_catalog.trim_scale(round(high, 2)),
      'currency', 'EUR',
      'comparables', coalesce(comparables, 0),
      'confidence', case
        when estimate is null then 0
        when high = 0 then round((total / 1e9 / (total / 1e9 + 3))::numeric, 2)
        else round((total / 1e9 / (total / 1e9 + 3))::numeric * estimate / (estimate + high - low), 2)
      end,
      'method', case
        when coalesce(comparables, 0) < 3 then 'none: fewer than 3 comparable reports'
        when reporters < 3 then 'none: comparable reports of fewer than 3 reporters'
        else 'weighted median of comparable reports'
      end
    )
    from balance cross join quartiles
  );
end
$$;

create function public.estimate_report(
  manufacturer text, model text, year integer, mileage numeric, lat double precision, lng double precision
) returns jsonb
language plpgsql stable set search_path = ''
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
comment on function public.estimate_report(text, text, integer, numeric, double precision, double precision) is
  'What a vehicle is worth: {estimate, low, high, currency, comparables, confidence, method}.';

-- A computed column: `select=*,valuation`.
create function public.valuation(report public.reports) returns jsonb
language sql stable set search_path = ''
as $$
  select rowhouse.valuation(
    $1.manufacturer, $1.model, $1.year, $1.mileage, $1.lat, $1.lng, $1.user_id
  )
$$;
comment on function public.valuation(public.reports) is
  'What the vehicle is worth by the reports of others: {estimate, low, high, currency, comparables, confidence, method}.';

revoke execute on function
  rowhouse.vehicle_key(text, text),
  rowhouse.valuation(text, text, integer, numeric, double precision, double precision, uuid),
  public.estimate_report(text, text, integer, numeric, double precision, double precision),
  public.valuation(public.reports)
from public;
-- Whoever writes a report computes the key for the index.
grant execute on function
  rowhouse.vehicle_key(text, text),
  rowhouse.valuation(text, text, integer, numeric, double precision, double precision, uuid),
  public.estimate_report(text, text, integer, numeric, double precision, double precision),
  public.valuation(public.reports)
to authenticated, service_role;
