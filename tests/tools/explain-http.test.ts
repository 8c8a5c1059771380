// Explanations over HTTP: who may have them, what they say, and what they do not.
import t from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createTenantsDatabase, tenantOrganisations, tenantUsers } from '../support/tenants.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createTenantsDatabase()
t.teardown(() => database.drop())
const start = (roles?: string, env: Readonly<Record<string, string>> = {}): Promise<Application> =>
  startApplication(t, database.authenticatorUri, {
    PGRST_DB_ANON_ROLE: 'anon',
    DB_POOL: '3',
    ...(roles === undefined ? {} : { EXPLAIN_ROLES: roles }),
    ...env,
  })
const application = await start('authenticated, service_role')

const accept = 'application/vnd.rowhouse.explain+json'
const { acme } = tenantOrganisations
const asUser = async (name: keyof typeof tenantUsers): Promise<Record<string, string>> => ({
  Accept: accept,
  Authorization: await bearer('authenticated', { sub: tenantUsers[name] }),
})
const count = async (table: string): Promise<unknown> =>
  (await database.query(`select count(*)::int as n from public.${table}`)).rows[0]?.n

type Body = Readonly<Record<string, unknown>>

t.test('without the setting', async (t) => {
  const { call } = await start()
  const { status, body } = await call('GET', '/rest/v1/tasks', { headers: { Accept: accept } })
  t.equal(status, 406)
  t.match(body, {
    code: 'PGRST107',
    message: `None of these media types are available: ${accept}`,
    hint: /EXPLAIN_ROLES/,
  })
})

t.test('other roles, and invalid credentials', async (t) => {
  const { call } = application
  const anonymous = await call('GET', '/rest/v1/plans', { headers: { Accept: accept } })
  t.match([anonymous.status, anonymous.body], [403, { code: 'PGRSTX03', message: /^The role anon may not/ }])
  const invalid = await call('GET', '/rest/v1/plans', { headers: { Accept: accept, Authorization: 'Bearer a.b.c' } })
  t.equal(invalid.status, 401)
  const other = await call('GET', '/rest/v1/plans', { headers: { Accept: 'application/json' } })
  t.match([other.status, other.body], [200, [{ id: 'free' }, { id: 'team' }]])
})

t.test('a read without filters', async (t) => {
  const { status, headers, body } = await application.call('GET', '/rest/v1/tasks?select=id', {
    headers: await asUser('dora'),
  })
  t.match([status, headers.get('content-type')], [200, `${accept}; charset=utf-8`])
  t.match(body, {
    request: { method: 'GET', role: 'authenticated', claims: { sub: tenantUsers.dora } },
    response: { status: 200, error: null },
    rows: { before: 8, after: 2 },
    plan: [{ Plan: { 'Actual Rows': 1 } }],
    cost: { bypassedBy: 'service_role' },
  })
  const { relations, denied } = body as { relations: { policies: Body[]; examined: unknown }[]; denied: Body }
  t.strictSame([denied.rows, relations[0]?.examined, relations[0]?.policies[0]?.passes], [[], null, null])
  // What a function with security definer returns stays unknown, the own claims do not.
  t.match(relations[0]?.policies[0]?.usingResolved, 'SELECT tenancy.organisations()')
  t.match(relations[1]?.policies[0]?.usingResolved, `(created_by = '${tenantUsers.dora}')`)
})

t.test('filters do not tell what is in hidden rows', async (t) => {
  const headers = await asUser('dora')
  const ask = async (line: string): Promise<unknown> => {
    const { body } = await application.call('GET', `/rest/v1/${line}`, { headers })
    const { rows, plan, denied, cost, relations } = body as Body
    // The times differ between any two runs.
    const text = JSON.stringify({ rows, plan, denied, cost, relations })
    return text.replace(/"(?:Planning|Execution) Time":[\d.]+/g, '').replace(/'b-\d'/g, '')
  }
  const [hit, miss] = [await ask('invoices?number=eq.A-1&select=id'), await ask('invoices?number=eq.A-9&select=id')]
  t.equal(String(hit).replaceAll('A-1', 'A-9'), miss)
  const embedded = 'tasks?select=id,comments!inner(id)&comments.body=like.'
  t.equal(String(await ask(`${embedded}Fixed*`)).replaceAll('Fixed', 'x'), String(await ask(`${embedded}x*`)))
})

