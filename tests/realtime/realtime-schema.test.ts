// The schema `realtime`: messages from SQL, their partitions and privileges, publications, and ends of sessions.
import pg from 'pg'
import t from 'tap'
import { migrate } from '../../server/postgres/migrate.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Runs statements in one session of the superuser. Returns the rows of the last one, and what was raised. */
async function session(
  ...texts: readonly string[]
): Promise<{ rows: Record<string, unknown>[]; messages: string[]; heard: string[] }> {
  return withClient(database.adminUri, async (client) => {
    const messages: string[] = []
    const heard: string[] = []
    client.on('notice', ({ severity, message }) => messages.push(`${severity}: ${message}`))
    client.on('notification', ({ payload }) => heard.push(payload ?? ''))
    let rows: Record<string, unknown>[] = []
    for (const text of texts) rows = (await client.query<Record<string, unknown>>(text)).rows
    return { rows, messages, heard }
  })
}

t.test('the table', async (t) => {
  const { rows } = await database.query(
    `select string_agg(format('%s %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum) as columns,
       pg_get_partkeydef(attrelid) as key, (select relrowsecurity from pg_class where oid = attrelid) as secured,
       (select relowner::regrole::text from pg_class where oid = attrelid) as owner,
       (select count(*)::int from pg_policy where polrelid = attrelid) as policies
     from pg_attribute where attrelid = 'realtime.messages'::regclass and attnum > 0 group by attrelid`,
  )
  t.strictSame(rows, [
    {
      columns:
        'topic text, extension text, payload jsonb, event text, private boolean, updated_at timestamp without time zone, ' +
        'inserted_at timestamp without time zone, id uuid, binary_payload bytea',
      key: 'RANGE (inserted_at)',
      secured: true,
      owner: 'supabase_realtime_admin',
      policies: 0,
    },
  ])
})

t.test('partitions', async (t) => {
  const list = `select relname::text as name, relrowsecurity as secured, pg_get_expr(relpartbound, pg_class.oid) as bound
    from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'realtime.messages'::regclass order by 1`
  const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
  const expected = [-1, 0, 1, 2, 3].map((offset) => ({
    name: `messages_${day(offset).replaceAll('-', '_')}`,
    secured: true,
    bound: `FOR VALUES FROM ('${day(offset)} 00:00:00') TO ('${day(offset + 1)} 00:00:00')`,
  }))
  t.strictSame((await database.query(list)).rows, expected)

  const name = (offset: number): string => `messages_${day(offset).replaceAll('-', '_')}`
  for (const offset of [-5, -4, -3]) {
    await database.query(
      `set role supabase_realtime_admin; create table realtime.${name(offset)} partition of realtime.messages for values from ('${day(offset)}') to ('${day(offset + 1)}'); reset role`,
    )
  }
  await database.query(`drop table realtime.${name(0)}, realtime.${name(3)}`)
  await database.query('set role authenticator; select rowhouse.keep_realtime_partitions(); reset role')
  const { rows } = await database.query(list)
  t.strictSame(
    rows.map((row) => row.name),
    [name(-3), ...expected.map((row) => row.name)],
    'those older than 72 hours are dropped, missing ones are created',
  )

  t.test('a long read of an old partition delays no other statement', { timeout: 300_000 }, async (t) => {
    await database.query(
      `set role supabase_realtime_admin; create table realtime.${name(-6)} partition of realtime.messages for values from ('${day(-6)}') to ('${day(-5)}'); reset role`,
    )
    await withClient(database.adminUri, async (reader) => {
      await reader.query(`begin; select from realtime.messages`)
      await session("set lock_timeout = '50ms'", 'select rowhouse.keep_realtime_partitions()')
      await reader.query('rollback')
    })
    await database.query('select rowhouse.keep_realtime_partitions()')
    t.notOk((await database.query(list)).rows.some((row) => row.name === name(-6)))
  })

  t.test('nobody can call the function or read a partition without the rights', async (t) => {
    for (const role of ['anon', 'authenticated', 'service_role']) {
      await t.rejects(session(`set role ${role}`, 'select rowhouse.keep_realtime_partitions()'), { code: '42501' })
      await t.rejects(session(`set role ${role}`, `select from realtime.${name(0)}`), { code: '42501' })
      await t.rejects(session(`set role ${role}`, 'delete from realtime.messages'), { code: '42501' })
    }
  })
})

