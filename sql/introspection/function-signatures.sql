-- Arguments and results of functions as text, in which types of the search_path have no schema.
-- Every name is qualified, because this statement runs with a search_path of schemas in which others may create objects.
-- $1: names of the schemas of the functions, a JSON array.
select pg_catalog.json_build_object(
  'oid', p.oid::pg_catalog.text,
  'arguments', pg_catalog.pg_get_function_arguments(p.oid),
  'result', pg_catalog.pg_get_function_result(p.oid),
  -- The type of the first argument, whatever its mode.
  'argumentType', pg_catalog.format_type(coalesce(p.proallargtypes[1], p.proargtypes[0]), null)
) as row
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) p.pronamespace
where n.nspname operator(pg_catalog.=) any (
    array(select name::pg_catalog.name from pg_catalog.json_array_elements_text($1::pg_catalog.json) as names (name))
  )
  and p.prokind operator(pg_catalog.=) 'f'::pg_catalog."char"
