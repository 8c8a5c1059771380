// Nothing is lost, and nothing comes twice: the beginning of subscriptions, positions, large transactions, values that the log leaves
// out, changes of tables, and an interrupted log.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { withClient } from '../support/database.ts'
import { longestTurnDuring } from '../support/longest-turn.ts'
import { asRole, asUser, startRowChanges, type ChangesSettings } from '../support/row-changes.ts'
import { until } from '../support/until.ts'

const user = '00000000-0000-4000-8000-000000000001'
const binding = { event: '*', schema: 'public', table: 'items' }

const start = (test: Pick<Test, 'teardown'>, settings: ChangesSettings = {}) =>
  startRowChanges(
    test,
    `create table public.items (id int primary key, owner uuid, v text, twice int generated always as (id * 2) stored);
    alter table public.items alter column v set storage external;
    grant select on public.items to anon, authenticated;
    alter publication supabase_realtime add table public.items;`,
    settings,
  )

t.test('a subscription gets what commits after it, once', async (t) => {
  const { database, listen, settled } = await start(t)
  const listeners: { readonly from: number; readonly to: number; readonly one: Awaited<ReturnType<typeof listen>> }[] =
    []
  let written = 0
  let isOver = false
  const write = async (): Promise<void> =>
    withClient(database.adminUri, async (client) => {
      while (!isOver) {
        await client.query(`insert into items (id) values (${written + 1})`)
        written++
      }
    })
  const writing = write()
  for (let count = 0; count < 40; count++) {
    const from = written
    const one = await listen([binding])
    listeners.push({ from, to: written, one })
  }
  isOver = true
  await writing
  await settled()
  for (const { from, to, one } of listeners) {
    const ids = one.data().map(({ record }) => Number(record?.id))
    const [first = written + 1] = ids
    t.ok(first > from && first <= to + 2, `the first event is ${first}, between ${from} and ${to}`)
    t.strictSame(
      ids,
      Array.from({ length: written - first + 1 }, (_, index) => first + index),
    )
    t.strictSame(one.failures, [])
  }
})

t.test('the last position resumes, in the middle of a transaction too', async (t) => {
  const { database, listen, settled } = await start(t)
  const first = await listen([binding])
  await database.query('insert into items (id) select generate_series(1, 5)')
  await database.query('insert into items (id) select generate_series(6, 8)')
  await settled()
  first.subscription.end()
  await database.query('insert into items (id) values (9)')
  await settled()
  for (const seen of [0, 2, 4, 5, 7]) {
    const again = await listen([binding], undefined, { since: first.events[seen]?.position ?? '' })
    await until(() => again.events.length >= 8 - seen)
    t.strictSame(
      again.data().map(({ record }) => record?.id),
      Array.from({ length: 8 - seen }, (_, index) => index + seen + 2),
    )
    t.strictSame(again.failures, [])
    again.subscription.end()
  }
  const filtered = await listen([{ ...binding, filter: 'id=eq.9' }], undefined, {
    since: first.events[0]?.position ?? '',
  })
  await until(() => filtered.events.length > 0)
  t.equal(filtered.events.length, 1)
})

t.test('positions that are not kept', async (t) => {
  const { database, listen, settled } = await start(t, { replayBytes: 5000 })
  const first = await listen([binding])
  await database.query('insert into items (id) values (1)')
  await settled()
  for (let id = 2; id < 40; id++) await database.query(`insert into items (id) values (${id})`)
  await settled()
  const positions = [first.events[0]?.position ?? '', '0/1:0', 'FFFFFFFF/0:0']
  for (const since of positions) {
    const again = await listen([binding], undefined, { since })
    t.ok(await until(() => again.failures.length > 0))
    t.match(again.failures, [{ code: 'Gap' }])
    await database.query('insert into items (id) select max(id) + 1 from items')
    await settled()
    t.equal(again.events.length, 1)
    again.subscription.end()
  }
})