t.test('realtime.send', async (t) => {
  const stored =
    'select payload, event, topic, private, extension, binary_payload from realtime.messages order by inserted_at desc limit 1'
  t.strictSame((await session(`select realtime.send('{"id": 7}', 'moved', 'room')`, stored)).rows, [
    { payload: { id: 7 }, event: 'moved', topic: 'room', private: true, extension: 'broadcast', binary_payload: null },
  ])
  const [added] = (await session(`select realtime.send('{"a": 1}', 'moved', 'room', false)`, stored)).rows
  t.match(added, { private: false, payload: { a: 1, id: /^[\da-f-]{36}$/ } })
  const [sameId] = (
    await session(
      "select payload ->> 'id' = id::text as same from realtime.messages where event = 'moved' and not private",
    )
  ).rows
  t.strictSame(sameId, { same: true })
  t.strictSame(
    (
      await session(
        'begin',
        `select realtime.send(payload => '{}', event => 'e', topic => 'a room''s', private => true)`,
        "select current_setting('realtime.topic') as setting, realtime.topic() as topic",
      )
    ).rows,
    [{ setting: "a room's", topic: "a room's" }],
  )
  t.strictSame((await session('select realtime.topic() as topic')).rows, [{ topic: null }])
  const [binary] = (await session(`select realtime.send_binary('\\x00ff', 'bytes', 'room')`, stored)).rows
  t.match(binary, { payload: null, event: 'bytes', private: true })
  t.strictSame(binary?.binary_payload, Buffer.from([0, 255]))

  t.test('failures are warnings', async (t) => {
    const warnings = async (...texts: string[]): Promise<readonly string[]> => (await session(...texts)).messages
    t.match(await warnings("select realtime.send('{}', 'e', null)"), [
      /^WARNING: WarnSendingBroadcastMessage: null value in column "topic"/,
    ])
    t.match(await warnings("select realtime.send_binary('', 'e', null)"), [
      /^WARNING: WarnSendingBroadcastMessage: null value in column "topic"/,
    ])
    t.strictSame(await warnings("select realtime.send('1', 'e', 't')"), [
      'WARNING: WarnSendingBroadcastMessage: cannot set path in scalar',
    ])
    t.match(await warnings('set role authenticated', "select realtime.send('{}', 'e', 't')"), [
      /^WARNING: WarnSendingBroadcastMessage: new row violates row-level security policy for table "messages"/,
    ])
  })

  t.test('policies decide for the caller, with its search path', async (t) => {
    await database.query(`
      create table public.rooms (name text);
      insert into public.rooms values ('open');
      grant select on public.rooms to authenticated;
      create function public.is_open() returns boolean language plpgsql stable as
        'begin return exists (select from rooms where name = realtime.topic()); end';
      create policy members on realtime.messages for insert to authenticated with check (public.is_open())`)
    const as = ['set role authenticated', 'set search_path = public']
    t.strictSame((await session(...as, "select realtime.send('{}', 'e', 'open')")).messages, [])
    t.match((await session(...as, "select realtime.send('{}', 'e', 'closed')")).messages, [/row-level security/])
    await database.query('drop policy members on realtime.messages')
  })
})

t.test('realtime.broadcast_changes', async (t) => {
  await database.query(`
    create table public.tasks (id int primary key, name text);
    create function public.tell() returns trigger language plpgsql security definer as $$
    begin
      perform realtime.broadcast_changes('tasks', tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
      return null;
    end $$;
    create trigger tell after insert or update or delete on public.tasks for each row execute function public.tell()`)
  await database.query(
    "insert into public.tasks values (1, 'a'); update public.tasks set name = 'b'; delete from public.tasks",
  )
  const { rows } = await database.query(
    "select event, private, payload - 'id' as payload, payload ? 'id' as has_id from realtime.messages where topic = 'tasks' order by case event when 'INSERT' then 1 when 'UPDATE' then 2 else 3 end",
  )
  const common = { schema: 'public', table: 'tasks' }
  const [a, b] = [
    { id: 1, name: 'a' },
    { id: 1, name: 'b' },
  ]
  t.strictSame(
    rows,
    [
      { ...common, operation: 'INSERT', record: a, old_record: null },
      { ...common, operation: 'UPDATE', record: b, old_record: a },
      { ...common, operation: 'DELETE', record: null, old_record: b },
    ].map((payload) => ({ event: payload.operation, private: true, payload, has_id: true })),
  )
  const call = (operation: string, level: string): Promise<unknown> =>
    session(
      `do $$ declare r public.tasks; begin perform realtime.broadcast_changes('t', 'e', '${operation}', 'tasks', 'public', r, r, '${level}'); end $$`,
    )
  await t.rejects(call('INSERT', 'STATEMENT'), {
    message: 'Failed to process the row: function can only be triggered for each row, not for each statement',
  })
  await t.rejects(call('TRUNCATE', 'ROW'), {
    message: 'Failed to process the row: Unexpected operation type: TRUNCATE',
  })
})

