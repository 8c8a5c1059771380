// Webhooks and outgoing calls in the console's API.
import t from 'tap'
import type { LogEntry } from '../../server/services/console/operation-protocol.ts'
import type {
  CallDetails,
  CallPage,
  ResendReport,
  WebhookMigration,
  WebhookReport,
} from '../../server/services/console/webhook-protocol.ts'
import { signInToConsole, startConsoleServer } from '../support/console.ts'

const markup = '<img src=x onerror=alert(1)>'

/** No server sends calls: another process has the lease. */
const prepare = `
  insert into rowhouse.leases (name, holder, until) values ('calls', 'a test', now() + interval '1 hour');
  create table public.orders (id int primary key, total int, note text);
  create trigger to_erp after insert on public.orders for each row when (new.total > 10)
    execute function supabase_functions.http_request(
      'https://erp.example/in?apikey=hunter2&lang=de', 'POST', '{"Authorization": "Bearer hunter2", "X-Tenant": "hunter2"}', '{}', '2000'
    );
  create trigger audit after insert or delete on public.orders for each row
    execute function supabase_functions.http_request('http://user:hunter2@audit.example/', 'POST', '{broken', '{}', '1000');
  alter table public.orders disable trigger audit;
  create trigger own_insert after insert on public.orders referencing new table as changed_rows for each statement
    execute function rowhouse.webhook(
      'https://shop.example/hook', '{"name": "own", "when": "new.total > 5", "secret": "shop", "key": ["id"], "headers": {"X-Shop": "hunter2"}}'
    );
  create trigger own_update after update on public.orders
    referencing old table as old_rows new table as changed_rows for each statement
    execute function rowhouse.webhook(
      'https://shop.example/hook', '{"name": "own", "when": "new.total > 5", "secret": "shop", "key": ["id"], "headers": {"X-Shop": "hunter2"}}'
    );
  select rowhouse.create_webhook_secret('shop');
  insert into public.orders values (1, 20, '${markup}')`

