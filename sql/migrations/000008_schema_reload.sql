-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Makes running servers reload the schema when it changes.
-- https://www.postgresql.org/docs/current/event-trigger-matrix.html

create function rowhouse.schema_changed() returns event_trigger
language plpgsql set search_path = ''
as $$
begin
  if exists (select from pg_catalog.pg_event_trigger_ddl_commands() where schema_name is distinct from 'pg_temp') then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
comment on function rowhouse.schema_changed() is
  'Event trigger: makes servers reload the schema after a command that changes it, except for temporary objects.';

create function rowhouse.schema_dropped() returns event_trigger
language plpgsql set search_path = ''
as $$
begin
  if exists (select from pg_catalog.pg_event_trigger_dropped_objects() where not is_temporary) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end
$$;
comment on function rowhouse.schema_dropped() is
  'Event trigger: makes servers reload the schema after objects are dropped, except for temporary objects.';

do $$
begin
  create event trigger rowhouse_schema_changed on ddl_command_end
    when tag in (
      'CREATE SCHEMA', 'ALTER SCHEMA',
      'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
      'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA',
      'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW',
      'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE AGGREGATE', 'ALTER AGGREGATE',
      'CREATE TYPE', 'ALTER TYPE', 'CREATE DOMAIN', 'ALTER DOMAIN', 'CREATE CAST',
      'CREATE TRIGGER', 'CREATE RULE', 'CREATE EXTENSION', 'ALTER EXTENSION', 'COMMENT'
    )
    execute function rowhouse.schema_changed();
  create event trigger rowhouse_schema_dropped on sql_drop
    execute function rowhouse.schema_dropped();
exception
  when insufficient_privilege then
    raise notice 'only a superuser can create event triggers: after changing the schema, run: notify pgrst, ''reload schema''';
end
$$;

call rowhouse.end_private_functions();
