// Forged and changed tokens, claims, positions, bindings and names on live channels: no foreign row, and a clear answer.
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { dial, hourToken, startRealtimeServer, type RealtimeClient } from '../support/realtime.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const [ann, bob] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const
const hostile = `we"ird '; drop table x; --\\`
const quoted = `"${hostile.replaceAll('"', '""')}"`

const { url, database, call } = await startRealtimeServer(t)
await database.query(`
  create table public.letters (id int primary key, owner uuid);
  alter table public.letters enable row level security;
  create policy own on public.letters for select to authenticated using (owner = (select auth.uid()));
  create table public.${quoted} (${quoted} int primary key, "rowhouse row" text, ordinality text);
  alter table public.${quoted} enable row level security;
  create policy ${quoted} on public.${quoted} for select using (${quoted} > 0 and "rowhouse row" = 'a' and ordinality = 'b');
  create view public.letters_view as select * from public.letters;
  create table public.heirs () inherits (public.letters);
  alter table public.heirs enable row level security;
  alter table public.heirs add primary key (id);
  grant select on public.letters, public.letters_view, public.heirs, public.${quoted} to anon, authenticated;
  alter publication supabase_realtime add table public.letters, public.heirs, public.${quoted};
  create policy receive on realtime.messages for select to authenticated using ((select auth.uid()) = '${ann}');`)

const tokenOf = (sub: string, more: object = {}): Promise<string> => hourToken('authenticated', { sub, ...more })
const letters = { event: '*', schema: 'public', table: 'letters' }

async function open(t: Pick<Test, 'teardown'>, token: string): Promise<RealtimeClient> {
  const client = await dial(t, url, { token })
  await client.opened
  return client
}

async function listen(t: Pick<Test, 'teardown'>, token: string, binding: unknown = letters): Promise<RealtimeClient> {
  const client = await open(t, token)
  await client.join('rows', { postgres_changes: [binding] })
  return client
}

type Data = { readonly type: string; readonly record?: Readonly<Record<string, unknown>>; readonly errors: unknown }

const dataOf = ({ received }: RealtimeClient): readonly Data[] =>
  received
    .filter(({ event }) => event === 'postgres_changes')
    .map(({ payload }) => (payload as { readonly data: Data }).data)
const idsOf = (client: RealtimeClient): readonly unknown[] => dataOf(client).map(({ record }) => record?.id)

let ids = 0
/** Inserts a row of each, and waits until a witness of all has heard of them. */
async function insertBoth(witness: RealtimeClient): Promise<{ readonly ofAnn: number; readonly ofBob: number }> {
  const [ofAnn, ofBob] = [++ids, ++ids]
  await database.query(`insert into letters values (${ofAnn}, '${ann}'), (${ofBob}, '${bob}')`)
  await until(() => idsOf(witness).includes(ofBob))
  return { ofAnn, ofBob }
}

const witness = await listen(t, await hourToken('service_role'))

t.test('a channel without `config` and one with it get the frames of their own kind', async (t) => {
  const client = await open(t, await tokenOf(ann))
  const other = await open(t, await tokenOf(ann))
  client.send('phx_join', 'realtime:public:letters', {}, { ref: '1', joinRef: '1' })
  await client.next('system')
  await other.join('public:letters', { postgres_changes: [letters] })
  await other.next('system')
  const { ofAnn } = await insertBoth(witness)
  t.match((await client.next('INSERT')).payload, { record: { id: ofAnn } })
  t.match((await other.next('postgres_changes')).payload, { data: { record: { id: ofAnn } } })
})

t.test('the token of another person in the middle: its rows from then on, and no others', async (t) => {
  const client = await listen(t, await tokenOf(ann))
  const first = await insertBoth(witness)
  t.ok(await until(() => idsOf(client).includes(first.ofAnn)))
  client.send('access_token', 'realtime:rows', { access_token: await tokenOf(bob) })
  let last = first
  for (let count = 0; count < 30 && !idsOf(client).includes(last.ofBob); count++) last = await insertBoth(witness)
  t.ok(idsOf(client).includes(last.ofBob))
  const { length } = dataOf(client)
  const after = await insertBoth(witness)
  t.ok(await until(() => dataOf(client).length > length))
  t.strictSame(idsOf(client).slice(length), [after.ofBob])
  t.notOk(idsOf(client).includes(first.ofBob), 'nothing of before')
})