t.test('writes are explained and not made', async (t) => {
  const before = await count('comments')
  const comment = { task_id: 1, organisation_id: acme, body: 'x' }
  const post = async (body: unknown): Promise<unknown> =>
    (await application.call('POST', '/rest/v1/comments', { headers: await asUser('cleo'), body })).body
  t.match(await post({ ...comment, author: tenantUsers.cleo }), {
    response: { status: 201 },
    rows: { before: 1, after: 1 },
    denied: null,
  })
  t.match(await post({ ...comment, author: tenantUsers.anna }), {
    response: { status: 403, error: { code: '42501' } },
    denied: {
      reason: 'policies',
      rows: [
        {
          kind: 'new',
          row: 1,
          policies: [{ name: 'task_readers_insert', clause: 'with check', columns: { author: tenantUsers.anna } }],
        },
      ],
    },
  })
  t.match(await post('not json'), { response: { status: 400, error: { code: 'PGRST102' } }, relations: [] })
  // Before it reads a large body, the engine asks the database whether the caller may write.
  const label = { organisation_id: acme, name: 'x'.repeat(100_000) }
  const large = await application.call('POST', '/rest/v1/labels', { headers: await asUser('cleo'), body: label })
  t.match(large.body, { response: { status: 201 }, rows: { after: 1 } })
  const refused = await application.call('POST', '/rest/v1/activity', {
    headers: await asUser('cleo'),
    body: label.name,
  })
  t.match(refused.body, { response: { status: 400, error: { code: 'PGRST102' } } })
  const entry = { organisation_id: acme, action: label.name, subject: 'x' }
  const denied = await application.call('POST', '/rest/v1/activity', { headers: await asUser('cleo'), body: entry })
  t.match(denied.body, {
    response: { status: 403, error: { code: '42501' } },
    denied: { privileges: [{ grant: 'grant insert on public.activity to authenticated;' }] },
  })
  t.equal(await count('comments'), before)
  const hidden = await application.call('PATCH', '/rest/v1/tasks?id=eq.1', {
    headers: await asUser('dora'),
    body: { title: 'mine' },
  })
  t.match(hidden.body, { response: { status: 204 }, rows: { before: null, after: 0 }, denied: null })
  t.notMatch(hidden.text, 'Build the engine')
})

t.test('neither filters, triggers, order nor casts tell what is in hidden rows and columns', async (t) => {
  await database.query(`
    create function public.enter() returns void language sql as $$ select set_config('app.entered', 'yes', true) $$;
    create function public.fill() returns trigger language plpgsql as $$
      begin new.title := coalesce((select max(title) from public.vault where id = 2), new.title); return new; end $$;
    create table public.vault (id int primary key, owner uuid, title text);
    create table public.columns (id int primary key, owner uuid, secret text);
    alter table public.vault enable row level security;
    alter table public.columns enable row level security;
    create policy see on public.vault for select using (owner = auth.uid() and current_setting('app.entered', true) = 'yes');
    create policy change on public.vault for update using (owner = auth.uid());
    create policy add on public.vault for insert with check (owner = auth.uid() and title = 'x');
    create policy see on public.columns for select using (owner = auth.uid());
    create policy change on public.columns for update using (owner = auth.uid());
    grant all on public.vault, public.columns to service_role;
    grant select, insert, update on public.vault to authenticated;
    grant select (id, owner), update on public.columns to authenticated;
    insert into public.vault values (1, '${tenantUsers.cleo}', 'mine'), (2, '${tenantUsers.anna}', 'Hidden');
    insert into public.columns values (1, '${tenantUsers.cleo}', 'right');
    create trigger fill before insert on public.vault for each row execute function public.fill()`)
  const { call } = await start('authenticated', { PGRST_DB_PRE_REQUEST: 'public.enter' })
  const headers = await asUser('cleo')
  const ask = async (method: string, line: string, body?: unknown): Promise<Body> =>
    (await call(method, `/rest/v1/${line}`, { headers, ...(body === undefined ? {} : { body }) })).body as Body
  const taken = { owner: tenantUsers.anna }
  const deniedRows = async (line: string): Promise<unknown> =>
    ((await ask('PATCH', line, taken)).denied as { rows: unknown } | null)?.rows
  t.strictSame(await deniedRows('columns?secret=eq.right'), await deniedRows('columns?secret=eq.wrong'))
  const failing = (text: string): string => `vault?or=(id.eq.1,title.like."${text}%5C%5C")`
  const denied = await deniedRows(failing('Xid'))
  t.match(denied, [{ kind: 'new', policies: [{ name: 'change', columns: taken }] }])
  t.strictSame(await deniedRows(failing('Hid')), denied)
  const added = await ask('POST', 'vault', { id: 3, title: 'y', ...taken })
  t.match(added.denied, { rows: [{ policies: [{ name: 'add', columns: { title: 'y' } }] }] })
  t.notMatch(JSON.stringify(added), 'Hidden')
  for (const query of ['order=title&limit=1', 'select=title::int', 'title=eq.Hidden', 'select=id.sum()']) {
    const explained = await ask('GET', `vault?${query}`)
    t.match(explained, { rows: { before: null }, cost: null }, query)
    t.notMatch(JSON.stringify(explained.plan), /Rows|Cost/, query)
  }
  // What runs before each request decides what the caller sees.
  t.match(await ask('GET', 'vault'), { response: { status: 200 }, rows: { before: 2, after: 1 } })
})

