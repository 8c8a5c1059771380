-- Only with the services: storage
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- `POST /object/list` contains the same entries as `POST /object/list-v2`: folders whose names differ only in case are different
-- folders. Before, one of them was shown in the place of all. The keys by which the objects are sorted have both spellings.

create or replace function storage.list_key(name text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  segments constant text[] := string_to_array(name, '/');
  last constant text := substring(name from '[^/]*$');
  folders text := '';
begin
  if cardinality(segments) > 1 then
    folders := (
      select string_agg(lower(segment collate "C") || '/' || chr(1) || segment || '/', '' order by place)
      from unnest(segments[: cardinality(segments) - 1]) with ordinality as parts (segment, place)
    );
  end if;
  return folders || lower(last collate "C") || chr(1) || last;
end
$$;
comment on function storage.list_key(text) is
  'By what a list sorts an object: for each part of its name, the part without the difference between upper-case and lower-case letters of ASCII, then the part itself. All objects of a folder are in one range.';
-- The planner uses conditions in an index before policies have been checked only if they reveal nothing.
do $$
begin
  alter function storage.list_key(text) leakproof;
exception
  when insufficient_privilege then
    raise notice 'only a superuser can mark storage.list_key as leakproof: POST /object/list reads whole buckets under policies';
end
$$;

-- An index computes its expressions as the owner of the table.
do $$
begin
  execute format(
    'grant execute on function storage.list_key(text) to %s',
    (select relowner::regrole from pg_catalog.pg_class where oid = 'storage.objects'::regclass)
  );
end
$$;

create index if not exists idx_objects_bucket_id_list_key
  on storage.objects (bucket_id, (storage.list_key(name)) collate "C");

create or replace function storage.list_prefix(name text) returns text
language sql immutable strict parallel safe
as $$
  select left(storage.list_key($1), -char_length(substring($1 from '[^/]*$')) - 1)
$$;
comment on function storage.list_prefix(text) is
  'With what the keys of the objects begin that are in the folders of a name, and whose next part begins with its last part in upper or lower case.';

create or replace function storage.listed_folder(bucket text, folder text) returns text
language plpgsql stable
as $$
declare
  segments constant text[] := string_to_array(folder, '/');
  resolved text := '';
  next text;
  low text;
begin
  if folder = '' or exists (
    select from storage.objects as o
    where o.bucket_id = bucket and o.name collate "C" >= folder and o.name collate "C" < storage.prefix_end(folder)
  ) then
    return folder;
  end if;
  for place in 1 .. cardinality(segments) - 1 loop
    next := resolved || segments[place] || '/';
    if not exists (
      select from storage.objects as o
      where o.bucket_id = bucket and o.name collate "C" >= next and o.name collate "C" < storage.prefix_end(next)
    ) then
      low := storage.list_prefix(resolved || segments[place]) || '/' || chr(1);
      next := (
        select left(o.name, char_length(next)) from storage.objects as o
        where o.bucket_id = bucket and storage.list_key(o.name) collate "C" >= low
          and storage.list_key(o.name) collate "C" < storage.prefix_end(low)
        order by storage.list_key(o.name) collate "C" limit 1
      );
      if next is null then
        return null;
      end if;
    end if;
    resolved := next;
  end loop;
  return resolved;
end
$$;
comment on function storage.listed_folder(text, text) is
  'The folder that is listed by a name, with a slash at the end: the folder itself, or if it does not exist the first one whose name differs only in upper and lower case. Null if there is none.';

-- Reads objects in the order of an index until one is in a folder, and continues after the folder.
create or replace function storage.walk_objects(
  bucket text, prefix text, delimiter text, ignores_case boolean, ascending boolean, start text, skipped bigint, page_size integer
)
returns table (
  name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable
-- A plan for many values must not assume that a range has few rows, and sort them.
set enable_sort = off set enable_bitmapscan = off
as $$
declare
  found record;
  objects refcursor;
  folder text;
  low text := case when ignores_case then storage.list_prefix(prefix) else prefix end;
  high text := storage.prefix_end(low);
  remaining bigint := skipped + page_size;
begin
  if ascending then
    low := greatest(low collate "C", start);
  elsif start <> '' then
    high := least(high collate "C", start);
  end if;
  while remaining > 0 loop
    folder := null;
    objects := null;
    if ignores_case then
      if ascending then
        open objects for
          select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata from storage.objects as o
          where o.bucket_id = bucket and storage.list_key(o.name) collate "C" >= low
            and storage.list_key(o.name) collate "C" < high
          order by storage.list_key(o.name) collate "C" limit remaining;
      else
        open objects for
          select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata from storage.objects as o
          where o.bucket_id = bucket and storage.list_key(o.name) collate "C" >= low
            and storage.list_key(o.name) collate "C" < high
          order by storage.list_key(o.name) collate "C" desc limit remaining;
      end if;
    elsif ascending then
      open objects for
        select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata from storage.objects as o
        where o.bucket_id = bucket and o.name collate "C" >= low and o.name collate "C" < high
        order by o.name collate "C" limit remaining;
    else
      open objects for
        select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata from storage.objects as o
        where o.bucket_id = bucket and o.name collate "C" >= low and o.name collate "C" < high
        order by o.name collate "C" desc limit remaining;
    end if;
    loop
      fetch objects into found;
      exit when found.name is null;
      folder := storage.get_common_prefix(found.name, prefix, delimiter);
      remaining := remaining - 1;
      if remaining < page_size then
        if folder is null then
          name := found.name;
          id := found.id;
          updated_at := found.updated_at;
          created_at := found.created_at;
          last_accessed_at := found.last_accessed_at;
          metadata := found.metadata;
        else
          name := folder;
          id := null;
          updated_at := null;
          created_at := null;
          last_accessed_at := null;
          metadata := null;
        end if;
        return next;
      end if;
      exit when folder is not null;
    end loop;
    close objects;
    exit when folder is null;
    if ignores_case then
      folder := storage.list_prefix(folder);
    end if;
    if ascending then
      low := storage.prefix_end(folder);
    else
      high := folder;
    end if;
  end loop;
end
$$;
comment on function storage.walk_objects(text, text, text, boolean, boolean, text, bigint, integer) is
  'The objects of a bucket in the order of their names, and in the place of those in folders the folders, with the delimiter. Of the range of the prefix, begins at start, or before it when descending, and leaves out the first entries. ignores_case: in the order of storage.list_key, with the names that begin with the part of the prefix after its last slash in upper or lower case.';

create or replace function storage.search(
  prefix text, bucketname text, limits integer default 100, levels integer default 1, offsets integer default 0,
  search text default '', sortcolumn text default 'name', sortorder text default 'asc'
)
returns table (
  name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable
as $$
declare
  page_size constant integer := least(coalesce(limits, 100), 1500);
  ascending constant boolean := lower(coalesce(sortorder, 'asc')) = 'asc';
  start constant integer := char_length(coalesce(prefix, '')) + 1;
  given constant text := coalesce(prefix, '') || coalesce(search, '');
  searched constant text := substring(given from '[^/]*$');
  wanted constant text := storage.listed_folder(bucketname, left(given, char_length(given) - char_length(searched))) || searched;
begin
  -- Separates the parts of the keys: no name begins with a text that has it.
  if wanted is null or position(chr(1) in wanted) > 0 then
    return;
  end if;
  if lower(sortcolumn) in ('updated_at', 'created_at', 'last_accessed_at') then
    return query
      with found as (
        select o.*, storage.get_common_prefix(o.name, wanted, '/') as folder from storage.objects as o
        where o.bucket_id = bucketname and storage.list_key(o.name) collate "C" >= storage.list_prefix(wanted)
          and storage.list_key(o.name) collate "C" < storage.prefix_end(storage.list_prefix(wanted))
      ), entries as (
        select substr(left(found.folder, -1), start) as name, null::uuid as id, null::timestamptz as updated_at,
          null::timestamptz as created_at, null::timestamptz as last_accessed_at, null::jsonb as metadata,
          null::timestamptz as moment
        from found where found.folder is not null
        group by 1
        union all
        select substr(found.name, start), found.id, found.updated_at, found.created_at, found.last_accessed_at,
          found.metadata,
          case lower(sortcolumn)
            when 'updated_at' then found.updated_at
            when 'created_at' then found.created_at
            else found.last_accessed_at
          end
        from found where found.folder is null
      )
      select entries.name, entries.id, entries.updated_at, entries.created_at, entries.last_accessed_at, entries.metadata
      from entries
      order by
        entries.id is not null,
        case when ascending then entries.moment end, case when ascending then entries.name end collate "C",
        entries.moment desc nulls first, entries.name collate "C" desc
      limit page_size offset coalesce(offsets, 0);
  else
    return query
      select substr(case when entries.id is null then left(entries.name, -1) else entries.name end, start), entries.id,
        entries.updated_at, entries.created_at, entries.last_accessed_at, entries.metadata
      from storage.walk_objects(
        bucketname, wanted, '/', true, ascending, '', coalesce(offsets, 0), page_size
      ) as entries;
  end if;
end
$$;
comment on function storage.search(text, text, integer, integer, integer, text, text, text) is
  'The objects and folders of a folder whose names begin with a search text, in upper or lower case: at most 1,500, with names relative to the prefix. Of a folder that does not exist, the first one that has its name in upper or lower case is listed. Sorted by a time, folders come first. The argument levels has no effect.';

-- What the keys replace.
drop index if exists storage.idx_objects_bucket_id_folded_name;
drop function if exists storage.folded_name(text);

do $$
declare
  routine regprocedure;
begin
  for routine in select oid::regprocedure from pg_catalog.pg_proc
    where pronamespace = 'storage'::regnamespace and proowner = current_user::regrole
  loop
    execute format('grant execute on function %s to anon, authenticated, service_role, supabase_storage_admin', routine);
    begin
      execute format('alter function %s owner to supabase_storage_admin', routine);
    exception
      -- The migrating role cannot become the role that owns the others.
      when insufficient_privilege then
        null;
    end;
  end loop;
end
$$;

call rowhouse.end_private_functions();
