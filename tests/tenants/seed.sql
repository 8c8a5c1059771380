-- Users by their first letter: a… is anna, b… ben, and so on. Without a table of accounts, their ids are all there is.
do $$
begin
  if to_regclass('auth.users') is not null then
    insert into auth.users (
      instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token, recovery_token,
      email_change_token_new, email_change, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
    )
    select '00000000-0000-0000-0000-000000000000', id, 'authenticated', 'authenticated', name || '@example.org', '', now(), '', '',
      '', '', '{"provider": "email", "providers": ["email"]}', jsonb_build_object('first_name', initcap(name)), now(), now()
    from (values
      ('aaaaaaaa-0000-4000-8000-000000000001'::uuid, 'anna'),
      ('bbbbbbbb-0000-4000-8000-000000000002', 'ben'),
      ('cccccccc-0000-4000-8000-000000000003', 'cleo'),
      ('dddddddd-0000-4000-8000-000000000004', 'dora'),
      ('eeeeeeee-0000-4000-8000-000000000005', 'emil'),
      ('ffffffff-0000-4000-8000-000000000006', 'fred'),
      ('99999999-0000-4000-8000-000000000007', 'gina')
    ) as account (id, name);
  end if;
end
$$;

insert into public.plans (id, name, monthly_cents, is_offered) values
  ('free', 'Free', 0, true),
  ('team', 'Team', 4900, true),
  ('legacy', 'Legacy', 1900, false);

insert into public.organisations (id, name, slug, plan_id, created_by, is_suspended) values
  ('00000000-0000-4000-8000-0000000000ac', 'Acme', 'acme', 'team', 'aaaaaaaa-0000-4000-8000-000000000001', false),
  ('00000000-0000-4000-8000-0000000000b1', 'Birch', 'birch', 'legacy', 'dddddddd-0000-4000-8000-000000000004', false),
  ('00000000-0000-4000-8000-0000000000ce', 'Cedar', 'cedar', 'free', '99999999-0000-4000-8000-000000000007', true);

-- The creators became owners by a trigger: anna of Acme, dora of Birch, gina of Cedar, which is suspended. Fred has no membership.
insert into public.memberships (organisation_id, user_id, role) values
  ('00000000-0000-4000-8000-0000000000ac', 'bbbbbbbb-0000-4000-8000-000000000002', 'admin'),
  ('00000000-0000-4000-8000-0000000000ac', 'cccccccc-0000-4000-8000-000000000003', 'member'),
  ('00000000-0000-4000-8000-0000000000ac', 'eeeeeeee-0000-4000-8000-000000000005', 'viewer'),
  ('00000000-0000-4000-8000-0000000000b1', 'cccccccc-0000-4000-8000-000000000003', 'viewer');

insert into public.invitations (id, organisation_id, email, role, invited_by, expires_at) values
  (1, '00000000-0000-4000-8000-0000000000ac', 'fred@example.org', 'member', 'aaaaaaaa-0000-4000-8000-000000000001', '2100-01-01'),
  (2, '00000000-0000-4000-8000-0000000000b1', 'fred@example.org', 'admin', 'dddddddd-0000-4000-8000-000000000004', '2020-01-01');

insert into public.teams (id, organisation_id, name) values
  (1, '00000000-0000-4000-8000-0000000000ac', 'Engineering'),
  (2, '00000000-0000-4000-8000-0000000000b1', 'Workshop');

insert into public.team_members (team_id, organisation_id, user_id) values
  (1, '00000000-0000-4000-8000-0000000000ac', 'bbbbbbbb-0000-4000-8000-000000000002'),
  (1, '00000000-0000-4000-8000-0000000000ac', 'cccccccc-0000-4000-8000-000000000003'),
  (2, '00000000-0000-4000-8000-0000000000b1', 'dddddddd-0000-4000-8000-000000000004');

insert into public.projects (id, organisation_id, team_id, name, visibility, created_by) values
  (1, '00000000-0000-4000-8000-0000000000ac', 1, 'Rocket', 'organisation', 'bbbbbbbb-0000-4000-8000-000000000002'),
  (2, '00000000-0000-4000-8000-0000000000ac', null, 'Secret', 'private', 'aaaaaaaa-0000-4000-8000-000000000001'),
  (3, '00000000-0000-4000-8000-0000000000ac', null, 'Website', 'public', 'cccccccc-0000-4000-8000-000000000003'),
  (4, '00000000-0000-4000-8000-0000000000b1', 2, 'Chairs', 'organisation', 'dddddddd-0000-4000-8000-000000000004'),
  (5, '00000000-0000-4000-8000-0000000000ce', null, 'Ledger', 'organisation', '99999999-0000-4000-8000-000000000007');

insert into public.project_members (project_id, organisation_id, user_id, can_write) values
  (2, '00000000-0000-4000-8000-0000000000ac', 'cccccccc-0000-4000-8000-000000000003', true);

