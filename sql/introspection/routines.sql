-- Functions that can be called through the API.
-- $1: names of their schemas, a JSON array. Postgres raises 3F000 for a schema that does not exist.
-- $2: regular expressions, a JSON array: settings of a function ("name=value") that match one are hoisted.
-- $3: whether to omit functions that the current role may not execute.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
domain_steps as (
  select oid as domain, typbasetype as type from pg_type where typtype = 'd'
  union all
  select step.domain, t.typbasetype
  from domain_steps step
  join pg_type t on t.oid = step.type
  where t.typtype = 'd'
),
domains as (
  select step.domain, step.type as base
  from domain_steps step
  join pg_type base on base.oid = step.type
  where base.typtype <> 'd'
)
select json_build_object(
  'schema', n.nspname,
  'name', p.proname,
  'description', d.description,
  -- Only input arguments have a type in proargtypes; proargnames also names the output arguments.
  'parameters', (
    select coalesce(
      json_agg(
        json_build_object(
          'name', coalesce(argument.name, ''),
          'type', argument.type::regtype::text,
          'castType', case argument.type
            when 'bit'::regtype then 'bit varying'
            when 'bit[]'::regtype then 'bit varying[]'
            when 'bpchar'::regtype then 'character varying'
            when 'bpchar[]'::regtype then 'character varying[]'
            else argument.type::regtype::text
          end,
          'required', argument.position <= p.pronargs - p.pronargdefaults,
          'variadic', coalesce(argument.mode = 'v', false)
        )
        order by argument.position
      ),
      '[]'
    )
    from unnest(p.proargnames, p.proargtypes, p.proargmodes)
      with ordinality as argument (name, type, mode, position)
    where argument.type is not null
  ),
  'returns', json_build_object(
    'setOf', p.proretset,
    'type', json_build_object('schema', tn.nspname, 'name', coalesce(row_type.relname, t.typname)),
    'composite', t.typtype = 'c' or coalesce(p.proargmodes && '{t,b,o}'::"char"[], false),
    'compositeAlias', domains.base is not null,
    'typeOid', t.oid::bigint,
    'columns', case
      when p.proargmodes && '{t,b,o}'::"char"[] then (
        select json_agg(
          json_build_object('name', nullif(argument.name, ''), 'typeOid', coalesce(of_argument.base, argument.type)::bigint)
          order by argument.position
        )
        from unnest(p.proargnames, p.proallargtypes, p.proargmodes)
          with ordinality as argument (name, type, mode, position)
        left join domains of_argument on of_argument.domain = argument.type
        where argument.mode in ('t', 'b', 'o')
      )
      when row_type.relkind = 'c' then (
        select json_agg(
          json_build_object('name', a.attname, 'typeOid', coalesce(of_column.base, a.atttypid)::bigint)
          order by a.attnum
        )
        from pg_attribute a
        left join domains of_column on of_column.domain = a.atttypid
        where a.attrelid = row_type.oid and a.attnum > 0 and not a.attisdropped
      )
    end
  ),
  'volatility', case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
  'hasVariadic', p.provariadic <> 0,
  'isolationLevel', (
    select split_part(substr(setting, strpos(setting, '=') + 1), ',', 1)
    from unnest(p.proconfig) as settings (setting)
    where setting like 'default\_transaction\_isolation=%'
  ),
  'settings', (
    select coalesce(
      json_agg(
        json_build_array(substr(setting, 1, strpos(setting, '=') - 1), substr(setting, strpos(setting, '=') + 1))
        order by position
      ),
      '[]'
    )
    from unnest(p.proconfig) with ordinality as settings (setting, position)
    where setting ~ any (array(select json_array_elements_text($2::json)))
  )
)::text as row
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
left join domains on domains.domain = p.prorettype
join pg_type t on t.oid = coalesce(domains.base, p.prorettype)
join pg_namespace tn on tn.oid = t.typnamespace
left join pg_class row_type on row_type.oid = t.typrelid
left join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = p.oid and d.objsubid = 0
where p.pronamespace = any (array(select schema from exposed))
  and p.prokind = 'f'
  and t.oid <> 'trigger'::regtype
  -- A single unnamed argument receives the whole body if its type allows it.
  and (
    p.pronargs = 0
    or p.proargnames is not null
    or p.pronargs = 1 and p.proargtypes[0] in (
      'bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'xml'::regtype
    )
  )
  and (not $3::boolean or has_function_privilege(p.oid, 'execute'))
order by n.nspname, p.proname, p.oid
