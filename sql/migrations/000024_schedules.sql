-- Only with the services: schedules
-- Functions in this file are executable only by the roles they are granted to.
call rowhouse.begin_private_functions();

-- Schedules: the tables and functions of pg_cron, and what decides when jobs run. Where the extension pg_cron is installed, its
-- schema `cron` stays as it is, and its own scheduler runs the jobs.

-- The text of a schedule is read here only: for `cron.schedule`, which refuses invalid ones, and for the scheduler.

create type rowhouse.schedule_parts as (
  seconds integer,
  is_restart boolean,
  minutes integer[],
  hours integer[],
  days integer[],
  months integer[],
  weekdays integer[],
  has_last_day boolean,
  needs_both boolean,
  is_repeating boolean,
  ignored text
);
comment on type rowhouse.schedule_parts is
  'A schedule that was read: an interval in seconds, @restart, or the values of five fields. Weekdays count from 0, Sunday. needs_both: day of the month and weekday must both match, because one of them begins with an asterisk. is_repeating: minute or hour begins with an asterisk. ignored: text without an effect.';

create function rowhouse.schedule_number(word text, names text[], low integer) returns integer
language sql immutable strict set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    pg_catalog.array_position(names, pg_catalog.lower(word)) - 1 + low,
    case when word ~ '^0*[0-9]{1,9}$' then word::numeric::integer end
  )
$$;
comment on function rowhouse.schedule_number(text, text[], integer) is
  'The number that a word of a schedule stands for: its position among the names, which count from low, or its digits. Null if it is neither.';

create function rowhouse.schedule_field(
  field text, low integer, high integer, names text[], cycle integer, out numbers integer[], out ignored text
)
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
declare
  rest text := field;
  part text[];
  first integer;
  last integer;
  step integer;
  collected integer[] := '{}';
begin
  loop
    part := pg_catalog.regexp_match(
      rest, '^(?:(\*)|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:/([0-9A-Za-z]+))?(.*)$'
    );
    if part is null then
      return;
    end if;
    if part[1] is not null then
      first := low;
      last := high;
    else
      first := rowhouse.schedule_number(part[2], names, low);
      last := rowhouse.schedule_number(coalesce(part[3], part[2]), names, low);
      -- A step needs a range.
      if part[3] is null and (part[4] is not null or part[5] like '-%') then
        return;
      end if;
    end if;
    step := rowhouse.schedule_number(coalesce(part[4], '1'), '{}', 0);
    if (first between low and high and last between low and high and step between 1 and high) is not true
      or (part[4] is null and part[5] like '/%')
    then
      return;
    end if;
    -- A range that ends before it begins goes on from the start: the hours 22-2 are those around midnight.
    collected := collected || array(
      select low + (first - low + n) % cycle
      from pg_catalog.generate_series(0, case when last < first then last - first + cycle else last - first end, step) as n
    );
    exit when part[5] not like ',%';
    rest := pg_catalog.substr(part[5], 2);
  end loop;
  numbers := array(select distinct n from pg_catalog.unnest(collected) as n order by n);
  ignored := part[5];
end
$$;
comment on function rowhouse.schedule_field(text, integer, integer, text[], integer) is
  'The numbers of one field of a schedule, which has numbers or names, ranges, steps, and lists of them. Null if it is invalid. Of the numbers, cycle are different.';

create function rowhouse.parse_schedule(schedule text) returns rowhouse.schedule_parts
language plpgsql immutable strict set search_path = pg_catalog, pg_temp
as $$
declare
  parts rowhouse.schedule_parts;
  -- Empty lines and comments may come first.
  body constant text := pg_catalog.regexp_replace(schedule, '^(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*', '');
  field text[];
