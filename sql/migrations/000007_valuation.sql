-- The functions of this file are only for the roles they are granted to.
call rowhouse.begin_private_functions();

-- What a vehicle is worth, from the approved reports of others about the same manufacturer and model.

-- `Alfa Romeo`, `ALFA  ROMEO` and `alfaromeo` are the same name. White space is removed from each, so the space in between
-- separates them. The length is bounded for the index: one character may become eighteen in its compatible form.
create function rowhouse.vehicle_key(manufacturer text, model text) returns text
language sql immutable strict parallel safe set search_path = ''
as $$
  select
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($1, 'NFKC'), '\s', '', 'g')), 100)
    || ' ' ||
    pg_catalog.left(pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.normalize($2, 'NFKC'), '\s', '', 'g')), 100)
$$;
comment on function rowhouse.vehicle_key(text, text) is 'Manufacturer and model without regard to case and white space.';

-- Sorts the reports on one model year of one model by mileage, so a scan in either direction begins with the nearest.
create index reports_comparable_idx
  on public.reports (rowhouse.vehicle_key(manufacturer, model), year, mileage, id)
  where status = 'approved';

/*
  Returns {estimate, low, high, currency, comparables, confidence, method}. The names in capitals are the constants at the
  beginning of the function, where their values and meanings are.

  Candidates. Approved reports with the same key, except the caller's own (for an administrator: except `reporter`'s). The
  work is bounded however many there are: of each model year, at most ceil(NEAREST / (1 + years apart)) with at least
  the mileage, and as many with less, each taken from the index in its order; among the first OVERSAMPLING times as many,
  so that the owner of most of a model's reports costs no more than others.

  Weight of a comparable. 1 / ((1 + (years / HALF_YEARS)²) (1 + (km of mileage / HALF_MILEAGE)²)
  (1 + (km of distance / HALF_DISTANCE)²)), with the distance along the great circle. No reporter has more than
  LARGEST_SHARE of all weight: where one would, the weights are mixed with equal shares of all reporters, just enough. So
  no single reporter decides an estimate, neither by many reports nor by being the only one nearby, and asking for
  a remote place does not disclose the price of the one vehicle there.

  Estimate, low, high. Weighted median and quartiles of the prices: the smallest price at which half of the weight (a
  quarter, three quarters) is reached; where it is reached exactly, the mean of this price and the next. Weights are
  whole numbers by then, so `exactly` has a meaning.

  Confidence. From 0 to 1: s / (s + HALF_CONFIDENCE), where s sums the weights before the mixing, a comparable just like
  the vehicle counting as 1; times estimate / (estimate + high - low).

  With fewer than FEWEST_COMPARABLES, or from fewer than FEWEST_REPORTERS, there is no estimate, and `method` says so.
*/
create function rowhouse.valuation(
  manufacturer text, model text, year integer, mileage integer, lat double precision, lng double precision,
  reporter uuid
) returns json
language plpgsql stable security definer
set search_path = ''
-- The scans below are bounded only in the order of the index; no estimate of a model's share of the table may change that.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_variable
declare
  -- The currency of all prices.
  price_currency constant text := 'EUR';
  -- Fewer comparables than this, or comparables from fewer reporters, give no estimate.
  fewest_comparables constant integer := 3;
  fewest_reporters constant integer := 3;
  -- The part of all weight that one reporter may have.
  largest_share constant float8 := 0.4;
  -- Differences at which a comparable has half the weight: model years, kilometres driven, kilometres away.
  half_years constant float8 := 2;
  half_mileage constant float8 := 30000;
  half_distance constant float8 := 250;
  -- The sum of weights at which the number of comparables makes for half of the confidence.
  half_confidence constant float8 := 3;
  -- Comparables of the vehicle's own model year on either side of its mileage.
  nearest constant float8 := 50;
  -- How many reports are read for each comparable, to pass over those of the caller.
  oversampling constant integer := 4;
  -- Kilometres, of a sphere.
  earth_radius constant float8 := 6371;
  -- Weights are whole multiples of these parts of 1, so that sums do not depend on their order.
  parts_of_closeness constant float8 := 1e9;
  parts_of_weight constant float8 := 1e12;
  -- Decimals of prices and of the confidence.
  decimals constant integer := 2;

  key constant text := rowhouse.vehicle_key(manufacturer, model);
  -- Only an administrator may exclude another reporter: the difference would disclose that person's reports.
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
  -- The plan of the query below takes several times as long to start as these two look-ups.
  if first_year is null then
    return pg_catalog.json_build_object(
      'estimate', null, 'low', null, 'high', null, 'currency', price_currency, 'comparables', 0, 'confidence', 0,
      'method', pg_catalog.format('none: fewer than %s comparable reports', fewest_comparables)
    );
  end if;
  return (
    with comparable as materialized (
      select near.*, pg_catalog.floor(0.5 + parts_of_closeness / (
        (1 + years * years) * (1 + distance_driven * distance_driven) * (1 + distance * distance)
      )) as closeness
      from (
        select candidate.id, candidate.user_id, candidate.price,
          (candidate.year - valuation.year) / half_years as years,
          (candidate.mileage - valuation.mileage) / half_mileage as distance_driven,
          2 * earth_radius * asin(least(1, sqrt(
            sin(radians(candidate.lat - valuation.lat) / 2) * sin(radians(candidate.lat - valuation.lat) / 2)
            + cos(radians(valuation.lat)) * cos(radians(candidate.lat))
              * sin(radians(candidate.lng - valuation.lng) / 2) * sin(radians(candidate.lng - valuation.lng) / 2)
          ))) / half_distance as distance
        from pg_catalog.generate_series(first_year, last_year) as model_year
        cross join lateral (
          select pg_catalog.ceil(nearest / (1 + abs(model_year - valuation.year)))::bigint as most
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
                and reports.mileage < valuation.mileage
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
        (min(price) filter (where reached >= whole) + min(price) filter (where reached > whole)) / 2 as low,
        (min(price) filter (where reached >= 2 * whole) + min(price) filter (where reached > 2 * whole)) / 2 as estimate,
        (min(price) filter (where reached >= 3 * whole) + min(price) filter (where reached > 3 * whole)) / 2 as high
      from weighed
    )
    select pg_catalog.json_build_object(
      'estimate', pg_catalog.trim_scale(round(estimate, decimals)),
      'low', pg_catalog.trim_scale(round(low, decimals)),
      'high', pg_catalog.trim_scale(round(high, decimals)),
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
comment on function rowhouse.valuation(text, text, integer, integer, double precision, double precision, uuid) is
  'What a vehicle is worth by the approved reports of others. For administrators, those others exclude `reporter`.';

create function public.estimate_report(
  manufacturer text, model text, year integer, mileage integer, lat double precision, lng double precision
) returns json
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
comment on function public.estimate_report(text, text, integer, integer, double precision, double precision) is
  E'Estimate what a vehicle is worth\n\nBy the approved reports of others: {estimate, low, high, currency, comparables, confidence, method}. `mileage` is in kilometres; `estimate`, `low` and `high` are null with too few comparable reports.';

create function public.valuation(report public.reports) returns json
language sql stable set search_path = ''
as $$
  select rowhouse.valuation(
    $1.manufacturer, $1.model, $1.year, $1.mileage, $1.lat, $1.lng, $1.user_id
  )
$$;
comment on function public.valuation(public.reports) is
  E'What the vehicle of a report is worth\n\nA computed column, `select=*,valuation`: {estimate, low, high, currency, comparables, confidence, method}, by the approved reports of others.';

-- Writing a report computes the key for the index, so writers may execute that function, too.
grant execute on function
  rowhouse.vehicle_key(text, text),
  rowhouse.valuation(text, text, integer, integer, double precision, double precision, uuid),
  public.estimate_report(text, text, integer, integer, double precision, double precision),
  public.valuation(public.reports)
to authenticated, service_role;

call rowhouse.end_private_functions();
