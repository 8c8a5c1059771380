-- Relations of the exposed schemas that can be read without calling a function that is declared volatile: tables, views
-- and materialised views, with their policies and computed columns. A relation for which this cannot be proved is omitted.
-- The first row has no name: it says whether anything can be proved in this database, even for a stable function.
-- $1: names of the exposed schemas, a JSON array.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
-- A variadic argument accepts a single value, and an argument of a domain over a row type accepts the row.
volatile_functions as (
  select p.oid, pronargs - pronargdefaults as required, coalesce(nullif(d.base, 0), d.argument) as argument
  from pg_proc p
  cross join lateral (
    select given as argument, (
      with recursive domains (type) as (
        select given
        union all
        select t.typbasetype from domains join pg_type t on t.oid = domains.type where t.typtype = 'd'
      )
      select t.oid from domains join pg_type t on t.oid = domains.type where t.typtype <> 'd'
    ) as base
    from (select case when pronargs = 1 and provariadic <> 0 then provariadic else proargtypes[0] end) as first (given)
  ) d
  where provolatile = 'v'
),
-- Objects of PostgreSQL itself have smaller oids.
own_volatile_functions as (
  select oid from volatile_functions where oid >= 16384
),
-- Functions that any statement may call implicitly.
is_sound as (
  select not exists (select from own_volatile_functions f join pg_operator o on o.oprcode = f.oid)
    and not exists (select from own_volatile_functions f join pg_cast c on c.castfunc = f.oid)
    and not exists (select from own_volatile_functions f join pg_amproc a on a.amproc = f.oid)
    and not exists (
      select from own_volatile_functions f
      join pg_type t on f.oid in (t.typinput, t.typoutput, t.typreceive, t.typsend)
    )
    and not exists (
      select from pg_constraint c
      cross join lateral regexp_matches(c.conbin::text, ':funcid (\d+)', 'g') called
      join volatile_functions f on f.oid = called[1]::oid
      where c.contypid <> 0
    )
    -- No volatile user-defined function accepts any row.
    and not exists (
      select from volatile_functions
      where oid >= 16384
        and required <= 1
        and argument in (
          select oid from pg_type
          where typnamespace = 'pg_catalog'::regnamespace
            and typname in ('record', 'any', 'anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray')
        )
    )
    -- No user-defined cast converts a row to another type implicitly.
    and not exists (
      select from pg_cast c
      join pg_type t on t.oid = c.castsource
      where t.typtype = 'c' and c.castcontext = 'i' and c.oid >= 16384
    ) as it
),
unsafe_functions as (
  select oid from volatile_functions
  union all
  select a.aggfnoid::oid
  from pg_aggregate a
  join own_volatile_functions f
    on f.oid in (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn, a.aggcombinefn)
),
relations as (
  select c.oid, c.relkind as kind, c.reltype as row_type, c.relname as name, c.relnamespace as namespace
  from pg_class c
  where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'm', 'f')
),
-- Expressions that are evaluated when a relation is read.
expressions as (
  select r.oid as relation, rule.ev_action::text as tree
  from relations r
  join pg_rewrite rule on rule.ev_class = r.oid and rule.ev_type = '1'
  where r.kind = 'v'
  union all
  select polrelid, polqual::text from pg_policy where polqual is not null
),
-- Every expression is searched once, however many relations have it: policies of many tables are often the same.
trees as (
  select tree, array_agg(relation) as relations from expressions group by tree
),
references_to as (
  select distinct reached.relation, found[1] as kind, found[2]::oid as target
  from trees
  cross join lateral regexp_matches(tree, ':(funcid|aggfnoid|winfnoid|relid) (\d+)', 'g') found
  cross join lateral unnest(trees.relations) as reached (relation)
),
-- A row of a table is also a row of the tables that it inherits from.
ancestors (relation, ancestor) as (
  select oid, oid from relations
  union
  select a.relation, i.inhparent
  from ancestors a
  join pg_inherits i on i.inhrelid = a.ancestor
),
unstable (relation) as (
  select relation
  from (
    select oid as relation from relations where kind = 'f'
    union all
    select a.ancestor
    from ancestors a
    join relations r on r.oid = a.relation
    where r.kind = 'f'
    union all
    select reference.relation
    from references_to reference
    join unsafe_functions f on f.oid = reference.target
    where reference.kind <> 'relid'
    union all
    -- Views of PostgreSQL itself, some of which call volatile functions.
    select reference.relation
    from references_to reference
    join pg_class c on c.oid = reference.target
    where reference.kind = 'relid' and c.oid < 16384 and c.relkind = 'v'
    union all
    -- Computed columns and relationships.
    select a.relation
    from ancestors a
    join relations r on r.oid = a.ancestor
    join volatile_functions f on f.argument = r.row_type and f.required <= 1
  ) as directly
  union
  select reference.relation
  from unstable u
  join references_to reference on reference.target = u.relation and reference.kind = 'relid'
)
select json_build_object('schema', null, 'name', null, 'isSound', it)::text as row
from is_sound
union all
select json_build_object('schema', n.nspname, 'name', r.name)::text
from relations r
join pg_namespace n on n.oid = r.namespace
where (select it from is_sound)
  and r.namespace = any (array(select schema from exposed))
  -- Not an anti-join: for the number of unstable relations, which the planner overestimates by far, its table would fill disks.
  and (r.oid = any (array(select relation from unstable))) is not true
