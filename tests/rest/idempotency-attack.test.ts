// Requests with an Idempotency-Key under attack: races, callers who may no longer be admitted, lost connections, expiry.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.bills (id int generated always as identity primary key, customer text not null,
    owner text default current_setting('request.jwt.claims')::json->>'sub');
  create table public.items (id int generated always as identity primary key, bill_id int not null references public.bills,
    sku text not null, price int check (price > 0));
  create table public.notes (id int generated always as identity primary key, item_id int references public.items, text text);
  alter table public.bills enable row level security;
  create policy own on public.bills using (owner = current_setting('request.jwt.claims')::json->>'sub');
  grant all on public.bills, public.items, public.notes to authenticated;
  create table public.bans (sub text primary key);
  grant select on public.bans to authenticated;
  create function public.not_banned() returns void language plpgsql as $$ begin
    if exists (select from public.bans where sub = current_setting('request.jwt.claims')::json->>'sub') then
      raise sqlstate 'PT403' using message = 'banned';
    end if;
    if current_setting('request.path') = '/notes' then raise sqlstate 'RH208' using message = 'forged'; end if;
  end $$;
  create function public.nap(seconds float) returns void volatile language sql as $$ select pg_sleep(seconds) $$`)
const { call } = await startApplication(t, database.authenticatorUri, {
  SERVICES: 'rest',
  PGRST_DB_POOL: '6',
  PGRST_DB_PRE_REQUEST: 'public.not_banned',
})

type More = { readonly user?: string; readonly key?: string; readonly method?: string; readonly call?: typeof call }
const send = async (path: string, body: unknown, more: More = {}): Promise<Answer> => {
  const { user = 'ann', key, method = 'POST', call: by = call } = more
  return by(method, `/rest/v1${path}`, {
    body,
    headers: {
      Authorization: await bearer('authenticated', { sub: user }),
      Prefer: 'return=representation',
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
  })
}
const nested = '/bills?select=id,owner,items(id,sku,notes(text))'
const bill = (text = 'n') => ({
  customer: 'c',
  items: [
    { sku: 'a', price: 1 },
    { sku: 'b', price: 2, notes: [{ text }] },
  ],
})
const counts = async (): Promise<unknown> =>
  (
    await database.query(`select (select count(*)::int from bills) as bills, (select count(*)::int from items) as items,
      (select count(*)::int from notes) as notes`)
  ).rows[0]
const isReplay = ({ headers }: Answer): boolean => headers.get('idempotency-replayed') === 'true'
const inBatch = (text = 'n', more: readonly unknown[] = []) => ({
  requests: [
    { id: 'bill', method: 'POST', url: nested, headers: { Prefer: 'return=representation' }, body: bill(text) },
    { id: 'more', method: 'POST', url: '/items', body: { bill_id: { $ref: 'bill#/0/id' }, sku: 'c', price: 1 } },
    ...more,
  ],
})

t.test('nested writes of ten callers at once with one key, and of two users', async (t) => {
  for (const [name, path, body, effect] of [
    ['alone', nested, bill(), { bills: 1, items: 2, notes: 1 }],
    ['batch', '/$batch', inBatch(), { bills: 1, items: 3, notes: 1 }],
  ] as const) {
    await database.query('truncate bills, items, notes')
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(path, body, { key: name })))
    t.strictSame(await counts(), effect, `${name}: one effect`)
    const first = answers.filter((answer) => answer.status < 300)
    t.equal(first.filter((answer) => !isReplay(answer)).length, 1)
    t.ok(answers.every(({ status }) => status < 300 || status === 409))
    t.equal(new Set(first.map(({ text }) => text)).size, 1)
    const again = await send(path, body, { key: name })
    t.strictSame([again.status, again.text, isReplay(again)], [first[0]?.status, first[0]?.text, true])
    t.strictSame(await counts(), effect)
    const other = await send(path, body, { key: name, user: 'bob' })
    t.ok(
      other.status < 300 && !isReplay(other) && other.text.includes('bob') && !other.text.includes('ann'),
      other.text,
    )
  }
})

t.test('a caller who is no longer admitted gets no stored response', async (t) => {
  for (const [key, path, body] of [
    ['ban', nested, bill()],
    ['ban-batch', '/$batch', inBatch()],
  ] as const) {
    const first = await send(path, body, { key, user: 'eve' })
    t.ok(first.status < 300, first.text)
    await database.query("insert into bans values ('eve')")
    const before = await counts()
    const refused = await send(path, body, { key, user: 'eve' })
    t.match([refused.status, refused.body], [403, { message: 'banned' }])
    t.notOk(refused.text.includes('sku'))
    t.strictSame(await counts(), before)
    await database.query('delete from bans')
    t.ok(isReplay(await send(path, body, { key, user: 'eve' })))
    await database.query('revoke insert on items from authenticated')
    const revoked = await send(path, body, { key, user: 'eve' })
    t.match([revoked.status, revoked.body], [403, { code: '42501' }], 'who may not execute the request any more')
    t.notOk(revoked.text.includes('sku'))
    t.strictSame(await counts(), before)
    await database.query('grant insert on items to authenticated')
    t.ok(isReplay(await send(path, body, { key, user: 'eve' })))
  }
})

t.test('a role that the server may no longer take gets no stored response', async (t) => {
  const role = `replayed_${database.name}`
  await database.query(
    `create role ${role} nologin; grant ${role} to authenticator; grant all on bills, items, notes, bans to ${role}`,
  )
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  const headers = { Authorization: await bearer(role, { sub: 'ann' }), 'Idempotency-Key': 'role' }
  const post = () => call('POST', '/rest/v1/$batch', { headers, body: inBatch() })
  t.equal((await post()).status, 200)
  t.ok(isReplay(await post()))
  await database.query(`revoke ${role} from authenticator`)
  const refused = await post()
  t.ok(refused.status >= 400 && !refused.text.includes('sku'), refused.text)
  await database.query(`grant ${role} to authenticator`)
  t.ok(isReplay(await post()))
})

t.test('the connection is lost between the stages of a transaction', async (t) => {
  const nap = { id: 'nap', method: 'POST', url: '/rpc/nap', body: { seconds: 15 } }
  const before = await counts()
  const sent = send('/$batch', inBatch('n', [nap]), { key: 'lost' })
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query like '%nap%' and state = 'active' and pid <> pg_backend_pid()`
  const killed = await withClient(database.adminUri, (client) =>
    until(async () => (await client.query(kill)).rowCount === 1),
  )
  t.ok(killed)
  t.equal((await sent).status, 503)
  t.strictSame(await counts(), before)
  const short = { ...nap, body: { seconds: 0 } }
  t.match(await send('/$batch', inBatch('n', [short]), { key: 'lost' }), { status: 200 }, 'the key is free')

  // The response is stored before the commit, so it is either there with the effect or neither is.
  await database.query(`
    create function public.end_backend() returns trigger language plpgsql security definer as $$ begin
      if new.key like 'dies%' then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    create constraint trigger dies after insert on rowhouse.idempotent_responses deferrable initially deferred
      for each row execute function public.end_backend();
    alter table rowhouse.idempotent_responses enable always trigger dies`)
  for (const [path, body] of [
    [nested, bill()],
    ['/$batch', inBatch()],
  ] as const) {
    const state = await counts()
    t.equal((await send(path, body, { key: `dies${path.length}` })).status, 503)
    t.strictSame(await counts(), state, 'nothing was committed')
    const { rows } = await database.query("select from rowhouse.idempotent_responses where key like 'dies%'")
    t.equal(rows.length, 0)
  }
  await database.query('drop trigger dies on rowhouse.idempotent_responses')
  for (const [path, body] of [
    [nested, bill()],
    ['/$batch', inBatch()],
  ] as const) {
    t.ok(await until(async () => (await send(path, body, { key: `dies${path.length}` })).status < 300))
  }
})

