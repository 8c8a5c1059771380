-- Policies with their conditions, as text and as PostgreSQL's node trees.
select json_build_object(
  'relation', p.polrelid::bigint,
  'name', p.polname,
  'quoted', quote_ident(p.polname),
  'command', case p.polcmd
    when 'r' then 'SELECT'
    when 'a' then 'INSERT'
    when 'w' then 'UPDATE'
    when 'd' then 'DELETE'
    else 'ALL'
  end,
  'isPermissive', p.polpermissive,
  'roles', (select json_agg(role::bigint) from unnest(p.polroles) as role),
  'using', pg_get_expr(p.polqual, p.polrelid),
  'check', pg_get_expr(p.polwithcheck, p.polrelid),
  'usingTree', p.polqual::text,
  'checkTree', p.polwithcheck::text
) as row
from pg_catalog.pg_policy p
order by p.polrelid, p.polname