t.test('forged and expired tokens in the middle end the channel, and nothing more arrives', async (t) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = { role: 'service_role', sub: bob, exp: now + 3600 }
  const forged = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.alloc(40, 'x'))
  const valid = await signToken(claims)
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${valid.split('.')[1] ?? ''}.`
  const tokens: Readonly<Record<string, string>> = {
    'another secret': forged,
    'no signature': unsigned,
    expired: await signToken({ ...claims, exp: now - 5 }),
    'no expiry': await signToken({ role: 'service_role' }),
    'no JWT': 'hello',
  }
  for (const [name, token] of Object.entries(tokens)) {
    const client = await listen(t, await tokenOf(ann))
    client.send('access_token', 'realtime:rows', { access_token: token })
    t.match((await client.next('phx_close')).topic, 'realtime:rows', name)
    await insertBoth(witness)
    t.strictSame(dataOf(client), [], name)
    t.match(await client.join('rows', {}, { access_token: token }), { status: 'error' }, name)
  }
})

t.test('a token that may not read a private channel ends it', async (t) => {
  const client = await open(t, await tokenOf(ann))
  t.match(await client.join('team', { private: true }), { status: 'ok' })
  client.send('access_token', 'realtime:team', { access_token: await tokenOf(bob) })
  t.match((await client.next('system')).payload, {
    status: 'error',
    message: 'You do not have permissions to read from this Channel topic: team',
  })
  await client.next('phx_close')
})

t.test('claims with NUL, of a megabyte, and with names of prototypes', async (t) => {
  const nul = String.fromCharCode(0)
  for (const more of [{ note: nul }, { note: 'x'.repeat(1_000_000) }, { constructor: 1, toString: {}, note: [nul] }]) {
    const client = await open(t, await tokenOf(ann))
    const token = await tokenOf(ann, more)
    const reply = await client.join('rows', { postgres_changes: [letters] }, { access_token: token })
    await insertBoth(witness)
    t.ok(['ok', 'error'].includes(reply.status))
    t.ok(
      idsOf(client).every((id) => Number(id) % 2 === 1),
      'no row of the other',
    )
  }
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('positions that no server has given', async (t) => {
  const positions = ['-1', '0/0:0', 'FFFFFFFF/FFFFFFFF:999999999', '0/1:-1', 'x'.repeat(100_000), '0/1', {}, 5, null]
  for (const since of positions) {
    const client = await open(t, await tokenOf(bob))
    const options = { postgres_changes_options: { since } }
    t.match(
      await client.join('rows', { postgres_changes: [letters], ...options }),
      { status: 'ok' },
      JSON.stringify(since).slice(0, 40),
    )
    const { payload } = await client.next('system')
    t.match(payload, { extension: 'postgres_changes' })
    await insertBoth(witness)
    t.ok(
      idsOf(client).every((id) => Number(id) % 2 === 0),
      'no row of the other',
    )
  }
})

t.test('bindings of any shape', async (t) => {
  const bindings = [
    JSON.parse('{"__proto__":{"event":"*","schema":"public","table":"letters"}}') as unknown,
    { event: {}, schema: [], table: 5 },
    { event: '*', schema: 'pg_catalog', table: 'pg_authid' },
    { event: '*', schema: 'auth', table: 'users' },
    { event: '*', schema: 'public', table: 'letters_view' },
    { ...letters, filter: `id=eq.1); select pg_sleep(100); --` },
    { ...letters, select: ['id', 'secret"', 5] },
  ]
  for (const binding of bindings) {
    const client = await listen(t, await tokenOf(ann), binding)
    t.match((await client.next('system')).payload, { status: 'error' }, JSON.stringify(binding))
    await insertBoth(witness)
    t.strictSame(dataOf(client), [], JSON.stringify(binding))
  }
})

t.test('names with quotes, backslashes and SQL, and columns with names that statements use', async (t) => {
  const client = await listen(t, await tokenOf(ann), { event: '*', schema: 'public', table: hostile })
  t.match((await client.next('system')).payload, { status: 'ok' })
  await database.query(
    `insert into public.${quoted} values (1, 'a', 'b'), (2, 'a', 'c'), (-1, 'a', 'b'), (3, 'a', 'b')`,
  )
  t.ok(await until(() => dataOf(client).length === 2))
  t.strictSame(
    dataOf(client).map(({ record }) => record?.[hostile]),
    [1, 3],
  )
})

t.test('a table that inherits has policies of its own', async (t) => {
  const client = await listen(t, await tokenOf(ann), { event: '*', schema: 'public', table: 'heirs' })
  await database.query(`insert into heirs values (${++ids}, '${ann}'), (${++ids}, '${bob}')`)
  await insertBoth(witness)
  t.strictSame(dataOf(client), [])
})

t.test('a signed token of a role that the server may not act as gets no rows', async (t) => {
  await database.query(`
    do $$ begin if not exists (select from pg_roles where rolname = 'rowhouse_stranger') then
      create role rowhouse_stranger bypassrls;
    end if; end $$;
    grant usage on schema public to rowhouse_stranger;
    grant select on public.letters to rowhouse_stranger;`)
  t.teardown(() => database.query('drop owned by rowhouse_stranger; drop role rowhouse_stranger'))
  const stranger = await listen(t, await hourToken('rowhouse_stranger', { sub: ann }))
  t.match((await stranger.next('system')).payload, {
    status: 'error',
    message: /^Unable to subscribe to changes with given parameters/,
  })
  await insertBoth(witness)
  t.strictSame(dataOf(stranger), [])
})
