-- Only with the services: storage
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- The storage service: buckets and objects. The names are those of Supabase, so that people's policies apply unchanged. A
-- schema `storage` of Supabase is kept as it is. Roles belong to the whole cluster, so another database or the DBA may have
-- created this one already.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'supabase_storage_admin') then
    begin
      create role supabase_storage_admin nologin noinherit;
    exception
      -- Another database of the cluster is being migrated at the same time.
      when duplicate_object or unique_violation then
        null;
    end;
  end if;
  if not exists (
    select from pg_catalog.pg_auth_members
    where roleid = 'supabase_storage_admin'::regrole and member = 'authenticator'::regrole
  ) then
    begin
      grant supabase_storage_admin to authenticator;
    exception
      when unique_violation then
        null;
    end;
  end if;
  -- The owner of the tables creates policies on them.
  if not pg_catalog.pg_has_role(current_user, 'supabase_storage_admin', 'usage') then
    begin
      execute format('grant supabase_storage_admin to %I', current_user);
    exception
      when insufficient_privilege then
        null;
    end;
  end if;
end
$$;

do $migration$
declare
  routine regprocedure;
begin
  if to_regclass('storage.objects') is not null then
    return;
  end if;

  create schema if not exists storage;
  comment on schema storage is 'Buckets and objects of the storage service. Not exposed at the REST API by default.';
  revoke all on schema storage from public;

  create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
  comment on type storage.buckettype is 'Kind of a bucket. This server has buckets of the kind STANDARD.';

  create table storage.buckets (
    id text constraint buckets_pkey primary key,
    name text not null,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    public boolean default false,
    avif_autodetection boolean default false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text,
    type storage.buckettype not null default 'STANDARD'
  );
  create unique index bname on storage.buckets (name);

  create table storage.objects (
    id uuid constraint objects_pkey primary key default gen_random_uuid(),
    bucket_id text constraint "objects_bucketId_fkey" references storage.buckets,
    name text,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    last_accessed_at timestamptz default now(),
    metadata jsonb,
    path_tokens text[] generated always as (string_to_array(name, '/')) stored,
    version text,
    owner_id text,
    user_metadata jsonb
  );
  create unique index bucketid_objname on storage.objects (bucket_id, name);
  -- Finds the row of bytes in the store, for the sweep.
  create index idx_objects_version on storage.objects (version);

  comment on table storage.buckets is
    E'Buckets of the storage service\n\nWithout policies, only service_role has access.';
  comment on column storage.buckets.id is 'Chosen by its creator; the name in addresses.';
  comment on column storage.buckets.name is 'The same as the id.';
  comment on column storage.buckets.owner is 'Deprecated: use owner_id.';
  comment on column storage.buckets.owner_id is 'Subject of the token that created the bucket.';
  comment on column storage.buckets.created_at is 'When the bucket was created.';
  comment on column storage.buckets.updated_at is 'When the bucket was last changed.';
  comment on column storage.buckets.public is 'Whether everyone can read the objects by their addresses.';
  comment on column storage.buckets.avif_autodetection is 'Not used.';
  comment on column storage.buckets.file_size_limit is 'Maximum bytes of an object; null for the limit of the server.';
  comment on column storage.buckets.allowed_mime_types is
    'Media types of objects, such as image/png or image/*; null or empty for all.';
  comment on column storage.buckets.type is 'Kind of the bucket.';
  comment on table storage.objects is
    E'Objects of the storage service\n\nThe bytes are in the store of the server, under the version. Without policies, only service_role has access.';
  comment on column storage.objects.id is 'Generated; stays the same when the object is replaced or moved.';
  comment on column storage.objects.bucket_id is 'The bucket.';
  comment on column storage.objects.name is 'Name with folders: folder/name.png.';
  comment on column storage.objects.owner is 'Deprecated: use owner_id.';
  comment on column storage.objects.owner_id is 'Subject of the token that uploaded the object.';
  comment on column storage.objects.created_at is 'When the object was first uploaded.';
  comment on column storage.objects.updated_at is 'When the object was last changed.';
  comment on column storage.objects.last_accessed_at is 'Not updated by reads.';
  comment on column storage.objects.metadata is
    'Set by the server: eTag, size, mimetype, cacheControl, lastModified, contentLength, httpStatusCode.';
  comment on column storage.objects.path_tokens is 'The parts of the name.';
  comment on column storage.objects.version is 'Names the bytes; every upload has a new one.';
  comment on column storage.objects.user_metadata is 'Metadata of the uploader.';

  -- Functions for policies. Their names and signatures are Supabase's.

  create function storage.foldername(name text) returns text[]
  language sql immutable parallel safe
  as $$
    -- Null for the empty name.
    select (pg_catalog.string_to_array($1, '/'))[
      1 : pg_catalog.array_length(pg_catalog.string_to_array($1, '/'), 1) - 1
    ]
  $$;
  comment on function storage.foldername(text) is 'The folders of an object: {a,b} for a/b/c.png.';

  create function storage.filename(name text) returns text
  language sql immutable parallel safe
  as $$
    select (pg_catalog.string_to_array($1, '/'))[pg_catalog.cardinality(pg_catalog.string_to_array($1, '/'))]
  $$;
  comment on function storage.filename(text) is 'The name of an object without its folders: c.png for a/b/c.png.';

  create function storage.extension(name text) returns text
  language sql immutable parallel safe
  as $$
    select pg_catalog.split_part(storage.filename($1), '.', -1)
  $$;
  comment on function storage.extension(text) is 'The last extension of an object: png for a/b/c.png.';

  create function storage.operation() returns text
  language sql stable
  as $$
    select pg_catalog.current_setting('storage.operation', true)
  $$;
  comment on function storage.operation() is 'What the request does: storage.object.upload and the like.';

  create function storage.allow_any_operation(expected_operations text[]) returns boolean
  language sql stable
  as $$
    select coalesce(
      pg_catalog.regexp_replace(storage.operation(), '^storage\.', '') = any (
        select pg_catalog.regexp_replace(expected, '^storage\.', '') from unnest(expected_operations) as expected
        where expected <> ''
      ),
      false
    )
  $$;
  comment on function storage.allow_any_operation(text[]) is
    'Whether the request does one of these, with or without the prefix storage.: {object.list,object.get_public}.';

  create function storage.allow_only_operation(expected_operation text) returns boolean
  language sql stable
  as $$
    select storage.allow_any_operation(array[expected_operation])
  $$;
  comment on function storage.allow_only_operation(text) is
    'Whether the request does this, with or without the prefix storage.: object.list.';

  create function storage.can_insert_object(bucketid text, name text, owner uuid, metadata jsonb) returns void
  language plpgsql
  as $$
  begin
    insert into storage.objects (bucket_id, name, owner, metadata) values ($1, $2, $3, $4);
    raise sqlstate 'PT200' using message = 'ROLLBACK', detail = 'rollback successful insert';
  end
  $$;
  comment on function storage.can_insert_object(text, text, uuid, jsonb) is
    'Fails with PT200 if the caller may insert the object, and with the error of the insert otherwise. Inserts nothing.';

  create function storage.get_size_by_bucket() returns table (size bigint, bucket_id text)
  language sql stable
  as $$
    select sum((objects.metadata ->> 'size')::bigint)::bigint, objects.bucket_id
    from storage.objects group by objects.bucket_id
  $$;
  comment on function storage.get_size_by_bucket() is 'Bytes of the objects that the caller can see, by bucket.';

  create trigger update_objects_updated_at before update on storage.objects
    for each row execute function rowhouse.set_updated_at();

  alter table storage.buckets enable row level security;
  alter table storage.objects enable row level security;
  grant all on storage.buckets, storage.objects to anon, authenticated, service_role, supabase_storage_admin;

  -- The owner is exempt from row-level security.
  begin
    grant create on schema storage to supabase_storage_admin;
    alter type storage.buckettype owner to supabase_storage_admin;
    alter table storage.buckets owner to supabase_storage_admin;
    alter table storage.objects owner to supabase_storage_admin;
    for routine in select oid::regprocedure from pg_catalog.pg_proc where pronamespace = 'storage'::regnamespace loop
      execute format('alter function %s owner to supabase_storage_admin', routine);
    end loop;
  exception
    -- The migrating role cannot become the role that owns them.
    when insufficient_privilege then
      create policy server on storage.buckets for all to supabase_storage_admin using (true) with check (true);
      create policy server on storage.objects for all to supabase_storage_admin using (true) with check (true);
  end;
  grant execute on all functions in schema storage to anon, authenticated, service_role, supabase_storage_admin;
