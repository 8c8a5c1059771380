// The tools, called by the SDK's client with tokens of several callers.
import t from 'tap'
import { connect, startMcpServer } from '../support/mcp.ts'
import { bearer } from '../support/token.ts'

const schema = `
  create table public.people (id uuid primary key, name text not null);
  comment on table public.people is 'Who does the tasks';
  create table public.tasks (
    id bigint generated always as identity primary key,
    title text not null,
    done boolean not null default false,
    secret_note text,
    owner uuid references public.people
  );
  alter table public.people enable row level security;
  alter table public.tasks enable row level security;
  create policy everyone on public.people for select using (true);
  create policy own_tasks on public.tasks for all to authenticated using (owner = auth.uid()) with check (owner = auth.uid());
  create policy open_tasks on public.tasks for select to anon using (done);
  grant select on public.people to anon, authenticated;
  grant select (id, title, done, owner) on public.tasks to anon;
  grant select, insert, update, delete on public.tasks to authenticated;
  create schema "größe";
  grant usage on schema "größe" to anon;
  create table "größe"."maß" ("länge" int);
  grant select on "größe"."maß" to anon;
  create table public.hidden (id int primary key);
  create function public.add_up(a integer, b integer default 1) returns integer stable language sql as 'select a + b';
  comment on function public.add_up is 'Adds';
  create function public.wipe() returns void language sql as 'delete from public.tasks';
  revoke execute on function public.wipe from public;
  insert into public.people values ('00000000-0000-4000-8000-000000000001', 'Ada'), ('00000000-0000-4000-8000-000000000002', 'Bob');
  insert into public.tasks (title, done, owner, secret_note)
  select 'task ' || n, n % 2 = 0, ('00000000-0000-4000-8000-00000000000' || (1 + n % 2))::uuid, 'note' from generate_series(1, 20) as n;
`

const ada = { sub: '00000000-0000-4000-8000-000000000001' }
const bob = { sub: '00000000-0000-4000-8000-000000000002' }
const { url, database, service } = await startMcpServer(t, schema, {
  MCP_MODE: 'read-write',
  MCP_MAX_ROWS: '12',
  EXPLAIN_ROLES: 'authenticated',
  PGRST_DB_SCHEMAS: 'public,größe',
})
const agentOf = async (role: string, claims = {}) => connect(t, url, { authorization: await bearer(role, claims) })
const [anonymous, ofAda, ofBob, owner] = await Promise.all([
  agentOf('anon'),
  agentOf('authenticated', ada),
  agentOf('authenticated', bob),
  agentOf('service_role'),
])

t.test('callers have the tools that they may use', async (t) => {
  const common = ['describe_schema', 'read_rows']
  const writes = ['preview_write', 'confirm_write']
  t.strictSame(await anonymous.tools(), [...common, ...writes])
  t.strictSame(await ofAda.tools(), [...common, 'explain_request', ...writes])
  // The database of the test is not embedded, so there is no development.
  t.strictSame(await owner.tools(), [...common, 'explain_request', 'check_policies', ...writes])
  const refused = await anonymous.call('check_policies')
  t.match(refused, { isError: true, text: /check_policies is not available: it needs a secret key/ })
  t.match(await owner.call('write_migration', { name: 'x', sql: 'select 1' }), {
    isError: true,
    text: /during development only/,
  })
  t.match(await owner.call('nothing'), { isError: true, text: /There is no tool "nothing"/ })
})

t.test('the schema is described as the caller may use it', async (t) => {
  type Listed = {
    relations: { name: string; columns: string[]; may: string[]; comment: string }[]
    functions: { name: string }[]
  }
  const listed = (await anonymous.call('describe_schema')).data as Listed
  const tasks = listed.relations.find(({ name }) => name === 'tasks')
  t.strictSame(tasks?.columns, ['id bigint', 'title text', 'done boolean', 'owner uuid'], 'without hidden columns')
  t.strictSame(tasks?.may, ['select'])
  t.notOk(listed.relations.some(({ name }) => name === 'hidden'))
  t.equal(listed.relations.find(({ name }) => name === 'people')?.comment, 'Who does the tasks')
  t.ok(listed.functions.some(({ name }) => name === 'add_up'))
  t.notOk(listed.functions.some(({ name }) => name === 'wipe'))
  t.match(await anonymous.call('describe_schema', { name: 'hidden' }), {
    isError: true,
    text: /no table, view or function/,
  })
  t.match(await anonymous.call('describe_schema', { schema: 'auth' }), {
    isError: true,
    text: /not a schema of the REST API/,
  })
  t.match((await anonymous.call('describe_schema', { name: 'tasks' })).data, { policies: null })
  t.match((await ofAda.call('describe_schema', { name: 'tasks' })).data, {
    relation: {
      primary_key: ['id'],
      may: ['select', 'insert', 'update', 'delete'],
      relationships: [{ embed: 'people', rows: 'one' }],
    },
    policies: [{ name: 'open_tasks' }, { name: 'own_tasks' }],
  })
  t.match((await anonymous.call('describe_schema', { name: 'add_up' })).data, {
    functions: [{ arguments: ['a integer', 'b integer (optional)'], reads_only: true, comment: 'Adds' }],
  })
})

