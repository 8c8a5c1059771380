-- Only with the services: webhooks, schedules
-- Work that one process does for all that serve the database: whichever holds the lease.

create table rowhouse.leases (
  name text constraint leases_pkey primary key,
  holder text not null,
  until timestamptz not null
);
comment on table rowhouse.leases is
  E'Which process does the work that only one may do\n\nA lease that is not renewed in time goes to another process. Only the server has access.';
comment on column rowhouse.leases.name is 'The work: `calls`, `schedules`.';
comment on column rowhouse.leases.holder is 'The process, by a random name.';
comment on column rowhouse.leases.until is 'When the lease ends, by the clock of the database.';

alter table rowhouse.leases enable row level security;
create policy server on rowhouse.leases to authenticator using (true) with check (true);
comment on policy server on rowhouse.leases is 'The server takes and renews them.';
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.leases from public, anon, authenticated, service_role;
grant select, insert, update, delete on rowhouse.leases to authenticator;
