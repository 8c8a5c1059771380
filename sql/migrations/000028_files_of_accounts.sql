-- Only with the services: storage
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The lock by which writing a file and deleting the account of its owner wait for each other.
create function rowhouse.owner_lock(owner text) returns bigint
language sql immutable strict parallel safe
return pg_catalog.hashtextextended(owner, 7305804402);
comment on function rowhouse.owner_lock(text) is 'Key of the advisory lock of an owner of files.';

-- Only the files that the user owns: in the columns of Supabase, `owner` counts where `owner_id` is null.
create function rowhouse.delete_files(user_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
#variable_conflict use_column
begin
  -- Otherwise rows that policies hide would stay.
  if pg_catalog.row_security_active('storage.objects') then
    raise insufficient_privilege using
      message = 'the owner of the function rowhouse.delete_files may not delete all rows of storage.objects',
      hint = 'alter function rowhouse.delete_files(uuid) owner to the owner of storage.objects';
  end if;
  perform pg_catalog.pg_advisory_xact_lock(rowhouse.owner_lock($1::text));
  -- Supabase's trigger protects the tables from statements without it.
  perform pg_catalog.set_config('storage.allow_delete_query', 'true', true);
  delete from storage.objects where objects.owner_id = $1::text or (objects.owner_id is null and objects.owner = $1);
  -- A bucket may have files of others.
  update storage.buckets set owner = null, owner_id = null
  where buckets.owner_id = $1::text or (buckets.owner_id is null and buckets.owner = $1);
  delete from rowhouse.resumable_uploads where resumable_uploads.owner_id = $1::text;
end
$$;
comment on function rowhouse.delete_files(uuid) is
  'Deletes the rows of all objects and unfinished uploads of a user. The storage service removes the bytes.';

create function rowhouse.refuse_deleted_owner() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  account constant uuid := case when new.owner_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then new.owner_id end;
begin
  perform pg_catalog.pg_advisory_xact_lock_shared(rowhouse.owner_lock(new.owner_id));
  -- An administrator may have created the account again.
  if exists (
    select from rowhouse.deleted_accounts
    where deleted_accounts.user_id = account
      and not exists (select from auth.users where users.id = deleted_accounts.user_id)
  ) then
    raise insufficient_privilege using message = 'The account of the owner was deleted';
  end if;
  return new;
end
$$;
comment on function rowhouse.refuse_deleted_owner() is
  'Trigger: refuses files of accounts that their owners have deleted, by a token, a signed URL or an upload that began before.';

do $$
declare
  -- They may be Supabase's.
  owner constant regrole := (select relowner::regrole from pg_catalog.pg_class where oid = 'storage.objects'::regclass);
  caller constant regrole := (
    select proowner::regrole from pg_catalog.pg_proc where oid = 'auth.delete_user(uuid, text, text, uuid)'::regprocedure
  );
begin
  begin
    create trigger refuse_deleted_owner before insert or update of owner_id on storage.objects
      for each row when (new.owner_id is not null) execute function rowhouse.refuse_deleted_owner();
  exception
    when insufficient_privilege then
      raise notice 'only the owner of storage.objects can create the trigger refuse_deleted_owner: uploads that are in progress when their owner deletes the account stay';
  end;
  begin
    execute format('grant usage on schema rowhouse to %s', owner);
    execute format('grant execute on function rowhouse.owner_lock(text) to %s', owner);
    execute format('alter function rowhouse.delete_files(uuid) owner to %s', owner);
  exception
    -- The migrating role cannot become that owner.
    when insufficient_privilege then
      null;
  end;
  execute format('grant execute on function rowhouse.delete_files(uuid) to %s', caller);
end
$$;

call rowhouse.end_private_functions();
