// `rowhouse explain` on the schema with tenants.
import t, { type Test } from 'tap'
import type { Explanation } from '../../server/tools/explain/explanation.ts'
import { explanationText } from '../../server/tools/explain/text.ts'
import { explainOn } from '../support/explain.ts'
import { explainedRequests, type ExplainedRequest } from '../tables/explain.ts'
import { createTenantsDatabase, tenantOrganisations, tenantUsers } from '../support/tenants.ts'

const database = await createTenantsDatabase()
t.teardown(() => database.drop())
const explain = await explainOn(t, database.authenticatorUri)

const plain = (text: string): string => text.replace(/\s+/g, ' ').replace(/'\d{4}-\d\d-\d\d \d\d:[^']*'/, "'NOW'")

/** One text for each policy that denies a row. */
const deniedTexts = ({ denied }: Explanation): string[] =>
  (denied?.rows ?? []).flatMap(({ kind, row, key, policies }) =>
    policies.map(({ name, tests }) => {
      const which = row ?? JSON.stringify(key)
      return plain(`${kind} ${which} ${name}: ${tests.map(({ resolved }) => resolved).join('; ')}`)
    }),
  )

function check(t: Test, expected: ExplainedRequest, found: Explanation): void {
  const { status, rows, grants = [], denied, policies } = expected
  t.equal(found.response?.status, status, JSON.stringify(found.response?.error))
  t.strictSame([found.rows.before, found.rows.after], rows)
  t.strictSame(
    (found.denied?.privileges ?? []).map(({ grant }) => grant),
    grants,
  )
  if (denied || grants.length === 0) t.strictSame(deniedTexts(found), denied ?? [])
  if (policies) {
    t.strictSame(
      (found.relations[0]?.policies ?? []).map(({ name, permissive }) => `${permissive ? '' : '!'}${name}`),
      policies,
    )
  }
  // Every explanation can be printed.
  for (const line of explanationText(found, true).split('\n')) t.ok(line.length <= 100, line)
  t.notMatch(explanationText(found), /^sql /m)
  if (found.statements.length > 0) t.match(explanationText(found, true), /^sql /m)
}

/** Everything in the database that a request could change, sequences excepted. */
async function contents(): Promise<unknown> {
  const { rows } = await database.query(`
    select c.oid::regclass::text as name, (xpath('/table/row/c/text()', query_to_xml(
      format('select md5(coalesce(string_agg(t::text, E''\\n'' order by t::text), '''')) as c from %s as t', c.oid::regclass), false, false, ''
    )))[1]::text as hash
    from pg_class c
    where c.relkind = 'r' and c.relnamespace in ('public'::regnamespace, 'auth'::regnamespace)
      and c.relname not like 'pg_%'
    order by 1`)
  return rows
}

const before = await contents()

for (const expected of explainedRequests) {
  t.test(expected.name, async (t) => {
    const { line, as, claims, more } = expected
    const isUser = as in tenantUsers
    const caller = isUser ? { as: `${as}@example.org`, claims } : { role: as, claims }
    check(t, expected, await explain(line, caller, more))
  })
}

t.test('what an explanation consists of', async (t) => {
  const { acme } = tenantOrganisations
  const found = await explain('GET /rest/v1/tasks?select=id&title=eq.x', { as: 'cleo@example.org' })
  t.match(found.request, {
    method: 'GET',
    target: '/tasks?select=id&title=eq.x',
    role: 'authenticated',
    claims: {
      sub: tenantUsers.cleo,
      email: 'cleo@example.org',
      aud: 'authenticated',
      aal: 'aal1',
      is_anonymous: false,
    },
  })
  t.match(found.statements, [{ sql: /^WITH pgrst_source AS .*"title" = \$1/, values: ['x'] }])
  const [tasks, projects] = found.relations
  t.match(tasks, {
    schema: 'public',
    name: 'tasks',
    kind: 'table',
    role: 'authenticated',
    through: null,
    commands: ['select'],
    rowSecurity: 'on',
    grants: [{ privilege: 'select', to: 'authenticated', columns: null }],
    policies: [{ permissive: true, command: 'select', roles: ['authenticated'], check: null, passes: 0 }],
  })
  t.match(tasks?.policies[0]?.using, 'SELECT tenancy.organisations() AS organisations')
  t.match(tasks?.policies[0]?.usingResolved, `IN ('${acme}', `)
  t.match(projects, { name: 'projects', through: 'policy project_readers_read on public.tasks' })
  t.match(found.plan, [{ Plan: { 'Actual Rows': 1, 'Shared Hit Blocks': Number } }])
  t.match(found.cost, { bypassedBy: 'service_role', milliseconds: Number })
  t.equal(found.cost?.withPolicies.length, found.cost?.withoutPolicies.length)
  t.strictSame(found.effects, { refused: [], remaining: [] })
})

t.test('callers', async (t) => {
  await t.rejects(explain('GET /tasks', { as: 'nobody@example.org' }), { message: /^There is no account/ })
  await t.rejects(explain('GET /tasks', { key: `sb_secret_${'x'.repeat(43)}` }), { message: /API key/ })
  const withoutAnonymous = await explainOn(t, database.authenticatorUri, { PGRST_DB_ANON_ROLE: '' })
  await t.rejects(withoutAnonymous('GET /tasks', {}), { message: /--as, --key or --role/ })
  const claims = { sub: tenantUsers.dora, role: 'authenticated' }
  t.match(await explain('GET /labels', { claims }), { request: { role: 'authenticated' }, rows: { after: 1 } })
  const quoted = await explain('GET /labels', { role: `o'"--`, claims: { sub: `'; drop table public.labels; --` } })
  t.match(quoted.response, { status: 401, error: { message: `role "o'"--" does not exist` } })
})