t.test('webhooks and calls', async (t) => {
  const server = await startConsoleServer(t, {}, prepare)
  const client = await signInToConsole(server)
  const { query } = server.database
  const list = async (filter = ''): Promise<CallPage> => {
    const { status, body } = await client.call('GET', `webhooks/calls${filter}`)
    t.equal(status, 200, filter)
    return body.details as CallPage
  }
  const show = async (id: string): Promise<CallDetails> =>
    (await client.call('GET', `webhooks/calls/${id}`)).body.details as CallDetails

  await t.test('are for those who are signed in', async (t) => {
    const { cookie } = client
    const [{ id } = { id: '' }] = (await list()).items
    for (const [method, path] of [
      ['GET', 'webhooks'],
      ['GET', 'webhooks/calls'],
      ['GET', `webhooks/calls/${id}`],
      ['POST', `webhooks/calls/${id}/send`],
      ['POST', 'webhooks/resend'],
      ['POST', 'webhooks/sql'],
    ] as const) {
      const url = `${server.url}/console/api/${path}`
      t.equal((await fetch(url, { method })).status, 401, path)
      t.equal((await fetch(url, { method, headers: { cookie } })).status, 403, `${path}, forged`)
    }
    t.equal((await client.call('POST', 'webhooks/resend', {}, { Origin: 'https://evil.example' })).status, 403)
  })

  await t.test('webhooks are those of both kinds, without secrets', async (t) => {
    const { body } = await client.call('GET', 'webhooks')
    t.notMatch(JSON.stringify(body), /hunter2|whsec_/)
    const { webhooks, figures } = body.details as WebhookReport
    t.match(figures, { waiting: 2, sending: 0, dead: 0, oldestWaiting: Number })
    t.match(
      webhooks.map(({ name, events, kind, url, condition, secret, key, headers, isEnabled }) =>
        [name, kind, events.join(), url, condition, secret, key.join(), headers.join(), isEnabled]
          .map(String)
          .join(' | '),
      ),
      [
        'public.orders.audit | supabase | INSERT,DELETE | http://…@audit.example/ | null | null |  |  | false',
        'public.orders.own | rowhouse | INSERT,UPDATE | https://shop.example/hook | new.total > 5 | shop | id | X-Shop | true',
        'public.orders.to_erp | supabase | INSERT | https://erp.example/in?apikey=…&lang=de | new.total > 10 | null |  | Authorization,X-Tenant | true',
      ],
    )
  })

  await t.test('calls are listed by state, webhook and URL', async (t) => {
    const names = async (filter: string): Promise<readonly (string | null)[]> =>
      (await list(filter)).items.map(({ webhook }) => webhook)
    t.same(new Set(await names('')), new Set(['public.orders.own', 'public.orders.to_erp']))
    t.same(await names('?webhook=public.orders.own'), ['public.orders.own'])
    t.same(await names('?text=ERP.example/IN'), ['public.orders.to_erp'])
    t.same(await names('?text=hunter2'), [], 'what is not shown is not searched')
    t.same(await names('?text=%25'), [], 'no pattern')
    t.same(await names('?state=dead'), [])
    t.same(await names("?webhook=' or true --"), [])
    for (const wrong of [
      '?state=all',
      '?before=1',
      '?text=',
      '?other=1',
      '?state=dead&state=dead',
      `?text=${'x'.repeat(201)}`,
    ]) {
      t.equal((await client.call('GET', `webhooks/calls${wrong}`)).status, 400, wrong.slice(0, 40))
    }
  })

  await t.test('a call has no secrets, and large texts are cut', async (t) => {
    const [{ id } = { id: '' }] = (await list('?webhook=public.orders.to_erp')).items
    await query(
      `update rowhouse.calls set state = 'dead', attempts = 3, last_status = 500, last_error = $2, finished_at = now(),
         response = repeat('é', 70000) , response_headers = '{"content-type": "text/html", "Set-Cookie": "hunter2"}',
         response_type = 'text/html', secret_name = 'shop'
       where id = $1`,
      [id, markup],
    )
    const call = await show(id)
    t.notMatch(JSON.stringify(call), /hunter2|whsec_/)
    t.match(call, {
      state: 'dead',
      status: 500,
      error: markup,
      url: 'https://erp.example/in?apikey=…&lang=de',
      response: { bytes: 140_000, isCut: true },
      secret: 'shop',
    })
    t.equal(call.response?.text.length, 65_536)
    t.equal((JSON.parse(call.body?.text ?? '') as { record: { note: string } }).record.note, markup)
    t.same(
      Object.fromEntries(call.headers),
      { Authorization: null, 'X-Tenant': null, 'Content-Type': 'application/json' },
      'only known headers have values',
    )
    t.same(Object.fromEntries(call.responseHeaders ?? []), { 'content-type': 'text/html', 'Set-Cookie': null })
    t.equal((await client.call('GET', 'webhooks/calls/00000000-0000-4000-8000-000000000000')).status, 404)
    t.equal((await client.call('GET', 'webhooks/calls/1')).status, 400)
  })

  await t.test('one that was put aside is sent again', async (t) => {
    const [{ id } = { id: '' }] = (await list('?state=dead')).items
    t.equal((await client.call('POST', `webhooks/calls/${id}/send`)).status, 200)
    t.match(await show(id), { state: 'waiting', attempts: 0, finishedAt: null })
    t.match(await client.call('POST', `webhooks/calls/${id}/send`), { status: 409, body: { message: /waiting/ } })
    t.equal((await client.call('POST', 'webhooks/calls/00000000-0000-4000-8000-000000000000/send')).status, 404)
  })

  await t.test('many are paged, and sent again', async (t) => {
    await query(`
      insert into rowhouse.calls (method, url, host, headers, timeout_ms, depth, retries, state, created_by, finished_at)
      select 'GET', 'https://' || case when n % 2 = 0 then 'even' else 'odd' end || '.example/' || n, 'x', '{}', 1000, 1, true,
        'dead', 'postgres', now()
      from generate_series(1, 1200) as n`)
    const seen = new Set<string>()
    let next: string | null = ''
    for (let page = 0; next !== null && page < 30; page++) {
      const found: CallPage = await list(`?state=dead${next === '' ? '' : `&before=${next}`}`)
      t.ok(found.items.length <= 50)
      for (const { id } of found.items) seen.add(id)
      next = found.next
    }
    t.equal(seen.size, 1200, 'each of them on one page')
    const resend = async (): Promise<readonly number[]> => {
      const counts: number[] = []
      for (let last: string | null = ''; last !== null && counts.length < 10;) {
        const body = { text: 'even.example', ...(last === '' ? {} : { after: last }) }
        const report = (await client.call('POST', 'webhooks/resend', body)).body.details as ResendReport
        counts.push(report.sent)
        last = report.last
      }
      return counts
    }
    t.same(await resend(), [500, 100])
    const [row] = (await query("select count(*)::int as n from rowhouse.calls where state = 'dead'")).rows
    t.equal(row?.n, 600, 'the others stay as they are')
    t.same(await resend(), [0])
    for (const body of [{ text: '' }, { after: 'x' }, { other: 1 }, []]) {
      t.equal((await client.call('POST', 'webhooks/resend', body)).status, 400, JSON.stringify(body))
    }
    const log = (await client.call('GET', 'operations/log')).body.details as readonly LogEntry[]
    t.match(log.slice(0, 3), [
      { action: 'send calls again', actor: 'test', details: { text: 'even.example', sent: 100 } },
      { action: 'send calls again', details: { text: 'even.example', sent: 500 } },
      { action: 'send call again' },
    ])
  })
})