insert into public.tasks (id, project_id, organisation_id, title, status, assignee, due_on, created_by) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac', 'Build the engine', 'started', 'bbbbbbbb-0000-4000-8000-000000000002', '2030-01-15', 'bbbbbbbb-0000-4000-8000-000000000002'),
  (2, 1, '00000000-0000-4000-8000-0000000000ac', 'Order fuel', 'open', 'cccccccc-0000-4000-8000-000000000003', null, 'bbbbbbbb-0000-4000-8000-000000000002'),
  (3, 1, '00000000-0000-4000-8000-0000000000ac', 'Paint it red', 'done', null, null, 'aaaaaaaa-0000-4000-8000-000000000001'),
  (4, 2, '00000000-0000-4000-8000-0000000000ac', 'Tell no one', 'open', null, null, 'aaaaaaaa-0000-4000-8000-000000000001'),
  (5, 3, '00000000-0000-4000-8000-0000000000ac', 'Choose a font', 'open', null, null, 'cccccccc-0000-4000-8000-000000000003'),
  (6, 4, '00000000-0000-4000-8000-0000000000b1', 'Find wood', 'open', 'dddddddd-0000-4000-8000-000000000004', null, 'dddddddd-0000-4000-8000-000000000004'),
  (7, 4, '00000000-0000-4000-8000-0000000000b1', 'Sell chairs', 'open', null, null, 'dddddddd-0000-4000-8000-000000000004'),
  (8, 5, '00000000-0000-4000-8000-0000000000ce', 'Pay the bill', 'open', null, null, '99999999-0000-4000-8000-000000000007');

insert into public.labels (id, organisation_id, name, colour) values
  (1, '00000000-0000-4000-8000-0000000000ac', 'urgent', '#ff0000'),
  (2, '00000000-0000-4000-8000-0000000000b1', 'wood', '#886644');

insert into public.task_labels (task_id, label_id, organisation_id) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac'),
  (4, 1, '00000000-0000-4000-8000-0000000000ac'),
  (6, 2, '00000000-0000-4000-8000-0000000000b1');

insert into public.comments (id, task_id, organisation_id, author, body) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac', 'cccccccc-0000-4000-8000-000000000003', 'It leaks.'),
  (2, 1, '00000000-0000-4000-8000-0000000000ac', 'bbbbbbbb-0000-4000-8000-000000000002', 'Fixed.'),
  (3, 4, '00000000-0000-4000-8000-0000000000ac', 'aaaaaaaa-0000-4000-8000-000000000001', 'Really, no one.'),
  (4, 6, '00000000-0000-4000-8000-0000000000b1', 'dddddddd-0000-4000-8000-000000000004', 'Birch, of course.');

insert into public.attachments (id, task_id, organisation_id, name, bytes, uploaded_by) values
  ('00000000-0000-4000-8000-00000000a001', 1, '00000000-0000-4000-8000-0000000000ac', 'engine.pdf', 20000, 'bbbbbbbb-0000-4000-8000-000000000002'),
  ('00000000-0000-4000-8000-00000000a002', 6, '00000000-0000-4000-8000-0000000000b1', 'wood.jpg', 90000, 'dddddddd-0000-4000-8000-000000000004');

insert into public.time_entries (id, task_id, organisation_id, user_id, minutes, worked_on) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac', 'bbbbbbbb-0000-4000-8000-000000000002', 120, '2029-12-01'),
  (2, 1, '00000000-0000-4000-8000-0000000000ac', 'cccccccc-0000-4000-8000-000000000003', 45, '2029-12-02'),
  (3, 6, '00000000-0000-4000-8000-0000000000b1', 'dddddddd-0000-4000-8000-000000000004', 60, '2029-12-03');

insert into public.customers (id, organisation_id, name, email) values
  (1, '00000000-0000-4000-8000-0000000000ac', 'Space Agency', 'orders@space.example'),
  (2, '00000000-0000-4000-8000-0000000000b1', 'Café', null);

insert into public.invoices (id, organisation_id, customer_id, number, status) values
  (1, '00000000-0000-4000-8000-0000000000ac', 1, 'A-1', 'draft'),
  (2, '00000000-0000-4000-8000-0000000000ac', 1, 'A-2', 'draft'),
  (3, '00000000-0000-4000-8000-0000000000b1', 2, 'B-1', 'draft');

insert into public.invoice_lines (id, invoice_id, organisation_id, description, quantity, unit_cents) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac', 'Rocket', 1, 1000000),
  (2, 1, '00000000-0000-4000-8000-0000000000ac', 'Fuel', 3, 20000),
  (3, 2, '00000000-0000-4000-8000-0000000000ac', 'Paint', 2, 1500),
  (4, 3, '00000000-0000-4000-8000-0000000000b1', 'Chair', 8, 9900);

update public.invoices set status = 'paid' where id = 1;
update public.invoices set status = 'sent' where id = 3;

insert into public.payments (id, invoice_id, organisation_id, amount_cents, received_on) values
  (1, 1, '00000000-0000-4000-8000-0000000000ac', 1060000, '2029-12-24'),
  (2, 3, '00000000-0000-4000-8000-0000000000b1', 10000, '2029-12-24');

insert into public.settings (organisation_id, key, value, is_secret) values
  ('00000000-0000-4000-8000-0000000000ac', 'theme', '"dark"', false),
  ('00000000-0000-4000-8000-0000000000ac', 'payment_key', '"k-acme"', true),
  ('00000000-0000-4000-8000-0000000000b1', 'theme', '"light"', false);

-- What the triggers logged while this file was loaded, replaced by a fixed history.
delete from public.activity;
insert into public.activity (id, organisation_id, actor, action, subject) values
  (101, '00000000-0000-4000-8000-0000000000ac', 'bbbbbbbb-0000-4000-8000-000000000002', 'insert', 'projects 1'),
  (102, '00000000-0000-4000-8000-0000000000b1', 'dddddddd-0000-4000-8000-000000000004', 'insert', 'projects 4');

-- New rows get ids from 1001.
do $$
declare
  name text;
begin
  foreach name in array array[
    'invitations', 'teams', 'projects', 'tasks', 'labels', 'comments', 'time_entries', 'customers', 'invoices',
    'invoice_lines', 'payments', 'activity'
  ]
  loop
    execute format('alter table public.%I alter column id restart with 1001', name);
  end loop;
end
$$;