const hostile = `
  create table public.counted (id bigint generated always as identity primary key, note text);
  grant all on public.counted to authenticated, service_role;
  create extension dblink;
  create function tenancy.tell_partner() returns trigger language plpgsql security definer as $$
  begin perform public.dblink_exec('dbname=partner', 'insert into seen values (1)'); return new; end $$;
  create function tenancy.composed() returns trigger language plpgsql as $$
  begin execute format('select %L', new.note); return new; end $$;
  create table public.folder (id int primary key);
  create table public.told (id int primary key, note text, folder int references public.folder);
  create table public.told_child (told int references public.told on delete cascade, note text);
  create trigger tell_partner before insert on public.told for each row execute function tenancy.tell_partner();
  create trigger composed after delete on public.told_child for each row execute function tenancy.composed();
  grant all on public.folder, public.told, public.told_child to authenticated, service_role;
  insert into public.told_child values (null, 'x');
  create function public.effects(kind text) returns text language plpgsql as $$
  begin
    case kind
      when 'notify' then perform pg_notify('explained', 'x');
      when 'lock' then perform pg_advisory_lock(4711);
      when 'setting' then perform set_config('my.setting', 'left', false), set_config('role', 'none', false);
      when 'object' then perform lo_create(4711);
      when 'insert' then insert into public.counted (note) values ('left');
      when 'temporary' then create temporary table left_behind (id int);
      when 'commit' then commit;
    end case;
    return kind;
  end $$;
  create function public.outside(kind text) returns text language plpgsql as $$
  begin perform setval('public.counted_id_seq', 99); return kind; end $$`

t.test('effects outside the transaction', async (t) => {
  await database.query(hostile)
  const explain = await explainOn(t, database.authenticatorUri)
  const as = { as: 'anna@example.org' }
  const refusals: readonly (readonly [line: string, data: unknown, object: string, through: RegExp])[] = [
    ['POST /told', { id: 1 }, 'public.dblink_exec()', /trigger tell_partner on public.told, tenancy.tell_partner/],
    [
      'POST /folder',
      { id: 1, told: [{ id: 1 }] },
      'public.dblink_exec()',
      /^trigger tell_partner on public.told, tenancy/,
    ],
    ['DELETE /told?id=eq.1', undefined, 'tenancy.composed()', /cascade from public.told, trigger composed/],
    ['POST /rpc/outside', { kind: 'x' }, 'setval()', /^public.outside\(kind text\)$/],
  ]
  for (const [line, data, object, through] of refusals) {
    const found = await explain(line, as, { data })
    t.match([found.response, found.rows], [null, { before: null, after: null }], line)
    t.ok(found.statements.length > 0)
    const effect = found.effects.refused.find((it) => it.object === object)
    t.match(effect?.through.join(', '), through, JSON.stringify(found.effects.refused))
    t.match(explanationText(found), /^response +not run/m)
  }
  const trusted = await explain('DELETE /told?id=eq.1', as, { trusted: ['tenancy.composed', 'tell_partner'] })
  t.equal(trusted.response?.status, 204)

  for (const kind of ['notify', 'lock', 'setting', 'object', 'insert', 'temporary', 'commit']) {
    const { response } = await explain('POST /rpc/effects', as, { data: { kind } })
    t.equal(response?.status, kind === 'commit' ? 500 : 200, kind)
  }
  const { rows } = await database.query(`
    select (select count(*)::int from public.counted) as counted,
      (select count(*)::int from pg_largeobject_metadata) as objects,
      (select count(*)::int from pg_locks join pg_database on pg_database.oid = database
        where locktype = 'advisory' and objid = 4711 and datname = current_database()) as locks,
      to_regclass('pg_temp.left_behind') is null as dropped`)
  t.strictSame(rows, [{ counted: 0, objects: 0, locks: 0, dropped: true }])
})

t.test('hostile names', async (t) => {
  await database.query(`
    create table public."we""ird'; --" ("a ""b" text, "select" int, rowhouse_source int, owner uuid default auth.uid());
    alter table public."we""ird'; --" enable row level security;
    create policy "p"";'" on public."we""ird'; --" to authenticated using ("a ""b" = 'x) OR (true' and "select" > 0) with check (owner = (select auth.uid()));
    grant select, insert on public."we""ird'; --" to authenticated, service_role;
    insert into public."we""ird'; --" values ('x) OR (true', 1, 1), ('y', 1, 2)`)
  const explain = await explainOn(t, database.authenticatorUri)
  const read = await explain(`GET /we"ird'; --`, { as: 'anna@example.org' })
  t.match(read, {
    response: { status: 200 },
    rows: { before: 2, after: 1 },
    relations: [{ examined: { rows: 2, allowed: 1 } }],
  })
  t.match(read.denied?.rows, [{ policies: [{ name: `p";'`, tests: [{ result: false }], columns: { 'a "b': 'y' } }] }])
  const data = { owner: tenantUsers.ben, 'a "b': '$1; rollback; --' }
  const write = await explain(`POST /we"ird'; --`, { as: 'anna@example.org' }, { data })
  t.match(write, { response: { status: 403 }, denied: { rows: [{ row: 1, policies: [{ clause: 'with check' }] }] } })
})

t.test('nothing has changed', async (t) => {
  const after = (await contents()) as { readonly name: string }[]
  t.strictSame(
    after.filter(({ name }) => !/^(?:counted|folder|told|told_child|"we.*)$/.test(name)),
    before,
  )
})