begin
  -- The limit of pg_cron.
  if pg_catalog.octet_length(schedule) >= 1000 then
    return null;
  end if;

  field := pg_catalog.regexp_match(pg_catalog.lower(schedule), '^\s*\+?0*([1-9]|[1-5][0-9])\s*second(?:s\s*)?$');
  if field is not null then
    parts.seconds := field[1];
    parts.is_restart := false;
    parts.is_repeating := true;
    return parts;
  end if;

  parts.is_restart := false;
  parts.is_repeating := false;
  parts.needs_both := true;
  parts.has_last_day := false;

  if body like '@%' then
    field := pg_catalog.regexp_match(body, '^@([^ \t\n]*)(.*)$');
    parts.ignored := nullif(pg_catalog.btrim(field[2], E' \t\n'), '');
    parts.minutes := '{0}';
    parts.hours := '{0}';
    parts.days := array(select pg_catalog.generate_series(1, 31));
    parts.months := array(select pg_catalog.generate_series(1, 12));
    parts.weekdays := array(select pg_catalog.generate_series(0, 6));
    case field[1]
      when 'reboot', 'restart' then
        parts.is_restart := true;
      when 'yearly', 'annually' then
        parts.days := '{1}';
        parts.months := '{1}';
      when 'monthly' then
        parts.days := '{1}';
      when 'weekly' then
        parts.weekdays := '{0}';
      when 'daily', 'midnight' then
        null;
      when 'hourly' then
        parts.hours := array(select pg_catalog.generate_series(0, 23));
        parts.is_repeating := true;
      else
        return null;
    end case;
    return parts;
  end if;

  field := pg_catalog.regexp_match(
    body, '^([^ \t\n]+)[ \t]+([^ \t\n]+)[ \t]+([^ \t\n]+)[ \t]+([^ \t\n]+)[ \t]+([^ \t\n]+)(.*)$'
  );
  if field is null then
    return null;
  end if;
  parts.is_repeating := field[1] like '*%' or field[2] like '*%';
  parts.needs_both := field[3] like '*%' or field[5] like '*%';
  parts.has_last_day := field[3] = '$';
  select minute.numbers, hour.numbers, case when field[3] = '$' then '{}' else day.numbers end, month.numbers, weekday.numbers,
    nullif(pg_catalog.btrim(pg_catalog.concat_ws(
      ' ', nullif(minute.ignored, ''), nullif(hour.ignored, ''), case when field[3] <> '$' then nullif(day.ignored, '') end,
      nullif(month.ignored, ''), nullif(weekday.ignored, ''), pg_catalog.btrim(field[6], E' \t\n\r')
    )), '')
  into parts.minutes, parts.hours, parts.days, parts.months, parts.weekdays, parts.ignored
  from rowhouse.schedule_field(field[1], 0, 59, '{}', 60) as minute,
    rowhouse.schedule_field(field[2], 0, 23, '{}', 24) as hour,
    rowhouse.schedule_field(field[3], 1, 31, '{}', 31) as day,
    rowhouse.schedule_field(field[4], 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}', 12) as month,
    rowhouse.schedule_field(field[5], 0, 7, '{sun,mon,tue,wed,thu,fri,sat}', 7) as weekday;
  if parts.minutes is null or parts.hours is null or parts.days is null or parts.months is null or parts.weekdays is null then
    return null;
  end if;
  return parts;
end
$$;
comment on function rowhouse.parse_schedule(text) is
  'Reads a schedule with the syntax of pg_cron: five fields, @hourly and the like, or an interval such as 30 seconds. Null if it is invalid.';

create function rowhouse.is_schedule_day(parts rowhouse.schedule_parts, day date) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select extract(month from day)::integer = any (parts.months)
    and case
      when parts.needs_both then in_month and in_week
      else in_month or in_week
    end
  from (
    select extract(day from day)::integer = any (parts.days) or (parts.has_last_day and extract(day from day + 1) = 1),
      extract(dow from day)::integer = any (parts.weekdays)
  ) as matches (in_month, in_week)
$$;
comment on function rowhouse.is_schedule_day(rowhouse.schedule_parts, date) is 'Whether a schedule has runs on a day.';

create function rowhouse.is_schedule_minute(parts rowhouse.schedule_parts, minute timestamp) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp
as $$
  select extract(minute from minute)::integer = any (parts.minutes)
    and extract(hour from minute)::integer = any (parts.hours)
    and rowhouse.is_schedule_day(parts, minute::date)
$$;
comment on function rowhouse.is_schedule_minute(rowhouse.schedule_parts, timestamp) is
  'Whether a schedule has a run at a minute of its time zone.';

