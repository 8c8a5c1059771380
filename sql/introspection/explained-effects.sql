-- What a statement may set off: the volatile functions of the database, the triggers, defaults, constraints, policies and
-- views that call them, and the foreign keys that write to other tables. One row with one JSON value.
with
-- Objects of PostgreSQL itself have smaller oids.
volatile_functions as (
  select p.oid, n.nspname as schema, p.proname as name, l.lanname as language, p.oid < 16384 as is_built_in,
    case when p.oid >= 16384 then pg_get_function_identity_arguments(p.oid) else '' end as arguments,
    case when l.lanname in ('sql', 'plpgsql') then p.prosrc end as source,
    -- The body of a function that was declared with BEGIN ATOMIC, as a tree.
    case when p.oid >= 16384 and l.lanname = 'sql' then to_jsonb(p) ->> 'prosqlbody' end as tree,
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
),
-- Expressions that belong to a relation: those of reading it, and those of writing to it.
expressions as (
  select r.ev_class as relation, 'view' as part, false as is_write, r.ev_action::text as tree
  from pg_rewrite r where r.ev_class >= 16384 and r.ev_type = '1'
  union all
  select r.ev_class, 'rule ' || r.rulename, true, r.ev_action::text || r.ev_qual::text
  from pg_rewrite r where r.ev_class >= 16384 and r.ev_type <> '1'
  union all
  select p.polrelid, 'policy ' || p.polname, false, coalesce(p.polqual::text, '') || coalesce(p.polwithcheck::text, '')
  from pg_policy p
  union all
  select d.adrelid, 'default of ' || a.attname, true, d.adbin::text
  from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
  where d.adrelid >= 16384
  union all
  select c.conrelid, 'constraint ' || c.conname, true, c.conbin::text
  from pg_constraint c where c.conrelid >= 16384 and c.conbin is not null
  union all
  select a.attrelid, 'domain of ' || a.attname, true, c.conbin::text
  from pg_attribute a
  join pg_constraint c on c.contypid = a.atttypid and c.conbin is not null
  where a.attrelid >= 16384 and a.attnum > 0
),
used as (
  select e.relation, e.part, e.is_write, found[1] as kind, found[2]::oid as target
  from expressions e
  cross join lateral regexp_matches(e.tree, ':(funcid|relid) (\d+)', 'g') found
)
select json_build_object(
  'functions', (
    select coalesce(json_agg(json_build_object(
      'oid', f.oid::text, 'schema', f.schema, 'name', f.name, 'arguments', f.arguments, 'language', f.language,
      'isBuiltIn', f.is_built_in, 'extension', f.extension, 'source', f.source,
      'calls', array(select found[1] from regexp_matches(coalesce(f.tree, ''), ':funcid (\d+)', 'g') found),
      'relations', array(select found[1] from regexp_matches(coalesce(f.tree, ''), ':relid (\d+)', 'g') found)
    )), '[]')
    from volatile_functions f
  ),
  'relations', (
    select coalesce(json_agg(json_build_object(
      'oid', r.oid::text, 'schema', r.schema, 'name', r.name, 'isForeign', r.kind = 'f',
      'hasSequence', exists (
        select from pg_attribute a where a.attrelid = r.oid and a.attidentity <> '' and not a.attisdropped
      )
    )), '[]')
    from relations r
  ),
  'triggers', (
    select coalesce(json_agg(json_build_object(
      'relation', t.tgrelid::text, 'name', t.tgname, 'function', t.tgfoid::text
    )), '[]')
    from pg_trigger t where not t.tgisinternal and t.tgenabled <> 'D'
  ),
  'eventTriggers', (
    select coalesce(json_agg(json_build_object('name', t.evtname, 'function', t.evtfoid::text)), '[]')
    from pg_event_trigger t where t.evtenabled <> 'D' and t.evtevent <> 'login'
  ),
  'uses', (
    select coalesce(json_agg(distinct jsonb_build_object(
      'relation', u.relation::text, 'part', u.part, 'isWrite', u.is_write, 'kind', u.kind, 'target', u.target::text
    )), '[]')
    from used u
    where (u.kind = 'relid' and u.target >= 16384 and u.target <> u.relation)
      or (u.kind = 'funcid' and exists (select from volatile_functions f where f.oid = u.target))
  ),
  -- Tables that a write to another one also writes to: by actions of foreign keys, and as its partitions and children.
  'cascades', (
    select coalesce(json_agg(json_build_object('from', parent::text, 'to', child::text)), '[]')
    from (
      select c.confrelid, c.conrelid from pg_constraint c
      where c.contype = 'f' and (c.confdeltype in ('c', 'n', 'd') or c.confupdtype in ('c', 'n', 'd'))
      union
      select i.inhparent, i.inhrelid from pg_inherits i
    ) cascade (parent, child)
    where parent >= 16384
  ),
  -- Functions that any statement may call without naming them.
  'implicit', (
    select coalesce(json_agg(distinct f.oid::text), '[]')
    from volatile_functions f
    where not f.is_built_in and (
      exists (select from pg_operator o where o.oprcode = f.oid)
      or exists (select from pg_cast c where c.castfunc = f.oid)
      or exists (select from pg_amproc a where a.amproc = f.oid)
      or exists (select from pg_type t where f.oid in (t.typinput, t.typoutput, t.typreceive, t.typsend))
    )
  ),
  'aggregates', (
    select coalesce(json_agg(json_build_object('name', p.proname, 'function', f.oid::text)), '[]')
    from pg_aggregate a
    join pg_proc p on p.oid = a.aggfnoid
    join volatile_functions f
      on f.oid in (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn, a.aggcombinefn)
    where not f.is_built_in
  )
) as row
