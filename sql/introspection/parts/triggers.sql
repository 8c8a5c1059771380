-- Triggers of users, not of constraints.
select json_build_object(
  'relation', t.tgrelid::bigint,
  'name', t.tgname,
  'quoted', quote_ident(t.tgname),
  'function', t.tgfoid::bigint,
  -- Texts, each with a zero byte at its end.
  'arguments', encode(t.tgargs, 'base64'),
  'isBefore', t.tgtype & 2 = 2,
  'isOnUpdate', t.tgtype & 16 = 16
) as row
from pg_catalog.pg_trigger t
where not t.tgisinternal and t.tgenabled in ('O', 'A')
order by t.tgrelid, t.tgname