end
$migration$;
grant usage on schema storage to anon, authenticated, service_role, authenticator, supabase_storage_admin;

-- Resumable uploads: what has arrived so far. The bytes of the parts are in the store, under their versions. The tables are
-- not in the schema `storage`, which may be Supabase's.
grant usage on schema rowhouse to supabase_storage_admin;

create table if not exists rowhouse.resumable_uploads (
  id uuid constraint resumable_uploads_pkey primary key,
  bucket_id text not null,
  name text not null,
  owner_id text,
  length bigint constraint resumable_uploads_length_check check (length >= 0),
  received bigint not null default 0 constraint resumable_uploads_received_check check (received >= 0),
  metadata jsonb not null,
  created_at timestamptz not null default now(),
  completed_at timestamptz
);
create index if not exists resumable_uploads_created_at_idx on rowhouse.resumable_uploads (created_at);
comment on table rowhouse.resumable_uploads is
  E'Resumable uploads of the storage service\n\nRemoved when they expire. Only the server has access.';
comment on column rowhouse.resumable_uploads.id is 'Chosen by the server; the last part of the decoded address.';
comment on column rowhouse.resumable_uploads.bucket_id is 'The bucket of the object.';
comment on column rowhouse.resumable_uploads.name is 'The name of the object.';
comment on column rowhouse.resumable_uploads.owner_id is 'Subject of the token that began the upload.';
comment on column rowhouse.resumable_uploads.length is 'Bytes of the object; null until the client declares them.';
comment on column rowhouse.resumable_uploads.received is 'Bytes that are stored, in parts without gaps.';
comment on column rowhouse.resumable_uploads.metadata is 'Upload-Metadata as the client has sent it.';
comment on column rowhouse.resumable_uploads.created_at is 'When the upload began.';
comment on column rowhouse.resumable_uploads.completed_at is 'When the object was created; null until then.';

