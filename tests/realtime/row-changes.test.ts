// Row changes: who gets which events, and what is in them.
import t from 'tap'
import { asRole, asUser, startRowChanges } from '../support/row-changes.ts'

const [one, two] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const

const { database, listen, settled, changes, errors } = await startRowChanges(
  t,
  `create table public.plain (id int primary key, name text, big bigint, price numeric, flags bytea);
  create table public.notes (id int primary key, owner uuid, body text, secret text);
  alter table public.notes enable row level security;
  create policy own on public.notes for select to authenticated using (owner = (select auth.uid()));
  create table public.open (id int primary key, is_open boolean, room text);
  alter table public.open enable row level security;
  create policy open on public.open for select using (is_open);
  create table public.full_notes (id int primary key, owner uuid, body text);
  alter table public.full_notes replica identity full;
  alter table public.full_notes enable row level security;
  create policy own on public.full_notes for select to authenticated using (owner = auth.uid());
  create table public.unlisted (id int primary key);
  create table public.without_key (id int);
  create table public.ungranted (id int primary key, body text);
  create table public.partly (id int primary key, shown text, hidden text);
  grant select on public.plain, public.notes, public.open, public.full_notes, public.unlisted, public.without_key to anon, authenticated;
  grant select (id, shown) on public.partly to anon;
  revoke all on public.ungranted from anon;
  alter publication supabase_realtime add table public.plain, public.notes, public.open, public.full_notes, public.without_key,
    public.ungranted, public.partly;`,
)

const plain = { event: '*', schema: 'public', table: 'plain' }

t.test('an event has the columns, the new row and the key of the old one', async (t) => {
  const anyone = await listen([plain])
  await database.query("insert into plain values (1, 'a', 9007199254740993, 1.50, '\\x0102')")
  await database.query("update plain set name = 'b'")
  await database.query('update plain set id = 2')
  await database.query('delete from plain')
  await settled()
  anyone.subscription.end()
  const [inserted, updated, moved, deleted] = anyone.data()
  t.match(inserted, {
    schema: 'public',
    table: 'plain',
    type: 'INSERT',
    commit_timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    columns: [
      { name: 'id', type: 'int4' },
      { name: 'name', type: 'text' },
      { name: 'big', type: 'int8' },
      { name: 'price', type: 'numeric' },
      { name: 'flags', type: 'bytea' },
    ],
    record: { id: 1, name: 'a', price: 1.5, flags: '0102' },
    errors: null,
    position: /^[0-9A-F]+\/[0-9A-F]+:0$/,
  })
  t.match(anyone.events[0]?.data, '"big":9007199254740993')
  t.notOk('old_record' in (inserted ?? {}))
  t.match(updated, { type: 'UPDATE', record: { id: 1, name: 'b' }, old_record: { id: 1 } })
  t.strictSame(updated?.old_record, { id: 1 })
  t.match(moved, { type: 'UPDATE', record: { id: 2 }, old_record: { id: 1 } })
  t.match(deleted, { type: 'DELETE', old_record: { id: 2 }, errors: null })
  t.strictSame(deleted?.old_record, { id: 2 })
  t.notOk('record' in (deleted ?? {}))
  t.strictSame(anyone.failures, [])
})

t.test('numbers are exact as text', async (t) => {
  const anyone = await listen([{ ...plain, types: 'text' }])
  await database.query("insert into plain values (1, null, 9007199254740993, 'NaN')")
  await database.query('delete from plain')
  await settled()
  anyone.subscription.end()
  t.match(anyone.data()[0], {
    columns: [{ name: 'id', type: 'int4' }, {}, { name: 'big', type: 'text' }, { name: 'price', type: 'text' }, {}],
    record: { id: 1, name: null, big: '9007199254740993', price: 'NaN', flags: null },
  })
})