t.test('rows are read with the rights of the caller', async (t) => {
  const read = await ofAda.call('read_rows', { path: '/tasks?select=id,title,people(name)&order=id', count: 'exact' })
  t.match(read, { isError: false, own: { rows: 10, total: 10, is_cut: false } })
  t.match(read.data, [{ id: 2, title: 'task 2', people: { name: 'Ada' } }])
  t.match(await anonymous.call('read_rows', { path: '/rest/v1/tasks?select=id' }), { own: { rows: 10 } })
  t.match(await anonymous.call('read_rows', { path: '/tasks?select=secret_note' }), {
    isError: true,
    text: /status 40[13]/,
  })
  const cut = await owner.call('read_rows', { path: '/tasks?order=id' })
  t.match(cut, { own: { rows: 12, is_cut: true }, text: /^12 rows\. There are more/ })
  t.match(await owner.call('read_rows', { path: '/tasks?order=id&limit=3' }), { own: { rows: 3, is_cut: false } })
  t.match(await owner.call('read_rows', { path: '/tasks?limit=500&limit=900' }), { own: { rows: 12, is_cut: true } })
  t.match(await owner.call('read_rows', { path: '/tasks?%6Cimit=900' }), { own: { rows: 12, is_cut: true } })
  t.match(await anonymous.call('read_rows', { path: '/rpc/add_up?a=2' }), { data: 3 })
  for (const path of ['tasks', '/', '/$batch', '/%24batch', '/tasks/1', '//tasks', '/rpc/', '/rpc/a/b']) {
    t.match(await owner.call('read_rows', { path }), { isError: true, text: /^path: must be/ }, path)
  }
  t.match(await owner.call('read_rows', { path: '/rpc/wipe' }), { isError: true })
  t.equal((await database.query('select count(*)::int as n from public.tasks')).rows[0]?.n, 20)
})

t.test('names may have any letters', async (t) => {
  t.strictSame((await anonymous.call('read_rows', { path: '/maß?select=länge', schema: 'größe' })).data, [])
  t.match((await anonymous.call('describe_schema', { schema: 'größe', name: 'maß' })).data, {
    relation: { columns: [{ name: 'länge' }] },
  })
})

t.test('large numbers keep their digits in the text', async (t) => {
  await database.query(
    `create view public.large as select 9007199254740993::bigint as n; grant select on public.large to anon; notify pgrst`,
  )
  let read = await anonymous.call('read_rows', { path: '/large' })
  for (let time = 0; read.isError && time < 100; time++) read = await anonymous.call('read_rows', { path: '/large' })
  t.match(read.text, /"n":9007199254740993/)
})

t.test('explanations are for those who may have them', async (t) => {
  t.match(await anonymous.call('explain_request', { path: '/tasks' }), { isError: true, text: /EXPLAIN_ROLES/ })
  const explained = await ofAda.call('explain_request', { path: '/tasks?select=id' })
  t.match(explained.data, {
    request: { role: 'authenticated' },
    relations: [{ name: 'tasks', policies: [{ name: 'own_tasks' }] }],
  })
  t.match(await ofAda.call('explain_request', { path: '/tasks', role: 'service_role' }), {
    isError: true,
    text: /only the secret key/,
  })
  const asAnonymous = await owner.call('explain_request', { path: '/tasks?select=id', role: 'anon' })
  t.match(asAnonymous.data, { request: { role: 'anon' }, rows: { before: 20, after: 10 } })
  t.match(await owner.call('explain_request', { path: '/tasks', role: 'postgres' }), {
    isError: true,
    text: /cannot have the role/,
  })
})

t.test('the lints are for the owner', async (t) => {
  const { isError, data } = await owner.call('check_policies')
  t.notOk(isError)
  t.type((data as { findings: unknown[] }).findings.length, 'number')
})

t.test('a write is shown, confirmed once, and made', async (t) => {
  const write = { method: 'PATCH', path: '/tasks?id=in.(2,4)', body: { done: false, title: 'new' } }
  const shown = await ofAda.call('preview_write', write)
  t.match(shown, {
    own: { affected: 2 },
    data: { before: [{ title: 'task 2' }, { title: 'task 4' }], after: [{ title: 'new' }, { title: 'new' }] },
  })
  const titles = async () =>
    (await database.query('select title from public.tasks where id in (2, 4) order by id')).rows.map(
      ({ title }) => title,
    )
  t.strictSame(await titles(), ['task 2', 'task 4'], 'nothing has changed')
  const token = shown.own.confirm_token
  t.match(shown.text, new RegExp(`confirm_token ${String(token).replaceAll('.', '\\.')}`))
  const confirm = { ...write, confirm_token: token }

  t.match(
    await ofBob.call('confirm_write', confirm),
    { isError: true, text: /^confirm_token: is not one/ },
    'another user',
  )
  t.match(await owner.call('confirm_write', confirm), { isError: true, text: /^confirm_token: is not one/ })
  for (const changed of [
    { path: '/tasks?id=in.(2,4,6)' },
    { body: { done: true, title: 'new' } },
    { method: 'POST' },
    { schema: 'public' },
    { resolution: 'merge-duplicates' },
    { confirm_token: `1${String(token)}` },
    { confirm_token: String(token).replace(/\.2\./, '.9.') },
  ]) {
    const refused = await ofAda.call('confirm_write', { ...confirm, ...changed })
    t.match(refused, { isError: true, text: /^confirm_token: is not one/ }, JSON.stringify(changed))
  }
  t.strictSame(await titles(), ['task 2', 'task 4'])
  const reordered = { ...confirm, body: { title: 'new', done: false } }
  t.match(
    await ofAda.call('confirm_write', reordered),
    { isError: false, own: { affected: 2 } },
    'members in another order',
  )
  t.strictSame(await titles(), ['new', 'new'])
  t.match(await ofAda.call('confirm_write', confirm), { isError: true, text: /was used before/ }, 'replayed')
})