t.test('a role that bypasses the policies sees everything anyway', async (t) => {
  const headers = { Accept: accept, Authorization: await bearer('service_role') }
  const { body } = await application.call('GET', '/rest/v1/tasks', { headers })
  t.match(body, { response: { status: 200 }, relations: [{ rowSecurity: 'bypassed', policies: [] }], cost: null })
})

t.test('effects, time limits and hang-ups', async (t) => {
  const impatient = `impatient_${database.name}`
  await database.query(`
    create function public.slow() returns text language sql as $$ select pg_sleep(60)::text $$;
    create function public.far() returns void language plpgsql as $$ begin execute 'select 1'; end $$;
    create role ${impatient};
    grant ${impatient} to authenticator;
    alter role ${impatient} set statement_timeout = '200ms'`)
  t.teardown(() => database.query(`drop role ${impatient}`))
  const limited = await start(`${impatient}, authenticated`)
  const slow = await limited.call('POST', '/rest/v1/rpc/slow', {
    headers: { Accept: accept, Authorization: await bearer(impatient) },
  })
  t.match(slow.body, { response: { status: 500, error: { code: '57014' } } })
  const far = await limited.call('POST', '/rest/v1/rpc/far', { headers: await asUser('anna') })
  t.match(far.body, { response: null, effects: { refused: [{ object: 'public.far()', reason: /EXECUTE/ }] } })

  const running = async (): Promise<boolean> =>
    (
      await database.query(
        `select from pg_stat_activity where state = 'active' and wait_event = 'PgSleep' and datname = current_database()`,
      )
    ).rowCount === 1
  const abort = new AbortController()
  const pending = fetch(`${limited.url}/rest/v1/rpc/slow`, {
    method: 'POST',
    headers: await asUser('anna'),
    signal: abort.signal,
  }).catch(() => undefined)
  await until(running)
  abort.abort()
  await pending
  await until(async () => !(await running()))
})

t.test('several callers at once', async (t) => {
  const names = ['anna', 'dora', 'cleo', 'emil', 'gina', 'fred'] as const
  const bodies = await Promise.all(
    [...names, ...names].map(async (name) => {
      const { body } = await application.call('PATCH', '/rest/v1/labels?id=eq.1', {
        headers: await asUser(name),
        body: { colour: '#000000' },
      })
      const { request, rows } = body as { request: { claims: { sub: string } }; rows: { after: number } }
      return [name, request.claims.sub === tenantUsers[name], rows.after]
    }),
  )
  const written = { anna: 1, dora: 0, cleo: 1, emil: 0, gina: 0, fred: 0 }
  t.strictSame(
    bodies,
    [...names, ...names].map((name) => [name, true, written[name]]),
  )
  t.equal(await count("labels where colour = '#000000'"), 0)
})
