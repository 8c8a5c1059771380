-- Tables, views, materialised, foreign and partitioned tables of the exposed schemas, with their columns.
-- $1: names of the exposed schemas, a JSON array. Postgres raises 3F000 for a schema that does not exist.
-- Requires an empty search_path: otherwise, the names of sequences are not qualified.
-- What is looked up once per type is in `column-types.sql`: a database may have a hundred thousand columns. For the same
-- reason, the columns of a relation are an array for each of their properties, and a value of its own in the result, and
-- they are looked up relation by relation. That takes no longer than a join of all columns, but that one would occupy a
-- processor for some tenths of a second before the first row, which requests need while the schema cache is reloaded.
with recursive
exposed as (
  select quote_ident(name)::regnamespace as schema
  from json_array_elements_text($1::json) as names (name)
),
-- Sorted here, where rows are short. A join keeps the order of its outer side, but need not begin with this one.
relations as materialized (
  select c.oid, c.relkind as kind, c.relname as name, n.nspname as schema
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and not c.relispartition
    and c.relnamespace = any (array(select schema from exposed))
    and c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  order by n.nspname, c.relname
),
-- How writing a relation writes others. 0: the same row, in partitions and in the tables that a view reads. Otherwise other rows,
-- when events occur that are bits as below: by foreign keys to it when it is changed or deleted from, and by its rules.
links as materialized (
  select inhparent as relation, inhrelid as member, 0 as events from pg_inherits
  union all
  select confrelid, conrelid, 20 from pg_constraint
  where contype = 'f' and (confupdtype in ('c', 'n', 'd') or confdeltype in ('c', 'n', 'd'))
  union all
  select rule.ev_class, d.refobjid, case rule.ev_type when '1' then 0 else 28 end
  from pg_rewrite rule
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = rule.oid and d.refclassid = 'pg_class'::regclass
  where d.refobjid <> rule.ev_class
),
reached as (
  select oid as relation, oid as member from relations
  union
  select reached.relation, links.member from reached join links on links.relation = reached.member and links.events = 0
),
-- Functions of triggers without another effect than the row that they return: those of PostgreSQL itself, that of the extension
-- moddatetime, those declared stable or immutable, and those that set columns to the time and nothing else, whatever they are
-- declared as, as for a column `updated_at`. What these call are functions of PostgreSQL, provided that there are no others of
-- the same names.
harmless_triggers as (
  select p.oid
  from pg_proc p
  join pg_language l on l.oid = p.prolang
  where p.prorettype = 'trigger'::regtype and case
    when l.lanname = 'internal' then true
    when l.lanname = 'c' then p.probin = '$libdir/moddatetime'
    when p.provolatile <> 'v' then p.prosrc !~* 'set_config'
    else l.lanname = 'plpgsql'
      and p.prosrc ~* concat(
        '^\s*begin(\s+new\.("[^"]+"|\w+)\s*:?=\s*(',
        '(pg_catalog\.)?(now|clock_timestamp|transaction_timestamp|statement_timestamp)\s*\(\s*\)',
        '|current_timestamp|localtimestamp',
        '|timezone\s*\(\s*''utc''(\s*::\s*text)?\s*,\s*(now\s*\(\s*\)|current_timestamp)\s*\)',
        ')(\s+at\s+time\s+zone\s+''utc'')?\s*;)*\s+return\s+new\s*;\s*end\s*;?\s*$'
      )
      and not exists (select from unnest(p.proconfig) as settings (setting) where setting not like 'search\_path=%')
      and not exists (
        select from pg_proc
        where pronamespace <> 'pg_catalog'::regnamespace
          and proname in ('now', 'timezone', 'clock_timestamp', 'transaction_timestamp', 'statement_timestamp')
      )
  end
),
-- Triggers of applications, and all that may write the row again, or return another one: those after the write, those instead
-- of it, and the actions of a foreign key that refers to its own table. The events are bits as below.
triggers as (
  select
    t.tgrelid as relation,
    bit_or(case
      when t.tgisinternal then 0
      -- Its condition may compare with the operators of PostgreSQL, and calls no function.
      when t.tgfoid = any (array(select oid from harmless_triggers))
        and coalesce(t.tgqual::text, '') !~ ':funcid|:opfuncid \d{5}' then 0
      else (t.tgtype::int & 4) * 2 + (t.tgtype::int & 8) * 2 + (t.tgtype::int & 16) / 4
    end) as runs,
    bit_or(case
      when t.tgtype::int & 2 <> 0 then 0
      when t.tgisinternal and not (
        t.tgconstrrelid = t.tgrelid and p.proname in ('RI_FKey_cascade_upd', 'RI_FKey_setnull_upd', 'RI_FKey_setdefault_upd')
      ) then 0
      -- The server's own audit writes nothing but its table.
      when n.nspname = 'rowhouse_audit' then 0
      else (t.tgtype::int & 4) * 2 + (t.tgtype::int & 16) / 4
    end) as rewrites
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
  join pg_namespace n on n.oid = p.pronamespace
  where t.tgenabled in ('O', 'A')
  group by t.tgrelid
),
-- Functions of PostgreSQL itself are not among the dependencies.
effects as materialized (
  select distinct coalesce(a.adrelid, c.conrelid, p.polrelid, r.ev_class, i.indrelid) as relation
  from pg_depend d
  join pg_proc f on f.oid = d.refobjid and (f.provolatile = 'v' or f.prosrc ~* 'set_config')
  left join pg_attrdef a on d.classid = 'pg_attrdef'::regclass and a.oid = d.objid
  left join pg_constraint c on d.classid = 'pg_constraint'::regclass and c.oid = d.objid
  left join pg_policy p on d.classid = 'pg_policy'::regclass and p.oid = d.objid
  left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
  left join pg_index i on d.classid = 'pg_class'::regclass and i.indexrelid = d.objid
  where d.refclassid = 'pg_proc'::regclass
    and coalesce(a.adrelid, c.conrelid, p.polrelid, r.ev_class, i.indrelid) is not null
),
-- Relations that run functions themselves (0), or when others are written with them.
spreading as (
  select relation, 0 as events from triggers where runs > 0
  union
  select relation, 0 from effects
  union
  select links.relation, case when links.events > 0 then links.events else spreading.events end
  from spreading
  join links on links.member = spreading.relation
),
spread as (
  select relation, bit_or(events) as events from spreading group by relation
),
writes as materialized (
  select
    reached.relation,
    bit_or(coalesce(spread.events, 0) | case when effects.relation is null then coalesce(triggers.runs, 0) else 28 end) as runs,
    coalesce(bit_or(triggers.rewrites), 0) as rewrites
  from reached
  left join triggers on triggers.relation = reached.member
  left join effects on effects.relation = reached.member
  left join spread on spread.relation = reached.relation
  group by reached.relation
),
granted_columns as (
  select distinct a.attrelid as relation
  from pg_attribute a
  cross join lateral aclexplode(a.attacl) granted
  where a.attacl is not null and granted.privilege_type = 'SELECT'
),
-- Unique indexes that ON CONFLICT finds by their expressions or predicate only, with the columns of their keys.
partial_indexes as (
  select i.indrelid as relation, keys.columns, keys.target || coalesce(
    ' WHERE ' || pg_get_expr(i.indpred, i.indrelid), ''
  ) as target
  from pg_index i
  cross join lateral (
    select
      (
        select array_agg(a.attname order by a.attname)
        from pg_attribute a
        where a.attrelid = i.indrelid and (
          a.attnum = any (array_agg(part.attnum))
          or a.attnum in (select found[1]::int from regexp_matches(i.indexprs::text, ':varattno (\d+)', 'g') as found)
        )
      ) as columns,
      format('(%s)', string_agg(pg_get_indexdef(i.indexrelid, part.number::int, true), ', ' order by part.number)) as target
    from unnest(i.indkey::int2[]) with ordinality as part (attnum, number)
    where part.number <= i.indnkeyatts
  ) keys
  where i.indisunique and i.indisvalid and i.indimmediate and (i.indpred is not null or i.indexprs is not null)
    and i.indrelid in (select oid from relations)
),
-- Without those whose columns are the key of another unique index, which the columns stand for.
conflict_targets as (
  select relation, json_agg(json_build_array(columns, target)) as list
  from (
    select relation, columns, min(target) as target
    from partial_indexes
    group by relation, columns
    having count(*) = 1
  ) single
  where not exists (
    select from pg_index i
    where i.indrelid = relation and i.indisunique and i.indisvalid and i.indimmediate
      and i.indpred is null and i.indexprs is null
      and columns = (
        select array_agg(a.attname order by a.attname)
        from pg_attribute a
        where a.attrelid = relation and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1])
      )
  )
  group by relation
)
select
  json_build_object(
    'schema', r.schema,
    'name', r.name,
    'description', d.description,
    'isView', r.kind in ('v', 'm'),
    -- A bit set, 1 << command: UPDATE 4, INSERT 8, DELETE 16. Includes INSTEAD OF triggers, ignores privileges.
    'events', case
      when r.kind in ('r', 'p') then 28
      when r.kind in ('v', 'f') then pg_relation_is_updatable(r.oid, true)
      else 0
    end,
    'hasSystemVersion', r.kind in ('r', 'p'),
    'hasColumnGrants', granted_columns.relation is not null,
    'conflictTargets', conflict_targets.list,
    -- A bit set as above: which commands call functions that may have other effects: triggers that are not known to have none,
    -- and what is not declared stable or immutable.
    'runs', coalesce(writes.runs, 0),
    -- A bit set as above: after which commands a trigger may write the row again.
    'rewrites', writes.rewrites
  )::text as row,
  lists.columns::text as columns
