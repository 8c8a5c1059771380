// The schema `net`: signatures, defaults and errors of pg_net, over the table of outgoing calls.
import t, { type Test } from 'tap'
import { migrate } from '../../server/postgres/migrate.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** Runs a statement that adds one call, and returns the call. */
async function callOf(sql: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await database.query(`with request as (${sql}) select id from request`)
  const call = await database.query('select * from rowhouse.calls where request_id = $1', [rows[0]?.id])
  return call.rows[0]
}

const refuses = (t: Test, sql: string, message: string | RegExp): Promise<unknown> =>
  t.rejects(database.query(sql), { message }, sql)

t.test('a request becomes a call', async (t) => {
  const call = await callOf(
    `select net.http_post('https://example.com/a', '{"name": "Ada"}', headers := '{"Authorization": "Bearer x"}') as id`,
  )
  t.match(call, {
    webhook: null,
    key: null,
    method: 'POST',
    url: 'https://example.com/a',
    host: 'example.com',
    headers: { Authorization: 'Bearer x', 'Content-Type': 'application/json' },
    body: '{"name": "Ada"}',
    timeout_ms: 5000,
    secret_name: null,
    depth: 1,
    retries: false,
    state: 'waiting',
    created_by: 'postgres',
  })
  t.equal(call?.number, call?.request_id)
})

t.test('arguments and defaults are those of pg_net', async (t) => {
  t.match(await callOf(`select net.http_get('http://localhost:8080') as id`), {
    method: 'GET',
    url: 'http://localhost:8080',
    headers: {},
    body: null,
    timeout_ms: 5000,
  })
  t.match(await callOf(`select net.http_get('http://localhost:8080', null::jsonb, null::jsonb, 100) as id`), {
    headers: {},
    timeout_ms: 100,
  })
  t.match(await callOf(`select net.http_post('http://localhost/post') as id`), { body: '{}' })
  t.match(await callOf(`select net.http_post('http://localhost/post', body := null) as id`), { body: null })
  t.match(await callOf(`select net.http_post('http://localhost/post', headers := null) as id`), {
    headers: { 'Content-Type': 'application/json' },
  })
  t.match(await callOf(`select net.http_post('http://a/', headers := '{"content-type": "application/json"}') as id`), {
    headers: { 'content-type': 'application/json' },
  })
  t.match(
    await callOf(
      `select net.http_delete('http://a/', '{"param-foo": "bar"}', '{"X-Baz": "foo"}', 2000, '{"b": 1}') as id`,
    ),
    {
      method: 'DELETE',
      url: 'http://a/?param-foo=bar',
      headers: { 'X-Baz': 'foo' },
      timeout_ms: 2000,
      body: '{"b": 1}',
    },
  )
  t.match(await callOf(`select net.http_get(url := 'http://a/b?c=1#d', params := '{"q": "ä b&/", "e": ""}') as id`), {
    url: 'http://a/b?c=1&e=&q=%C3%A4%20b%26%2F#d',
  })
})

t.test('invalid arguments are errors', async (t) => {
  await refuses(t, 'select net.http_get(null)', /null value in column "url"/)
  await refuses(t, 'select net.http_post(null, \'{"hello": "world"}\')', /null value in column "url"/)
  await refuses(
    t,
    "select net.http_get('http://a', timeout_milliseconds := null)",
    /null value in column "timeout_mill/,
  )
  await refuses(t, "select net.http_get('http://a', timeout_milliseconds := 0)", /timeout is 0/)
  await refuses(t, "select net.http_get('localhost:6666')", /Unsupported URL scheme/)
  await refuses(t, "select net.http_get('ftp://a/')", /invalid URL "ftp:\/\/a\/": Unsupported URL scheme/)
  await refuses(t, "select net.http_get('file:///etc/passwd')", /Unsupported URL scheme/)
  await refuses(t, "select net.http_get('/malformed_url')", /invalid URL "\/malformed_url"/)
  await refuses(t, "select net.http_get('')", /invalid URL ""/)
  await refuses(t, "select net.http_get('http://')", /no valid host/)
  await refuses(t, "select net.http_get('http://good.example\\@evil.example/')", /user name or password/)
  await refuses(t, "select net.http_get('http://good.example\\evil.example/')", /no valid host/)
  await refuses(
    t,
    "select net.http_get('https://user:secret@a/')",
    /^invalid URL "https:\/\/…@a\/": it has a user name/,
  )
  await refuses(t, String.raw`select net.http_get(E'http://a/\r\nHost: b')`, /control character/)
  await refuses(t, "select net.http_get('http://a/' || repeat('x', 9000))", /more than 8192 bytes/)
  await refuses(
    t,
    `select net.http_post('http://a', headers := '{"Content-Type": "text/plain"}')`,
    /must be "application/,
  )
  await refuses(t, String.raw`select net.http_get('http://a', headers := '{"a": "b\r\nc: d"}')`, /invalid header "a"/)
  await refuses(t, `select net.http_get('http://a', headers := '{"a b": "c"}')`, /invalid header "a b"/)
  await refuses(t, `select net.http_get('http://a', headers := '["a"]')`, /must be an object/)
  await refuses(
    t,
    `select net.http_post('http://a', jsonb_build_object('a', repeat('x', 17000000)))`,
    /at most 16777216/,
  )
})