t.test('a replay is under the policies as they are now', async (t) => {
  const { database, listen, settled } = await start(t)
  const first = await listen([binding], asUser(user))
  await database.query(`insert into items (id, owner) values (1, '${user}'), (2, null), (3, '${user}')`)
  await settled()
  await database.query('alter table items enable row level security')
  await database.query('create policy own on items for select to authenticated using (owner = auth.uid())')
  const again = await listen([binding], asUser(user), { since: first.events[0]?.position ?? '' })
  await until(() => again.events.length > 0)
  await settled()
  t.strictSame(
    again.data().map(({ record }) => record?.id),
    [3],
  )
})

t.test('a transaction of 100,000 rows arrives whole, or with a gap', async (t) => {
  const { database, listen, settled } = await start(t, { replayBytes: 200 * 1024 * 1024 })
  const [all, some] = [await listen([binding]), await listen([{ ...binding, filter: 'id=in.(1,99999)' }])]
  const longest = await longestTurnDuring(async () => {
    await database.query('insert into items (id) select generate_series(1, 100000)')
    await settled()
  })
  t.equal(all.events.length, 100_000)
  t.ok(all.data().every(({ record }, index) => record?.id === index + 1))
  t.strictSame(
    some.data().map(({ record }) => record?.id),
    [1, 99999],
  )
  t.ok(longest < 60, `others wait for ${Math.round(longest)} ms`)
})

t.test('a transaction that is too large is a gap for those who listen', async (t) => {
  const { database, listen, settled } = await start(t, { transactionBytes: 10_000 })
  const one = await listen([binding])
  await database.query('insert into items (id) values (1)')
  await database.query('insert into items (id) select generate_series(2, 10000)')
  await database.query('insert into items (id) values (10001)')
  await settled()
  t.strictSame(
    one.data().map(({ record }) => record?.id),
    [1, 10001],
  )
  t.match(one.failures, [{ code: 'Gap', message: /larger/ }])
})

t.test('values that the log leaves out are read from the table, as the subscriber sees it', async (t) => {
  const { database, listen, settled } = await start(t)
  await database.query(`alter table items enable row level security;
    create policy own on items for select to authenticated using (owner = auth.uid());`)
  const [mine, others, filtered] = [
    await listen([binding], asUser(user)),
    await listen([binding], asUser('00000000-0000-4000-8000-000000000002')),
    await listen([{ ...binding, filter: 'v=like.xxx%' }], asUser(user)),
  ]
  await database.query(
    `insert into items (id, owner, v) values (1, '${user}', repeat('x', 5000)), (2, null, repeat('y', 5000))`,
  )
  await database.query(`update items set id = id + 10`)
  await settled()
  const large = 'x'.repeat(5000)
  t.strictSame(
    mine.data().map(({ type, record }) => [type, record]),
    [
      ['INSERT', { id: 1, owner: user, v: large, twice: 2 }],
      ['UPDATE', { id: 11, owner: user, v: large, twice: 22 }],
    ].map(([type, record], index) => [type, index === 0 ? withoutGone(record, mine.data()[0]?.record) : record]),
  )
  t.strictSame(others.events, [])
  t.strictSame(
    filtered.data().map(({ type }) => type),
    ['INSERT', 'UPDATE'],
  )
  await database.query('alter table items drop column twice, replica identity full')
  await database.query('update items set id = id + 100, owner = owner')
  await database.query('delete from items')
  await settled()
  const [, , updated, deleted] = mine.data()
  t.match(updated, { record: { id: 111, v: large }, old_record: { id: 11, v: large } })
  t.match(deleted, { type: 'DELETE', old_record: { id: 111, v: large } })
  t.strictSame(others.events, [])
})

/** Generated columns are not in the log: they are missing if the row has changed before it was read. */
function withoutGone(expected: unknown, found: Readonly<Record<string, unknown>> | null | undefined): unknown {
  if (found && 'twice' in found) return expected
  const { twice, ...rest } = expected as Readonly<Record<string, unknown>>
  return twice === undefined ? expected : rest
}