from relations r
left join lateral (
  select
    json_build_array(
      array_agg(name), array_agg(type), array_agg(flags), array_agg(default_text), array_agg(description)
    ) as columns
  -- The aggregates have the order of their input. Sorting in each of them would take longer than all else.
  from (
    select
      a.attname as name,
      a.atttypid || ' ' || a.atttypmod as type,
      -- A bit set: NOT NULL 1, NOT NULL that rows may violate 2, has a default or is generated 4.
      -- Since PostgreSQL 18, a constraint NOT NULL may be NOT VALID.
      a.attnotnull::int
        + 2 * (a.attnotnull and (r.kind = 'f' or exists (
            select from pg_constraint
            where conrelid = r.oid and contype = 'n' and not convalidated and conkey[1] = a.attnum
          )))::int
        + 4 * (def.adbin is not null)::int as flags,
      -- The value of an omitted column: its default; for GENERATED BY DEFAULT AS IDENTITY the next value of its sequence.
      -- Only expressions of generated columns name columns. For others, Postgres need not open the relation.
      case
        when a.attidentity = 'd' then format('nextval(%L)', (
          -- The sequence has an internal dependency on the column.
          select objid::regclass
          from pg_depend
          where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and deptype = 'i'
            and refobjid = r.oid and refobjsubid = a.attnum
        ))
        when a.attgenerated = 's' then null
        when a.attgenerated = '' then pg_get_expr(def.adbin, 0)
        else pg_get_expr(def.adbin, def.adrelid)
      end as default_text,
      d.description
    from pg_attribute a
    left join pg_attrdef def on a.atthasdef and def.adrelid = r.oid and def.adnum = a.attnum
    left join pg_description d
      on d.classoid = 'pg_class'::regclass and d.objoid = r.oid and d.objsubid = a.attnum
    where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    order by a.attnum
  ) as columns
  having count(*) > 0
) lists on true
left join writes on writes.relation = r.oid
left join granted_columns on granted_columns.relation = r.oid
left join conflict_targets on conflict_targets.relation = r.oid
left join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = r.oid and d.objsubid = 0
