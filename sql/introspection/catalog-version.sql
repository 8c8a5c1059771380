-- A value for each system catalog that settings and schema cache are read from. It differs whenever the catalog has
-- changed in a way that matters to them; all values are equal only if nothing has changed.
--
-- A row that is inserted or updated gets the transaction id of its writer as xmin, and a new place (ctid), so the sum of
-- hashes of both changes with every change of a row, in whatever order transactions commit. Neither VACUUM nor freezing
-- changes them. xmin alone would not suffice after 2^32 transactions. VACUUM FULL moves rows, which costs a reload.
--
-- Rows of temporary objects are left out. Relations are compared by what they contain, because TRUNCATE and REFRESH
-- MATERIALIZED VIEW update their rows; so are roles, whose table only superusers may read.
--
-- Transactions that a failover has lost leave their ids and places to others: another server is another version.
with
temporary_schemas as materialized (
  select oid from pg_namespace where nspname like 'pg\_temp\_%' or nspname like 'pg\_toast\_temp\_%'
),
temporary_relations as materialized (
  select oid from pg_class where relpersistence = 't'
),
-- Without indexes and TOAST tables, whose columns are those of their tables.
relations as materialized (
  select oid from pg_class where relpersistence <> 't' and relkind in ('r', 'v', 'm', 'f', 'p', 'c')
),
temporary_types as materialized (
  select oid from pg_type where typnamespace in (select oid from temporary_schemas)
),
versions (catalog, version) as (
  select 'server', extract(epoch from pg_postmaster_start_time())::text
  union all
  select 'pg_class', sum(hashtextextended(row(
    oid, relname, relnamespace, reltype, reloftype, relowner, relkind, relrowsecurity, relforcerowsecurity,
    relispartition, relacl, reloptions
  )::text, 0))::text
  from pg_class
  where relpersistence <> 't' and relkind in ('r', 'v', 'm', 'f', 'p', 'c', 'S')
  union all
  select 'pg_index', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_index where indisunique and (indpred is not null or indexprs is not null) and indrelid in (select oid from relations)
  union all
  select 'pg_roles', sum(hashtextextended(roles::text, 0))::text from pg_roles as roles
  union all
  select 'pg_attribute', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_attribute where attnum > 0 and attrelid in (select oid from relations)
  union all
  select 'pg_attrdef', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_attrdef where adrelid not in (select oid from temporary_relations)
  union all
  select 'pg_constraint', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_constraint where conrelid not in (select oid from temporary_relations)
  union all
  select 'pg_inherits', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_inherits where inhrelid not in (select oid from temporary_relations)
  union all
  select 'pg_policy', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_policy where polrelid not in (select oid from temporary_relations)
  union all
  select 'pg_rewrite', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_rewrite where ev_class not in (select oid from temporary_relations)
  union all
  select 'pg_trigger', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_trigger where tgrelid not in (select oid from temporary_relations)
  union all
  select 'pg_description', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_description where objoid not in (select oid from temporary_relations)
  union all
  select 'pg_namespace', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_namespace where oid not in (select oid from temporary_schemas)
  union all
  select 'pg_proc', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_proc where pronamespace not in (select oid from temporary_schemas)
  union all
  select 'pg_type', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_type where oid not in (select oid from temporary_types)
  union all
  select 'pg_enum', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_enum where enumtypid not in (select oid from temporary_types)
  union all
  select 'pg_range', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_range where rngtypid not in (select oid from temporary_types)
  union all
  select 'pg_aggregate', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_aggregate
  union all
  select 'pg_am', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_am
  union all
  select 'pg_amop', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_amop
  union all
  select 'pg_amproc', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_amproc
  union all
  select 'pg_auth_members', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_auth_members
  union all
  select 'pg_cast', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_cast
  union all
  select 'pg_db_role_setting', sum(hashtextextended(xmin::text || ctid::text, 0))::text
  from pg_db_role_setting where setdatabase in (0, (select oid from pg_database where datname = current_database()))
  union all
  select 'pg_opclass', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_opclass
  union all
  select 'pg_operator', sum(hashtextextended(xmin::text || ctid::text, 0))::text from pg_operator
)
select json_object_agg(catalog, version) as row from versions
