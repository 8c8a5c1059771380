-- Implicit casts by function between a domain and json or text.
select json_build_object(
  'sourceType', k.castsource::regtype::text,
  'targetType', k.casttarget::regtype::text,
  'function', k.castfunc::regproc::text
) as row
from pg_cast k
join pg_type source on source.oid = k.castsource
join pg_type target on target.oid = k.casttarget
where k.castcontext = 'i'
  and k.castmethod = 'f'
  and (
    source.typtype = 'd' and target.oid in ('json'::regtype, 'text'::regtype)
    or target.typtype = 'd' and source.oid in ('json'::regtype, 'text'::regtype)
  )
  and has_function_privilege(k.castfunc, 'execute')
order by k.castsource::regtype::text, k.casttarget::regtype::text
