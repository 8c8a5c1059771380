-- Accounts whose reports are the sample. $1: the hash of a password that nobody knows. Their ids are always the same, so that
-- running this again adds nothing.
insert into auth.users (id, email, password_hash, first_name, last_name)
select md5('rowhouse sample account ' || n)::uuid, 'sample-' || n || '@example.com', $1::text, name, 'Sample'
from unnest(array['Ada', 'Ben', 'Cleo', 'Dan', 'Eve']) with ordinality as names (name, n)
on conflict do nothing
returning id
