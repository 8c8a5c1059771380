-- The record of changes to audited tables: who changed which row, when and how. `rowhouse audit enable` writes this into
-- its first migration. Every statement may run again.

do $$
begin
  create role rowhouse_audit_reader nologin;
exception when duplicate_object or unique_violation then null;
end $$;
comment on role rowhouse_audit_reader is 'Reads the record of changes, rowhouse_audit.changes. Grant it to those who may see all audited data.';

do $$
begin
  create role rowhouse_audit_writer nologin;
exception when duplicate_object or unique_violation then null;
end $$;
comment on role rowhouse_audit_writer is 'Owns the functions that record changes. It has no members and may do nothing else.';

create schema if not exists rowhouse_audit;
-- Owning the functions requires membership and this privilege until the end, unless a superuser gives them away.
do $$
begin
  if not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant rowhouse_audit_writer to %I', current_user);
    grant create on schema rowhouse_audit to rowhouse_audit_writer;
  end if;
end $$;
comment on schema rowhouse_audit is 'The record of changes to audited tables. Never exposed.';

create table if not exists rowhouse_audit.changes (
  id bigint generated always as identity,
  changed_at timestamptz not null default statement_timestamp(),
  transaction_id xid8 not null default pg_current_xact_id(),
  table_id oid not null,
  table_schema text not null,
  table_name text not null,
  command text not null constraint changes_command_check check (command in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')),
  acting_role text,
  effective_role text,
  login_role text not null,
  user_id text,
  email text,
  api_key text,
  request_id text,
  old_row jsonb,
  new_row jsonb
) partition by range (changed_at);

comment on table rowhouse_audit.changes is 'One row for each changed row of an audited table, and one for each TRUNCATE.';
comment on column rowhouse_audit.changes.id is 'Ascending, with gaps.';
comment on column rowhouse_audit.changes.changed_at is 'When the statement began.';
comment on column rowhouse_audit.changes.transaction_id is 'Equal for all changes of one transaction, and so of one request.';
comment on column rowhouse_audit.changes.table_id is 'OID of the table, which stays the same when it is renamed.';
comment on column rowhouse_audit.changes.table_schema is 'Schema of the table at that time.';
comment on column rowhouse_audit.changes.table_name is 'Name of the table at that time; of the partition for a partitioned table.';
comment on column rowhouse_audit.changes.command is 'INSERT, UPDATE, DELETE or TRUNCATE.';
comment on column rowhouse_audit.changes.acting_role is 'The role of the request (SET ROLE); null if the session has not switched to another role.';
comment on column rowhouse_audit.changes.effective_role is 'The role whose privileges applied: within a security definer function, its owner.';
comment on column rowhouse_audit.changes.login_role is 'The role that logged in: authenticator for requests.';
comment on column rowhouse_audit.changes.user_id is 'The claim sub. Like all claims, it comes from a setting that SQL of the same transaction may change.';
comment on column rowhouse_audit.changes.email is 'The claim email.';
comment on column rowhouse_audit.changes.api_key is 'The hint of the API key, as in auth.api_keys.';
comment on column rowhouse_audit.changes.request_id is 'The header X-Request-Id, which is also in the log of requests; null if it was not a short plain word.';
comment on column rowhouse_audit.changes.old_row is 'The row before; null for INSERT and TRUNCATE.';
comment on column rowhouse_audit.changes.new_row is 'The row after; null for DELETE and TRUNCATE.';

create index if not exists changes_changed_at_idx on rowhouse_audit.changes using brin (changed_at);

-- Rows of months without a partition of their own.
create table if not exists rowhouse_audit.changes_default partition of rowhouse_audit.changes default;

create or replace function rowhouse_audit.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'The record of changes can only be added to' using errcode = 'insufficient_privilege',
    hint = 'Drop partitions of rowhouse_audit.changes to remove the changes of whole months.';
end $$;
comment on function rowhouse_audit.refuse_change() is 'Refuses to change or delete recorded changes, for all roles.';

create or replace trigger refuse_change before update or delete on rowhouse_audit.changes
  for each row execute function rowhouse_audit.refuse_change();
alter table rowhouse_audit.changes enable always trigger refuse_change;
create or replace trigger refuse_truncate before truncate on rowhouse_audit.changes
  for each statement execute function rowhouse_audit.refuse_change();
alter table rowhouse_audit.changes enable always trigger refuse_truncate;

create or replace function rowhouse_audit.secure(partition regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  grantee text;
begin
  -- Default privileges of the database may have granted something.
  for grantee in
    select distinct case when privilege.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(privilege.grantee)) end
    from pg_class, aclexplode(relacl) as privilege
    where oid = partition and privilege.grantee <> relowner
  loop
    execute format('revoke all on table %s from %s', partition, grantee);
  end loop;
  -- Without policies: rows are read and written through the partitioned table.
  execute format('alter table %s enable row level security, force row level security', partition);
  execute format('create or replace trigger refuse_truncate before truncate on %s for each statement execute function rowhouse_audit.refuse_change()', partition);
  execute format('alter table %s enable always trigger refuse_truncate', partition);
end $$;
comment on function rowhouse_audit.secure(regclass) is 'Closes a partition of the record to every role but its owner.';

create or replace function rowhouse_audit.create_partitions(months integer) returns setof text
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  first date := date_trunc('month', now() at time zone 'UTC');
  month date;
  name text;
begin
  for step in 0 .. months loop
    month := first + make_interval(months => step);
    name := 'changes_' || to_char(month, 'YYYY_MM');
    continue when to_regclass('rowhouse_audit.' || name) is not null;
    begin
      execute format('create table rowhouse_audit.%I partition of rowhouse_audit.changes for values from (%L) to (%L)', name,
        month || ' 00:00:00+00', (month + interval '1 month')::date || ' 00:00:00+00');
      perform rowhouse_audit.secure(('rowhouse_audit.' || name)::regclass);
      return next name;
    exception when check_violation then
      raise notice 'The changes of % stay in the default partition, which has some of that month', to_char(month, 'YYYY-MM');
    end;
  end loop;
end $$;
comment on function rowhouse_audit.create_partitions(integer) is 'Creates the missing partitions from this month up to that many months later. Returns their names.';

create or replace function rowhouse_audit.note_role() returns trigger
language plpgsql
as $$
begin
  -- The functions that record the change run as their owner and cannot see the role of the statement.
  perform pg_catalog.set_config('rowhouse_audit.effective_role', current_user, true);
  return null;
end $$;
comment on function rowhouse_audit.note_role() is 'Notes the role whose privileges apply to the statement.';

create or replace function rowhouse_audit.record_statement() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
-- The audited table may have columns of the same names.
#variable_conflict use_variable
declare
  claims jsonb := nullif(current_setting('request.jwt.claims', true), '');
  headers json := nullif(current_setting('request.headers', true), '');
  role text := nullif(current_setting('role'), 'none');
  effective text := nullif(current_setting('rowhouse_audit.effective_role', true), '');
  hint text := substring(coalesce(headers ->> 'apikey', headers ->> 'authorization') from '\msb_(?:publishable|secret)_[\w-]{4}');
  request text := substring(headers ->> 'x-request-id' from '^[\w.:-]{1,64}$');
begin
  if tg_op = 'INSERT' then
    insert into rowhouse_audit.changes (table_id, table_schema, table_name, command, acting_role, effective_role, login_role,
      user_id, email, api_key, request_id, new_row)
    select tg_relid, tg_table_schema, tg_table_name, tg_op, role, effective, session_user,
      claims ->> 'sub', claims ->> 'email', hint, request, to_jsonb(changed.*)
    from new_rows as changed;
  elsif tg_op = 'DELETE' then
    insert into rowhouse_audit.changes (table_id, table_schema, table_name, command, acting_role, effective_role, login_role,
      user_id, email, api_key, request_id, old_row)
    select tg_relid, tg_table_schema, tg_table_name, tg_op, role, effective, session_user,
      claims ->> 'sub', claims ->> 'email', hint, request, to_jsonb(changed.*)
    from old_rows as changed;
  elsif tg_op = 'UPDATE' then
    -- Both tables have the rows in the order in which they were changed.
    insert into rowhouse_audit.changes (table_id, table_schema, table_name, command, acting_role, effective_role, login_role,
      user_id, email, api_key, request_id, old_row, new_row)
    select tg_relid, tg_table_schema, tg_table_name, tg_op, role, effective, session_user,
      claims ->> 'sub', claims ->> 'email', hint, request, old_row, new_row
    from (select row_number() over () as number, to_jsonb(changed.*) as old_row from old_rows as changed) as before
    join (select row_number() over () as number, to_jsonb(changed.*) as new_row from new_rows as changed) as after using (number);
  else
    insert into rowhouse_audit.changes (table_id, table_schema, table_name, command, acting_role, effective_role, login_role,
      user_id, email, api_key, request_id)
    values (tg_relid, tg_table_schema, tg_table_name, tg_op, role, effective, session_user,
      claims ->> 'sub', claims ->> 'email', hint, request);
  end if;
  return null;
end $$;
comment on function rowhouse_audit.record_statement() is 'Records the rows that a statement has changed.';

create or replace function rowhouse_audit.record_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
-- The audited table may have columns of the same names.
#variable_conflict use_variable
declare
  claims jsonb := nullif(current_setting('request.jwt.claims', true), '');
  headers json := nullif(current_setting('request.headers', true), '');
begin
  insert into rowhouse_audit.changes (table_id, table_schema, table_name, command, acting_role, effective_role, login_role,
    user_id, email, api_key, request_id, old_row, new_row)
  values (tg_relid, tg_table_schema, tg_table_name, tg_op, nullif(current_setting('role'), 'none'),
    nullif(current_setting('rowhouse_audit.effective_role', true), ''), session_user, claims ->> 'sub', claims ->> 'email',
    substring(coalesce(headers ->> 'apikey', headers ->> 'authorization') from '\msb_(?:publishable|secret)_[\w-]{4}'),
    substring(headers ->> 'x-request-id' from '^[\w.:-]{1,64}$'), to_jsonb(old), to_jsonb(new));
  return null;
end $$;
comment on function rowhouse_audit.record_row() is 'Records a changed row: for partitioned tables and tables that others inherit from.';

-- Only the functions that record changes may add to the record, and only members of its own role may read it.
do $$
begin
  if not exists (select from pg_policy where polrelid = 'rowhouse_audit.changes'::regclass and polname = 'read') then
    create policy read on rowhouse_audit.changes for select to rowhouse_audit_reader using (true);
  end if;
  if not exists (select from pg_policy where polrelid = 'rowhouse_audit.changes'::regclass and polname = 'record') then
    create policy record on rowhouse_audit.changes for insert to rowhouse_audit_writer with check (true);
  end if;
end $$;
revoke all on schema rowhouse_audit from public;
revoke all on all functions in schema rowhouse_audit from public;
do $$
begin
  perform rowhouse_audit.secure('rowhouse_audit.changes'), rowhouse_audit.secure('rowhouse_audit.changes_default');
end $$;
grant usage on schema rowhouse_audit to rowhouse_audit_reader, rowhouse_audit_writer;
grant select on rowhouse_audit.changes to rowhouse_audit_reader;
grant insert on rowhouse_audit.changes to rowhouse_audit_writer;

do $$
begin
  alter function rowhouse_audit.record_statement() owner to rowhouse_audit_writer;
  alter function rowhouse_audit.record_row() owner to rowhouse_audit_writer;
  -- Needed to create triggers, and only for that.
  execute format('grant execute on function rowhouse_audit.record_statement(), rowhouse_audit.record_row() to %I', current_user);
  if not (select rolsuper from pg_roles where rolname = current_user) then
    revoke create on schema rowhouse_audit from rowhouse_audit_writer;
    execute format('revoke rowhouse_audit_writer from %I', current_user);
  end if;
end $$;

select rowhouse_audit.create_partitions(12);
