-- Only with the services: reports
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Valuations say nothing of a single report: they need five reporters, and their prices are rounded. Before, those of three
-- reporters were exactly their three prices.

create or replace function rowhouse.fewest_comparables() returns integer
language sql immutable parallel safe
return 5;
comment on function rowhouse.fewest_comparables() is 'The number of comparable reports that an estimate needs.';

create function rowhouse.rounded_price(price numeric) returns numeric
language plpgsql immutable strict parallel safe set search_path = ''
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

-- Rounded before, too: otherwise who varies one of the two prices could find the other one.
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
create or replace function rowhouse.weighted_valuation(
  key text, first_year integer, last_year integer, year integer, mileage integer, lat double precision,
  lng double precision, excluded uuid
) returns json
language plpgsql stable
set search_path = ''
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

call rowhouse.end_private_functions();