t.test('a write affects no more rows than were shown', async (t) => {
  const write = { method: 'DELETE', path: '/tasks?title=eq.doomed' }
  await database.query(`insert into public.tasks (title, owner) values ('doomed', '${ada.sub}')`)
  const shown = await ofAda.call('preview_write', write)
  t.match(shown, { own: { affected: 1 }, data: { before: [{ title: 'doomed' }], after: [] } })
  await database.query(`insert into public.tasks (title, owner) values ('doomed', '${ada.sub}')`)
  const confirmed = await ofAda.call('confirm_write', { ...write, confirm_token: shown.own.confirm_token })
  t.match(confirmed, { isError: true, text: /PGRST124/ })
  t.equal((await database.query(`select from public.tasks where title = 'doomed'`)).rowCount, 2)
})

t.test('inserts, upserts and their limits', async (t) => {
  const body = [
    { title: 'a', owner: ada.sub },
    { title: 'b', owner: ada.sub },
  ]
  const shown = await ofAda.call('preview_write', { method: 'POST', path: '/tasks', body })
  t.match(shown, { own: { affected: 2 }, data: { before: null, after: [{ title: 'a' }, { title: 'b' }] } })
  const done = await ofAda.call('confirm_write', {
    method: 'POST',
    path: '/tasks',
    body,
    confirm_token: shown.own.confirm_token,
  })
  t.match(done, { isError: false, own: { affected: 2 } })
  const upsert = { method: 'POST', path: '/tasks', resolution: 'merge-duplicates' }
  const changed = await ofAda.call('preview_write', { ...upsert, body: { title: 'a', owner: ada.sub } })
  t.match(changed.text, /^1 row would be inserted or changed\./, 'an upsert may change a row')
  const foreign = { method: 'POST', path: '/tasks', body: { title: 'x', owner: bob.sub } }
  t.match(await ofAda.call('preview_write', foreign), { isError: true, text: /42501/ }, 'a denied write')
  const many = Array.from({ length: 13 }, () => ({ title: 'x', owner: ada.sub }))
  t.match(await ofAda.call('preview_write', { method: 'POST', path: '/tasks', body: many }), {
    isError: true,
    text: /more than 12 rows/,
  })
  t.match(await owner.call('preview_write', { method: 'DELETE', path: '/tasks' }), { isError: true, text: /PGRST124/ })
  t.match(await owner.call('preview_write', { method: 'POST', path: '/rpc/wipe', body: {} }), {
    isError: true,
    text: /functions cannot be called/,
  })
  t.match(await owner.call('preview_write', { method: 'DELETE', path: '/tasks?id=eq.1', body: {} }), {
    isError: true,
    text: /DELETE has none/,
  })
  t.match(await anonymous.call('preview_write', foreign), { isError: true, text: /42501/ })
})

t.test('the limits of a role hold for a preview, too', async (t) => {
  const body = { title: 'limited', owner: ada.sub }
  const preview = () => ofAda.call('preview_write', { method: 'POST', path: '/tasks', body })
  const limit = async (settings: Readonly<Record<string, number>>): Promise<void> => {
    await database.query(`alter role authenticated in database ${database.name} reset all`)
    for (const [name, value] of Object.entries(settings)) {
      await database.query(`alter role authenticated in database ${database.name} set pgrst.${name} = '${value}'`)
    }
    await service.engine.reloadSettings()
  }
  t.equal((await preview()).isError, false)
  await limit({ max_cost: 1 })
  const change = { method: 'PATCH', path: '/tasks?title=like.*', body: { done: true } }
  t.match(
    await ofAda.call('preview_write', change),
    { isError: true, text: /"PGRSTX81"/ },
    'the cost of its statements',
  )
  await limit({ max_requests_per_second: 0.01, max_request_burst: 2 })
  const attempts = [await preview(), await preview(), await preview()]
  t.strictSame(
    attempts.map(({ isError }) => isError),
    [false, false, true],
  )
  t.match(attempts[2]?.text, /status 429/, 'the rate of its requests')
  await limit({})
})
