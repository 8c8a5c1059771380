-- What is proved of the exposed schemas:
-- Stable relations can be read without calling a function that is declared volatile: tables, views and materialised views,
-- with their policies and computed columns. A relation for which this cannot be proved is omitted.
-- Quiet ones can, in addition, be read without calling a function that may set `response.headers` or `response.status`,
-- which a function that is declared stable can do with set_config. So can quiet functions be called.
-- Tables without rules can be written quietly if, in addition, the same is true of defaults, constraints, indexes and the checks of
-- policies, and if dates are in the format of ISO 8601 in the sessions of all roles. Triggers that are not declared stable or
-- immutable are for `tables.sql` to find.
-- The first row says whether anything can be proved in this database, even for a stable function.
-- $1: names of the exposed schemas, a JSON array.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
-- Functions with their first argument, by which they are computed columns. A variadic argument accepts a single value, and an
-- argument of a domain over a row type accepts the row. Objects of PostgreSQL itself have smaller oids than 16384.
functions as (
  select p.oid, p.provolatile = 'v' as is_volatile, p.pronargs - p.pronargdefaults as required, case t.typtype
    when 'd' then (
      with recursive domains (type) as (
        select t.typbasetype
        union all
        select d.typbasetype from domains join pg_type d on d.oid = domains.type where d.typtype = 'd'
      )
      select d.oid from domains join pg_type d on d.oid = domains.type where d.typtype <> 'd'
    )
    else t.oid
  end as argument
  from pg_proc p
  left join pg_type t
    on t.oid = case when p.pronargs = 1 and p.provariadic <> 0 then p.provariadic else p.proargtypes[0] end
  where p.provolatile = 'v' or p.oid >= 16384
),
volatile_functions as (
  select oid from functions where is_volatile
),
-- Functions that any statement may call implicitly.
implicit_functions (oid) as (
  select called
  from (
    select oprcode::oid from pg_operator
    union all
    select castfunc from pg_cast
    union all
    select amproc::oid from pg_amproc
    union all
    select unnest(array[typinput, typoutput, typreceive, typsend]::oid[]) from pg_type
    union all
    -- Computed columns of any row.
    select oid
    from functions
    where required <= 1
      and argument in (
        select oid from pg_type
        where typnamespace = 'pg_catalog'::regnamespace
          and typname in ('record', 'any', 'anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray')
      )
  ) as calls (called)
  where called >= 16384
  union all
  select called[1]::oid
  from pg_constraint c
  cross join lateral regexp_matches(c.conbin::text, ':funcid (\d+)', 'g') called
  where c.contypid <> 0
),
is_sound as (
  select not exists (select from implicit_functions i join volatile_functions f on f.oid = i.oid)
    -- No user-defined cast converts a row to another type implicitly.
    and not exists (
      select from pg_cast c
      join pg_type t on t.oid = c.castsource
      where t.typtype = 'c' and c.castcontext = 'i' and c.oid >= 16384
    ) as it
),
aggregates as (
  select a.aggfnoid::oid as oid, called.oid as calls
  from pg_aggregate a
  cross join lateral unnest(
    array[a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn, a.aggcombinefn]::oid[]
  ) as called (oid)
  where called.oid >= 16384
),
unsafe_functions as (
  select oid from volatile_functions
  union all
  select a.oid from aggregates a join volatile_functions f on f.oid = a.calls
),
relations as (
  select c.oid, c.relkind as kind, c.reltype as row_type, c.relname as name, c.relnamespace as namespace
  from pg_class c
  where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'm', 'f')
),
-- Expressions that are evaluated when a relation is read, a function is called, or a relation is written.
expressions (relation, function, written, tree) as (
  select r.oid, null::oid, null::oid, rule.ev_action::text
  from relations r
  join pg_rewrite rule on rule.ev_class = r.oid and rule.ev_type = '1'
  where r.kind = 'v'
  union all
  select polrelid, null, null, polqual::text from pg_policy where polqual is not null
  union all
  select null, oid, null, proargdefaults::text
  from pg_proc
  where oid >= 16384 and provolatile <> 'v' and proargdefaults is not null
  union all
  -- Bodies of the SQL standard, since version 14.
  select null, p.oid, null, to_jsonb(p) ->> 'prosqlbody'
  from pg_proc p
  where p.oid >= 16384 and p.provolatile <> 'v' and p.prosrc = ''
  union all
  select null, null, polrelid, polwithcheck::text from pg_policy where polwithcheck is not null
  union all
  select null, null, adrelid, adbin::text from pg_attrdef
  union all
  -- Those of domains belong to no relation, with 0 as its oid: domains can be in columns, in arrays, and in other domains.
  select null, null, conrelid, conbin::text from pg_constraint where conbin is not null
  union all
  select null, null, indrelid, concat(indexprs::text, indpred::text)
  from pg_index
  where indexprs is not null or indpred is not null
),
-- Every expression is searched once, however many relations have it: policies of many tables are often the same.
trees as (
  select tree, array_agg(relation) as relations, array_agg(function) as functions, array_agg(written) as writes
  from expressions
  group by tree
),
references_to as (
  select distinct reached.relation, reached.function, reached.written, found[1] as kind, found[2]::oid as target
  from trees
  cross join lateral regexp_matches(tree, ':(funcid|aggfnoid|winfnoid|relid) (\d+)', 'g') found
  cross join lateral unnest(trees.relations, trees.functions, trees.writes) as reached (relation, function, written)
),
-- A row of a table is also a row of the tables that it inherits from.
ancestors (relation, ancestor) as (
  select oid, oid from relations
  union
  select a.relation, i.inhparent
  from ancestors a
  join pg_inherits i on i.inhrelid = a.ancestor
),
foreign_relations (relation) as (
  select a.ancestor
  from ancestors a
  join relations r on r.oid = a.relation
  where r.kind = 'f'
),
-- Computed columns and relationships.
computed_columns as (
  select a.relation, f.oid as function
  from ancestors a
  join relations r on r.oid = a.ancestor
  join functions f on f.argument = r.row_type and f.required <= 1
),
unstable (relation) as (
  select relation
  from (
    select relation from foreign_relations
    union all
    select reference.relation
    from references_to reference
    join unsafe_functions f on f.oid = reference.target
    where reference.relation is not null and reference.kind <> 'relid'
    union all
    -- Views of PostgreSQL itself, some of which call volatile functions.
    select reference.relation
    from references_to reference
    join pg_class c on c.oid = reference.target
    where reference.relation is not null and reference.kind = 'relid' and c.oid < 16384 and c.relkind = 'v'
    union all
    select c.relation from computed_columns c join volatile_functions f on f.oid = c.function
  ) as directly
  union
  select reference.relation
  from unstable u
  join references_to reference on reference.target = u.relation and reference.kind = 'relid'
  where reference.relation is not null
),
-- Functions of PostgreSQL that change a setting, or run a query that is their argument.
loud_builtins as (
  select oid, proname, prosrc
  from pg_proc
  where oid < 16384 and (proname in ('set_config', 'ts_rewrite', 'ts_stat') or proname like '%\_to\_xml%')
),
-- Bodies are not parsed: a body may call whatever has a name of which it contains the first word. Words are of ASCII, as long as
-- names at most; every body contains the empty word, for names without one. PostgreSQL refuses all statements but
-- queries in functions that are not volatile, so EXECUTE in PL/pgSQL is the only other word that matters.
bodies as (
  select p.oid, regexp_split_to_table(concat(' ', lower(p.prosrc collate "C")), '\W+')::name::text collate "default" as word
  from pg_proc p
  join pg_language l on l.oid = p.prolang
  where p.oid >= 16384 and p.provolatile <> 'v' and l.lanname in ('sql', 'plpgsql')
),
names (kind, oid, word) as (
  select kind, oid, coalesce(substring(lower(name::text collate "C") from '\w+'), '')::name::text collate "default"
  from (
    select 'function', oid, proname
    from pg_proc
    where oid >= 16384 and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    union all
    select 'function', oid, proname from loud_builtins
    union all
    select 'relation', oid, name from relations
  ) as named (kind, oid, name)
),
-- What calls or reads what.
uses (source, target) as materialized (
  select concat('relation ' || relation, 'function ' || function, 'written ' || written),
    case kind when 'relid' then 'relation ' else 'function ' end || target
  from references_to
  union all
  select 'function ' || oid, 'function ' || calls from aggregates where oid >= 16384
  union all
  select distinct 'function ' || oid, 'word ' || word
  from bodies
  where word in (select word from names union all select 'execute')
  union all
  select 'word ' || word, kind || ' ' || oid from names
  union all
  -- Partitions are written with their table, and rows with those that they refer to.
  select 'written ' || inhparent, 'written ' || inhrelid from pg_inherits
  union all
  select 'written ' || confrelid, 'written ' || conrelid
  from pg_constraint
  where contype = 'f' and (confupdtype in ('c', 'n', 'd') or confdeltype in ('c', 'n', 'd'))
  union all
  -- All others are known to do no harm, or found by `tables.sql`.
  select 'written ' || t.tgrelid, 'function ' || t.tgfoid
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
  where p.provolatile <> 'v' and not t.tgisinternal
),
-- Whatever may set `response.headers` or `response.status`, and what uses it.
loud (what) as (
  select what
  from (
    select 'function ' || oid from loud_builtins
    union all
    select 'word execute'
    union all
    select 'relation ' || relation from foreign_relations
    union all
    select 'written ' || relation from foreign_relations
    union all
    select 'written ' || ev_class from pg_rewrite where ev_type <> '1'
    union all
    select 'function ' || p.oid
    from pg_proc p
    join pg_language l on l.oid = p.prolang
    where p.oid >= 16384
      and (
        p.provolatile = 'v'
        or exists (select from unnest(p.proconfig) as settings (setting) where setting ~* '^response\.')
        or case l.lanname
          -- Names with escapes.
          when 'sql' then p.prosrc ilike '%u&"%'
          when 'plpgsql' then p.prosrc ilike '%u&"%'
          -- Such as `crosstab` of the extension tablefunc, which runs a query that is its argument.
          when 'c' then p.proretset and 'text'::regtype = any (p.proargtypes)
          when 'internal' then p.prosrc in (select prosrc from loud_builtins)
          else true
        end
      )
  ) as directly (what)
  union
  select uses.source from loud join uses on uses.target = loud.what
),
loud_functions as (
  select f.oid, f.is_volatile from loud join functions f on loud.what = 'function ' || f.oid
),
is_quiet as (
  select it
    and not exists (select from implicit_functions i join loud_functions f on f.oid = i.oid)
    -- Neither is set for a role in this database, for the database, or for this connection.
    and not exists (
      select from pg_db_role_setting s
      cross join lateral unnest(s.setconfig) as settings (setting)
      where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
        and setting ~* '^response\.(headers|status)='
    )
    and concat(current_setting('response.headers', true), current_setting('response.status', true)) = '' as it
  from is_sound
),
-- Whether all sessions have the style of dates that JSON has.
has_iso_dates as (
  select current_setting('DateStyle') like 'ISO%'
    and not exists (
      select from pg_db_role_setting s
      cross join lateral unnest(s.setconfig) as settings (setting)
      where setting ilike 'datestyle=%' and setting not ilike 'datestyle=%iso%'
    ) as it
),
loud_relations (relation) as (
  select r.oid from loud join relations r on loud.what = 'relation ' || r.oid
  union all
  select c.relation from computed_columns c join loud_functions f on f.oid = c.function
)
select json_build_object('kind', 'database', 'isSound', it)::text as row
from is_sound
union all
select json_build_object(
  'kind', 'relation',
  'schema', n.nspname,
  'name', r.name,
  -- Not an anti-join, as below.
  'isQuiet', (select it from is_quiet) and (r.oid = any (array(select relation from loud_relations))) is not true,
  'isQuietlyWritten', r.kind in ('r', 'p') and (select it from is_quiet) and (select it from has_iso_dates)
    and (r.oid = any (array(select relation from loud_relations))) is not true
    and not exists (select from loud where what = 'written 0')
    and (r.oid = any (array(select r.oid from loud join relations r on loud.what = 'written ' || r.oid))) is not true
)::text
from relations r
join pg_namespace n on n.oid = r.namespace
where (select it from is_sound)
  and r.namespace = any (array(select schema from exposed))
  -- Not an anti-join: for the number of unstable relations, which the planner overestimates by far, its table would fill disks.
  and (r.oid = any (array(select relation from unstable))) is not true
union all
(
  select json_build_object('kind', 'routine', 'schema', n.nspname, 'name', p.proname)::text
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where (select it from is_quiet)
    and p.pronamespace = any (array(select schema from exposed))
  group by n.nspname, p.proname
  -- All overloads. Volatile functions are loud, too; their number may be large.
  having bool_and(
    p.provolatile <> 'v' and (p.oid = any (array(select oid from loud_functions where not is_volatile))) is not true
  )
  order by n.nspname, p.proname
)
