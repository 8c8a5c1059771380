-- Relations of schemas, as the console lists them; of one relation also the columns in detail and the policies.
-- $1: names of the schemas, a JSON array.
-- $2: names of the roles whose privileges are read, a JSON array.
-- $3: name of the only relation; null for all.
-- $4: maximum number of relations.
-- Requires an empty search_path: otherwise, the names of types are not qualified.
with
wanted as materialized (
  select c.*, n.nspname, exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attacl is not null
  ) as has_column_grants
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in (select name from json_array_elements_text($1::json) as names (name))
    and c.relkind in ('r', 'p', 'f', 'v', 'm')
    and not c.relispartition
    and ($3::text is null or c.relname = $3)
  order by n.nspname, c.relname
  limit $4::integer
),
roles as materialized (
  select r.oid, r.rolname as name
  from json_array_elements_text($2::json) as names (name)
  join pg_roles r on r.rolname = names.name
),
commands (position, privilege, letter) as (
  values (1, 'select', 's'), (2, 'insert', 'i'), (3, 'update', 'u'), (4, 'delete', 'd')
)
select json_build_object(
  'summary', json_build_object(
    'schema', c.nspname,
    'name', c.relname,
    'kind', case c.relkind
      when 'p' then 'partitioned table'
      when 'f' then 'foreign table'
      when 'v' then 'view'
      when 'm' then 'materialized view'
      else 'table'
    end,
    'comment', obj_description(c.oid, 'pg_class'),
    'hasRls', c.relrowsecurity,
    'forcesRls', c.relforcerowsecurity,
    -- For a partitioned table, those of its partitions.
    'rows', (
      select sum(coalesce(nullif(pg_stat_get_live_tuples(part.oid), 0), nullif(part.reltuples, -1)))::bigint
      from (
        select c.oid where c.relkind in ('r', 'm', 'f')
        union all
        select relid from pg_partition_tree(c.oid) where c.relkind = 'p' and isleaf
      ) as stored (oid)
      join pg_class part using (oid)
    ),
    'policyCount', (select count(*) from pg_policy p where p.polrelid = c.oid),
    -- Capital letters for the whole relation, small ones for some of its columns.
    'access', (
      select coalesce(json_object_agg(roles.name, access.letters), '{}')
      from roles
      cross join lateral (
        select string_agg(
          case
            when has_table_privilege(roles.oid, c.oid, privilege) then upper(letter)
            -- Costly, because it asks column by column.
            when c.has_column_grants and privilege <> 'delete' and has_any_column_privilege(roles.oid, c.oid, privilege)
              then letter
          end,
          '' order by position
        ) as letters
        from commands
      ) as access
      where access.letters is not null and has_schema_privilege(roles.oid, c.relnamespace, 'usage')
    ),
    'columns', (
      select coalesce(json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum), '[]')
      from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    )
  ),
  'details', case when $3 is not null then json_build_object(
    'columns', (
      select coalesce(
        json_agg(
          json_build_object(
            'name', a.attname,
            'type', format_type(a.atttypid, a.atttypmod),
            'baseType', coalesce(element.typname, base.typname),
            'isArray', element.oid is not null,
            'category', coalesce(element.typcategory, base.typcategory),
            'isNullable', not (a.attnotnull or t.typtype = 'd' and t.typnotnull),
            'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
            'generated', case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end,
            'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
            'comment', col_description(c.oid, a.attnum),
            'enumValues', (
              select coalesce(json_agg(e.enumlabel order by e.enumsortorder), '[]')
              from pg_enum e
              where e.enumtypid = coalesce(element.oid, base.oid)
            ),
            'access', (
              select coalesce(json_object_agg(roles.name, access.letters), '{}')
              from roles
              cross join lateral (
                select string_agg(upper(letter), '' order by position) as letters
                from commands
                where privilege <> 'delete' and has_column_privilege(roles.oid, c.oid, a.attnum, privilege)
              ) as access
              where access.letters is not null
            )
          )
          order by a.attnum
        ),
        '[]'
      )
      from pg_attribute a
      join pg_type t on t.oid = a.atttypid
      join pg_type base on base.oid = case t.typtype when 'd' then t.typbasetype else t.oid end
      left join pg_type element on element.oid = base.typelem and element.typarray = base.oid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    ),
    'policies', (
      select coalesce(
        json_agg(
          json_build_object(
            'name', p.polname,
            'command', case p.polcmd
              when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE' when 'd' then 'DELETE' else 'ALL'
            end,
            'isPermissive', p.polpermissive,
            'roles', (
              select json_agg(coalesce(r.rolname, 'public') order by r.rolname)
              from unnest(p.polroles) as role
              left join pg_roles r on r.oid = role
            ),
            'using', pg_get_expr(p.polqual, p.polrelid),
            'check', pg_get_expr(p.polwithcheck, p.polrelid)
          )
          order by p.polname
        ),
        '[]'
      )
      from pg_policy p
      where p.polrelid = c.oid
    )
  ) end
) as row
from wanted c
order by c.nspname, c.relname