t.test('bindings by event, table, schema, columns and filter', async (t) => {
  const anyone = await listen([
    { event: 'INSERT', schema: 'public', table: 'plain' },
    { event: 'UPDATE', schema: 'public', table: 'plain' },
    { event: '*', schema: 'public' },
    { event: '*', schema: '*' },
    { ...plain, filter: 'id=gt.5' },
    { ...plain, filter: 'name=eq.x' },
    { ...plain, select: ['name'] },
    { event: '*', schema: 'public', table: 'open' },
  ])
  await database.query("insert into plain (id, name) values (1, 'x'), (9, 'y')")
  await database.query('delete from plain')
  await settled()
  anyone.subscription.end()
  const seen = anyone
    .data()
    .map(({ type, record, old_record }, index) => [
      type,
      (record ?? old_record)?.id,
      Object.keys(record ?? old_record ?? {}).length,
      anyone.bindings[index],
    ])
  t.strictSame(seen, [
    ['INSERT', 1, 5, [0, 2, 3, 5]],
    ['INSERT', 1, 2, [6]],
    ['INSERT', 9, 5, [0, 2, 3, 4]],
    ['INSERT', 9, 2, [6]],
    ['DELETE', 1, 1, [2, 3]],
    ['DELETE', 1, 1, [6]],
    ['DELETE', 9, 1, [2, 3, 4]],
    ['DELETE', 9, 1, [6]],
  ])
})

t.test('policies that depend on the caller are evaluated for each', async (t) => {
  const binding = { event: '*', schema: 'public', table: 'notes' }
  const [first, again, second, anyone] = [
    await listen([binding], asUser(one)),
    await listen([binding], asUser(one)),
    await listen([binding], asUser(two)),
    await listen([binding]),
  ]
  const before = changes.statistics.checks
  await database.query(
    `insert into notes values (1, '${one}', 'a "quoted" \\ (text), {b}'), (2, '${two}', null), (3, null, '')`,
  )
  await settled()
  t.equal(changes.statistics.checks - before, 2, 'one check for each user: nobody asks for anon, who has no policy')
  await database.query(`update notes set owner = '${two}' where id = 1`)
  await database.query('delete from notes where id = 2')
  await settled()
  for (const one of [first, again, second, anyone]) one.subscription.end()
  const ids = (listening: typeof first): unknown =>
    listening.data().map(({ type, record, old_record }) => [type, (record ?? old_record)?.id])
  t.strictSame(ids(first), [
    ['INSERT', 1],
    ['DELETE', 2],
  ])
  t.equal(first.events[0], again.events[0], 'the same object')
  t.equal(first.data()[0]?.record?.body, 'a "quoted" \\ (text), {b}')
  t.strictSame(ids(second), [
    ['INSERT', 2],
    ['UPDATE', 1],
    ['DELETE', 2],
  ])
  t.strictSame(ids(anyone), [])
})

t.test('policies that depend on the row only are evaluated once per role', async (t) => {
  const binding = { event: '*', schema: 'public', table: 'open' }
  const users = await Promise.all(Array.from({ length: 20 }, (_, index) => listen([binding], asUser(`${index}`))))
  const before = changes.statistics.checks
  await database.query("insert into open values (1, true, 'r'), (2, false, 'r'), (3, null, null)")
  await settled()
  t.equal(changes.statistics.checks - before, 1)
  for (const { subscription, data } of users) {
    subscription.end()
    t.strictSame(
      data().map(({ record }) => record),
      [{ id: 1, is_open: true, room: 'r' }],
    )
  }
})

t.test('with replica identity full, old rows are decided, too', async (t) => {
  const binding = { event: '*', schema: 'public', table: 'full_notes' }
  const [first, second, leaving] = [
    await listen([{ ...binding, filter: 'body=eq.a' }], asUser(one)),
    await listen([binding], asUser(two)),
    await listen([{ ...binding, leave: true }], asUser(one)),
  ]
  await database.query(`insert into full_notes values (1, '${one}', 'a'), (2, '${two}', 'b')`)
  await database.query(`update full_notes set owner = '${two}', body = 'c' where id = 1`)
  await database.query('delete from full_notes where id = 1')
  await database.query('delete from full_notes where id = 2')
  await settled()
  for (const one of [first, second, leaving]) one.subscription.end()
  const seen = (listening: typeof first): unknown =>
    listening.data().map(({ type, record, old_record }) => [type, record, old_record])
  t.strictSame(seen(first), [['INSERT', { id: 1, owner: one, body: 'a' }, undefined]])
  t.strictSame(seen(second), [
    ['INSERT', { id: 2, owner: two, body: 'b' }, undefined],
    // Only the key of the row that was another user's.
    ['UPDATE', { id: 1, owner: two, body: 'c' }, { id: 1 }],
    ['DELETE', undefined, { id: 1, owner: two, body: 'c' }],
    ['DELETE', undefined, { id: 2, owner: two, body: 'b' }],
  ])
  t.strictSame(seen(leaving), [
    ['INSERT', { id: 1, owner: one, body: 'a' }, undefined],
    ['UPDATE', null, { id: 1, owner: one, body: 'a' }],
  ])
})

