// `rowhouse check --fix` must not lock users out: what it writes is applied, and every table answers as before.
import pg from 'pg'
import t, { type Test } from 'tap'
import { objectName, type LintFinding } from '../../server/tools/check/finding.ts'
import { migrationText } from '../../server/tools/check/fix-migration.ts'
import { tryFixes, type FixTrial } from '../../server/tools/check/fix-trial.ts'
import { runCheck, type CheckSettings } from '../../server/tools/check/run-check.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const settings: CheckSettings = {
  dbSchemas: ['public'],
  dbExtraSearchPath: ['public'],
  dbAnonRole: 'anon',
  services: ['rest'],
}
const member = '11111111-1111-4111-8111-111111111111'
const stranger = '22222222-2222-4222-8222-222222222222'
const roles = ['anon', 'authenticated', 'service_role']

type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult<Record<string, unknown>>>

/** A database of its own, with a connection of its owner. */
async function open(t: Test, sql: string): Promise<Query> {
  const database = await createMigratedDatabase()
  const client = new pg.Client(database.adminUri)
  await client.connect()
  client.on('notice', () => undefined)
  t.teardown(async () => {
    await client.end()
    await database.drop()
  })
  await client.query(sql)
  return (text, values) => client.query<Record<string, unknown>>(text, values)
}

async function findings(query: Query, more: Partial<CheckSettings> = {}): Promise<readonly LintFinding[]> {
  const { findings: found } = await runCheck(query, { ...settings, ...more }, { measure: false })
  return found.filter(({ dismissed }) => dismissed === null)
}

const fix = async (query: Query, mayChangeRights: boolean, found?: readonly LintFinding[]): Promise<FixTrial> =>
  tryFixes(query, found ?? (await findings(query)), { mayChangeRights, roles })

const apply = async (query: Query, { parts }: FixTrial): Promise<void> => {
  await query(migrationText(parts) ?? '')
}

/** What requests get: the number of rows, or the error, of each statement by each caller. */
async function answers(query: Query, statements: readonly string[]): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const [role, sub] of [
    ['anon', null] as const,
    ['authenticated', member] as const,
    ['authenticated', stranger] as const,
  ]) {
    for (const statement of statements) {
      await query('begin')
      await query(`select set_config('request.jwt.claims', $1, true)`, [JSON.stringify({ role, sub })])
      await query(`set local role ${role}`)
      found[`${role} ${sub}: ${statement}`] = await query(statement).then(
        ({ rowCount }) => rowCount,
        (error: unknown) => (error as Error).message,
      )
      await query('rollback')
    }
  }
  return found
}

/** The usual idiom, and everything else by which a role calls a function that it does not name. */
const project = `
  create table public.members (org uuid, user_id uuid, primary key (org, user_id));
  alter table public.members enable row level security;
  insert into public.members values ('${member}', '${member}');
  create function public.is_member(org uuid) returns boolean language sql stable security definer set search_path = ''
    as $$ select exists (select from public.members m where m.org = $1 and m.user_id = auth.uid()) $$;
  create function public.default_org() returns uuid language sql stable security definer set search_path = '' as $$ select auth.uid() $$;
  create function public.valid_title(text) returns boolean language sql immutable security definer set search_path = '' as $$ select $1 <> '' $$;
  create function public.shortened(text) returns text language sql immutable security definer set search_path = '' as $$ select left($1, 3) $$;
  create function public.indexed(text) returns text language sql immutable security definer set search_path = '' as $$ select lower($1) $$;
  create function public.valid_code(text) returns boolean language sql immutable security definer set search_path = '' as $$ select length($1) < 9 $$;
  create function public.shown(text) returns text language sql stable security definer set search_path = '' as $$ select upper($1) $$;
  create function public.by_text(text) returns text language sql stable security definer set search_path = '' as $$ select $1 || '!' $$;
  create function public.in_trigger(text) returns text language sql stable security definer set search_path = '' as $$ select trim($1) $$;
  create function public.in_when(text) returns boolean language sql immutable security definer set search_path = '' as $$ select $1 is not null $$;
  create function public.composed(text) returns text language sql stable security definer set search_path = '' as $$ select $1 $$;
  create function public.in_body(text) returns text language sql stable security definer set search_path = '' as $$ select $1 $$;
  create function public.unneeded() returns int language sql security definer set search_path = '' as 'select 1';
  create domain public.code as text check (public.valid_code(value));
  create table public.notes (id int generated always as identity primary key, org uuid default public.default_org(),
    title text check (public.valid_title(title)), short text generated always as (public.shortened(title)) stored, code public.code);
  create index on public.notes (public.indexed(title)); create index on public.notes (org);
  insert into public.notes (org, title) values ('${member}', 'of a member'), ('${stranger}', 'of nobody');
  alter table public.notes enable row level security;
  create policy members on public.notes using (public.is_member(org)) with check (public.is_member(org));
  grant select, insert, update, delete on public.notes to anon, authenticated; grant select on public.members to authenticated;
  create policy own on public.members for select to authenticated using (user_id = (select auth.uid()));
  create function public.trims() returns trigger language plpgsql set search_path = '' as $$ begin new.title := public.in_trigger(new.title); return new; end $$;
  create trigger trims before insert or update on public.notes for each row when (public.in_when(new.title)) execute function public.trims();
  create view public.titles with (security_invoker) as select id, public.shown(title) as title from public.notes;
  grant select on public.titles to anon, authenticated;
  create function public.loud(text) returns text language sql stable set search_path = '' return public.in_body($1);
  create function public.rpc() returns text language plpgsql stable set search_path = '' as $$ declare found text; begin
    select public.by_text(title) into found from public.notes limit 1;
    execute format('select public.%I($1)', 'composed') into found using found;
    return public.loud(found); end $$;
  grant execute on all functions in schema public to public, anon, authenticated;
`
const statements = [
  'select * from public.notes',
  'select * from public.titles',
  `insert into public.notes (title, code) values ('new', 'a')`,
  `insert into public.notes (org, title) values ('${stranger}', 'new')`,
  `update public.notes set title = ' changed '`,
  'delete from public.notes',
  'select public.rpc()',
]

