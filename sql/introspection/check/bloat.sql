-- Tables with much more pages than their rows need, estimated from the statistics of ANALYZE that the role can read.
-- The estimate is that of the lint table_bloat: header of 23 bytes, alignment of 4 bytes, a bitmap of null values.
with statistics as (
  select
    schemaname,
    tablename,
    sum((1 - null_frac) * avg_width) as width,
    max(null_frac) as nulls,
    23 + 1 + count(*) filter (where null_frac <> 0) / 8 as header
  from pg_catalog.pg_stats
  group by schemaname, tablename
),
sizes as (
  select
    s.schemaname,
    s.tablename,
    c.relpages,
    ceil(
      c.reltuples
      * (
        (s.width + 24)::numeric + 4
        - case when (s.width + 24)::numeric % 4 = 0 then 4 else (s.width + 24)::numeric % 4 end
        + s.nulls * (s.header + 4 - case when s.header % 4 = 0 then 4 else s.header % 4 end)
        + 4
      )
      / (current_setting('block_size')::numeric - 20::float)
    ) as needed
  from statistics s
  join pg_catalog.pg_namespace n on n.nspname = s.schemaname
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = s.tablename
  join pg_catalog.pg_am m on m.oid = c.relam and m.amname = 'heap'
  where c.relkind = 'r' and n.nspname <> 'information_schema'
)
select json_build_object('schema', schemaname, 'name', tablename) as row
from sizes
where round(case when needed = 0 then 0.0 else relpages / needed::numeric end, 1) > 70.0
  and relpages >= needed
  and current_setting('block_size')::numeric * (relpages - needed)::bigint > 20 * 1024 * 1024
order by schemaname, tablename
