-- Accounts that own the sample reports. $1: the hash of a random password. Their ids are constant, so running this again
-- adds nothing.
insert into auth.users (
  instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
  created_at, updated_at
)
select '00000000-0000-0000-0000-000000000000', md5('rowhouse sample account ' || n)::uuid, 'authenticated',
  'authenticated', 'sample-' || n || '@example.com', $1::text, now(), '{"provider": "email", "providers": ["email"]}',
  jsonb_build_object('first_name', name, 'last_name', 'Sample', 'full_name', name || ' Sample'), now(), now()
from unnest(array['Ada', 'Ben', 'Cleo', 'Dan', 'Eve']) with ordinality as names (name, n)
on conflict do nothing
returning id