create function rowhouse.next_run(schedule text, after timestamptz, zone text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  parts constant rowhouse.schedule_parts := rowhouse.parse_schedule(schedule);
  local constant timestamp := after at time zone zone;
  reach interval;
  -- Of 29 February as a Sunday, the longest pause is 40 years.
  last constant date := local::date + 41 * 366;
  day date := local::date;
  noon timestamptz;
  passed integer;
  hour integer;
  minute integer;
  result timestamptz;
begin
  if parts.seconds is not null then
    return after + pg_catalog.make_interval(secs => parts.seconds);
  end if;
  if parts.is_restart is not false then
    return 'infinity';
  end if;
  while day < last loop
    if not (
      extract(month from day)::integer = any (parts.months) or extract(month from day - 1)::integer = any (parts.months)
    ) then
      day := pg_catalog.date_trunc('month', day::timestamp) + interval '1 month';
      continue;
    end if;
    noon := (day + time '12:00') at time zone zone;
    if noon - ((day - 1) + time '12:00') at time zone zone = interval '1 day'
      and ((day + 1) + time '12:00') at time zone zone - noon = interval '1 day'
    then
      if rowhouse.is_schedule_day(parts, day) then
        passed := case
          when day = local::date then extract(hour from local)::integer * 60 + extract(minute from local)::integer
          else -1
        end;
        foreach hour in array parts.hours loop
          continue when hour * 60 + 59 <= passed;
          foreach minute in array parts.minutes loop
            if hour * 60 + minute > passed then
              return noon + pg_catalog.make_interval(mins => hour * 60 + minute - 720);
            end if;
          end loop;
        end loop;
      end if;
    elsif rowhouse.is_schedule_day(parts, day) or rowhouse.is_schedule_day(parts, day - 1) then
      -- The clocks change. Fixed times that are skipped are due when the clocks have changed, and those that occur twice are due
      -- the first time. Repeating schedules follow the clock.
      foreach reach in array array[interval '1 hour', interval '3 days'] loop
        select instant into result from (
          select instant, instant at time zone zone as shown, pg_catalog.max(instant at time zone zone)
            over (order by instant rows between unbounded preceding and 1 preceding) as latest
          from pg_catalog.generate_series(
            greatest(noon - interval '27 hours', pg_catalog.date_trunc('minute', after) - interval '3 hours'),
            least(noon + interval '15 hours', after + reach), interval '1 minute'
          ) as instant
        ) as minutes
        where instant > after and case
          when parts.is_repeating then rowhouse.is_schedule_minute(parts, shown)
          else exists (
            select from pg_catalog.generate_series(latest + interval '1 minute', shown, interval '1 minute') as passed_minute
            where rowhouse.is_schedule_minute(parts, passed_minute)
          )
        end
        order by instant limit 1;
        if result is not null then
          return result;
        end if;
      end loop;
    end if;
    day := day + 1;
  end loop;
  return 'infinity';
end
$$;
comment on function rowhouse.next_run(text, timestamptz, text) is
  'When a schedule is due for the first time after a time. Infinity if never, as with @restart and 30 February.';

-- The schema of pg_cron.

do $migration$
begin
  -- This role may lack the privilege to use the schema.
  if exists (
    select from pg_catalog.pg_class where relname = 'job' and relnamespace = to_regnamespace('cron')
  ) then
    raise notice 'the schema cron exists already: schedules are left to what created it';
    return;
  end if;

  if to_regnamespace('cron') is null then
    create schema cron;
    comment on schema cron is 'Schedules: commands that run at set times. Never exposed.';
  end if;
  revoke all on schema cron from public;

  create sequence cron.jobid_seq;
  create sequence cron.runid_seq;
  comment on sequence cron.jobid_seq is 'Numbers of jobs.';
  comment on sequence cron.runid_seq is 'Numbers of runs.';

  -- The columns are those of pg_cron, and `missed`.
  create table cron.job (
    jobid bigint primary key,
    schedule text not null,
    command text not null,
    nodename text not null default 'localhost',
    nodeport integer not null default pg_catalog.current_setting('port')::integer,
    database text not null default pg_catalog.current_database(),
    username text not null default current_user,
    active boolean not null default true,
    jobname text,
    missed text not null default 'skip' constraint job_missed_check check (missed in ('skip', 'once')),
    constraint jobname_username_uniq unique (jobname, username)
  );
  comment on table cron.job is
    E'Jobs\n\nA role sees and changes its own. cron.schedule and cron.unschedule add and remove them.';
  comment on column cron.job.jobid is 'Generated.';
  comment on column cron.job.schedule is 'When: five fields as of cron, or an interval such as 30 seconds.';
  comment on column cron.job.command is 'The SQL.';
  comment on column cron.job.nodename is 'As in pg_cron. The server that has this table is connected to in any case.';
  comment on column cron.job.nodeport is 'As in pg_cron.';
  comment on column cron.job.database is 'Database in which it runs.';
  comment on column cron.job.username is 'Role that scheduled it, as which it runs.';
  comment on column cron.job.active is 'Whether it runs.';
  comment on column cron.job.jobname is 'Name, which is unique among the jobs of a role.';
  comment on column cron.job.missed is
    'What happens when no server was there at a due time: `skip` waits for the next one, `once` runs when a server is there again.';

  -- The columns are those of pg_cron.
  create table cron.job_run_details (
    jobid bigint,
    runid bigint primary key default pg_catalog.nextval('cron.runid_seq'),
    job_pid integer,
    database text,
    username text,
    command text,
    status text,
    return_message text,
    start_time timestamptz,
    end_time timestamptz
  );
  create index job_run_details_jobid_idx on cron.job_run_details (jobid, runid);
  comment on table cron.job_run_details is E'Runs of jobs\n\nA role sees those of its jobs, and may remove them.';
  comment on column cron.job_run_details.jobid is 'The job.';
  comment on column cron.job_run_details.runid is 'Generated.';
  comment on column cron.job_run_details.job_pid is 'Process of the database that ran it.';
  comment on column cron.job_run_details.database is 'Database in which it ran.';
  comment on column cron.job_run_details.username is 'Role as which it ran.';
  comment on column cron.job_run_details.command is 'The SQL.';
  comment on column cron.job_run_details.status is '`starting`, `running`, `succeeded` or `failed`.';
  comment on column cron.job_run_details.return_message is 'What the last statement did, such as `1 row`; or the error.';
  comment on column cron.job_run_details.start_time is 'When it began.';
  comment on column cron.job_run_details.end_time is 'When it ended.';

  -- Whether a role can add jobs is decided by the privilege to use the schema. In pg_cron, functions written in C insert the
  -- rows; here, policies and a trigger decide about each change.
  alter table cron.job enable row level security;
  alter table cron.job_run_details enable row level security;
  create policy cron_job_policy on cron.job using (username = current_user);
  create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);
  comment on policy cron_job_policy on cron.job is 'A role has its own jobs.';
  comment on policy cron_job_run_details_policy on cron.job_run_details is 'A role sees the runs of its jobs.';
  revoke all on cron.job, cron.job_run_details from anon, authenticated, service_role;
  grant select, delete on cron.job to public;
  -- Without the number: a role could take those that others would get.
  grant insert (schedule, command, nodename, nodeport, database, username, active, jobname, missed),
    update (schedule, command, nodename, nodeport, database, username, active, jobname, missed) on cron.job to public;
  grant select, delete on cron.job_run_details to public;
  grant usage, select on sequence cron.jobid_seq to public;
  grant select on sequence cron.runid_seq to public;

  create function rowhouse.check_job() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
  declare
    parts constant rowhouse.schedule_parts := rowhouse.parse_schedule(new.schedule);
  begin
    if parts.is_restart is null then
      raise exception 'invalid schedule: %', new.schedule
        using errcode = 'invalid_parameter_value',
          hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
    end if;
    if parts.ignored is not null and (tg_op = 'INSERT' or new.schedule <> old.schedule) then
      raise warning 'a part of the schedule has no effect: %', parts.ignored;
    end if;
    if tg_op = 'INSERT' or (new.username, new.database) <> (old.username, old.database) then
      if not pg_catalog.has_database_privilege(new.username, new.database, 'connect') then
        raise exception 'User % does not have CONNECT privilege on %', new.username, new.database
          using errcode = 'insufficient_privilege';
      end if;
    end if;
    -- Refused jobs take no number.
    if new.jobid is null then
      new.jobid := pg_catalog.nextval('cron.jobid_seq');
    end if;
    return new;
  end
  $$;
  comment on function rowhouse.check_job() is
    'Trigger: refuses jobs with an invalid schedule, or that could not connect, and numbers the others.';
  create trigger check_job before insert or update on cron.job
    for each row execute function rowhouse.check_job();

  create function cron.job_cache_invalidate() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  begin
    perform pg_catalog.pg_notify('rowhouse_schedules', '');
    return null;
  end
  $$;
  comment on function cron.job_cache_invalidate() is 'Trigger: makes running servers look at the jobs.';
  create trigger cron_job_cache_invalidate after insert or update or delete or truncate on cron.job
    for each statement execute function cron.job_cache_invalidate();

  create function cron.schedule(schedule text, command text) returns bigint
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  declare
    id bigint;
  begin
    if schedule is null or command is null then
      raise exception '% can not be NULL', case when schedule is null then 'schedule' else 'command' end
        using errcode = 'null_value_not_allowed';
    end if;
    insert into cron.job (schedule, command) values (schedule.schedule, schedule.command) returning jobid into id;
    return id;
  end
  $$;
  comment on function cron.schedule(text, text) is 'Schedules a command. Returns the number of the job.';

  create function cron.schedule_in_database(
    job_name text, schedule text, command text, database text, username text default null, active boolean default true
  )
  returns bigint
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  declare
    id bigint;
  begin
    if job_name is null or schedule is null or command is null then
      raise exception '% can not be NULL',
        case when job_name is null then 'job_name' when schedule is null then 'schedule' else 'command' end
        using errcode = 'null_value_not_allowed';
    end if;
    if username <> current_user then
      if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
        raise exception 'must be superuser to create a job for another role' using errcode = 'insufficient_privilege';
      end if;
      perform rowhouse.require_login(username);
    end if;
    insert into cron.job (schedule, command, database, username, active, jobname)
    values (
      schedule_in_database.schedule, schedule_in_database.command,
      coalesce(schedule_in_database.database, pg_catalog.current_database()),
      coalesce(schedule_in_database.username, current_user), coalesce(schedule_in_database.active, true), job_name
    )
    on conflict on constraint jobname_username_uniq
      do update set schedule = excluded.schedule, command = excluded.command, database = excluded.database
    returning jobid into id;
    return id;
  end
  $$;
  comment on function cron.schedule_in_database(text, text, text, text, text, boolean) is
    'Schedules a command in a database of the same server. A job of the same name and role is replaced. Returns the number of the job.';

  create function cron.schedule(job_name text, schedule text, command text) returns bigint
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  declare
    id bigint;
  begin
    if job_name is null or schedule is null or command is null then
      raise exception '% can not be NULL',
        case when job_name is null then 'job_name' when schedule is null then 'schedule' else 'command' end
        using errcode = 'null_value_not_allowed';
    end if;
    insert into cron.job (schedule, command, jobname)
    values (schedule.schedule, schedule.command, job_name)
    on conflict on constraint jobname_username_uniq
      do update set schedule = excluded.schedule, command = excluded.command, database = excluded.database
    returning jobid into id;
    return id;
  end
  $$;
  comment on function cron.schedule(text, text, text) is
    'Schedules a command under a name. A job of the same name and role is replaced. Returns the number of the job.';

  create function rowhouse.require_login(role text) returns void
  language plpgsql stable set search_path = pg_catalog, pg_temp
  as $$
  begin
    if not exists (select from pg_catalog.pg_roles where rolname = role) then
      raise exception 'role "%" does not exist', role using errcode = 'undefined_object';
    end if;
    if not (select rolcanlogin from pg_catalog.pg_roles where rolname = role) then
      raise exception 'role "%" can not log in', role
        using errcode = 'insufficient_privilege', detail = 'Jobs may only be run by roles that have the LOGIN attribute.';
    end if;
  end
  $$;
  comment on function rowhouse.require_login(text) is 'Refuses roles that do not exist or cannot log in.';

  create function cron.alter_job(
    job_id bigint, schedule text default null, command text default null, database text default null,
    username text default null, active boolean default null
  )
  returns void
  language plpgsql set search_path = pg_catalog, pg_temp
  as $$
  begin
    if job_id is null then
      raise exception 'job_id can not be NULL' using errcode = 'null_value_not_allowed';
    end if;
    if username <> current_user then
      if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
        raise exception 'must be superuser to alter username' using errcode = 'insufficient_privilege';
      end if;
      perform rowhouse.require_login(username);
    end if;
    if schedule is null and command is null and database is null and username is null and active is null then
      raise exception 'no updates specified'
        using errcode = 'invalid_parameter_value',
          hint = 'You must specify at least one job attribute to change when calling alter_job';
    end if;
    update cron.job set
      schedule = coalesce(alter_job.schedule, job.schedule),
      command = coalesce(alter_job.command, job.command),
      database = coalesce(alter_job.database, job.database),
      username = coalesce(alter_job.username, job.username),
      active = coalesce(alter_job.active, job.active)
    where jobid = job_id;
    if not found then
      raise exception 'Job % does not exist or you don''t own it', job_id using errcode = 'no_data_found';
    end if;
  end
  $$;
  comment on function cron.alter_job(bigint, text, text, text, text, boolean) is
    'Changes a job. What is null stays as it is.';

  create function cron.unschedule(job_id bigint) returns boolean
  language plpgsql strict set search_path = pg_catalog, pg_temp
  as $$
  begin
    delete from cron.job where jobid = job_id;
    if not found then
      raise exception 'could not find valid entry for job %', job_id using errcode = 'no_data_found';
    end if;
    return true;
  end
  $$;
  comment on function cron.unschedule(bigint) is 'Removes a job. A run in progress is canceled.';

  create function cron.unschedule(job_name text) returns boolean
  language plpgsql strict set search_path = pg_catalog, pg_temp
  as $$
  begin
    delete from cron.job where jobname = job_name and username = current_user;
    if not found then
      raise exception 'could not find valid entry for job ''%''', job_name using errcode = 'no_data_found';
    end if;
    return true;
  end
  $$;
  comment on function cron.unschedule(text) is 'Removes the job of the caller with this name. A run in progress is canceled.';

  grant execute on function cron.schedule(text, text), cron.schedule(text, text, text), cron.unschedule(bigint),
    cron.unschedule(text) to public;

  -- The owner of the database in Supabase.
  if exists (select from pg_catalog.pg_roles where rolname = 'postgres') and current_user <> 'postgres' then
    grant usage on schema cron to postgres with grant option;
    grant all on all functions in schema cron to postgres with grant option;
  end if;