t.test('a security definer helper that policies, views, defaults, checks, indexes and triggers call', async (t) => {
  const query = await open(t, project)
  const before = await answers(query, statements)
  const member_reads = `authenticated ${member}: select * from public.notes`
  t.match(before, { [member_reads]: 1, 'anon null: select * from public.notes': 0 }, 'the project works')
  t.notOk(Object.values(before).some((it) => typeof it === 'string' && it.includes('permission denied for function')))

  const found = await findings(query)
  const open_ = found.filter(({ code }) => code.endsWith('_security_definer_function_executable'))
  t.equal(open_.length, 26, 'the functions are reported')
  t.strictSame(
    open_.filter((it) => it.fix !== null).map(({ object }) => objectName(object)),
    ['public.unneeded()', 'public.unneeded()'],
    'only what nothing calls is closed',
  )
  const reasons = open_.map(({ object, advice }) => `${object.name}: ${advice}`).join('\n')
  for (const reason of [
    'the policy members of public.notes',
    'the default org of public.notes',
    'the generated column short of public.notes',
    'the view public.titles',
    'the constraint notes_title_check of public.notes',
    'the constraint code_check',
    'the function public.trims',
    'the trigger trims of public.notes',
    'the function public.rpc',
    'the function public.loud',
    'the index notes_indexed_idx of public.notes',
  ])
    t.match(reasons, reason)

  const trial = await fix(query, true)
  t.strictSame(
    trial.tried.filter(({ outcome }) => outcome === 'failed').map(({ finding, error }) => [finding.code, error]),
    [],
  )
  t.strictSame(await answers(query, statements), before, 'the trial is rolled back')
  await apply(query, trial)
  t.strictSame(await answers(query, statements), before, 'every table answers as before')
  const { rows } = await query(
    `select has_function_privilege('anon', 'public.unneeded()', 'execute') as anon, has_function_privilege('service_role', 'public.unneeded()', 'execute') as service`,
  )
  t.strictSame(rows, [{ anon: false, service: true }])
})

t.test('helpers of policies for one role are closed to the others', async (t) => {
  const query = await open(t, project)
  await query(`alter policy members on public.notes to authenticated; drop function public.rpc;
    revoke all on public.notes, public.titles from anon`)
  const before = await answers(query, statements.slice(0, -1))
  await apply(query, await fix(query, true))
  t.strictSame(await answers(query, statements.slice(0, -1)), before)
  const { rows } = await query(`select role, has_function_privilege(role, 'public.is_member(uuid)', 'execute') as may
    from unnest(array['anon', 'authenticated', 'service_role']) as role`)
  t.strictSame(rows, [
    { role: 'anon', may: false },
    { role: 'authenticated', may: true },
    { role: 'service_role', may: true },
  ])
})

