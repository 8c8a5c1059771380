// `rowhouse webhook` and `rowhouse calls` on a database.
import t from 'tap'
import type { Dependencies, DatabaseOperations } from '../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../server/tools/command-line/program.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query('create table public.orders (id int primary key, total numeric, "odd name" text)')

type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** Runs a command with a connection to the database. */
async function run(...args: readonly string[]): Promise<Ran> {
  let out = ''
  let err = ''
  const dependencies = {
    print: (text: string) => (out += text),
    printError: (text: string) => (err += text),
    loadConfig: () => ({}),
    withDatabase: <T>(_config: unknown, _wish: unknown, use: (session: DatabaseOperations) => Promise<T>) =>
      withClient(database.adminUri, (client) =>
        use({
          query: (text: string, values?: unknown[]) => client.query<Record<string, unknown>>(text, values),
        } as unknown as DatabaseOperations),
      ),
  } as unknown as Dependencies
  const code = await runProgram(args, dependencies)
  return { code, out, err }
}

const add = (...more: readonly string[]): Promise<Ran> =>
  run('webhook', 'add', 'public.orders', '--on', 'insert,update', '--url', 'https://example.com/hook', ...more)

t.test('add prints a migration that can be applied twice', async (t) => {
  const wish = ['--when', "new.total > 100 and new.\"odd name\" <> 'it''s'", '--secret', 'orders', '--key', 'id,total']
  const { code, out, err } = await add(...wish, '--header', 'X-A: b', '--header', 'X-B: c: d', '--timeout', '2500')
  t.strictSame({ code, err }, { code: 0, err: '' })
  t.equal(
    out,
    `-- Creates the secret, unless it exists. \`rowhouse webhook secret orders\` shows it.
select rowhouse.create_webhook_secret('orders');

create or replace trigger "orders_webhook_on_insert" after insert on "public"."orders"
  referencing new table as changed_rows
  for each statement execute function rowhouse.webhook('https://example.com/hook', ${options});

create or replace trigger "orders_webhook_on_update" after update on "public"."orders"
  referencing old table as old_rows new table as changed_rows
  for each statement execute function rowhouse.webhook('https://example.com/hook', ${options});
`,
  )
  await database.query(out)
  await database.query(out)
  await database.query("insert into public.orders values (1, 200, 'a'), (2, 50, 'a')")
  const { rows } = await database.query('select headers, timeout_ms, secret_name, key from rowhouse.calls')
  t.strictSame(rows, [
    {
      headers: { 'X-A': 'b', 'X-B': 'c: d', 'Content-Type': 'application/json' },
      timeout_ms: 2500,
      secret_name: 'orders',
      key: 'public.orders.orders_webhook:1,200',
    },
  ])
  t.strictSame((await database.query('select name from rowhouse.webhook_secrets')).rows, [{ name: 'orders' }])
  t.match(JSON.parse((await add('--json')).out), { sql: /^create or replace trigger/ })
})

const options = `E'${JSON.stringify({
  name: 'orders_webhook',
  secret: 'orders',
  key: ['id', 'total'],
  when: `new.total > 100 and new."odd name" <> 'it''s'`,
  headers: { 'X-A': 'b', 'X-B': 'c: d' },
  timeout_ms: 2500,
})
  .replaceAll('\\', '\\\\')
  .replaceAll("'", "''")}'`

t.test('add says what is not possible', async (t) => {
  for (const [args, message] of [
    [['--when', 'new.totl > 1'], /condition does not work for insert: column new\.totl does not exist/],
    [['--when', 'old.total > 1'], /condition does not work for insert: .*\n.*columns of new/],
    [['--when', 'new.total'], /must be type boolean/],
    [['--when', 'total_of(new) > 1'], /names other functions and tables with their schema/],
    [['--when', 'true); drop table public.orders; --'], /condition does not work/],
    [['--when', 'true); commit; drop table public.orders cascade; --'], /condition does not work/],
    [['--key', 'id,nothing'], /public\.orders has no column nothing\. It has: id, total, odd name/],
    [['--secret', 'a b'], /name of a secret/],
    [['--name', 'a"b'], /The name .* is not possible/],
    [['--header', 'a b: c'], /A header has a name/],
    [['--header', 'ab: c\nd: e'], /character that headers cannot have/],
    [['--timeout', '0'], /at least 1/],
    [['--on', 'truncate'], /Allowed are insert, update and delete/],
    [['--url', 'ftp://a/'], /must begin with http/],
    [['--url', 'https://me:secret@a/'], /^The URL "https:\/\/…@a\/" has a user name or password/],
    [['--url', 'https://a/ b'], /space or a control character/],
  ] as const) {
    const { code, err } = await add(...args)
    t.equal(code, 1, args.join(' '))
    t.match(err, message)
    t.notMatch(err, /me:secret/)
  }
  await database.query('create view public.shown as select 1 as id')
  for (const [table, message] of [
    ['public.missing', /There is no table public\.missing/],
    ['public.shown', /a view/],
    ['rowhouse.calls', /belongs to the server/],
    ['a.b.c.d', /is not the name of a table/],
  ] as const) {
    t.match(await run('webhook', 'add', table, '--on', 'insert', '--url', 'https://a/'), { code: 1, err: message })
  }
  t.equal((await database.query("select from pg_tables where tablename = 'orders'")).rowCount, 1)
})

