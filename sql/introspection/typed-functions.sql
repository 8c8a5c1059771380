-- Functions of the schemas, as the generated TypeScript types describe them.
-- $1: names of the schemas, a JSON array.
with
wanted as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
types as (
  select
    t.oid,
    t.typname as name,
    coalesce(element.oid, t.oid)::bigint as element_oid,
    coalesce(element.typname, t.typname) as element,
    element.oid is not null as is_array,
    -- The relation whose rows have this type, or that describes a composite type.
    case when c.relkind in ('c', 'r', 'v', 'm', 'p', 'f') then json_build_object(
      'oid', c.oid::text, 'name', c.relname, 'isForeign', c.relkind = 'f', 'isComposite', c.relkind = 'c'
    ) end as relation
  from pg_type t
  left join pg_type element on element.oid = t.typelem and element.typarray = t.oid
  left join pg_class c on c.oid = t.typrelid
)
select json_build_object(
  'oid', p.oid::text,
  'schema', n.nspname,
  'name', p.proname,
  'arguments', (
    select coalesce(
      json_agg(
        json_build_object(
          'name', coalesce(argument.name, ''),
          'mode', argument.mode,
          'hasDefault', argument.mode in ('in', 'inout', 'variadic') and argument.input > p.pronargs - p.pronargdefaults,
          'type', json_build_object('oid', types.element_oid, 'name', types.element, 'isArray', types.is_array),
          'typeOid', types.oid::bigint,
          'typeName', types.name,
          'relation', types.relation
        )
        order by argument.position
      ),
      '[]'
    )
    from (
      select
        given.type,
        given.name,
        given.position,
        case given.mode when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic' when 't' then 'table' else 'in' end as mode,
        -- Only input arguments have defaults: the number of this one among them.
        count(*) filter (where given.mode is null or given.mode in ('i', 'b', 'v')) over (order by given.position) as input
      from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes)
        with ordinality as given (type, name, mode, position)
    ) as argument
    join types on types.oid = argument.type
  ),
  'returns', json_build_object(
    'type', json_build_object('oid', result.element_oid, 'name', result.element, 'isArray', result.is_array),
    'typeName', result.name,
    'relation', result.relation,
    'isSet', p.proretset,
    'rows', p.prorows
  )
) as row
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
join types result on result.oid = p.prorettype
where p.pronamespace = any (array(select schema from wanted))
  and p.prokind = 'f'
  and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
order by n.nspname, p.proname, p.oid
