-- Policies, grants and check constraints of the exposed schemas, for the mutants of `rowhouse test`.
-- $1: the schemas, $2: roles of the API, both as JSON arrays. Roles that bypass row-level security are left out.
with recursive schemas as (
  select oid, nspname from pg_catalog.pg_namespace where nspname in (select json_array_elements_text($1::json))
),
roles as (
  select oid, rolname from pg_catalog.pg_roles
  where rolname in (select json_array_elements_text($2::json)) and not rolbypassrls and not rolsuper
),
relations as (
  select pg_class.oid, nspname, relname, relkind, relrowsecurity, relowner,
    coalesce(relacl, acldefault('r', relowner)) as acl, relispartition,
    pg_catalog.pg_relation_is_updatable(pg_class.oid, true) as events
  from pg_catalog.pg_class join schemas on schemas.oid = relnamespace
  where relkind in ('r', 'p', 'f', 'v', 'm')
),
functions as (
  select pg_proc.oid, nspname, proname, pg_catalog.pg_get_function_identity_arguments(pg_proc.oid) as arguments,
    coalesce(proacl, acldefault('f', proowner)) as acl
  from pg_catalog.pg_proc join schemas on schemas.oid = pronamespace
  where prokind in ('f', 'p') and prorettype <> 'pg_catalog.trigger'::regtype
    and not exists (
      select from pg_catalog.pg_depend
      where classid = 'pg_catalog.pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
    )
),
-- Types of columns, of their elements, and of what domains are made of.
domains (relation, domain) as (
  select relations.oid, atttypid from relations join pg_catalog.pg_attribute on attrelid = relations.oid
  where attnum > 0 and not attisdropped and relkind in ('r', 'p', 'f')
  union
  select relation, part
  from domains
  join pg_catalog.pg_type on pg_type.oid = domain
  cross join lateral (
    select typbasetype where typbasetype <> 0
    union all
    select typelem where typelem <> 0
    union all
    select atttypid from pg_catalog.pg_attribute
    where typtype = 'c' and attrelid = typrelid and attnum > 0 and not attisdropped
  ) as parts (part)
),
found (kind, nspname, relname, name, fields) as (
  select 'policy', nspname, relname, polname::text, json_build_object(
    'command', case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    'isPermissive', polpermissive,
    -- Of the roles that do not bypass row-level security; PUBLIC is "public".
    'roles', array(
      select case role_id when 0 then 'public' else (select rolname from pg_catalog.pg_roles where oid = role_id) end
      from unnest(polroles) as role_id
      where role_id = 0 or not exists (select from pg_catalog.pg_roles where oid = role_id and (rolbypassrls or rolsuper))
    ),
    'isPublic', 0 = any (polroles),
    'using', pg_catalog.pg_get_expr(polqual, polrelid),
    'check', pg_catalog.pg_get_expr(polwithcheck, polrelid)
  )
  from pg_catalog.pg_policy join relations on relations.oid = polrelid
  -- The API does not expose partitions.
  where not relispartition
  union all
  select 'table', nspname, relname, '', json_build_object(
    'isTable', relkind in ('r', 'p'),
    'isSecured', relrowsecurity,
    'lacking', coalesce((
      select json_agg(json_build_object('role', rolname, 'privilege', privilege) order by rolname collate "C", position)
      from roles, (values ('select', 1, 0), ('insert', 2, 8), ('update', 3, 4), ('delete', 4, 16)) as command (privilege, position, bit)
      where not pg_catalog.has_table_privilege(roles.oid, relations.oid, privilege)
        -- Without an effect on what cannot be written.
        and (privilege = 'select' or events & bit > 0)
    ), '[]'),
    -- On the table or on some of its columns.
    'held', coalesce((
      select json_agg(json_build_object('role', rolname, 'privilege', privilege))
      from roles, unnest(array['select', 'insert', 'update', 'delete']) as privilege
      where case privilege when 'delete' then pg_catalog.has_table_privilege(roles.oid, relations.oid, privilege)
        else pg_catalog.has_any_column_privilege(roles.oid, relations.oid, privilege) end
    ), '[]'),
    'granted', coalesce((
      select json_agg(json_build_object('role', coalesce(rolname, 'public'), 'privilege', lower(privilege_type))
        order by rolname collate "C", privilege_type)
      from aclexplode(acl) left join roles on roles.oid = grantee
      where (grantee = 0 or rolname is not null) and case privilege_type
        when 'SELECT' then true when 'INSERT' then events & 8 > 0 when 'UPDATE' then events & 4 > 0 when 'DELETE' then events & 16 > 0
      end
    ), '[]'),
    'grantedColumns', coalesce((
      select json_agg(json_build_object('role', coalesce(rolname, 'public'), 'privilege', lower(privilege_type), 'column', attname)
        order by rolname collate "C", privilege_type, attnum)
      from pg_catalog.pg_attribute, aclexplode(attacl) left join roles on roles.oid = grantee
      where attrelid = relations.oid and not attisdropped and (grantee = 0 or rolname is not null)
        and privilege_type in ('SELECT', 'INSERT', 'UPDATE')
    ), '[]')
  )
  from relations
  where not relispartition
  union all
  select 'function', nspname, proname, arguments, json_build_object(
    'lacking', coalesce((
      select json_agg(rolname order by rolname collate "C") from roles
      where not pg_catalog.has_function_privilege(roles.oid, functions.oid, 'execute')
    ), '[]'),
    'granted', coalesce((
      select json_agg(coalesce(rolname, 'public') order by rolname collate "C")
      from aclexplode(acl) left join roles on roles.oid = grantee
      where (grantee = 0 or rolname is not null) and privilege_type = 'EXECUTE'
    ), '[]')
  )
  from functions
  union all
  select 'constraint', nspname, relname, conname::text, json_build_object('definition', pg_catalog.pg_get_constraintdef(pg_constraint.oid))
  from pg_catalog.pg_constraint join relations on relations.oid = conrelid
  -- Those that are inherited go with that of the parent.
  where contype = 'c' and coninhcount = 0
  union all
  select 'domain', domain_schema.nspname, typname, conname::text, json_build_object(
    'tables', (
      select json_agg(distinct relations.nspname || '.' || relname)
      from domains as used join relations on relations.oid = relation
      where used.domain = pg_type.oid
    )
  )
  from pg_catalog.pg_constraint
  join pg_catalog.pg_type on pg_type.oid = contypid
  join pg_catalog.pg_namespace as domain_schema on domain_schema.oid = typnamespace
  where contype = 'c' and pg_type.oid in (select domain from domains)
)
select json_build_object('kind', kind, 'schema', nspname, 'relation', relname, 'name', name, 'fields', fields) as row
from found
order by nspname collate "C", relname collate "C", kind collate "C", name collate "C"
