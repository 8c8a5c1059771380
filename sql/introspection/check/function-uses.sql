-- What calls functions for a role that does not name them: policies, views, rules, defaults, generated columns, constraints,
-- indexes, triggers, and whatever else depends on a function. Expressions call them with the rights of the role of the request.
with used as (
  select d.classid, d.objid, d.objsubid, coalesce(o.oprcode::oid, d.refobjid) as function
  from pg_catalog.pg_depend d
  left join pg_catalog.pg_operator o on d.refclassid = 'pg_catalog.pg_operator'::regclass and o.oid = d.refobjid
  where d.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)
),
described as (
  select 'policy' as kind, p.polname::text as name, p.polrelid as relation, p.polroles::oid[] as roles, 0::oid as caller, u.function
  from used u join pg_catalog.pg_policy p on u.classid = 'pg_catalog.pg_policy'::regclass and p.oid = u.objid
  union
  select 'rule', w.rulename::text, w.ev_class, null, 0, u.function
  from used u join pg_catalog.pg_rewrite w on u.classid = 'pg_catalog.pg_rewrite'::regclass and w.oid = u.objid
  union
  select case a.attgenerated when '' then 'default' else 'generated column' end, a.attname::text, f.adrelid, null, 0, u.function
  from used u
  join pg_catalog.pg_attrdef f on u.classid = 'pg_catalog.pg_attrdef'::regclass and f.oid = u.objid
  join pg_catalog.pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
  union
  -- Constraints of domains have no relation: every role that uses the type needs the function.
  select 'constraint', k.conname::text, nullif(k.conrelid, 0), null, 0, u.function
  from used u join pg_catalog.pg_constraint k on u.classid = 'pg_catalog.pg_constraint'::regclass and k.oid = u.objid
  union
  select 'trigger', t.tgname::text, t.tgrelid, null, 0, u.function
  from used u join pg_catalog.pg_trigger t on u.classid = 'pg_catalog.pg_trigger'::regclass and t.oid = u.objid
  union
  select case when i.indexrelid is null then 'partition key' else 'index' end, c.relname::text, coalesce(i.indrelid, c.oid), null, 0, u.function
  from used u
  join pg_catalog.pg_class c on u.classid = 'pg_catalog.pg_class'::regclass and c.oid = u.objid
  left join pg_catalog.pg_index i on i.indexrelid = c.oid
  union
  select 'function', p.proname::text, null, null, p.oid, u.function
  from used u join pg_catalog.pg_proc p on u.classid = 'pg_catalog.pg_proc'::regclass and p.oid = u.objid
  union
  select 'other', pg_catalog.pg_describe_object(u.classid, u.objid, u.objsubid), null, null, 0, u.function
  from used u
  where u.classid not in (
    'pg_catalog.pg_policy'::regclass, 'pg_catalog.pg_rewrite'::regclass, 'pg_catalog.pg_attrdef'::regclass,
    'pg_catalog.pg_constraint'::regclass, 'pg_catalog.pg_trigger'::regclass, 'pg_catalog.pg_class'::regclass,
    'pg_catalog.pg_proc'::regclass
  )
)
select json_build_object(
  'kind', d.kind,
  'name', d.name,
  'relation', d.relation::bigint,
  'roles', d.roles::bigint[],
  'caller', nullif(d.caller, 0)::bigint,
  'function', d.function::bigint
) as row
from described d
join pg_catalog.pg_proc p on p.oid = d.function
where p.pronamespace <> 'pg_catalog'::regnamespace
order by d.kind, d.relation, d.name