t.test('functions that settings name, and the owners of functions', async (t) => {
  const query = await open(t, '')
  const owner = `owner_${member.slice(0, 4)}${Math.floor(Math.random() * 1e9)}`
  await query(`create role ${owner}; grant usage, create on schema public to ${owner};
    create function public.before_request() returns void language sql security definer set search_path = '' as '';
    create function public.inner_one() returns int language sql security definer set search_path = '' as 'select 1';
    grant execute on all functions in schema public to public, anon, authenticated;
    set role ${owner};
    create function public.outer_one() returns int language sql security definer set search_path = '' as 'select public.inner_one()';
    reset role; revoke execute on function public.outer_one() from public, anon, authenticated; grant execute on function public.outer_one() to authenticated`)
  const found = await findings(query, { dbPreRequest: { schema: 'public', name: 'before_request' } })
  t.strictSame(
    found.filter(({ object, fix: sql }) => object.name === 'before_request()' && sql !== null),
    [],
  )
  await apply(
    query,
    await fix(
      query,
      true,
      found.filter(({ object }) => object.name === 'inner_one()'),
    ),
  )
  await query('begin; set local role authenticated')
  await t.rejects(query('savepoint a; select public.inner_one()'), { code: '42501' })
  await query('rollback to savepoint a')
  t.strictSame(
    (await query('select public.outer_one() as one')).rows,
    [{ one: 1 }],
    'the owner keeps what its function calls',
  )
  await query(`rollback; drop owned by ${owner} cascade; drop role ${owner}`)
})

