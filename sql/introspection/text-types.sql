-- Types of the database whose values `to_json` writes as strings, with their arrays: enums, ranges and base types, unless they
-- have a cast to JSON. Domains are what they are based on. An array of a type that separates elements by another character than
-- a comma is left out (0).
select json_build_object(
  'type', t.oid::bigint,
  'array', case t.typdelim when ',' then t.typarray::bigint else 0 end
)::text as row
from pg_type t
where t.oid >= 16384
  and t.typtype in ('b', 'e', 'r', 'm')
  and t.typelem = 0
  and not exists (
    select from pg_cast c where c.castsource = t.oid and c.casttarget in ('json'::regtype, 'jsonb'::regtype)
  )
