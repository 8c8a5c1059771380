// Statements behind `\d` and its relatives. The headings are psql's.
import { literal } from '../../../text/sql-text.ts'
import { namePattern } from './name-pattern.ts'

/** A list that is printed as a table. */
export type List = { readonly title: string; readonly sql: string }

const kinds = `case relation.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
  when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table' when 'i' then 'index'
  when 'I' then 'partitioned index' else relation.relkind::text end`

/** A condition on the names. Without a pattern: what is visible on the search path, outside of the system's schemas. */
function condition(pattern: string, name: string, visible: string): string {
  if (pattern === '') return `schema.nspname !~ '^pg_' and schema.nspname <> 'information_schema' and ${visible}`
  const { schema, name: regex } = namePattern(pattern)
  const ofName = `${name} operator(pg_catalog.~) ${literal(regex)} collate pg_catalog.default`
  return schema === undefined
    ? `${ofName} and ${visible}`
    : `${ofName} and schema.nspname operator(pg_catalog.~) ${literal(schema)} collate pg_catalog.default`
}

const ofRelations = (pattern: string, relkinds: string): string =>
  `relation.relkind in (${relkinds}) and ${condition(pattern, 'relation.relname', 'pg_catalog.pg_table_is_visible(relation.oid)')}`

const fromRelations =
  'from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace'

const relationList = (title: string, relkinds: string, pattern: string): List => ({
  title,
  sql: `select schema.nspname as "Schema", relation.relname as "Name", ${kinds} as "Type",
      pg_catalog.pg_get_userbyid(relation.relowner) as "Owner"
    ${fromRelations} where ${ofRelations(pattern, relkinds)} order by 1, 2`,
})

/** The lists by the command without its backslash. A pattern is optional. */
export const lists: Readonly<Record<string, (pattern: string) => List>> = {
  d: (pattern) => relationList('List of relations', "'r','p','v','m','S','f'", pattern),
  dt: (pattern) => relationList('List of tables', "'r','p'", pattern),
  dv: (pattern) => relationList('List of views', "'v'", pattern),
  di: (pattern) => relationList('List of indexes', "'i','I'", pattern),
  ds: (pattern) => relationList('List of sequences', "'S'", pattern),
  dn: (pattern) => ({
    title: 'List of schemas',
    sql: `select schema.nspname as "Name", pg_catalog.pg_get_userbyid(schema.nspowner) as "Owner",
        pg_catalog.array_to_string(schema.nspacl, E'\\n') as "Access privileges"
      from pg_catalog.pg_namespace as schema where ${condition(pattern, 'schema.nspname', 'true')} order by 1`,
  }),
  df: (pattern) => ({
    title: 'List of functions',
    sql: `select schema.nspname as "Schema", routine.proname as "Name",
        pg_catalog.pg_get_function_result(routine.oid) as "Result data type",
        pg_catalog.pg_get_function_arguments(routine.oid) as "Argument data types",
        case routine.prokind when 'a' then 'agg' when 'w' then 'window' when 'p' then 'proc' else 'func' end as "Type",
        case when routine.prosecdef then 'definer' else 'invoker' end as "Security"
      from pg_catalog.pg_proc as routine join pg_catalog.pg_namespace as schema on schema.oid = routine.pronamespace
      where ${condition(pattern, 'routine.proname', 'pg_catalog.pg_function_is_visible(routine.oid)')} order by 1, 2, 4`,
  }),
  du: (pattern) => ({
    title: 'List of roles',
    sql: `select role.rolname as "Role name", pg_catalog.concat_ws(', ',
        case when role.rolsuper then 'Superuser' end, case when not role.rolinherit then 'No inheritance' end,
        case when role.rolcreaterole then 'Create role' end, case when role.rolcreatedb then 'Create DB' end,
        case when not role.rolcanlogin then 'Cannot login' end, case when role.rolreplication then 'Replication' end,
        case when role.rolbypassrls then 'Bypass RLS' end) as "Attributes",
        pg_catalog.array_to_string(array(
          select pg_catalog.pg_get_userbyid(roleid) from pg_catalog.pg_auth_members where member = role.oid order by 1), ', ') as "Member of"
      from pg_catalog.pg_roles as role
      where ${pattern === '' ? "role.rolname !~ '^pg_'" : `role.rolname operator(pg_catalog.~) ${literal(namePattern(pattern).name)} collate pg_catalog.default`}
      order by 1`,
  }),
  l: (pattern) => ({
    title: 'List of databases',
    sql: `select datname as "Name", pg_catalog.pg_get_userbyid(datdba) as "Owner", pg_catalog.pg_encoding_to_char(encoding) as "Encoding",
        pg_catalog.array_to_string(datacl, E'\\n') as "Access privileges"
      from pg_catalog.pg_database
      where datname operator(pg_catalog.~) ${literal(namePattern(pattern).name)} collate pg_catalog.default order by 1`,
  }),
  dp: (pattern) => ({
    title: 'Access privileges',
    sql: `select schema.nspname as "Schema", relation.relname as "Name", ${kinds} as "Type",
        pg_catalog.array_to_string(relation.relacl, E'\\n') as "Access privileges",
        (select pg_catalog.string_agg(attname || ': ' || pg_catalog.array_to_string(attacl, ' '), E'\\n' order by attnum)
          from pg_catalog.pg_attribute where attrelid = relation.oid and attacl is not null) as "Column privileges",
        (select pg_catalog.string_agg(polname || case when polpermissive then '' else ' (restrictive)' end
            || case polcmd when '*' then '' else ' (' || polcmd::text || ')' end
            || ': ' || coalesce(pg_catalog.pg_get_expr(polqual, polrelid), pg_catalog.pg_get_expr(polwithcheck, polrelid), ''), E'\\n' order by polname)
          from pg_catalog.pg_policy where polrelid = relation.oid) as "Policies"
      ${fromRelations} where ${ofRelations(pattern, "'r','p','v','m','S','f'")} order by 1, 2`,
  }),
}