t.test('changes of the table under a subscription', async (t) => {
  const { database, listen, settled } = await start(t)
  const [all, filtered] = [
    await listen([binding], asUser(user)),
    await listen([{ ...binding, filter: 'v=eq.a' }], asUser(user)),
  ]
  await database.query("insert into items (id, v) values (1, 'a')")
  await database.query('alter table items add column more int default 7')
  await database.query("insert into items (id, v) values (2, 'a')")
  await database.query('alter table items rename column v to w')
  await database.query("insert into items (id, w) values (3, 'a')")
  await settled()
  t.match(
    all.data().map(({ record }) => record),
    [
      { id: 1, v: 'a' },
      { id: 2, v: 'a', more: 7 },
      { id: 3, w: 'a' },
    ].map((record) => ({ id: record.id })),
  )
  t.ok('w' in (all.data()[2]?.record ?? {}))
  t.match(filtered.failures, [{ code: 'Refused', message: /invalid column for filter v/ }])
  // Privileges and policies.
  await database.query('revoke select on items from authenticated; grant select (id) on items to authenticated')
  await database.query("insert into items (id, w) values (4, 'a')")
  await settled()
  t.strictSame(all.data().at(-1)?.record, { id: 4 })
  await database.query('alter table items enable row level security')
  await database.query('insert into items (id) values (5)')
  await settled()
  t.equal(all.data().at(-1)?.record?.id, 4)
  // Another table of the same name.
  await database.query(`drop table items; create table items (id text primary key);
    grant select on items to authenticated; alter publication supabase_realtime add table items;`)
  await database.query("insert into items values ('new')")
  await settled()
  t.equal(all.data().at(-1)?.record?.id, 'new')
})

t.test('policies on the whole row, and policies that raise', async (t) => {
  const { database, listen, settled, errors } = await start(t)
  await database.query(`create function public.is_mine(one public.items) returns boolean language sql stable as 'select one.owner = auth.uid()';
    alter table items enable row level security;
    create policy own on items for select to authenticated using (public.is_mine(items));
    create policy raising on items for select to anon using (1 / (id - 2) > -100);`)
  const [mine, anyone] = [await listen([binding], asUser(user)), await listen([binding])]
  await database.query(`insert into items (id, owner) values (1, '${user}'), (2, null), (3, '${user}')`)
  await settled()
  t.strictSame(
    mine.data().map(({ record }) => record?.id),
    [1, 3],
  )
  t.strictSame(mine.failures, [])
  t.strictSame(
    anyone.data().map(({ record }) => record?.id),
    [1, 3],
  )
  t.match(anyone.failures, [{ code: 'Gap', message: /a policy of the table public.items failed/ }])
  t.match(errors, [{ message: 'division by zero' }])
})

t.test('a filter does not find out the values of deleted rows that the policies cannot decide', async (t) => {
  const { database, listen, settled } = await start(t)
  await database.query(`create function public.is_mine(one public.items) returns boolean language sql stable as 'select one.owner = auth.uid()';
    alter table items drop column twice;
    alter table items replica identity full;
    alter table items enable row level security;
    create policy own on items for select to authenticated using (public.is_mine(items));`)
  const [all, guessed, byKey] = await Promise.all(
    [{}, { filter: 'v=eq.secret' }, { filter: 'id=eq.1' }].map((more) =>
      listen([{ ...binding, ...more }], asUser(user)),
    ),
  )
  await database.query(`insert into items (id, v) values (1, 'secret'), (2, 'other')`)
  await database.query('delete from items')
  await settled()
  const olds = (one: typeof all): unknown => one?.data().map(({ old_record: old }) => old)
  t.strictSame(olds(all), [{ id: 1 }, { id: 2 }])
  t.strictSame(olds(byKey), [{ id: 1 }])
  t.strictSame(olds(guessed), [])
})