end
$migration$;

-- What the scheduler remembers of each job. `cron.job` has what people decide.
create table rowhouse.schedule_states (
  jobid bigint constraint schedule_states_pkey primary key,
  schedule text not null,
  zone text not null,
  planned_at timestamptz not null,
  next_at timestamptz,
  due_at timestamptz,
  run bigint,
  skipped bigint not null default 0
);
comment on table rowhouse.schedule_states is
  E'What is planned of the jobs of cron.job\n\nOnly functions of the server have access.';
comment on column rowhouse.schedule_states.jobid is 'The job.';
comment on column rowhouse.schedule_states.schedule is 'Its schedule, from which next_at follows.';
comment on column rowhouse.schedule_states.zone is 'Time zone of the schedule.';
comment on column rowhouse.schedule_states.planned_at is 'When next_at was computed.';
comment on column rowhouse.schedule_states.next_at is 'When it is due again. Null if that is to be computed, infinity if never.';
comment on column rowhouse.schedule_states.due_at is 'Since when it waits to be run; null if it does not.';
comment on column rowhouse.schedule_states.run is 'The run in progress.';
comment on column rowhouse.schedule_states.skipped is 'Due times without a run, because the one before had not ended or no server was there.';
alter table rowhouse.schedule_states enable row level security;
-- Tables of the migrating role may have been granted to others by default.
revoke all on rowhouse.schedule_states from public, anon, authenticated, service_role;

