-- What a statement may set off, besides the dependencies: the volatile functions of the database and what calls them without
-- a name, relations and event triggers. One row with one JSON value.
with
-- Objects of PostgreSQL itself have smaller oids.
volatile_functions as (
  select p.oid, n.nspname as schema, p.proname as name, l.lanname as language, p.oid < 16384 as is_built_in,
    case when p.oid >= 16384 then pg_get_function_identity_arguments(p.oid) else '' end as arguments,
    case when l.lanname in ('sql', 'plpgsql') then p.prosrc end as source,
    e.extname as extension
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_language l on l.oid = p.prolang
  left join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  left join pg_extension e on e.oid = d.refobjid
  where p.provolatile = 'v' and p.prokind <> 'a'
),
relations as (
  select c.oid, n.nspname as schema, c.relname as name, c.relkind as kind
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'm', 'f')
)
select json_build_object(
  'functions', (
    select coalesce(json_agg(json_build_object(
      'oid', f.oid::bigint, 'schema', f.schema, 'name', f.name, 'arguments', f.arguments, 'language', f.language,
      'isBuiltIn', f.is_built_in, 'extension', f.extension, 'source', f.source
    )), '[]')
    from volatile_functions f
  ),
  'relations', (
    select coalesce(json_agg(json_build_object(
      'oid', r.oid::bigint, 'schema', r.schema, 'name', r.name, 'isForeign', r.kind = 'f',
      'hasSequence', exists (
        select from pg_attribute a where a.attrelid = r.oid and a.attidentity <> '' and not a.attisdropped
      )
    )), '[]')
    from relations r
  ),
  'eventTriggers', (
    select coalesce(json_agg(json_build_object('name', t.evtname, 'function', t.evtfoid::bigint)), '[]')
    from pg_event_trigger t where t.evtenabled <> 'D' and t.evtevent <> 'login'
  ),
  -- Functions that any statement may call without naming them.
  'implicit', (
    select coalesce(json_agg(distinct f.oid::bigint), '[]')
    from volatile_functions f
    where not f.is_built_in and (
      exists (select from pg_operator o where o.oprcode = f.oid)
      or exists (select from pg_cast c where c.castfunc = f.oid)
      or exists (select from pg_amproc a where a.amproc = f.oid)
      or exists (select from pg_type t where f.oid in (t.typinput, t.typoutput, t.typreceive, t.typsend))
    )
  ),
  'aggregates', (
    select coalesce(json_agg(json_build_object('name', p.proname, 'function', f.oid::bigint)), '[]')
    from pg_aggregate a
    join pg_proc p on p.oid = a.aggfnoid
    join volatile_functions f
      on f.oid in (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn, a.aggcombinefn)
    where not f.is_built_in
  )
) as row
