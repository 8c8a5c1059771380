-- Tables and views of the exposed schemas, for the matrix of `rowhouse test`: what can be written, and by which role.
-- $1: the schemas as a JSON array
with relations as (
  select pg_class.oid, nspname, relname, relkind, pg_catalog.pg_relation_is_updatable(pg_class.oid, true) as events
  from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  where nspname in (select json_array_elements_text($1::json)) and relkind in ('r', 'p', 'f', 'v', 'm')
    and not relispartition
),
columns as (
  select attrelid as relation, attnum, attname, attgenerated <> '' or attidentity = 'a' as is_generated
  from pg_catalog.pg_attribute join relations on relations.oid = attrelid
  where attnum > 0 and not attisdropped
),
writable as (
  select relation, privilege, rolname, json_agg(attname order by attnum) as names
  from columns, pg_catalog.pg_roles, (values ('INSERT'), ('UPDATE')) as command (privilege)
  where not is_generated and not starts_with(rolname, 'pg_')
    and pg_catalog.has_column_privilege(pg_roles.oid, relation, attnum, privilege)
  group by relation, privilege, rolname
)
select json_build_object(
  'schema', nspname,
  'name', relname,
  'isView', relkind in ('v', 'm'),
  'isInsertable', events & 8 > 0,
  -- Updates and deletes, each for rows that are found by their key.
  'isUpdatable', events & 20 = 20,
  'primaryKey', coalesce((
    select json_agg(attname order by position)
    from pg_catalog.pg_index, unnest(indkey::int2[]) with ordinality as part (number, position), columns
    where indrelid = relations.oid and indisprimary and columns.relation = indrelid and attnum = number
  ), '[]'),
  -- A policy depends on the columns of its table that it mentions.
  'policyColumns', coalesce((
    select json_agg(distinct attname)
    from pg_catalog.pg_policy, pg_catalog.pg_depend, columns
    where polrelid = relations.oid and pg_depend.classid = 'pg_catalog.pg_policy'::regclass and objid = pg_policy.oid
      and refclassid = 'pg_catalog.pg_class'::regclass and refobjid = relations.oid
      and columns.relation = relations.oid and attnum = refobjsubid and not is_generated
  ), '[]'),
  'generated', coalesce((
    select json_agg(attname order by attnum) from columns where relation = relations.oid and is_generated
  ), '[]'),
  'insertable', coalesce((
    select json_object_agg(rolname, names) from writable where relation = relations.oid and privilege = 'INSERT'
  ), '{}'),
  'updatable', coalesce((
    select json_object_agg(rolname, names) from writable where relation = relations.oid and privilege = 'UPDATE'
  ), '{}')
) as row
from relations
order by nspname collate "C", relname collate "C"
