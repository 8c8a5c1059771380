-- A mileage is a whole number of kilometres.
update public.reports set mileage = round(mileage) where mileage <> trunc(mileage);
alter table public.reports add constraint reports_mileage_whole check (mileage = trunc(mileage));

-- Objects of a fixed shape have their keys in the order in which their schema names them; jsonb has an order of its own.
create function rowhouse.valuation_json(valuation jsonb) returns json
language sql immutable parallel safe set search_path = ''
as $$
  select pg_catalog.json_build_object(
    'estimate', $1 -> 'estimate',
    'low', $1 -> 'low',
    'high', $1 -> 'high',
    'currency', $1 -> 'currency',
    'comparables', $1 -> 'comparables',
    'confidence', $1 -> 'confidence',
    'method', $1 -> 'method'
  )
$$;

drop function public.valuation(public.reports);
drop function public.estimate_report(text, text, integer, numeric, double precision, double precision);

create function public.estimate_report(
  manufacturer text, model text, year integer, mileage numeric, lat double precision, lng double precision
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
  if mileage <> trunc(mileage) then
    raise numeric_value_out_of_range using message = 'mileage must be a whole number of kilometres';
  end if;
  return rowhouse.valuation_json(rowhouse.valuation(manufacturer, model, year, mileage, lat, lng, null));
end
$$;
comment on function public.estimate_report(text, text, integer, numeric, double precision, double precision) is
  'What a vehicle is worth: {estimate, low, high, currency, comparables, confidence, method}.';

-- A computed column: `select=*,valuation`.
create function public.valuation(report public.reports) returns json
language sql stable set search_path = ''
as $$
  select rowhouse.valuation_json(rowhouse.valuation(
    $1.manufacturer, $1.model, $1.year, $1.mileage, $1.lat, $1.lng, $1.user_id
  ))
$$;
comment on function public.valuation(public.reports) is
  'What the vehicle is worth by the reports of others: {estimate, low, high, currency, comparables, confidence, method}.';

-- The reports to be reviewed as pages: those after a report, or from the first one on.
create function rowhouse.pending_reports(at_most integer, after_time timestamptz, after_id uuid)
returns setof public.reports
language plpgsql stable security definer set search_path = ''
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

revoke execute on function
  rowhouse.valuation_json(jsonb),
  rowhouse.pending_reports(integer, timestamptz, uuid),
  public.estimate_report(text, text, integer, numeric, double precision, double precision),
  public.valuation(public.reports)
from public;
grant execute on function
  rowhouse.valuation_json(jsonb),
  rowhouse.pending_reports(integer, timestamptz, uuid),
  public.estimate_report(text, text, integer, numeric, double precision, double precision),
  public.valuation(public.reports)
to authenticated, service_role;
