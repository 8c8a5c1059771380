-- Accounts that own the sample reports. $1: the hash of a random password. Their ids are constant, so running this again
-- adds nothing.
insert into auth.users (id, email, password_hash, first_name, last_name)
select md5('rowhouse sample account ' || n)::uuid, 'sample-' || n || '@example.com', $1::text, name, 'Sample'
from unnest(array['Ada', 'Ben', 'Cleo', 'Dan', 'Eve']) with ordinality as names (name, n)
on conflict do nothing
returning id
