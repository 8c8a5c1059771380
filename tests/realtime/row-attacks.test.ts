// What people may not see of the changes of rows, whatever they try.
import t from 'tap'
import { asRole, asUser, startRowChanges } from '../support/row-changes.ts'
import { until } from '../support/until.ts'

/** The back reference keeps PostgreSQL from running an automaton. */
const slowPattern = '^(a+)(a+)(a+)(a+)b\\\\1$'
const [one, two] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const

const { database, listen, settled } = await startRowChanges(
  t,
  `create table public.letters (id int primary key, owner uuid, secret text, body text);
  alter table public.letters alter column body set storage external;
  alter table public.letters enable row level security;
  create policy own on public.letters for select to authenticated using (owner = auth.uid());
  create table public.memos (id int primary key, owner uuid);
  alter table public.memos enable row level security;
  create function public.remembered_user() returns uuid language plpgsql stable as $$
  begin
    if coalesce(current_setting('app.user', true), '') = '' then
      perform set_config('app.user', auth.uid()::text, true);
    end if;
    return current_setting('app.user')::uuid;
  end
  $$;
  create policy own on public.memos for select to authenticated using (owner = public.remembered_user());
  create table public.parts (id int primary key, owner uuid, secret text) partition by range (id);
  create table public.parts_1 partition of public.parts for values from (0) to (1000);
  alter table public.parts enable row level security;
  create policy everyone on public.parts for select using (true);
  grant select on public.letters, public.memos, public.parts to anon, authenticated;
  alter publication supabase_realtime set (publish_via_partition_root = true);
  alter publication supabase_realtime add table public.letters, public.memos, public.parts;`,
)

t.test('earlier versions of a row that has become mine stay hidden, also if the log has no large value', async (t) => {
  const first = await listen([{ schema: 'public', table: 'letters' }], asUser(one))
  const { position } = first.subscription
  await database.query(`insert into letters values (1, '${one}', 'a', repeat('x', 100000))`)
  await database.query("update letters set secret = 'only the first may know'")
  await database.query(`update letters set owner = '${two}', secret = ''`)
  await settled()
  const second = await listen([{ schema: 'public', table: 'letters' }], asUser(two), { since: position })
  await until(() => second.data().length > 0)
  await settled()
  first.subscription.end()
  second.subscription.end()
  t.strictSame(
    first.data().map(({ record }) => record?.secret),
    ['a', 'only the first may know'],
  )
  t.strictSame(
    second.data().map(({ record }) => record?.secret),
    [''],
  )
})

t.test('what a policy remembers of one caller does not count for the next', async (t) => {
  const people = Array.from({ length: 60 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
  const listening = await Promise.all(people.map((id) => listen([{ schema: 'public', table: 'memos' }], asUser(id))))
  for (const [n, id] of people.entries()) await database.query(`insert into memos values (${n}, '${id}')`)
  await settled()
  for (const { subscription } of listening) subscription.end()
  t.strictSame(
    listening.map(({ data }) => data().map(({ record }) => record?.id)),
    people.map((_, n) => [n]),
  )
})

t.test('privileges and policies of partitioned tables apply as soon as they change', async (t) => {
  const anyone = await listen([{ schema: 'public', table: 'parts' }], asRole('anon'))
  await database.query('insert into parts values (1)')
  await settled()
  await database.query('alter policy everyone on parts using (id < 2)')
  await database.query("insert into parts values (2, null, 'a')")
  await settled()
  await database.query('alter policy everyone on parts using (true)')
  await database.query('insert into parts values (3)')
  await settled()
  await database.query('revoke select on parts from anon; grant select (id) on parts to anon')
  await database.query("insert into parts values (4, null, 'b')")
  await settled()
  anyone.subscription.end()
  t.strictSame(
    anyone.data().map(({ record }) => record),
    [{ id: 1, owner: null, secret: null }, { id: 3, owner: null, secret: null }, { id: 4 }],
  )
})

t.test('bindings and conditions by the thousand are refused', async (t) => {
  const binding = { schema: 'public', table: 'letters' }
  const many = Array.from({ length: 1001 }, () => binding)
  const conditions = Array.from({ length: 100_000 }, () => 'body=match.x').join()
  const long = `body=eq.${'x'.repeat(5_000_000)}`
  for (const bindings of [many, [{ ...binding, filter: conditions }]]) {
    await t.rejects(listen(bindings, asUser(one)), { name: 'ChangesRefused', message: /^A channel has at most 1000/ })
  }
  await t.rejects(listen([{ ...binding, filter: ','.repeat(100_000) }], asUser(one)), { name: 'ChangesRefused' })
  const { subscription } = await listen([{ ...binding, filter: long }, ...many.slice(3)], asUser(one))
  subscription.end()
})

t.test('a pattern that takes forever harms nobody else for long', async (t) => {
  const binding = { event: 'INSERT', schema: 'public', table: 'letters' }
  const slow = await listen([{ ...binding, filter: `body=match."${slowPattern}"` }], asUser(one))
  const other = await listen([binding], asUser(one))
  const begun = performance.now()
  await database.query(`insert into letters values (3, '${one}', '', '${'a'.repeat(300)}b${'a'.repeat(400)}')`)
  await database.query(`insert into letters values (4, '${one}', '', '${'a'.repeat(300)}b${'a'.repeat(401)}')`)
  await settled()
  t.comment(`${Math.round(performance.now() - begun)} ms`)
  t.ok(performance.now() - begun < 30_000)
  t.match(slow.failures, [{ code: 'Refused', message: 'A filter of the table public.letters takes too long' }])
  t.strictSame(slow.events, [])
  t.equal(other.events.length, 2)
  slow.subscription.end()
  other.subscription.end()
})