create table if not exists rowhouse.resumable_parts (
  upload_id uuid not null constraint resumable_parts_upload_id_fkey
    references rowhouse.resumable_uploads on delete cascade,
  start bigint not null constraint resumable_parts_start_check check (start >= 0),
  size bigint not null constraint resumable_parts_size_check check (size > 0),
  version text not null,
  constraint resumable_parts_pkey primary key (upload_id, start)
);
create index if not exists resumable_parts_version_idx on rowhouse.resumable_parts (version);
comment on table rowhouse.resumable_parts is
  E'Parts of unfinished resumable uploads\n\nOnly the server has access.';
comment on column rowhouse.resumable_parts.upload_id is 'The upload.';
comment on column rowhouse.resumable_parts.start is 'Position of the first byte in the object.';
comment on column rowhouse.resumable_parts.size is 'Bytes.';
comment on column rowhouse.resumable_parts.version is 'Names the bytes in the store.';

alter table rowhouse.resumable_uploads enable row level security;
alter table rowhouse.resumable_parts enable row level security;
grant select, insert, update, delete on rowhouse.resumable_uploads, rowhouse.resumable_parts to supabase_storage_admin;
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.resumable_uploads, rowhouse.resumable_parts from anon, authenticated, service_role;
do $$
begin
  -- The owner is exempt from row-level security.
  alter table rowhouse.resumable_uploads owner to supabase_storage_admin;
  alter table rowhouse.resumable_parts owner to supabase_storage_admin;
exception
  -- The migrating role cannot become the role that owns them.
  when insufficient_privilege then
    create policy server on rowhouse.resumable_uploads for all to supabase_storage_admin using (true) with check (true);
    create policy server on rowhouse.resumable_parts for all to supabase_storage_admin using (true) with check (true);
end
$$;

-- The lock by which writing a file and deleting the account of its owner wait for each other.
create function rowhouse.owner_lock(owner text) returns bigint
language sql immutable strict parallel safe
return pg_catalog.hashtextextended(owner, 7305804402);
comment on function rowhouse.owner_lock(text) is 'Key of the advisory lock of an owner of files.';

-- Only the files that the user owns: in the columns of Supabase, `owner` counts where `owner_id` is null.
create function rowhouse.delete_files(user_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
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
language plpgsql security definer set search_path = pg_catalog, pg_temp
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
