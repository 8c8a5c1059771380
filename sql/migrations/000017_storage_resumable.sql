-- Only with the services: storage
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