t.test('publications', async (t) => {
  const { rows } = await database.query(
    `select pubname::text as name, pubinsert, pubupdate, puballtables,
       array(select prrelid::regclass::text from pg_publication_rel where prpubid = pg_publication.oid) as tables
     from pg_publication order by 1`,
  )
  t.strictSame(rows, [
    { name: 'supabase_realtime', pubinsert: true, pubupdate: true, puballtables: false, tables: [] },
    {
      name: 'supabase_realtime_messages_publication',
      pubinsert: true,
      pubupdate: false,
      puballtables: false,
      tables: ['realtime.messages'],
    },
  ])
})

t.test('ends of sessions and users are notified', async (t) => {
  const [ann, bob] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
  await database.query(`
    insert into auth.users (id, email) values ('${ann}', 'ann@example.org'), ('${bob}', 'bob@example.org');
    insert into auth.sessions (id, user_id) values ('${ann}', '${ann}'), ('${bob}', '${bob}')`)
  const heard = async (text: string): Promise<readonly string[]> =>
    (await session('listen rowhouse_realtime', text, 'select 1')).heard
  t.strictSame(await heard(`update auth.sessions set updated_at = now()`), [])
  t.strictSame(await heard(`update auth.users set email = 'a@example.org' where id = '${ann}'`), [])
  t.strictSame(await heard(`delete from auth.sessions where id = '${ann}'`), [`session ${ann}`])
  t.strictSame(await heard(`update auth.users set banned_until = now() + '1 day' where id = '${ann}'`), [`user ${ann}`])
  t.strictSame(await heard(`update auth.users set banned_until = null where id = '${ann}'`), [])
  t.strictSame(await heard(`update auth.users set deleted_at = now() where id = '${ann}'`), [`user ${ann}`])
  t.strictSame((await heard(`delete from auth.users where id = '${bob}'`)).toSorted(), [
    `session ${bob}`,
    `user ${bob}`,
  ])
})

t.test("Supabase's table and functions are kept", async (t) => {
  const other = await createDatabase()
  t.teardown(other.drop)
  await other.query(`
    create schema realtime;
    create table realtime.messages (
      topic text not null, extension text not null, payload jsonb, event text, private boolean default false,
      updated_at timestamp not null default now(), inserted_at timestamp not null default now(),
      id uuid not null default gen_random_uuid(), primary key (id, inserted_at)
    ) partition by range (inserted_at);
    create function realtime.topic() returns text language sql stable as $$ select 'theirs' $$;
    create publication supabase_realtime for table realtime.messages`)
  await withClient(other.adminUri, (client) => migrate(client))
  const { rows } = await other.query(
    `select realtime.topic() as topic, realtime.send('{}', 'e', 't'), realtime.send_binary('', 'e', 't'),
       (select count(*)::int from pg_inherits where inhparent = 'realtime.messages'::regclass) as partitions,
       (select relowner::regrole::text from pg_class where oid = 'realtime.messages'::regclass) as owner`,
  )
  t.match(rows, [{ topic: 'theirs', partitions: 5, owner: 'postgres' }])
  t.strictSame((await other.query('select binary_payload from realtime.messages order by payload is null')).rows, [
    { binary_payload: null },
    { binary_payload: Buffer.alloc(0) },
  ])

  const odd = await createDatabase()
  t.teardown(odd.drop)
  await odd.query('create schema realtime; create table realtime.messages (id int)')
  await t.rejects(
    withClient(odd.adminUri, (client) => migrate(client)),
    { message: /table realtime\.messages/ },
  )
  await t.resolves(withClient(odd.adminUri, (client) => migrate(client, { services: ['rest', 'auth'] })))
})

t.test('an owner of the database without superuser rights has it all', async (t) => {
  const other = await createDatabase()
  const owner = `owner_${other.name}`
  await other.query(`create role ${owner} login createrole password 'owner'`)
  await other.query(`alter database ${other.name} owner to ${owner}`)
  t.teardown(async () => {
    await other.query(`alter database ${other.name} owner to postgres; drop owned by ${owner} cascade`)
    await other.query(`drop role ${owner}`)
    await other.drop()
  })
  await withClient(other.uri(owner, 'owner'), (client) => migrate(client))
  const client = new pg.Client({ connectionString: other.uri('authenticator', 'authenticator') })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('set role service_role')
  await client.query("select realtime.send('{}', 'e', 't')")
  await client.query('set role supabase_realtime_admin')
  t.equal((await client.query('select from realtime.messages')).rowCount, 1)
  await client.query('reset role')
  await client.query('select rowhouse.keep_realtime_partitions()')
  t.equal((await other.query('select from pg_publication')).rowCount, 2)
})
