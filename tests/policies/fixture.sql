-- The product's own schema with the rows of two users, for the policy tests of this folder.
insert into auth.users (id, email, encrypted_password, raw_user_meta_data) values
  ('00000000-0000-4000-8000-00000000000a', 'ann@example.org', 'x', '{"full_name": "Ann"}'),
  ('00000000-0000-4000-8000-00000000000b', 'bob@example.org', 'x', '{"full_name": "Bob"}');

insert into public.reports (id, user_id, manufacturer, model, year, mileage, price, lat, lng, status) values
  ('00000000-0000-4000-8000-0000000000a1', '00000000-0000-4000-8000-00000000000a', 'Opel', 'Corsa', 2001, 1, 1, 1, 1, 'pending'),
  ('00000000-0000-4000-8000-0000000000a2', '00000000-0000-4000-8000-00000000000a', 'Opel', 'Astra', 2002, 2, 2, 2, 2, 'approved'),
  ('00000000-0000-4000-8000-0000000000b1', '00000000-0000-4000-8000-00000000000b', 'Fiat', 'Panda', 2003, 3, 3, 3, 3, 'pending');

insert into public.classification_runs (id, user_id, image_uri, image_source, result_label, confidence, is_positive) values
  ('00000000-0000-4000-8000-0000000000a3', '00000000-0000-4000-8000-00000000000a', 'file:a', 'camera', 'leaf', 99, true),
  ('00000000-0000-4000-8000-0000000000b3', '00000000-0000-4000-8000-00000000000b', 'file:b', 'file', 'stone', 1, false);
