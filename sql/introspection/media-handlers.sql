-- Media type handlers: functions and aggregates that return a domain named like a media type.
-- $1: names of the exposed schemas, a JSON array. Postgres raises 3F000 for a schema that does not exist.
with
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
media_types as (
  select
    t.oid,
    n.nspname as schema,
    lower(t.typname) as name,
    -- A handler for any media type responds with application/octet-stream, unless it sets the header itself.
    case t.typname when '*/*' then 'application/octet-stream' else t.typname end as answer
  from pg_type t
  join pg_namespace n on n.oid = t.typnamespace
  where t.typtype = 'd'
    and (t.typname = '*/*' or t.typname ~* '^[a-z0-9.-]+/[a-z0-9.+-]+$')
),
functions as (
  select p.oid, p.prokind as kind, p.proretset, n.nspname as schema, p.proname as name,
    case p.pronargs when 1 then p.proargtypes[0] end as argument,
    media.schema as media_schema, media.name as media_type, media.answer
  from pg_proc p
  join media_types media on media.oid = p.prorettype
  join pg_namespace n on n.oid = p.pronamespace
  where p.pronamespace = any (array(select schema from exposed))
)
select json_build_object(
  'function', json_build_object('schema', handler.schema, 'name', handler.name),
  'target', json_build_object('schema', handler.target_schema, 'name', handler.target_name),
  'mediaType', handler.media_type,
  'answer', handler.answer
) as row
from (
  -- Aggregates over the rows of one relation, or of any relation.
  select f.schema, f.name, n.nspname as target_schema, t.typname as target_name, f.media_type, f.answer
  from functions f
  join pg_type t on t.oid = f.argument
  join pg_namespace n on n.oid = t.typnamespace
  where f.kind = 'a'
    and (
      t.typname = 'anyelement'
      or exists (select from pg_class c where c.reltype = t.oid and c.relkind in ('r', 'v', 'm', 'f', 'p'))
    )
  -- Overloads of a function share one entry.
  union
  -- Functions that return the body: the handler's target is the function itself.
  select f.media_schema, f.media_type, f.schema, f.name, f.media_type, f.answer
  from functions f
  where f.kind = 'f' and not f.proretset
) handler
order by target_schema, target_name, media_type, schema, name, answer