create function rowhouse.has_own_schedules() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from pg_catalog.pg_trigger join pg_catalog.pg_class on pg_class.oid = tgrelid
    where relname = 'job' and relnamespace = pg_catalog.to_regnamespace('cron')
      and tgfoid = pg_catalog.to_regprocedure('rowhouse.check_job()')
  )
$$;
comment on function rowhouse.has_own_schedules() is
  'Whether the server runs the jobs of cron.job. False if the schema is that of the extension pg_cron.';
grant execute on function rowhouse.has_own_schedules() to authenticator;

create function rowhouse.schedule_zone(setting text) returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select coalesce(setting, nullif(pg_catalog.current_setting('cron.timezone', true), ''), 'GMT')
$$;
comment on function rowhouse.schedule_zone(text) is
  'The time zone of schedules: that of the setting, else the parameter cron.timezone of the database, else GMT.';

create function rowhouse.has_jobs() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select rowhouse.has_own_schedules() and (
    exists (select from cron.job where active) or exists (select from rowhouse.schedule_states where run is not null)
  )
$$;
comment on function rowhouse.has_jobs() is 'Whether the server has jobs to run.';
grant execute on function rowhouse.has_jobs() to authenticator;

create function rowhouse.plan_runs(zone text, at timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  delete from rowhouse.schedule_states
  where run is null and not exists (select from cron.job where job.jobid = schedule_states.jobid);
  -- A job that is activated again is planned again.
  update rowhouse.schedule_states set next_at = null, due_at = null
  where (next_at is not null or due_at is not null)
    and exists (select from cron.job where job.jobid = schedule_states.jobid and not active);
  insert into rowhouse.schedule_states (jobid, schedule, zone, planned_at, next_at)
  select job.jobid, job.schedule, plan_runs.zone, at, rowhouse.next_run(job.schedule, at, plan_runs.zone)
  from cron.job left join rowhouse.schedule_states as state using (jobid)
  where active
    and (state.next_at is null or state.schedule <> job.schedule or state.zone <> plan_runs.zone)
  on conflict (jobid) do update
    set schedule = excluded.schedule, zone = excluded.zone, planned_at = excluded.planned_at, next_at = excluded.next_at;
  -- The clock was set back. Fixed times wait until it was caught up with, so that they are not due twice, unless that takes long.
  update rowhouse.schedule_states set planned_at = at, next_at = rowhouse.next_run(schedule, at, plan_runs.zone)
  where planned_at > at + interval '1 minute'
    and (planned_at > at + interval '3 hours' or (rowhouse.parse_schedule(schedule)).is_repeating);
end
$$;
comment on function rowhouse.plan_runs(text, timestamptz) is 'Computes when new and changed jobs are due.';

create function rowhouse.note_due_runs(at timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  -- A minute is as long as another process may take to replace one that was killed.
  update rowhouse.schedule_states as state set
    due_at = case when is_busy then state.due_at when is_run then at end,
    skipped = skipped + case when is_busy or not is_run then 1 else 0 end,
    planned_at = at,
    next_at = case when following > at then following else rowhouse.next_run(state.schedule, at, state.zone) end
  from (
    select jobid, run is not null or due_at is not null as is_busy,
      next_at >= at - interval '1 minute' or job.missed = 'once' as is_run,
      -- An interval counts from the due time, so that it does not drift.
      rowhouse.next_run(due.schedule, next_at, zone) as following
    from rowhouse.schedule_states as due join cron.job using (jobid)
    where next_at <= at
    offset 0
  ) as due
  where due.jobid = state.jobid;
  -- @restart, when the database was started.
  update rowhouse.schedule_states as state set due_at = at, planned_at = at
  where next_at = 'infinity' and planned_at < pg_catalog.pg_postmaster_start_time() and run is null
    and (rowhouse.parse_schedule(schedule)).is_restart;
end
$$;
comment on function rowhouse.note_due_runs(timestamptz) is
  'Finds the jobs that are due. One that still runs, or waits to run, is not due again.';

create function rowhouse.end_lost_runs(own bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  lost constant bigint[] := array(
    select runid from rowhouse.schedule_states join cron.job_run_details on runid = run
    where runid <> all (own) and not exists (
      select from pg_catalog.pg_stat_activity
      where pid = job_pid and usename = username
        -- A command can change the name. Who may not see when the session began has only the name.
        and (starts_with(application_name, 'rowhouse schedules') or backend_start <= start_time)
    )
  );
begin
  update cron.job_run_details
  set status = 'failed', return_message = 'server restarted', end_time = pg_catalog.clock_timestamp()
  where runid = any (lost) and status in ('starting', 'running');
  update rowhouse.schedule_states set run = null
  where run = any (lost)
    or (run <> all (own) and not exists (select from cron.job_run_details where runid = run));
end
$$;
comment on function rowhouse.end_lost_runs(bigint[]) is
  'Ends the runs of processes that are gone. As long as a statement of such a run is executed, its job is not started again.';

create function rowhouse.start_runs(
  new_holder text, zone_setting text, most integer, own bigint[], at timestamptz default pg_catalog.clock_timestamp()
)
returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  runs json;
begin
  -- The lock keeps another process from taking the lease before the end of this transaction.
  perform from rowhouse.leases where name = 'schedules' and holder = new_holder and until > pg_catalog.clock_timestamp() for share;
  if not found then
    return pg_catalog.json_build_object('state', 'no lease');
  end if;
  if not rowhouse.has_own_schedules() then
    return pg_catalog.json_build_object('state', 'not ours');
  end if;
  if exists (select from rowhouse.schedule_states where run <> all (own)) then
    perform rowhouse.end_lost_runs(own);
  end if;
  perform rowhouse.plan_runs(rowhouse.schedule_zone(zone_setting), at);
  perform rowhouse.note_due_runs(at);
  -- Roles take turns, so that one with many jobs does not hold up the others; and none has all places while others have jobs.
  with of_roles as (
    select username, pg_catalog.count(*) filter (where run is not null) as running
    from cron.job left join rowhouse.schedule_states using (jobid) where active or run is not null group by username
  ), due as (
    select jobid, due_at, running + pg_catalog.row_number() over (partition by username order by due_at, jobid) as turn
    from rowhouse.schedule_states join cron.job using (jobid) join of_roles using (username)
    where due_at is not null and run is null and active
  ), chosen as (
    select job.* from due join cron.job using (jobid)
    where turn <= greatest(
      most + pg_catalog.cardinality(own) - case when (select pg_catalog.count(*) from of_roles) > 1 then 1 else 0 end, 1
    )
    order by turn, due_at, jobid limit most
  ), added as (
    insert into cron.job_run_details (jobid, database, username, command, status)
    select jobid, database, username, command, 'starting' from chosen
    returning runid, jobid, database, username, command
  ), noted as (
    update rowhouse.schedule_states as state set run = runid, due_at = null from added where state.jobid = added.jobid
  )
  select pg_catalog.json_agg(pg_catalog.json_build_object(
    'run', runid::text, 'job', jobid::text, 'database', database, 'role', username, 'command', command,
    -- The owner of the table can add jobs for any role, and gets no further rights by that.
    'exceedsOwner', (select rolsuper from pg_catalog.pg_roles where rolname = username)
      and not (select rolsuper from pg_catalog.pg_roles where oid = (
        select relowner from pg_catalog.pg_class where oid = 'cron.job'::regclass
      ))
  )) into runs from added;
  return pg_catalog.json_build_object(
    'state', 'scheduling',
    'runs', coalesce(runs, '[]'),
    'canceled', (
      select coalesce(pg_catalog.json_agg(id::text), '[]') from pg_catalog.unnest(own) as id
      where not exists (select from rowhouse.schedule_states join cron.job using (jobid) where run = id and active)
    ),
    'jobs', (select pg_catalog.count(*) from cron.job where active),
    'waiting', (select pg_catalog.count(*) from rowhouse.schedule_states where due_at is not null),
    'skipped', (select coalesce(pg_catalog.sum(skipped), 0) from rowhouse.schedule_states),
    'pause', (
      select extract(epoch from pg_catalog.min(next_at) - pg_catalog.clock_timestamp()) * 1000
      from rowhouse.schedule_states where next_at < 'infinity'
    )
  );
end
$$;
comment on function rowhouse.start_runs(text, text, integer, bigint[], timestamptz) is
  'Plans the jobs, and starts those that are due: at most so many, for the process that has the lease. own: its runs in progress. Returns the runs to carry out, those that are canceled, and the milliseconds until a job is due.';
grant execute on function rowhouse.start_runs(text, text, integer, bigint[], timestamptz) to authenticator;

create function rowhouse.run_started(run_id bigint, pid integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  update cron.job_run_details set status = 'running', job_pid = pid, start_time = pg_catalog.clock_timestamp()
  where runid = run_id and status = 'starting';
  return found;
end
$$;
comment on function rowhouse.run_started(bigint, integer) is
  'Records that a process of the database is about to execute a run. False if the run was ended meanwhile, and must not be executed.';
grant execute on function rowhouse.run_started(bigint, integer) to authenticator;

create function rowhouse.run_finished(run_id bigint, outcome text, message text) returns void
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  update cron.job_run_details
  set status = outcome, return_message = message, start_time = coalesce(start_time, pg_catalog.clock_timestamp()),
    end_time = pg_catalog.clock_timestamp()
  where runid = run_id and status in ('starting', 'running');
  update rowhouse.schedule_states set run = null where run = run_id;
$$;
comment on function rowhouse.run_finished(bigint, text, text) is 'Records the end of a run: `succeeded` or `failed`, with its message.';
grant execute on function rowhouse.run_finished(bigint, text, text) to authenticator;

create function rowhouse.remove_old_runs(keep interval) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp
as $$
  with removed as (
    delete from cron.job_run_details
    where runid in (select runid from cron.job_run_details order by runid limit 1000)
      and coalesce(end_time, start_time) < pg_catalog.clock_timestamp() - keep
    returning runid
  )
  select pg_catalog.count(*) from removed
$$;
comment on function rowhouse.remove_old_runs(interval) is
  'Removes ended runs that are older, of the 1000 oldest. Returns their number.';
grant execute on function rowhouse.remove_old_runs(interval) to authenticator;

create function rowhouse.request_run(job bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  is_active constant boolean := (select active from cron.job where jobid = request_run.job);
begin
  if not rowhouse.has_own_schedules() then
    raise exception 'the extension pg_cron runs the jobs, and has no means to run one at once'
      using errcode = 'feature_not_supported';
  end if;
  if is_active is null then
    raise exception 'could not find valid entry for job %', job using errcode = 'no_data_found';
  end if;
  if not is_active then
    raise exception 'job % is not active', job
      using errcode = 'object_not_in_prerequisite_state', hint = pg_catalog.format('select cron.alter_job(%s, active := true)', job);
  end if;
  insert into rowhouse.schedule_states as state (jobid, schedule, zone, planned_at, due_at)
  values (job, '', '', pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp())
  on conflict (jobid) do update set due_at = coalesce(state.due_at, excluded.due_at);
  perform pg_catalog.pg_notify('rowhouse_schedules', '');
end
$$;
comment on function rowhouse.request_run(bigint) is
  'Makes a server run a job at once, or when its run in progress has ended.';
grant execute on function rowhouse.request_run(bigint) to authenticator;

create function rowhouse.list_schedules(zone_setting text)
returns table (
  job bigint, name text, schedule text, command text, database text, role text, active boolean, missed text,
  next_at timestamptz, is_waiting boolean, skipped bigint, last_run bigint, last_status text, last_message text,
  last_started_at timestamptz, last_ended_at timestamptz
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select job.jobid, job.jobname, job.schedule, job.command, job.database, job.username, job.active,
    coalesce(pg_catalog.to_jsonb(job) ->> 'missed', 'skip'),
    case when job.active then nullif(
      coalesce(
        state.next_at,
        rowhouse.next_run(job.schedule, pg_catalog.now(), rowhouse.schedule_zone(zone_setting))
      ),
      'infinity'
    ) end,
    state.due_at is not null, coalesce(state.skipped, 0), last.runid, last.status, last.return_message, last.start_time,
    last.end_time
  from cron.job
  left join rowhouse.schedule_states as state on state.jobid = job.jobid and state.schedule = job.schedule
  left join lateral (
    select * from cron.job_run_details as run where run.jobid = job.jobid order by run.runid desc limit 1
  ) as last on true
  order by job.jobid
$$;
comment on function rowhouse.list_schedules(text) is
  'The jobs with their next due time and last run, for people who operate the server: the console and the command line. With the extension pg_cron, too.';
grant execute on function rowhouse.list_schedules(text) to authenticator;

create function rowhouse.list_schedule_runs(job bigint, before bigint, most integer, only_status text default null)
returns table (
  run bigint, job_id bigint, name text, command text, role text, database text, pid integer, status text, message text,
  affected bigint, started_at timestamptz, ended_at timestamptz, milliseconds double precision
)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select run.runid, run.jobid, job.jobname, run.command, run.username, run.database, run.job_pid, run.status,
    run.return_message,
    case when run.status = 'succeeded' then pg_catalog.substring(run.return_message, '(\d{1,18})(?: rows?)?$')::bigint end,
    run.start_time, run.end_time, extract(epoch from run.end_time - run.start_time)::double precision * 1000
  from cron.job_run_details as run left join cron.job using (jobid)
  where (list_schedule_runs.job is null or run.jobid = list_schedule_runs.job)
    and (before is null or run.runid < before)
    and (only_status is null or run.status = only_status)
  order by run.runid desc limit most
$$;
comment on function rowhouse.list_schedule_runs(bigint, bigint, integer, text) is
  'Runs, the latest first: of one job or of all, those before a run or all, of one status or of all, at most so many. affected: rows that the last statement returned or changed.';
grant execute on function rowhouse.list_schedule_runs(bigint, bigint, integer, text) to authenticator;

call rowhouse.end_private_functions();