t.test('tables without a key or a grant', async (t) => {
  const anyone = await listen([
    { event: '*', schema: 'public', table: 'without_key' },
    { event: '*', schema: 'public', table: 'ungranted' },
    { event: '*', schema: 'public', table: 'partly' },
  ])
  await database.query('insert into without_key values (1)')
  await database.query("insert into ungranted values (1, 'x')")
  await database.query("insert into partly values (1, 'a', 'b')")
  await database.query('delete from ungranted')
  await settled()
  anyone.subscription.end()
  t.match(anyone.data(), [
    { table: 'without_key', columns: [], record: {}, errors: ['Error 400: Bad Request, no primary key'] },
    { table: 'ungranted', columns: [], record: {}, errors: ['Error 401: Unauthorized'] },
    { table: 'partly', record: { id: 1, shown: 'a' }, errors: null },
  ])
  t.strictSame(anyone.data()[2]?.record, { id: 1, shown: 'a' })
  t.strictSame(anyone.data()[3]?.old_record ?? {}, {})
})

t.test('refused bindings', async (t) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [
      { ...plain, table: 'unlisted' },
      /^Unable to subscribe to changes with given parameters\. Please check Realtime is enabled for the given connect parameters: \[event: \*, schema: public, table: unlisted, filters: \[\], select: nil\]$/,
    ],
    [{ ...plain, schema: 'pg_catalog', table: 'pg_authid' }, /Please check Realtime is enabled/],
    [{ ...plain, filter: 'nope=eq.1' }, /invalid column for filter nope$/],
    [{ event: '*', schema: 'public', table: 'partly', filter: 'hidden=eq.1' }, /invalid column for filter hidden$/],
    [{ event: '*', schema: 'public', table: 'partly', select: ['hidden'] }, /invalid column for select hidden$/],
    [
      { ...plain, filter: 'id=eq.x' },
      /filters: \[\{"id", "eq", "x", false\}\].* Exception: .*invalid input syntax for type integer: "x"$/,
    ],
    [{ ...plain, filter: 'id=eq.1); drop table plain; --' }, /invalid input syntax for type integer/],
    [{ ...plain, filter: 'id=like.1%' }, /operator like requires a text-compatible column type, got integer$/],
    [{ ...plain, filter: 'name=match.(' }, /invalid regular expression for match filter: /],
    [{ ...plain, filter: 'name=is.true' }, /is true filter requires a boolean column, got text$/],
    [{ ...plain, filter: 'name=is.nil' }, /invalid value for is filter/],
    [
      { ...plain, filter: `id=in.(${Array.from({ length: 101 }, (_, index) => index).join()})` },
      /too many values for `in` filter\. Maximum 100$/,
    ],
    [
      { ...plain, filter: 'id=in.1,2' },
      /Error parsing `filter` params: `in` filter value must be wrapped by parentheses$/,
    ],
    [{ ...plain, filter: 'id=eq.1,,id=eq.2' }, /filter must not contain empty segments/],
    [{ ...plain, filter: 'undefined' }, /Error parsing `filter` params: \["undefined"\]$/],
    [{ ...plain, filter: 'id=foo.hey' }, /Error parsing `filter` params: \["foo", "hey"\]$/],
    [{}, /No subscription params provided\. Please provide at least a `schema` or `table` to subscribe to: %\{\}$/],
    [{ schema: 'public', select: ['id'] }, /Column selection is not supported for wildcard subscriptions/],
    [{ ...plain, select: 'id' }, /Error parsing `select` params/],
    ['nonsense', /No subscription params provided/],
  ]
  for (const [binding, message] of cases) await t.rejects(listen([binding]), { name: 'ChangesRefused', message })
  await t.rejects(listen([plain], asRole('no_such_role')), { name: 'ChangesRefused' })
  await t.rejects(listen([plain], undefined, { since: 'x' }), { name: 'ChangesRefused' })
  t.equal(changes.statistics.subscribers, 0)
})

t.equal(errors.length, 0, String(errors[0]))
