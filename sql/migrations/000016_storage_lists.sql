-- Only with the services: storage
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Lists of objects under row-level security: functions with Supabase's names and arguments, which run with the rights of
-- their caller. Names are compared byte by byte (collation "C"). Comparisons of texts are leakproof, so the indexes serve
-- callers with policies, too; `lower` and `like` are not, and would make them read the whole bucket.

-- Earlier forms of Supabase, whose calls would be ambiguous.
do $$
declare
  earlier constant text[] := array[
    'storage.search(text, text, integer, integer, integer)',
    'storage.search_v2(text, text, integer, integer, text)',
    'storage.list_objects_with_delimiter(text, text, text, integer, text, text)'
  ];
  routine regprocedure;
begin
  for routine in select to_regprocedure(signature) from unnest(earlier) as signature where to_regprocedure(signature) is not null
  loop
    execute format('drop function %s', routine);
  end loop;
end
$$;

-- `POST /object/list` contains the same entries as `POST /object/list-v2`: folders whose names differ only in case are different
-- folders. The keys by which the objects are sorted have both spellings.
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

create index if not exists idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index if not exists idx_objects_bucket_id_list_key
  on storage.objects (bucket_id, (storage.list_key(name)) collate "C");

create or replace function storage.list_prefix(name text) returns text
language sql immutable strict parallel safe
as $$
  select left(storage.list_key($1), -char_length(substring($1 from '[^/]*$')) - 1)
$$;
comment on function storage.list_prefix(text) is
  'With what the keys of the objects begin that are in the folders of a name, and whose next part begins with its last part in upper or lower case.';

create or replace function storage.json_time(moment timestamptz) returns text
language sql stable parallel safe
as $$
  select to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function storage.json_time(timestamptz) is
  'A time in the notation of RFC 3339, in UTC, with milliseconds. Further digits are cut off.';

create or replace function storage.prefix_end(prefix text) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  code integer;
begin
  for place in reverse char_length(prefix) .. 1 loop
    code := ascii(substr(prefix, place, 1));
    if code < 1114111 then
      -- There are no characters between U+D7FF and U+E000.
      return left(prefix, place - 1) || chr(case code when 55295 then 57344 else code + 1 end);
    end if;
  end loop;
  return repeat(chr(1114111), 1024);
end
$$;
comment on function storage.prefix_end(text) is
  'The first text, in the order of the collation "C", after all that begin with a prefix.';

create or replace function storage.get_common_prefix(p_key text, p_prefix text, p_delimiter text) returns text
language sql immutable parallel safe
as $$
  select case
    when position(p_delimiter in substr(p_key, char_length(p_prefix) + 1)) > 0
    then left(
      p_key,
      char_length(p_prefix) + position(p_delimiter in substr(p_key, char_length(p_prefix) + 1))
        + char_length(p_delimiter) - 1
    )
  end
$$;
comment on function storage.get_common_prefix(text, text, text) is
  'The folder of an object in the list of a prefix, with the delimiter: data/a/ for data/a/b.txt in data/. Null for an object that is in no folder.';

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

create or replace function storage.is_folder_entry(entry text, prefix text, delimiter text) returns boolean
language sql immutable parallel safe
as $$
  select right(entry, char_length(delimiter)) = delimiter and char_length(entry) > char_length(prefix)
$$;
comment on function storage.is_folder_entry(text, text, text) is
  'Whether an entry of the list of a prefix is a folder: it ends with the delimiter.';

create or replace function storage.entry_of_name(
  bucket text, prefix text, delimiter text, name text, ascending boolean
) returns text
language plpgsql stable
as $$
declare
  folder constant text := name || delimiter;
begin
  if name = '' or storage.is_folder_entry(name, prefix, delimiter) then
    return name;
  end if;
  if exists (
    select from storage.objects as o
    where o.bucket_id = bucket and o.name collate "C" >= folder and o.name collate "C" < storage.prefix_end(folder)
  ) and (ascending or not exists (
    select from storage.objects as o where o.bucket_id = bucket and o.name collate "C" = $4
  )) then
    return folder;
  end if;
  return name;
end
$$;
comment on function storage.entry_of_name(text, text, text, text, boolean) is
  'The entry of a list that has a name. Folders end with the delimiter, which their names in Supabase''s lists lack. Of an object and a folder with the same name it is the later one, lest lists that continue after it never end.';

create or replace function storage.place_after(prefix text, delimiter text, entry text, ascending boolean) returns text
language sql immutable parallel safe
as $$
  select case
    when entry = '' or not ascending then entry
    when storage.is_folder_entry(entry, prefix, delimiter) then storage.prefix_end(entry)
    -- No text is between a name and the same with this character.
    else entry || chr(1)
  end
$$;
comment on function storage.place_after(text, text, text, boolean) is
  'Where a list continues after an entry: the first text after it, or when descending the one that all others precede.';