t.test('a rolled back transaction sends nothing', async (t) => {
  const before = await database.query('select count(*)::int from rowhouse.calls')
  await withClient(database.adminUri, async (client) => {
    await client.query("begin; select net.http_get('http://a'); rollback")
    await client.query("begin; savepoint one; select net.http_get('http://a'); rollback to one; commit")
  })
  t.strictSame((await database.query('select count(*)::int from rowhouse.calls')).rows, before.rows)
})

t.test('roles: all may send, and only the server and the owner see what', async (t) => {
  await withClient(database.authenticatorUri, async (client) => {
    for (const role of ['anon', 'authenticated', 'service_role']) {
      await client.query(`begin; set local role ${role}`)
      const { rows } = await client.query<{ id: string }>("select net.http_get('http://roles/') as id")
      await client.query('savepoint one')
      for (const table of ['rowhouse.calls', 'rowhouse.webhook_secrets', 'rowhouse.call_sender']) {
        await t.rejects(client.query(`select from ${table}`), { code: '42501' }, `${role} ${table}`)
        await client.query('rollback to one')
      }
      for (const call of [
        "rowhouse.claim_calls('x', 1, 1, 1, '{}')",
        "rowhouse.finish_calls('x', '[]')",
        'rowhouse.resend_call(gen_random_uuid())',
        "rowhouse.create_webhook_secret('x')",
        "rowhouse.put_calls_aside('x')",
        "rowhouse.add_call(null, 'PUT', 'http://a', null, null, 1, true)",
        "rowhouse.add_net_call('PUT', 'http://a', null, null, null, 1)",
      ]) {
        await t.rejects(client.query(`select * from ${call}`), { code: '42501' }, `${role} ${call}`)
        await client.query('rollback to one')
      }
      await client.query('commit')
      const call = await database.query('select created_by from rowhouse.calls where request_id = $1', [rows[0]?.id])
      t.strictSame(call.rows, [{ created_by: role }])
      if (role === 'service_role') continue
      await client.query(`set role ${role}`)
      await t.rejects(client.query('select from net._http_response'), { code: '42501' }, role)
      await t.rejects(client.query('select from net.http_request_queue'), { code: '42501' }, role)
      await client.query('reset role')
    }
    await t.rejects(
      client.query('select from rowhouse.webhook_secrets'),
      { code: '42501' },
      'the server has only functions',
    )
    await t.rejects(client.query('delete from rowhouse.calls'), { code: '42501' })
    await t.rejects(client.query("select rowhouse.put_calls_aside('x')"), { code: '42501' })
  })
})

t.test('names in the search path of the caller are not used', async (t) => {
  await database.query(`create schema evil; grant all on schema evil to anon;
    create function evil.add_call(text, text, text, jsonb, jsonb, integer, boolean) returns bigint language sql as 'select -1::bigint';
    create function evil.strpos(text, text) returns integer language sql as 'select 1 / 0'`)
  await withClient(database.authenticatorUri, async (client) => {
    await client.query('set role anon; set search_path = evil, pg_catalog')
    await client
      .query(
        `create temp table calls (id int); create function pg_temp.now() returns timestamptz language sql as 'select 1 / 0'`,
      )
      .catch(() => undefined)
    const { rows } = await client.query<{ id: string }>("select net.http_get('http://path/') as id")
    t.ok(Number(rows[0]?.id) > 0)
  })
})

t.test('responses', async (t) => {
  const { rows } = await database.query("select net.http_get('http://response/') as id")
  const id = rows[0]?.id
  const collect = `select * from net._http_collect_response(${String(id)})`
  t.strictSame((await database.query(collect)).rows, [
    { status: 'ERROR', message: 'request matching request_id not found', response: null },
  ])
  t.match((await database.query('select url from net.http_request_queue where id = $1', [id])).rows, [
    { url: 'http://response/' },
  ])
  await database.query(
    `insert into net._http_response (id, status_code, headers, content) values (${String(id)}, 200, '{"a": "b"}', 'yes')`,
  )
  t.strictSame((await database.query(collect)).rows, [
    { status: 'SUCCESS', message: 'ok', response: '(200,"{""a"": ""b""}",yes)' },
  ])
  t.strictSame(
    (await database.query('select net.worker_restart(), net.check_worker_is_up(), net.wake()')).rows.length,
    1,
  )
})

t.test('a schema of the extension, or of others, stays as it is', async (t) => {
  const own = await createDatabase()
  t.teardown(() => own.drop())
  await own.query(
    "create schema net; create function net.http_get(text) returns text language sql as $$ select 'mine' $$",
  )
  await own.query(`create schema supabase_functions;
    create function supabase_functions.http_request() returns trigger language plpgsql as 'begin return null; end'`)
  const notices: string[] = []
  await withClient(own.adminUri, (client) => migrate(client, { onNotice: (message) => notices.push(message) }))
  t.match(notices.join('\n'), /schema net exists already/)
  const { rows } = await own.query(
    `select net.http_get('x') as own, to_regprocedure('net.http_get(text, jsonb, jsonb, integer)') as ours,
       to_regclass('supabase_functions.hooks') as hooks`,
  )
  t.strictSame(rows, [{ own: 'mine', ours: null, hooks: null }])
})
