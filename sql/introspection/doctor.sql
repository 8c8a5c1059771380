-- Facts for `rowhouse doctor`, as one JSON object. $1: name of the role that serves requests.
with
setting as (
  select name, setting from pg_catalog.pg_settings
  where name in ('fsync', 'full_page_writes', 'autovacuum', 'track_counts', 'synchronous_commit', 'autovacuum_freeze_max_age',
    'autovacuum_multixact_freeze_max_age', 'max_connections', 'superuser_reserved_connections', 'reserved_connections',
    'autovacuum_vacuum_threshold', 'autovacuum_vacuum_scale_factor', 'autovacuum_analyze_threshold',
    'autovacuum_analyze_scale_factor', 'statement_timeout', 'password_encryption', 'max_slot_wal_keep_size')
),
number as (
  select name, setting::float8 as value from setting where setting ~ '^-?[0-9.]+$'
),
-- Average bytes of a row's values, where the connected role may see the statistics.
width as (
  select s.schemaname, s.tablename, sum((1 - s.null_frac) * s.avg_width) as bytes, count(*) as columns
  from pg_catalog.pg_stats s where not s.inherited group by 1, 2
),
relation as (
  select c.oid, c.relname, n.nspname, c.reltuples, c.relpages, c.reloptions,
    pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) as name,
    (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'm') and c.relpersistence = 'p'
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
),
option as (
  select r.oid, o.option_name as name, o.option_value as value
  from relation r, pg_catalog.pg_options_to_table(r.reloptions) o
),
limits as (
  select r.oid,
    coalesce((select value::float8 from option o where o.oid = r.oid and o.name = 'autovacuum_vacuum_threshold'),
      (select value from number where name = 'autovacuum_vacuum_threshold')) as vacuum_base,
    coalesce((select value::float8 from option o where o.oid = r.oid and o.name = 'autovacuum_vacuum_scale_factor'),
      (select value from number where name = 'autovacuum_vacuum_scale_factor')) as vacuum_factor,
    coalesce((select value::float8 from option o where o.oid = r.oid and o.name = 'autovacuum_analyze_threshold'),
      (select value from number where name = 'autovacuum_analyze_threshold')) as analyze_base,
    coalesce((select value::float8 from option o where o.oid = r.oid and o.name = 'autovacuum_analyze_scale_factor'),
      (select value from number where name = 'autovacuum_analyze_scale_factor')) as analyze_factor,
    coalesce((select value::bool from option o where o.oid = r.oid and o.name = 'autovacuum_enabled'), true) as is_enabled,
    coalesce((select value::float8 from option o where o.oid = r.oid and o.name = 'fillfactor'), 100) / 100 as fill
  from relation r
),
tables as (
  select r.name, r.relpages::bigint * 8192 as size, s.n_live_tup as live, s.n_dead_tup as dead, s.n_mod_since_analyze as modified,
    case when l.is_enabled then l.vacuum_base + l.vacuum_factor * greatest(r.reltuples, 0) end as "vacuumsAt",
    l.analyze_base + l.analyze_factor * greatest(r.reltuples, 0) as "analyzesAt",
    -- A row has a header of 24 bytes and a line pointer of 4, and begins at a multiple of 8. A page has 8168 bytes for rows.
    case when r.reltuples > 0 and w.columns = r.columns
      then 8192 * ceil(r.reltuples * (28 + ceil(w.bytes / 8) * 8) / (8168 * l.fill)) end as "expectedSize"
  from relation r join limits l using (oid)
  join pg_catalog.pg_stat_all_tables s on s.relid = r.oid
  left join width w on w.schemaname = r.nspname and w.tablename = r.relname
),
indexes as (
  select pg_catalog.quote_ident(r.nspname) || '.' || pg_catalog.quote_ident(c.relname) as name, r.name as "table",
    c.relpages::bigint * 8192 as size, i.indisvalid as "isValid",
    not i.indisunique and not i.indisprimary and not i.indisexclusion and not i.indisreplident and not exists (
      select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid) as "isOptional",
    coalesce(s.idx_scan, 0) as scans,
    -- For B-trees without expressions: an entry has a header of 8 bytes and a line pointer of 4; leaves are filled to 90 %.
    case when a.amname = 'btree' and i.indexprs is null and i.indpred is null and c.reltuples > 0 and k.widths = i.indnatts
      then 8192 * (1 + ceil(c.reltuples * (12 + ceil(k.bytes / 8) * 8) / (8152 * 0.9))) end as "expectedSize"
  from pg_catalog.pg_index i
  join relation r on r.oid = i.indrelid
  join pg_catalog.pg_class c on c.oid = i.indexrelid
  join pg_catalog.pg_am a on a.oid = c.relam
  left join pg_catalog.pg_stat_all_indexes s on s.indexrelid = i.indexrelid
  left join lateral (
    select sum((1 - w.null_frac) * w.avg_width) as bytes, count(*) as widths
    from pg_catalog.pg_attribute t
    join pg_catalog.pg_stats w on w.schemaname = r.nspname and w.tablename = r.relname and w.attname = t.attname and not w.inherited
    where t.attrelid = r.oid and t.attnum = any (i.indkey)
  ) k on true
),
slots as (
  select slot_name as name, active as "isActive",
    coalesce(pg_catalog.pg_wal_lsn_diff(
      case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn() else pg_catalog.pg_current_wal_lsn() end,
      restart_lsn), 0)::bigint as retained,
    coalesce(wal_status = 'lost', false) as "isLost"
  from pg_catalog.pg_replication_slots where not temporary
),
transactions as (
  select pid, coalesce(usename, '') as "user", coalesce(application_name, '') as application, coalesce(state, '') as state,
    extract(epoch from pg_catalog.clock_timestamp() - xact_start)::float8 as age
  from pg_catalog.pg_stat_activity
  where xact_start is not null and backend_type = 'client backend' and pid <> pg_catalog.pg_backend_pid()
    and datname = pg_catalog.current_database()
  order by xact_start limit 20
),
members as (
  select r.rolname as name, r.rolbypassrls or r.rolsuper as "bypassesRls",
    (select pg_catalog.split_part(o, '=', 2) from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) o
      where s.setrole = r.oid and s.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
        and o like 'statement_timeout=%' order by s.setdatabase desc limit 1) as timeout
  from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.roleid
  where m.member = (select oid from pg_catalog.pg_roles where rolname = $1)
)
select pg_catalog.json_build_object(
  'version', pg_catalog.current_setting('server_version_num')::int,
  'now', extract(epoch from pg_catalog.clock_timestamp())::float8 * 1000,
  'settings', (select pg_catalog.json_object_agg(name, setting) from setting),
  'login', (select pg_catalog.json_build_object('name', rolname, 'isSuperuser', rolsuper, 'bypassesRls', rolbypassrls,
      'createsRoles', rolcreaterole, 'connectionLimit', rolconnlimit,
      'members', (select coalesce(pg_catalog.json_agg(m order by m.name), '[]') from members m))
    from pg_catalog.pg_roles where rolname = $1),
  'connections', pg_catalog.json_build_object(
    'max', (select value from number where name = 'max_connections'),
    'reserved', (select coalesce(sum(value), 0) from number where name in ('superuser_reserved_connections', 'reserved_connections')),
    'used', (select count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend'),
    'databaseLimit', (select datconnlimit from pg_catalog.pg_database where datname = pg_catalog.current_database())),
  'extensions', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', name, 'installed', installed_version,
      'available', default_version) order by name), '[]')
    from pg_catalog.pg_available_extensions where installed_version is not null),
  'tables', (select coalesce(pg_catalog.json_agg(t order by t.name), '[]') from tables t),
  'indexes', (select coalesce(pg_catalog.json_agg(i order by i.name), '[]') from indexes i),
  'slots', (select coalesce(pg_catalog.json_agg(s order by s.name), '[]') from slots s),
  'transactions', (select coalesce(pg_catalog.json_agg(t), '[]') from transactions t),
  'xidAge', (select pg_catalog.age(datfrozenxid) from pg_catalog.pg_database where datname = pg_catalog.current_database()),
  'multixactAge', (select pg_catalog.mxid_age(datminmxid) from pg_catalog.pg_database where datname = pg_catalog.current_database()),
  'statisticsDays', (select extract(epoch from pg_catalog.now() - stats_reset)::float8 / 86400 from pg_catalog.pg_stat_database
    where datname = pg_catalog.current_database())
) as facts
