-- Rights of the API's roles on each table, view and function of the exposed schemas.
-- $1: names of the schemas, a JSON array. Postgres raises 3F000 for a schema that does not exist.
-- $2: names of roles to include besides those that the connected role can switch to, a JSON array.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
granted as (
  select oid from pg_roles where rolname = session_user
  union
  select m.roleid
  from granted
  join pg_auth_members m on m.member = granted.oid
  -- Since PostgreSQL 16, a membership may not include the right to switch to the role.
  where coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
),
api_roles as (
  select r.oid, r.rolname as name, r.rolsuper or r.rolbypassrls as bypasses
  from pg_roles r
  where r.rolname in (select name from json_array_elements_text($2::json) as names (name))
    or r.rolname <> session_user and r.oid in (select oid from granted)
),
relations as (
  select
    c.oid,
    n.nspname as schema,
    c.relname as name,
    json_build_object(
      'kind', case c.relkind
        when 'r' then 'table'
        when 'p' then 'table'
        when 'f' then 'foreign table'
        when 'v' then 'view'
        when 'm' then 'materialized view'
      end,
      'schema', n.nspname,
      'name', c.relname,
      'owner', owner.rolname,
      'ownerBypassesRls', owner.rolsuper or owner.rolbypassrls,
      'rls', c.relrowsecurity,
      'securityInvoker', coalesce(
        (select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker'),
        false
      ),
      'roles', (
        select coalesce(
          json_agg(
            json_build_object(
              'name', r.name,
              'bypassesRls', r.bypasses
                or not c.relforcerowsecurity and pg_has_role(r.oid, c.relowner, 'usage'),
              'grants', case when has_schema_privilege(r.oid, n.oid, 'usage') then json_build_object(
                'select', case
                  when has_table_privilege(r.oid, c.oid, 'select') then 'all'
                  when has_any_column_privilege(r.oid, c.oid, 'select') then 'columns'
                end,
                'insert', case
                  when has_table_privilege(r.oid, c.oid, 'insert') then 'all'
                  when has_any_column_privilege(r.oid, c.oid, 'insert') then 'columns'
                end,
                'update', case
                  when has_table_privilege(r.oid, c.oid, 'update') then 'all'
                  when has_any_column_privilege(r.oid, c.oid, 'update') then 'columns'
                end,
                'delete', case when has_table_privilege(r.oid, c.oid, 'delete') then 'all' end
              ) else '{"select":null,"insert":null,"update":null,"delete":null}' end
            )
            order by r.name
          ),
          '[]'
        )
        from api_roles r
      ),
      'policies', (
        select coalesce(
          json_agg(
            json_build_object(
              'name', p.polname,
              'command', case p.polcmd
                when 'r' then 'select'
                when 'a' then 'insert'
                when 'w' then 'update'
                when 'd' then 'delete'
                else 'all'
              end,
              'permissive', p.polpermissive,
              -- In the policy, or in a function that it calls: auth.jwt() -> 'user_metadata', auth.users.raw_user_meta_data.
              'readsUserMetadata', coalesce(pg_get_expr(p.polqual, p.polrelid), '') ~ 'user_meta_?data'
                or coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '') ~ 'user_meta_?data'
                or exists (
                  select from pg_depend d
                  join pg_proc called on called.oid = d.refobjid
                  where d.classid = 'pg_policy'::regclass
                    and d.objid = p.oid
                    and d.refclassid = 'pg_proc'::regclass
                    and case when called.prokind = 'f' then pg_get_functiondef(called.oid) ~ 'user_meta_?data' end
                ),
              -- The API's roles that the policy applies to: directly, by membership, or because it is for PUBLIC.
              'roles', (
                select coalesce(json_agg(r.name order by r.name), '[]')
                from api_roles r
                where exists (
                  select from unnest(p.polroles) as named (role)
                  where role = 0 or pg_has_role(r.oid, role, 'usage')
                )
              )
            )
            order by p.polname
          ),
          '[]'
        )
        from pg_policy p
        where p.polrelid = c.oid
      )
    ) as row
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_roles owner on owner.oid = c.relowner
  where c.relnamespace = any (array(select schema from exposed))
    and c.relkind in ('r', 'p', 'f', 'v', 'm')
),
functions as (
  select
    p.oid,
    n.nspname as schema,
    p.proname as name,
    json_build_object(
      'kind', 'function',
      'schema', n.nspname,
      'name', p.proname,
      'arguments', pg_get_function_identity_arguments(p.oid),
      'owner', owner.rolname,
      'extension', (
        select e.extname
        from pg_depend d
        join pg_extension e on e.oid = d.refobjid
        where d.classid = 'pg_proc'::regclass
          and d.objid = p.oid
          and d.deptype = 'e'
          and d.refclassid = 'pg_extension'::regclass
      ),
      'securityDefiner', p.prosecdef,
      'roles', (
        select coalesce(
          json_agg(
            json_build_object(
              'name', r.name,
              'execute', has_schema_privilege(r.oid, n.oid, 'usage') and has_function_privilege(r.oid, p.oid, 'execute')
            )
            order by r.name
          ),
          '[]'
        )
        from api_roles r
      )
    ) as row
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_roles owner on owner.oid = p.proowner
  where p.pronamespace = any (array(select schema from exposed))
    and p.prokind = 'f'
    -- Only Postgres itself can call trigger functions.
    and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
)
select row from (
  select 1 as part, oid, schema, name, row from relations
  union all
  select 2, oid, schema, name, row from functions
) as found
order by part, schema, name, oid
