-- What the results of relations and functions depend on, for the tests that `rowhouse test` runs against a mutant.
with functions as (
  select pg_proc.oid, nspname, proname, lanname, prosrc, prosecdef and rolsuper as is_unlimited
  from pg_catalog.pg_proc
  join pg_catalog.pg_roles on pg_roles.oid = proowner
  join pg_catalog.pg_namespace on pg_namespace.oid = pronamespace
  join pg_catalog.pg_language on pg_language.oid = prolang
  where lanname not in ('internal', 'c') and nspname not in ('pg_catalog', 'information_schema')
),
relations as (
  select pg_class.oid, nspname, relname
  from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  where relkind in ('r', 'p', 'f', 'v', 'm') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
),
-- Expressions and queries that belong to a relation.
parts (classid, objid, owner) as (
  select 'pg_catalog.pg_policy'::regclass, oid, polrelid from pg_catalog.pg_policy
  union all
  select 'pg_catalog.pg_rewrite'::regclass, oid, ev_class from pg_catalog.pg_rewrite
  union all
  select 'pg_catalog.pg_trigger'::regclass, oid, tgrelid from pg_catalog.pg_trigger where not tgisinternal
  union all
  select 'pg_catalog.pg_attrdef'::regclass, oid, adrelid from pg_catalog.pg_attrdef
  union all
  select 'pg_catalog.pg_constraint'::regclass, oid, conrelid from pg_catalog.pg_constraint where contype in ('c', 'x') and conrelid <> 0
  union all
  select 'pg_catalog.pg_constraint'::regclass, pg_constraint.oid, attrelid
  from pg_catalog.pg_constraint join pg_catalog.pg_attribute on atttypid = contypid
  where contypid <> 0
),
edges (dependent, origin) as (
  select 'r' || owner, case refclassid when 'pg_catalog.pg_class'::regclass then 'r' else 'f' end || refobjid
  from parts join pg_catalog.pg_depend using (classid, objid)
  where refclassid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
  union
  -- Bodies of functions that are not text.
  select 'f' || objid, case refclassid when 'pg_catalog.pg_class'::regclass then 'r' else 'f' end || refobjid
  from pg_catalog.pg_depend
  where classid = 'pg_catalog.pg_proc'::regclass and refclassid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
  union
  -- Writes to a partition or a child go through its parent, and reads of the parent read it.
  select unnest(array['r' || inhrelid, 'r' || inhparent]), unnest(array['r' || inhparent, 'r' || inhrelid])
  from pg_catalog.pg_inherits
  union
  -- Rows of the other table change with a key, and its triggers run.
  select 'r' || confrelid, 'r' || conrelid from pg_catalog.pg_constraint
  where contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))
)
select json_build_object(
  'relations', coalesce((select json_agg(json_build_object('id', 'r' || oid, 'schema', nspname, 'name', relname)) from relations), '[]'),
  'functions', coalesce((
    select json_agg(json_build_object('id', 'f' || oid, 'schema', nspname, 'name', proname, 'language', lanname, 'source', prosrc,
      -- Runs with the rights of a superuser, so that no policy and no grant changes what it does.
      'isUnlimited', is_unlimited
    ))
    from functions
  ), '[]'),
  'edges', coalesce((select json_agg(json_build_array(dependent, origin)) from edges), '[]')
) as row
