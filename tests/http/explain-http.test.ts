// Explanations over HTTP: who may have them, what they say, and what they do not.
import t from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createTenantsDatabase, tenantOrganisations, tenantUsers } from '../support/tenants.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createTenantsDatabase()
t.teardown(() => database.drop())
const start = (roles?: string): Promise<Application> =>
  startApplication(t, database.authenticatorUri, {
    PGRST_DB_ANON_ROLE: 'anon',
    DB_POOL: '3',
    ...(roles === undefined ? {} : { EXPLAIN_ROLES: roles }),
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