t.test('a batch that is stored expires after 24 hours, and is removed', async (t) => {
  const stored = async (): Promise<number> =>
    (await database.query('select from rowhouse.idempotent_responses')).rowCount ?? 0
  for (let index = 0; index < 3; index++) await send('/$batch', inBatch(), { key: `old${index}` })
  const all = await stored()
  await database.query("update rowhouse.idempotent_responses set created_at = now() - interval '23:59:00'")
  t.ok(isReplay(await send('/$batch', inBatch(), { key: 'old0' })))
  await database.query("update rowhouse.idempotent_responses set created_at = now() - interval '24 hours'")
  const again = await send('/$batch', inBatch('other'), { key: 'old0' })
  t.ok(again.status === 200 && !isReplay(again), 'the key is free for another batch')
  t.equal(await stored(), Math.max(all - 10, 1))
  for (let index = 0; index < all / 10; index++) await send('/$batch', inBatch(), { key: `new${index}` })
  const { rows } = await database.query(
    "select from rowhouse.idempotent_responses where created_at < now() - interval '24 hours'",
  )
  t.equal(rows.length, 0, 'each stored response has removed ten')
})

t.test('an error of the pre-request function is no refused claim, also in a later round trip', async (t) => {
  const { call: limited } = await startApplication(t, database.authenticatorUri, {
    SERVICES: 'rest',
    PGRST_DB_PRE_REQUEST: 'public.not_banned',
    DB_MAX_COST: '1000000',
  })
  const requests = [
    { id: 'a', method: 'POST', url: '/bills', body: { customer: 'c' } },
    { id: 'b', method: 'POST', url: '/notes', body: { text: 'n' } },
  ]
  for (const by of [call, limited]) {
    const answer = await send('/$batch', { requests }, { key: 'forged', call: by })
    t.match([answer.status, answer.body], [400, { code: 'RH208', message: 'forged', request: 'b' }])
  }
})