create or replace function storage.list_objects_with_delimiter(
  _bucket_id text, prefix_param text, delimiter_param text, max_keys integer default 100, start_after text default '',
  next_token text default '', sort_order text default 'asc'
)
returns table (
  name text, id uuid, metadata jsonb, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz
)
language sql stable
as $$
  select
    case when entries.id is null then left(entries.name, -char_length(delimiter_param)) else entries.name end,
    entries.id, entries.metadata, entries.updated_at, entries.created_at, entries.last_accessed_at
  from storage.walk_objects(
    _bucket_id, coalesce(prefix_param, ''), delimiter_param, false, lower(coalesce(sort_order, 'asc')) = 'asc',
    storage.place_after(
      coalesce(prefix_param, ''), delimiter_param,
      coalesce(nullif(next_token, ''), storage.entry_of_name(
        _bucket_id, coalesce(prefix_param, ''), delimiter_param, coalesce(start_after, ''),
        lower(coalesce(sort_order, 'asc')) = 'asc'
      )),
      lower(coalesce(sort_order, 'asc')) = 'asc'
    ),
    0, coalesce(max_keys, 100)
  ) as entries
$$;
comment on function storage.list_objects_with_delimiter(text, text, text, integer, text, text, text) is
  'The objects and folders of a prefix, in the order of their names. Folders have no delimiter at the end, and null in all other columns. The list continues after next_token, in which folders have the delimiter, or after the name start_after.';

create or replace function storage.search_by_timestamp(
  p_prefix text, p_bucket_id text, p_limit integer, p_level integer, p_start_after text, p_sort_order text,
  p_sort_column text, p_sort_column_after text
)
returns table (
  key text, name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz,
  metadata jsonb
)
language sql stable
as $$
  with entries as (
    select storage.get_common_prefix(o.name, coalesce(p_prefix, ''), '/') as folder, o.*
    from storage.objects as o
    where o.bucket_id = p_bucket_id and o.name collate "C" >= coalesce(p_prefix, '')
      and o.name collate "C" < storage.prefix_end(coalesce(p_prefix, ''))
  ), listed as (
    select entries.name as place, entries.name, entries.id, entries.updated_at, entries.created_at,
      entries.last_accessed_at, entries.metadata
    from entries where entries.folder is null
    union all
    -- A folder is as old as its first object.
    select entries.folder, left(entries.folder, -1), null, min(entries.created_at), min(entries.created_at), null, null
    from entries where entries.folder is not null
    group by entries.folder
  ), dated as (
    select listed.*,
      coalesce(
        date_trunc('milliseconds', case p_sort_column when 'updated_at' then listed.updated_at else listed.created_at end),
        'epoch'
      ) as moment
    from listed
  ), after as (
    select coalesce(nullif(p_sort_column_after, '')::timestamptz, 'epoch') as moment,
      storage.entry_of_name(p_bucket_id, coalesce(p_prefix, ''), '/', coalesce(p_start_after, ''), false) as place
  )
  select split_part(dated.name, '/', p_level), dated.name, dated.id, dated.updated_at, dated.created_at,
    dated.last_accessed_at, dated.metadata
  from dated cross join after
  where after.place = '' or case
    when p_sort_order = 'asc'
    then (dated.moment, dated.place collate "C") > (after.moment, after.place)
    else (dated.moment, dated.place collate "C") < (after.moment, after.place)
  end
  order by
    case when p_sort_order = 'asc' then dated.moment end, case when p_sort_order = 'asc' then dated.place end collate "C",
    dated.moment desc, dated.place collate "C" desc
  limit p_limit
$$;
comment on function storage.search_by_timestamp(text, text, integer, integer, text, text, text, text) is
  'The objects and folders of a prefix in the order of a time, with milliseconds, and then of their names. Reads all objects of the prefix.';

create or replace function storage.search_v2(
  prefix text, bucket_name text, limits integer default 100, levels integer default 1, start_after text default '',
  sort_order text default 'asc', sort_column text default 'name', sort_column_after text default ''
)
returns table (
  key text, name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz,
  metadata jsonb
)
language plpgsql stable
as $$
declare
  page_size constant integer := least(coalesce(limits, 100), 1500);
  direction constant text := case when lower(sort_order) = 'desc' then 'desc' else 'asc' end;
begin
  if lower(sort_column) in ('updated_at', 'created_at') then
    return query select * from storage.search_by_timestamp(
      prefix, bucket_name, page_size, levels, start_after, direction, lower(sort_column), sort_column_after
    );
  else
    return query select split_part(entries.name, '/', levels), entries.name, entries.id, entries.updated_at,
      entries.created_at, entries.last_accessed_at, entries.metadata
    from storage.list_objects_with_delimiter(bucket_name, prefix, '/', page_size, start_after, '', direction) as entries;
  end if;
end
$$;
comment on function storage.search_v2(text, text, integer, integer, text, text, text, text) is
  'The objects and folders of a prefix after an entry: at most 1,500. The key is the segment of the name at the level.';

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
