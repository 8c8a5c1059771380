-- Types of the columns of the relations that `tables.sql` returns, one row per type and modifier.
-- $1: names of the exposed schemas, a JSON array.
-- Requires an empty search_path: otherwise, the names of types are not qualified.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
used as (
  select distinct a.atttypid as type, a.atttypmod as modifier
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and not c.relispartition
    and c.relnamespace = any (array(select schema from exposed))
    and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
),
-- pg_basetype() does the same, but requires PostgreSQL 17.
domain_steps as (
  select oid as domain, typbasetype as type from pg_type where typtype = 'd'
  union all
  select step.domain, t.typbasetype
  from domain_steps step
  join pg_type t on t.oid = step.type
  where t.typtype = 'd'
),
domains as (
  select step.domain, base.oid as base, base.typnamespace = 'pg_catalog'::regnamespace as is_builtin
  from domain_steps step
  join pg_type base on base.oid = step.type
  where base.typtype <> 'd'
),
enums as (
  select enumtypid as type, json_agg(enumlabel order by enumsortorder) as labels
  from pg_enum
  group by enumtypid
),
-- Types of extensions whose operators may not be in the search path of a request.
operators as (
  select opclass.opcintype as type, min(n.nspname) as schema
  from pg_opclass opclass
  join pg_am am on am.oid = opclass.opcmethod and am.amname = 'btree'
  join pg_amop member
    on member.amopfamily = opclass.opcfamily
    and member.amoplefttype = opclass.opcintype
    and member.amoprighttype = opclass.opcintype
  join pg_operator operator on operator.oid = member.amopopr
  join pg_namespace n on n.oid = operator.oprnamespace
  where opclass.opcdefault and n.nspname <> 'pg_catalog'
  group by opclass.opcintype
)
select json_build_object(
  'key', used.type || ' ' || used.modifier,
  'oid', coalesce(domains.base, t.oid)::bigint,
  'isNotNull', t.typtype = 'd' and t.typnotnull,
  'operatorSchema', operators.schema,
  'type', case
    when domains.is_builtin then format_type(domains.base, null)
    when t.typtype <> 'd' and t.typnamespace = 'pg_catalog'::regnamespace then format_type(t.oid, null)
    else format_type(used.type, used.modifier)
  end,
  'nominalType', format_type(used.type, used.modifier),
  -- Lengths of bpchar and varchar include a header of four bytes, those of bit and varbit do not.
  'maxLength', case
    when declared.modifier = -1 then null
    when declared.type in ('bpchar'::regtype, 'varchar'::regtype) then declared.modifier - 4
    when declared.type in ('bit'::regtype, 'varbit'::regtype) then declared.modifier
  end,
  -- The default of a domain is that of columns without one.
  'default', case t.typtype when 'd' then pg_get_expr(t.typdefaultbin, 0) end,
  'enumValues', coalesce(enums.labels, '[]')
)::text as row
from used
join pg_type t on t.oid = used.type
cross join lateral (
  select
    case t.typtype when 'd' then t.typbasetype else used.type end as type,
    case t.typtype when 'd' then t.typtypmod else used.modifier end as modifier
) declared
left join domains on domains.domain = t.oid
left join enums on enums.type = coalesce(domains.base, t.oid)
left join operators on operators.type = coalesce(domains.base, t.oid)
