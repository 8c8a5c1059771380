-- Relations with the privileges and policies of a role each.
-- Asks PostgreSQL for the rights on these relations only, so that they cost the same however many tables a database has.
-- $1: the relations, a JSON array of {"schema", "name", "role"}.
with wanted as (
  select c.oid, c.relname, n.nspname, c.relkind, c.relowner, c.relacl, c.relrowsecurity, c.relforcerowsecurity,
    c.reloptions, n.oid as namespace, r.oid as role, r.rolname as role_name, r.rolsuper or r.rolbypassrls as bypasses
  from json_array_elements($1::json) as given
  join pg_namespace n on n.nspname = given ->> 'schema'
  join pg_class c on c.relnamespace = n.oid and c.relname = given ->> 'name'
  join pg_roles r on r.rolname = given ->> 'role'
)
select json_build_object(
  'schema', w.nspname,
  'name', w.relname,
  'role', w.role_name,
  'kind', case w.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end,
  'owner', pg_get_userbyid(w.relowner),
  'rls', w.relrowsecurity,
  -- As PostgreSQL decides it: superusers, BYPASSRLS, and the owner unless the table forces row security.
  'bypassesRls', w.bypasses or (not w.relforcerowsecurity and pg_has_role(w.role, w.relowner, 'usage')),
  'hasSchemaUsage', has_schema_privilege(w.role, w.namespace, 'usage'),
  'securityInvoker', coalesce(
    (select option_value::boolean from pg_options_to_table(w.reloptions) where option_name = 'security_invoker'), false
  ),
  'key', (
    select coalesce(json_agg(a.attname order by array_position(i.indkey::int2[], a.attnum)), '[]')
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = w.oid and i.indisprimary
  ),
  'tablePrivileges', array(
    select privilege from unnest(array['select', 'insert', 'update', 'delete']) as privilege
    where has_table_privilege(w.role, w.oid, privilege)
  ),
  'columns', (
    select coalesce(json_agg(json_build_object(
      'name', a.attname,
      'privileges', array(
        select privilege from unnest(array['select', 'insert', 'update']) as privilege
        where has_column_privilege(w.role, w.oid, a.attnum, privilege)
      ),
      -- A default that draws from a sequence that the role may not use.
      'deniedSequence', (
        select s.oid::regclass::text
        from pg_attrdef d
        join pg_depend used on used.classid = 'pg_attrdef'::regclass and used.objid = d.oid
        join pg_class s on used.refclassid = 'pg_class'::regclass and used.refobjid = s.oid
        where d.adrelid = w.oid and d.adnum = a.attnum
          and case when s.relkind = 'S' then not has_sequence_privilege(w.role, s.oid, 'usage') end
        limit 1
      )
    ) order by a.attnum), '[]')
    from pg_attribute a where a.attrelid = w.oid and a.attnum > 0 and not a.attisdropped
  ),
  -- Who granted privileges are given to: the role itself, a role that it inherits from, or PUBLIC.
  'grants', (
    select coalesce(json_agg(json_build_object('privilege', privilege, 'to', grantee, 'columns', columns)
      order by array_position(array['select', 'insert', 'update', 'delete'], privilege), grantee), '[]')
    from (
      select lower(acl.privilege_type) as privilege,
        case acl.grantee when 0 then 'public' else pg_get_userbyid(acl.grantee) end as grantee, null::json as columns
      from aclexplode(coalesce(w.relacl, acldefault('r', w.relowner))) acl
      where acl.grantee = 0 or pg_has_role(w.role, acl.grantee, 'usage')
      union all
      select lower(acl.privilege_type), case acl.grantee when 0 then 'public' else pg_get_userbyid(acl.grantee) end,
        json_agg(a.attname order by a.attnum)
      from pg_attribute a
      cross join aclexplode(a.attacl) acl
      where a.attrelid = w.oid and a.attnum > 0 and not a.attisdropped
        and (acl.grantee = 0 or pg_has_role(w.role, acl.grantee, 'usage'))
      group by 1, 2
    ) given
    where privilege in ('select', 'insert', 'update', 'delete')
  ),
  'policies', (
    select coalesce(json_agg(json_build_object(
      'name', p.polname,
      'permissive', p.polpermissive,
      'command', case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
      'roles', array(select case member when 0 then 'public' else pg_get_userbyid(member) end from unnest(p.polroles) as member),
      'isForRole', exists (
        select from unnest(p.polroles) as member where member = 0 or pg_has_role(w.role, member, 'usage')
      ),
      'using', pg_get_expr(p.polqual, p.polrelid),
      'check', pg_get_expr(p.polwithcheck, p.polrelid),
      'reads', (
        select coalesce(json_agg(distinct jsonb_build_object('schema', n.nspname, 'name', c.relname)), '[]')
        from pg_depend d
        join pg_class c on d.refclassid = 'pg_class'::regclass and c.oid = d.refobjid and c.relkind in ('r', 'p', 'v', 'm', 'f')
        join pg_namespace n on n.oid = c.relnamespace
        where d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid <> w.oid
      ),
      'deniedFunctions', array(
        select f.oid::regprocedure::text
        from pg_depend d join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
        where d.classid = 'pg_policy'::regclass and d.objid = p.oid and not has_function_privilege(w.role, f.oid, 'execute')
      )
    ) order by p.polpermissive desc, p.polname), '[]')
    from pg_policy p where p.polrelid = w.oid
  ),
  -- The relations of a view, and the role that they are accessed as.
  'views', (
    select coalesce(json_agg(distinct jsonb_build_object('schema', n.nspname, 'name', c.relname)), '[]')
    from pg_rewrite rule
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = rule.oid
    join pg_class c on d.refclassid = 'pg_class'::regclass and c.oid = d.refobjid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_namespace n on n.oid = c.relnamespace
    where w.relkind = 'v' and rule.ev_class = w.oid and c.oid <> w.oid
  )
) as row
from wanted w