t.test('what changes rights needs consent; what does not is written', async (t) => {
  const query = await open(
    t,
    `create table public.t (id int primary key, owner uuid, body text); alter table public.t enable row level security;
     grant select, update, delete on public.t to authenticated;
     create policy own on public.t for select to authenticated using (owner = auth.uid());
     create policy changes on public.t for update to authenticated using (owner = auth.uid()) with check (body <> '');
     create policy removes on public.t for delete to authenticated using (true);
     create policy a on public.t for insert to authenticated with check (owner = (select auth.uid()));
     create policy b on public.t for insert to authenticated with check (body = 'x'); grant insert on public.t to authenticated;
     create function public.f() returns int language sql security definer set search_path = '' as 'select 1';
     revoke execute on function public.f() from public, authenticated; grant execute on function public.f() to anon`,
  )
  const trial = await fix(query, false)
  const outcomes = trial.tried.map(({ finding: { code, object }, outcome, changes }) => [
    `${code} ${objectName(object)}`,
    outcome,
    changes.map(
      ({ role, object: on, command, before, after }) => `${role}: ${command} on ${on}: ${before} -> ${after}`,
    ),
  ])
  t.strictSame(
    outcomes.sort(),
    [
      [
        'anon_security_definer_function_executable public.f()',
        'unconfirmed',
        ['anon: execute on function public.f(): as postgres -> no'],
      ],
      ['auth_rls_initplan public.t', 'written', []],
      ['auth_rls_initplan public.t', 'written', []],
      ['multiple_permissive_policies public.t', 'written', []],
      ['policy_column_without_index public.t', 'written', []],
      [
        'policy_column_writable public.t',
        'unconfirmed',
        ['authenticated: update on table public.t: rows by changes -> rows by changes, by another condition'],
      ],
      [
        'rls_policy_always_true public.t',
        'unconfirmed',
        ['authenticated: delete on table public.t: rows by removes -> no rows'],
      ],
    ].sort(),
  )
  const text = migrationText(trial.parts) ?? ''
  t.match(text, /alter policy changes on public\.t\n {2}using \(\(owner = \( SELECT auth\.uid\(\)\)\)\);/)
  t.notMatch(text, /revoke|drop policy removes|with check \(\(body <> ''/)
  const agreed = await fix(query, true)
  t.ok(agreed.tried.every(({ outcome }) => outcome === 'written'))
  t.match(migrationText(agreed.parts), /revoke execute on function public\.f\(\) from public, "anon";/)
})

t.test('statements that fail are not written, nor those that break other objects', async (t) => {
  const query = await open(
    t,
    `create table public.t (id int primary key); alter table public.t enable row level security;
     grant select on public.t to authenticated; create policy p on public.t for select to authenticated using (true)`,
  )
  const [given] = await findings(query)
  t.equal(given, undefined)
  const one = (code: string, sql: string): LintFinding => ({
    ...{
      code,
      level: 'WARN',
      object: { type: 'table', schema: 'public', name: 't' },
      key: code,
      reason: 'r',
      fix: sql,
    },
    ...{
      trial: null,
      advice: null,
      edit: null,
      closes: null,
      drops: [],
      metadata: {},
      isOfSplinter: false,
      dismissed: null,
    },
  })
  await query(`create function public.g() returns boolean language sql stable as 'select true'; alter policy p on public.t using (public.g());
    grant execute on function public.g() to public, authenticated`)
  const trial = await fix(query, true, [
    one('no_primary_key', 'create index on public.nowhere (id);'),
    one('unused_index', 'revoke execute on function public.g() from public, anon, authenticated;'),
    one('duplicate_index', 'create index again on public.t (id);'),
    one('table_bloat', 'create index again on public.t (id);\nselect 1/0;'),
  ])
  t.match(
    trial.tried.map(({ outcome, error }) => [outcome, error]),
    [
      ['failed', 'relation "public.nowhere" does not exist'],
      ['failed', 'authenticated could no longer select from table public.t: permission denied for function g'],
      ['written', null],
      ['failed', 'division by zero'],
    ],
  )
  t.equal(migrationText(trial.parts)?.includes('create index again'), true)
  t.notMatch(migrationText(trial.parts), 'revoke')
  const { rows } = await query(`select to_regclass('public.again') as found, pg_current_xact_id_if_assigned() as id`)
  t.strictSame(rows, [{ found: null, id: null }], 'nothing remains of the trial')
})

t.test('a policy calls a function that its role may not execute', async (t) => {
  const query = await open(t, project)
  await query(`revoke execute on function public.is_member(uuid) from public, anon`)
  t.match(await answers(query, ['select * from public.notes']), {
    'anon null: select * from public.notes': 'permission denied for function is_member',
  })
  const of = (found: readonly LintFinding[]): LintFinding[] =>
    found.filter(({ code }) => code === 'policy_function_not_executable')
  const found = of(await findings(query))
  t.match(found, [
    {
      level: 'ERROR',
      reason:
        'The policy members calls public.is_member, which anon may not execute, so requests to the table fail (42501).',
      fix: 'grant execute on function public.is_member(org uuid) to "anon";',
    },
  ])
  t.equal(found.length, 1)
  t.match((await fix(query, false, found)).tried, [{ outcome: 'unconfirmed' }], 'a grant needs consent as well')
  await apply(query, await fix(query, true, found))
  t.match(await answers(query, ['select * from public.notes']), { 'anon null: select * from public.notes': 0 })
  t.strictSame(of(await findings(query)), [])
  await query(
    'revoke execute on function public.is_member(uuid) from anon; revoke all on public.notes, public.titles from anon',
  )
  t.strictSame(of(await findings(query)), [], 'nothing is evaluated for a role without privileges on the table')
})

t.test('a role that is not the owner', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  await database.query(project)
  const trial = await withClient(database.authenticatorUri, async (client) => {
    const query = (text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> =>
      client.query(text, values)
    return fix(query, true)
  })
  t.ok(trial.tried.length > 0)
  t.ok(
    trial.tried.every(
      ({ outcome, error }) =>
        outcome === 'failed' && /must be owner|permission denied|may not grant or revoke/.test(error ?? ''),
    ),
  )
  t.equal(migrationText(trial.parts), undefined)
})

t.test('a fixed search_path is that of requests', async (t) => {
  const query = await open(
    t,
    `create schema if not exists extensions; grant usage on schema extensions to anon;
     create function extensions.helper() returns int language sql return 1;
     create function public.uses_helper() returns int language plpgsql stable as 'begin return helper(); end'`,
  )
  const found = (await findings(query, { dbExtraSearchPath: ['public', 'extensions', 'nowhere'] })).filter(
    ({ code }) => code === 'function_search_path_mutable',
  )
  await apply(query, await fix(query, false, found))
  t.strictSame((await query('select public.uses_helper() as one')).rows, [{ one: 1 }])
})

t.test('a large table is not locked by the trial of its index', async (t) => {
  const query = await open(
    t,
    `create table public.t (id int primary key, owner uuid, org int generated always as (id + 1) stored);
     alter table public.t enable row level security; grant select on public.t to authenticated;
     create policy own on public.t for select to authenticated using (owner = (select auth.uid()));
     create table public.keyless (a int)`,
  )
  const found = (await findings(query)).filter(({ code }) => /^policy_column_without_index|no_primary_key/.test(code))
  t.equal(found.length, 2)
  // PostgreSQL's own record of what was locked while the statements ran.
  const locked: unknown[] = []
  const watching: Query = async (text, values) => {
    const result = await query(text, values)
    if (/create index|add column/.test(text)) {
      const { rows } = await query(
        `select relation::regclass::text as name, mode from pg_locks where pid = pg_backend_pid() and relation in ('public.t'::regclass, 'public.keyless'::regclass)`,
      )
      locked.push(...rows.filter(({ mode }) => mode !== 'AccessShareLock'))
    }
    return result
  }
  const trial = await fix(watching, false, found)
  t.strictSame(locked, [])
  t.ok(
    trial.tried.every(({ outcome }) => outcome === 'written'),
    JSON.stringify(trial.tried.map(({ error }) => error)),
  )
  t.match(
    migrationText(trial.parts),
    /alter table public\.keyless add column id[^]*create index on public\.t \(owner\);/,
  )
})