t.test('list shows both kinds', async (t) => {
  await database.query(`create trigger theirs after insert or delete on public.orders for each row
    execute function supabase_functions.http_request('http://localhost:3000?token=hidden', 'POST', '{"Authorization": "Bearer hidden"}', '{}', '1000')`)
  const { out } = await run('webhook', 'list', '--json')
  t.notMatch(out + (await run('webhook', 'list')).out, 'hidden', 'no secrets of triggers')
  const webhooks = JSON.parse(out) as Record<string, unknown>[]
  t.match(webhooks, [
    {
      webhook: 'public.orders.orders_webhook',
      events: ['insert', 'update'],
      url: 'https://example.com/hook',
      secret: 'orders',
      key: ['id', 'total'],
      isSupabase: false,
      isEnabled: true,
      waiting: 1,
      dead: 0,
    },
    { webhook: 'public.orders.theirs', events: ['insert', 'delete'], isSupabase: true, secret: null },
  ])
  t.match((await run('webhook', 'list')).out, /public\.orders\.theirs .*insert, delete .*not signed/)
  await database.query('alter table public.orders disable trigger theirs')
  t.match((await run('webhook', 'list')).out, /public\.orders\.theirs \(disabled\)/)
})

t.test('secrets', async (t) => {
  const first = (await run('webhook', 'secret', 'receiver')).out
  t.match(first, /^whsec_[A-Za-z0-9+/]{43}=\n$/)
  t.equal((await run('webhook', 'secret', 'receiver')).out, first, 'the same again')
  const both = (await run('webhook', 'secret', 'receiver', '--replace', '--valid-for', '2 hours')).out.split('\n')
  t.match(both, [/^whsec_\S+$/, /^whsec_\S+ {2}until 20/])
  t.equal(both[1]?.split(' ')[0], first.trim())
  t.match(await run('webhook', 'secret', 'unknown', '--replace'), { code: 1, err: /no secret named unknown/ })
  t.match(await run('webhook', 'secret', 'a b'), { code: 1, err: /not possible/ })
})

t.test('calls: lists, one call, and sending again', async (t) => {
  await database.query(`delete from rowhouse.calls;
    select net.http_post('https://a.example/', headers := '{"Authorization": "Bearer secret", "X-Hook": "secret", "Accept": "text/plain"}');
    select net.http_get('https://b.example/');
    update rowhouse.calls set state = 'dead', last_status = 500, last_error = 'status 500', attempts = 3, webhook = 'public.orders.a_b'
      where method = 'GET'`)
  const list = async (...args: readonly string[]): Promise<Record<string, unknown>[]> =>
    JSON.parse((await run('calls', ...args, '--json')).out) as Record<string, unknown>[]
  t.strictSame(
    (await list()).map(({ url }) => url),
    ['https://b.example/', 'https://a.example/'],
  )
  t.match(await list('--dead'), [{ url: 'https://b.example/', state: 'dead', status: 500, attempts: 3 }])
  t.match(await list('--waiting'), [{ url: 'https://a.example/', state: 'waiting' }])
  t.strictSame(await list('--delivered'), [])
  for (const name of ['public.orders.a_b', 'orders.a_b', 'a_b'])
    t.equal((await list('--webhook', name)).length, 1, name)
  for (const name of ['b', 'axb', '%', 'orders']) t.equal((await list('--webhook', name)).length, 0, name)
  t.equal((await list('--limit', '1')).length, 1)
  t.match((await run('calls')).out, /public\.orders\.a_b +GET https:\/\/b\.example\/ +dead +3 +500 status 500/)
  t.match((await run('calls', '--delivered')).out, 'There are no such calls.')

  const [dead] = await list('--dead')
  const [waiting] = await list('--waiting')
  const shown = (await run('calls', 'show', `msg_${String(waiting?.id)}`)).out
  t.match(shown, /"Accept":"text\/plain"/)
  t.match(shown, /"X-Hook":"…"/)
  t.notMatch(shown, /secret"/)
  t.match(shown, /\nbody:\n\{\}\n$/)
  t.match(await run('calls', 'show', 'x'), { code: 1, err: /is not the id of a call/ })
  t.match(await run('calls', 'show', '01a228e5-64ab-779c-9a3a-9244c928c8e2'), { code: 1, err: /There is no call/ })

  await database.query(`
    update rowhouse.calls set url = url || 'hook?room=1&token=hidden', response_headers = '{"set-cookie": "sid=hidden", "etag": "x"}'
    where id = '${String(waiting?.id)}'`)
  for (const args of [['calls'], ['calls', '--json'], ['calls', 'show', String(waiting?.id)]]) {
    const { out } = await run(...args)
    t.match(out, 'room=1&token=…', args.join(' '))
    t.notMatch(out, 'hidden', args.join(' '))
  }

  t.match(await run('calls', 'send', String(dead?.id), String(waiting?.id)), { code: 1, err: /Not put aside/ })
  t.equal((await list('--dead')).length, 1, 'none was sent')
  t.match(await run('calls', 'send'), { code: 1, err: /--dead for all/ })
  t.match(await run('calls', 'send', String(dead?.id)), { code: 0, out: '1 call is sent again.\n' })
  t.match(await list('--waiting'), [{ attempts: 0 }, { attempts: 0 }])
  await database.query("update rowhouse.calls set state = 'dead'")
  t.match(await run('calls', 'send', '--dead', '--webhook', 'a_b'), { out: '1 call is sent again.\n' })
  t.match(await run('calls', 'send', '--dead', '--json'), { out: '{"sent":1}\n' })
})
