-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Who deletes the own account deletes its files, too: their rows in the transaction of the account, and so every address of
-- them, and the bytes with the next sweep of the storage service. The function that removes the rows is part of the storage
-- service; it is called also by servers that leave the service out.

create table rowhouse.deleted_accounts (
  user_id uuid constraint deleted_accounts_pkey primary key,
  deleted_at timestamptz not null default now()
);
comment on table rowhouse.deleted_accounts is
  E'Accounts that their owners have deleted\n\nA token or signed URL of such an account creates no more files.';
comment on column rowhouse.deleted_accounts.user_id is 'The account.';
comment on column rowhouse.deleted_accounts.deleted_at is 'When it was deleted.';
alter table rowhouse.deleted_accounts enable row level security;
revoke all on rowhouse.deleted_accounts from anon, authenticated, service_role;

create or replace function auth.delete_user(
  user_id uuid, password_hash text, ip text default null, session_id uuid default null
)
returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  deleted auth.users;
begin
  perform from auth.users where users.id = $1 for update;
  perform auth.require_second_factor($1, $4, 403, 'AAL2 required to delete the account');
  delete from auth.users where users.id = $1 and users.encrypted_password = $2 returning users.* into deleted;
  if not found then
    return false;
  end if;
  insert into rowhouse.deleted_accounts (user_id) values ($1)
  on conflict on constraint deleted_accounts_pkey do update set deleted_at = now();
  if pg_catalog.to_regprocedure('rowhouse.delete_files(uuid)') is not null then
    perform rowhouse.delete_files($1);
  end if;
  perform auth.record_audit(deleted, 'user_deleted', 'team', jsonb_build_object('user_id', $1), $3);
  return true;
end
$$;
comment on function auth.delete_user(uuid, text, text, uuid) is
  'Deletes an account with all its rows and files, for one of its sessions. Returns false if the password has changed.';

call rowhouse.end_private_functions();
