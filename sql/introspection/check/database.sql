-- Extensions, default privileges for functions, tables whose changes clients can listen to, and the owners of objects in the schemas of $1, a JSON array of names.
select json_build_object(
  'login', session_user,
  'version', current_setting('server_version_num')::int / 10000,
  'equalities', (select json_agg(o.oid::bigint) from pg_catalog.pg_operator o where o.oprname = '='),
  'extensions', (
    select coalesce(json_agg(json_build_object(
      'name', e.extname, 'quoted', quote_ident(e.extname), 'schema', e.extnamespace::regnamespace::text,
      'isRelocatable', e.extrelocatable,
      'installed', a.installed_version, 'default', a.default_version,
      'isOutdated', a.installed_version <> a.default_version and exists (
        select from pg_catalog.pg_available_extension_versions v where v.name = e.extname and v.installed
      )
    ) order by e.extname), '[]')
    from pg_catalog.pg_extension e
    left join pg_catalog.pg_available_extensions a on a.name = e.extname
  ),
  'functionDefaults', (
    select coalesce(json_agg(json_build_object(
      'owner', d.defaclrole::bigint,
      'schema', (select n.nspname from pg_catalog.pg_namespace n where n.oid = d.defaclnamespace),
      'grantees', (
        select coalesce(json_agg(item.grantee::bigint), '[]')
        from aclexplode(d.defaclacl) as item where item.privilege_type = 'EXECUTE'
      )
    )), '[]')
    from pg_catalog.pg_default_acl d where d.defaclobjtype = 'f'
  ),
  'creators', (
    select coalesce(json_agg(json_build_object('schema', o.schema, 'owner', o.owner) order by o.schema, o.owner), '[]')
    from (
      select n.nspname as schema, p.proowner::bigint as owner
      from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      union
      select n.nspname, c.relowner::bigint
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    ) o
    where o.schema in (select name from json_array_elements_text($1::json) as names (name))
  ),
  'published', (
    select coalesce(json_agg(json_build_object(
      'relation', c.oid::bigint,
      'identity', case c.relreplident when 'd' then 'default' when 'f' then 'full' when 'i' then 'index' else 'nothing' end
    ) order by c.oid), '[]')
    from pg_catalog.pg_publication_tables t
    join pg_catalog.pg_namespace n on n.nspname = t.schemaname
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.tablename
    where t.pubname = 'supabase_realtime'
  ),
  'storage', (
    select json_build_object(
      'buckets', c.oid::bigint,
      'isReadable', has_table_privilege(c.oid, 'select') and has_schema_privilege(n.oid, 'usage'),
      'readers', (
        select coalesce(json_agg(r.rolname), '[]') from pg_catalog.pg_roles r
        where pg_has_role(session_user, r.oid, 'member') and has_table_privilege(r.oid, c.oid, 'select')
          and has_schema_privilege(r.oid, n.oid, 'usage')
          and (r.rolsuper or r.rolbypassrls or pg_has_role(r.oid, c.relowner, 'usage'))
      )
    )
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'storage' and c.relname = 'buckets' and c.relkind = 'r'
      and (select count(*) from pg_catalog.pg_attribute a
           where a.attrelid = c.oid and a.attname in ('id', 'name', 'public') and not a.attisdropped) = 3
  )
) as row