/** The relations whose names match, for `\d NAME`. */
export const describedRelations = (pattern: string): string =>
  `select relation.oid::pg_catalog.int8::text as oid, ${kinds} as kind, schema.nspname || '.' || relation.relname as name
   ${fromRelations} where ${ofRelations(pattern, "'r','p','v','m','S','f','i','I'")} order by 3`

/** The columns of a relation, with psql's headings. */
export const columnsOf = (oid: string): string =>
  `select attname as "Column", pg_catalog.format_type(atttypid, atttypmod) as "Type",
     case when attnotnull then 'not null' else '' end as "Nullable",
     case attidentity when 'a' then 'generated always as identity' when 'd' then 'generated by default as identity'
       else case attgenerated when '' then coalesce(pg_catalog.pg_get_expr(adbin, adrelid), '')
         else 'generated always as (' || pg_catalog.pg_get_expr(adbin, adrelid) || ')'
           || case attgenerated when 's' then ' stored' else '' end end end as "Default"
   from pg_catalog.pg_attribute left join pg_catalog.pg_attrdef on adrelid = attrelid and adnum = attnum
   where attrelid = ${oid} and attnum > 0 and not attisdropped order by attnum`

/** What follows the columns: a heading, and lines below it. */
export const detailsOf = (oid: string): string => `
select heading, line from (
  select 1 as place, 'Indexes:' as heading, name.relname as sort, pg_catalog.format('%I%s, %s', name.relname,
      case when indisprimary then ' PRIMARY KEY' when conname is not null then ' UNIQUE CONSTRAINT'
        when indisunique then ' UNIQUE' else '' end
        || case when indisvalid then '' else ' INVALID' end,
      pg_catalog.substring(pg_catalog.pg_get_indexdef(indexrelid), ' USING (.*)$')) as line
  from pg_catalog.pg_index join pg_catalog.pg_class as name on name.oid = indexrelid
  left join pg_catalog.pg_constraint on conindid = indexrelid and conrelid = indrelid and contype = 'u'
  where indrelid = ${oid}
  union all
  select case contype when 'c' then 2 else 3 end,
    case contype when 'c' then 'Check constraints:' else 'Foreign-key constraints:' end, conname,
    pg_catalog.format('%I %s', conname, pg_catalog.pg_get_constraintdef(oid))
  from pg_catalog.pg_constraint where conrelid = ${oid} and contype in ('c', 'f') and conparentid = 0
  union all
  select 4, 'Referenced by:', conrelid::pg_catalog.regclass::text,
    pg_catalog.format('TABLE %s CONSTRAINT %I %s', conrelid::pg_catalog.regclass, conname, pg_catalog.pg_get_constraintdef(oid))
  from pg_catalog.pg_constraint where confrelid = ${oid} and contype = 'f' and conparentid = 0
  union all
  select 5, case when relrowsecurity and relforcerowsecurity then 'Policies (forced row security enabled):'
      when relrowsecurity then 'Policies:' else 'Policies (row security disabled):' end, polname,
    case when polrelid is null then '(none)' else pg_catalog.format('POLICY %I%s%s%s%s%s', polname,
      case when polpermissive then '' else ' AS RESTRICTIVE' end,
      case polcmd when 'r' then ' FOR SELECT' when 'a' then ' FOR INSERT' when 'w' then ' FOR UPDATE' when 'd' then ' FOR DELETE' else '' end,
      case when polroles = '{0}' then '' else ' TO ' || (select pg_catalog.string_agg(pg_catalog.quote_ident(rolname), ', ' order by rolname)
        from pg_catalog.pg_roles where oid = any (polroles)) end,
      ' USING (' || pg_catalog.pg_get_expr(polqual, polrelid) || ')',
      ' WITH CHECK (' || pg_catalog.pg_get_expr(polwithcheck, polrelid) || ')') end
  from pg_catalog.pg_class as relation left join pg_catalog.pg_policy on polrelid = relation.oid
  where relation.oid = ${oid} and (relrowsecurity or polrelid is not null)
  union all
  select 6, case tgenabled when 'D' then 'Disabled triggers:' else 'Triggers:' end, tgname,
    pg_catalog.substring(pg_catalog.pg_get_triggerdef(oid), 'TRIGGER (.*)$')
  from pg_catalog.pg_trigger where tgrelid = ${oid} and not tgisinternal
  union all
  select 7, 'View definition:', '', pg_catalog.pg_get_viewdef(oid, true) from pg_catalog.pg_class where oid = ${oid} and relkind in ('v', 'm')
  union all
  select 8, 'Inherits:', '', inhparent::pg_catalog.regclass::text from pg_catalog.pg_inherits where inhrelid = ${oid}
) as detail
order by place, heading, sort, line`