t.test('another token applies to what follows', async (t) => {
  const { database, listen, settled } = await start(t)
  await database.query(`alter table items enable row level security;
    create policy own on items for select to authenticated using (owner = auth.uid());`)
  const one = await listen([binding], asUser('00000000-0000-4000-8000-000000000002'))
  await database.query(`insert into items (id, owner) values (1, '${user}')`)
  await settled()
  await one.subscription.changeIdentity(asUser(user))
  await database.query(`insert into items (id, owner) values (2, '${user}')`)
  await settled()
  t.strictSame(
    one.data().map(({ record }) => record?.id),
    [2],
  )
  await t.rejects(one.subscription.changeIdentity(asRole('no_such_role')), { name: 'ChangesRefused' })
})

t.test('an interrupted log is a gap', async (t) => {
  const { database, listen, settled, feed } = await start(t)
  const one = await listen([binding])
  await database.query('insert into items (id) values (1)')
  await settled()
  await database.query(
    "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name like 'rowhouse_realtime_%' and database = current_database()",
  )
  t.ok(await until(() => one.failures.length >= 2))
  t.match(one.failures, [{ code: 'Unavailable' }, { code: 'Gap' }])
  t.equal(feed.state?.kind, 'reading')
  await database.query('insert into items (id) values (2)')
  await settled()
  t.strictSame(
    one.data().map(({ record }) => record?.id),
    [1, 2],
  )
  const again = await listen([binding], undefined, { since: one.events[0]?.position ?? '' })
  t.ok(await until(() => again.failures.length > 0))
  t.match(again.failures, [{ code: 'Gap' }])
})

t.test('the log is read while there are subscribers', async (t) => {
  const { database, listen, feed } = await start(t, { lingering: 50, replaySeconds: 0 })
  const slots = async (): Promise<unknown> =>
    (await database.query('select from pg_replication_slots where database = current_database()')).rowCount
  t.equal(await slots(), 0)
  const one = await listen([binding])
  t.equal(await slots(), 1)
  one.subscription.end()
  t.ok(await until(async () => (await slots()) === 0))
  t.equal(feed.state?.kind, 'stopped')
  const again = await listen([binding])
  t.equal(await slots(), 1)
  again.subscription.end()
})

t.test('the last client that comes back gets what it has missed, while changes are kept', async (t) => {
  const { database, listen, settled, feed } = await start(t, { lingering: 50, replaySeconds: 5 })
  const one = await listen([binding])
  one.subscription.end()
  await pause(1000)
  t.equal(feed.state?.kind, 'reading')
  await database.query('insert into items (id) values (1)')
  const again = await listen([binding], undefined, { since: one.subscription.position })
  // What is in the buffer comes beside what is read.
  await until(() => again.events.length > 0)
  await settled()
  t.strictSame(
    again.data().map(({ record }) => record?.id),
    [1],
  )
  t.strictSame(again.failures, [])
  again.subscription.end()
  t.ok(await until(() => feed.state?.kind === 'stopped'), 'and not for ever')
})

t.test('a publication that is created when the log is read already', async (t) => {
  const { database, listen, settled, feed } = await start(t)
  await database.query('drop publication supabase_realtime')
  const end = feed.use()
  await feed.whenReading(AbortSignal.timeout(120_000))
  await database.query('create publication supabase_realtime for table items')
  const one = await listen([binding])
  end()
  await database.query('insert into items (id) values (1)')
  await settled()
  t.strictSame(
    one.data().map(({ record }) => record?.id),
    [1],
  )
  t.strictSame(one.failures, [])
})

t.test('messages from SQL', async (t) => {
  const { database, listen, messages, settled } = await start(t)
  await listen([{ event: '*', schema: '*' }])
  await database.query(`select realtime.send('{"a": 1}', 'e', 'topic', false)`)
  await settled()
  t.match(messages, [{ topic: 'topic', event: 'e', isPrivate: false, binary: null, id: /^[\da-f-]{36}$/ }])
  t.match(JSON.parse(messages[0]?.payload?.toString() ?? ''), { a: 1 })
})