t.test('the migration of a webhook', async (t) => {
  const server = await startConsoleServer(t, {}, 'create table public."Big Orders" (id int primary key, total int)')
  const client = await signInToConsole(server)
  const wish = {
    table: 'public."Big Orders"',
    events: ['insert', 'update'],
    url: 'https://shop.example/hook',
    name: 'own',
  }
  const ask = (change: object): ReturnType<typeof client.call> =>
    client.call('POST', 'webhooks/sql', { ...wish, ...change })
  const wanted = { when: 'new.total > 5', secret: 'shop', key: ['id'], headers: { 'X-Shop': "it's" }, timeout: 3000 }
  const { status, body } = await ask(wanted)
  t.equal(status, 200)
  const { sql, name } = body.details as WebhookMigration
  t.equal(name, 'webhook Big Orders insert update')
  await server.database.query(sql)
  const { webhooks } = (await client.call('GET', 'webhooks')).body.details as WebhookReport
  t.match(webhooks, [
    {
      name: 'public.Big Orders.own',
      table: 'public.Big Orders',
      events: ['INSERT', 'UPDATE'],
      url: 'https://shop.example/hook',
      condition: 'new.total > 5',
      secret: 'shop',
      key: ['id'],
      headers: ['X-Shop'],
    },
  ])
  for (const [change, message] of [
    [{ table: 'public.nothing' }, /public.nothing/],
    [{ table: 'rowhouse.calls' }, /belongs to the server/],
    [{ url: 'ftp://shop.example' }, /http:/],
    [{ url: 'https://user:hunter2@shop.example' }, /user name or password/],
    [{ when: 'new.price > 1' }, /price/],
    [{ key: ['price'] }, /price/],
    [{ name: "x'; drop table y; --" }, /name/],
  ] as const) {
    const refused = await ask(change)
    t.match(refused, { status: 422, body: { message } }, JSON.stringify(change))
    t.notMatch(JSON.stringify(refused.body), /hunter2/)
  }
  for (const change of [{ events: [] }, { events: ['truncate'] }, { url: 1 }, { other: 1 }, { timeout: 0 }]) {
    t.equal((await ask(change)).status, 400, JSON.stringify(change))
  }
})

t.test('outside of development, the condition of a webhook is not run as the owner', async (t) => {
  const server = await startConsoleServer(t, { CONSOLE: 'on' }, 'create table public.orders (id int primary key)')
  const client = await signInToConsole(server)
  t.equal(client.session.isDevelopment, false)
  const { status } = await client.call('POST', 'webhooks/sql', {
    table: 'public.orders',
    events: ['insert'],
    url: 'https://shop.example/',
    when: 'true); commit; create table public.taken (); begin; select (1',
  })
  t.equal(status, 200)
  t.same((await server.database.query("select to_regclass('public.taken') as taken")).rows, [{ taken: null }])
})

t.test('conditions without an index look at a bounded number of calls', async (t) => {
  const server = await startConsoleServer(
    t,
    {},
    `insert into rowhouse.leases (name, holder, until) values ('calls', 'a test', now() + interval '1 hour');
     insert into rowhouse.calls (method, url, host, headers, timeout_ms, depth, retries, state, created_by, finished_at)
     select 'GET', case n when 1 then 'https://rare.example/' else 'https://other.example/' end, 'x', '{}', 1, 1, true, 'dead', 'x', now()
     from generate_series(1, 20500) as n order by n`,
  )
  const client = await signInToConsole(server)
  let pages = 0
  let next: string | null = ''
  const found: string[] = []
  for (; next !== null && pages < 10; pages++) {
    const query = `webhooks/calls?text=rare${next === '' ? '' : `&before=${next}`}`
    const page = (await client.call('GET', query)).body.details as CallPage
    found.push(...page.items.map(({ url }) => url))
    next = page.next
  }
  t.same(found, ['https://rare.example/'])
  t.equal(pages, 3)
})

t.test('without the service', async (t) => {
  const server = await startConsoleServer(t, { SERVICES: 'rest,console' })
  const client = await signInToConsole(server)
  for (const path of ['webhooks', 'webhooks/calls']) {
    t.match(await client.call('GET', path), { status: 404, body: { message: /SERVICES/ } }, path)
  }
  t.equal((await client.call('POST', 'webhooks/resend', {})).status, 404)
})
