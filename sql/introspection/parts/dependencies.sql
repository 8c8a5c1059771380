-- The functions and relations that parts of relations and functions use: policies, views, defaults, bodies of functions, …
with parts (classid, objid, kind, name, relation, function, runs, tree) as (
  select 'pg_catalog.pg_policy'::regclass, p.oid, 'policy', p.polname::text, p.polrelid, null::oid, 'always', concat(p.polqual, p.polwithcheck)
  from pg_catalog.pg_policy p
  union all
  select 'pg_catalog.pg_rewrite'::regclass, w.oid, case w.ev_type when '1' then 'view' else 'rule' end, w.rulename, w.ev_class, null,
    case w.ev_type when '1' then 'always' else 'on write' end, concat(w.ev_action, w.ev_qual)
  from pg_catalog.pg_rewrite w
  union all
  select 'pg_catalog.pg_attrdef'::regclass, f.oid, case a.attgenerated when '' then 'default' else 'generated column' end, a.attname, f.adrelid, null,
    'on write', f.adbin::text
  from pg_catalog.pg_attrdef f join pg_catalog.pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
  union all
  -- Constraints of domains have no relation.
  select 'pg_catalog.pg_constraint'::regclass, k.oid, 'constraint', k.conname, nullif(k.conrelid, 0), null, 'on write', k.conbin::text
  from pg_catalog.pg_constraint k
  union all
  -- They are also those of the columns with the domain.
  select 'pg_catalog.pg_constraint'::regclass, k.oid, 'domain', a.attname, a.attrelid, null, 'on write', k.conbin::text
  from pg_catalog.pg_constraint k join pg_catalog.pg_attribute a on a.atttypid = k.contypid and a.attnum > 0
  where k.contypid <> 0
  union all
  select 'pg_catalog.pg_trigger'::regclass, t.oid, 'trigger', t.tgname, t.tgrelid, null, case t.tgenabled when 'D' then 'never' else 'on write' end, null
  from pg_catalog.pg_trigger t
  union all
  select 'pg_catalog.pg_class'::regclass, c.oid, case when i.indexrelid is null then 'partition key' else 'index' end, c.relname, coalesce(i.indrelid, c.oid),
    null, 'on write', null
  from pg_catalog.pg_class c left join pg_catalog.pg_index i on i.indexrelid = c.oid
  union all
  select 'pg_catalog.pg_proc'::regclass, p.oid, 'function', p.proname, null, p.oid, 'always', to_jsonb(p) ->> 'prosqlbody'
  from pg_catalog.pg_proc p
  where p.oid >= 16384
),
used (kind, name, relation, function, runs, uses_function, uses_relation) as (
  select coalesce(p.kind, 'other'), coalesce(p.name, pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)), p.relation, p.function, coalesce(p.runs, 'always'),
    coalesce(o.oprcode::oid, d.refobjid), null::oid
  from pg_catalog.pg_depend d
  left join parts p using (classid, objid)
  left join pg_catalog.pg_operator o on d.refclassid = 'pg_catalog.pg_operator'::regclass and o.oid = d.refobjid
  where d.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)
    -- Objects of PostgreSQL itself have smaller oids.
    and d.objid >= 16384
  union
  -- PostgreSQL does not record what depends on its own functions.
  select p.kind, p.name, p.relation, p.function, p.runs, f.oid, null
  from parts p
  cross join lateral unnest(string_to_array(p.tree, ':funcid ')) as piece
  join pg_catalog.pg_proc f on f.oid::text = split_part(piece, ' ', 1) and f.oid < 16384 and f.provolatile = 'v'
  where p.objid >= 16384
  union
  select p.kind, p.name, p.relation, p.function, p.runs, null, d.refobjid
  from pg_catalog.pg_depend d
  join parts p using (classid, objid)
  where d.refclassid = 'pg_catalog.pg_class'::regclass and d.classid <> 'pg_catalog.pg_class'::regclass and d.objid >= 16384
    and d.refobjid is distinct from p.relation
    -- Checks of foreign keys need no rights.
    and d.objid not in (select oid from pg_catalog.pg_constraint where contype = 'f')
  union
  -- Foreign keys by which a write also writes to the referencing table.
  select 'cascade', k.conname, k.confrelid, null, 'on write', null, k.conrelid
  from pg_catalog.pg_constraint k
  where k.contype = 'f' and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))
  union
  -- Partitions and tables that inherit.
  select 'child', '', h.inhparent, null, 'on write', null, h.inhrelid
  from pg_catalog.pg_inherits h
)
select json_build_object(
  'kind', kind,
  'name', name,
  'relation', relation::bigint,
  'function', function::bigint,
  'runs', runs,
  'usesFunction', uses_function::bigint,
  'usesRelation', uses_relation::bigint
) as row
from used
-- What a write sets off comes last.
order by kind in ('cascade', 'child'), kind = 'trigger', uses_relation is not null, kind, relation, name, function, uses_function, uses_relation
