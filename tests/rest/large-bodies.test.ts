// Large bodies: if the role lacks privileges, they are refused before they are read, with the response of a small body.
import t, { type Test } from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { requestOf, titleOf, type TableRequest } from '../support/request-table.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())
await database.query(`
  revoke execute on all functions in schema hidden from public;
  create schema locked;
  create table locked.things (id int);
  create function locked.open(a int) returns int language sql as 'select a';
  create table garage.shut (id int generated always as identity, total int generated always as (1) stored, name text);
  create table garage.partly (id int, name text, secret text);
  grant insert (id), update (name), select on garage.partly to garage_anon;
  create function hidden.default_name() returns text language sql as $$ select 'x' $$;
  create table garage.with_default (id int, name text default hidden.default_name());
  grant insert on garage.with_default to garage_anon;
  create view garage.shut_view as select name from garage.shut;
  create materialized view garage.shut_copy as select name from garage.shut;
  create function garage.shut_one(a int, variadic b text[]) returns int immutable strict language sql as 'select a';
  create function garage.shut_one(a text) returns text immutable strict language sql as 'select a';
  create function garage.shut_body(json) returns json immutable strict language sql as 'select $1';
  create function garage.shut_rows(a int default 1) returns setof garage.tags language sql as 'select * from garage.tags';
  create function garage.shut_void() returns void volatile language plpgsql as 'begin end';
  create function garage.half_open(a int) returns int language sql as 'select a';
  create function garage.half_open(a text) returns text language sql as 'select a';
  revoke execute on function garage.shut_one(int, text[]), garage.shut_one(text), garage.shut_body, garage.shut_rows, garage.shut_void,
    garage.half_open(int) from public;
  create function hidden.refuses() returns void language plpgsql as $$
  begin
    if current_setting('request.headers')::json ->> 'x-refuse' = 'yes' then
      raise insufficient_privilege using message = 'not today', hint = 'tomorrow';
    end if;
    if current_setting('request.headers')::json ->> 'x-trust' = 'yes' then
      perform set_config('role', 'garage_clerk', true);
    end if;
    perform nextval('garage.counter');
  end $$;
  create function hidden.looks() returns void stable language plpgsql as 'begin end';
  grant execute on function hidden.refuses, hidden.looks to public;
  grant all on garage.shut to garage_clerk;
`)
const uri = database.uri('garage_server', 'garage')
const settings = { PGRST_DB_SCHEMAS: 'garage,depot,locked', PGRST_DB_ANON_ROLE: 'garage_anon' }
const blank = ' '.repeat(70_000)

type Row = TableRequest & { readonly send: readonly [method: string, path: string, body: string] }

/** Requests refused for lack of privileges, with a body as the client would send it. */
const refused: readonly Row[] = [
  { send: ['POST', '/shut', '{"name":"a"}'] },
  { send: ['POST', '/shut?select=name', '[{"name":"a"},{"name":"b"}]'], prefer: 'return=representation' },
  { send: ['POST', '/shut', 'name\na'], type: 'text/csv' },
  { send: ['POST', '/shut?columns=name', '{"name":"a"}'] },
  { send: ['POST', '/shut', '{"name":"a"}'], prefer: 'resolution=merge-duplicates' },
  { send: ['PATCH', '/shut?name=eq.a', '{"name":"a"}'] },
  { send: ['PATCH', '/shut', '{"name":"a"}'], prefer: 'handling=strict, max-affected=1' },
  { send: ['POST', '/secrets', '{"id":1}'] },
  { send: ['PUT', '/secrets?id=eq.1', '{"id":1,"value":"x"}'] },
  { send: ['PATCH', '/secrets/1', '{"value":"x"}'] },
  { send: ['POST', '/shut_view', '{"name":"a"}'] },
  { send: ['PATCH', '/shut_view', '{"name":"a"}'] },
  { send: ['POST', '/things', '{"id":1}'], headers: { 'Content-Profile': 'locked' } },
  { send: ['POST', '/rpc/open', '{"a":1}'], headers: { 'Content-Profile': 'locked' } },
  { send: ['POST', '/rpc/shut_one', '{"a":1,"b":["x"]}'] },
  { send: ['POST', '/rpc/shut_one', '{"a":"x"}'] },
  { send: ['POST', '/rpc/shut_body', '{"x":1}'] },
  { send: ['POST', '/rpc/shut_rows?limit=1', '{"a":1}'] },
  { send: ['POST', '/rpc/shut_void', '{}'] },
]

/** Requests that get the same response with a large body, whatever the response is. */
const alike: readonly Row[] = [
  { send: ['POST', '/nowhere', '{"a":1}'] },
  { send: ['POST', '/vehicle', '{"a":1}'] },
  { send: ['POST', '/a/b/c', '{}'] },
  { send: ['POST', '/', '{}'] },
  { send: ['PUT', '/rpc/add', '{}'] },
  { send: ['POST', '/tags', '{}'], headers: { 'Content-Profile': 'nowhere' } },
  { send: ['POST', '/tags?order=name.up', '{"name":"a"}'] },
  { send: ['PATCH', '/tags/%ff', '{"name":"a"}'] },
  { send: ['POST', '/tags/a', '{"name":"a"}'] },
  { send: ['POST', '/shut_copy', '{"name":"a"}'] },
  { send: ['POST', '/tags', '{"name":"fast"}'] },
  { send: ['POST', '/tags', '{"other":"fast"}'] },
  { send: ['POST', '/tags', '{'] },
  { send: ['PATCH', '/notes', '{"level":3}'], prefer: 'return=representation' },
  { send: ['PUT', '/tags?name=eq.fast', '{"name":"fast"}'] },
  { send: ['POST', '/partly', '{"id":1}'] },
  { send: ['POST', '/partly', '{"secret":"a"}'] },
  { send: ['PATCH', '/partly', '{"name":"a"}'] },
  { send: ['PATCH', '/partly', '{"secret":"a"}'] },
  { send: ['POST', '/with_default', '{"id":1,"name":"a"}'] },
  { send: ['POST', '/with_default', '{"id":1}'] },
  { send: ['POST', '/rpc/add', '{"a":1,"b":2}'] },
  { send: ['POST', '/rpc/add', '{"c":1}'] },
  { send: ['POST', '/rpc/half_open', '{"a":1}'] },
  { send: ['POST', '/rpc/whole_jsonb', '[1]'] },
]

/** The same request with a small and with a large body, and how much of the large one the server has read. */
async function pair({ call }: Application, row: Row, more: TableRequest['headers'] = {}) {
  const { method, path, headers } = await requestOf({ ...row, headers: { ...row.headers, ...more } })
  const [, , body] = row.send
  const send = async (text: string) => {
    const answer = await call(method, `/rest/v1${path}`, { body: text, headers })
    // The tag of a write has the number of its transaction.
    const relevant = [...answer.headers].filter(
      ([name]) => !['date', 'keep-alive', 'connection', 'etag'].includes(name),
    )
    return { status: answer.status, headers: relevant, text: answer.text }
  }
  // Padding with insignificant white space.
  const isText = row.type !== undefined
  return [await send(body), await send(isText ? `${body}${'\na'.repeat(40_000)}` : `${blank}${body}`)] as const
}

const cases = [
  ['', {}],
  ['without prepared statements', { PGRST_DB_PREPARED_STATEMENTS: 'false' }],
  ['with a pre-request function', { PGRST_DB_PRE_REQUEST: 'hidden.refuses' }],
  ['with minimal errors', { PGRST_CLIENT_ERROR_VERBOSITY: 'minimal' }],
] as const

for (const [title, environment] of cases) {
  t.test(`a large body gets the response of a small one ${title}`, async (t) => {
    const application = await startApplication(t, uri, { ...settings, ...environment })
    for (const role of title === '' ? [undefined, 'garage_auditor', 'garage_clerk', 'nobody'] : [undefined]) {
      const headers = role === undefined ? {} : { Authorization: await bearer(role) }
      for (const row of [...refused, ...alike]) {
        const [small, large] = await pair(application, row, headers)
        t.strictSame(large, small, `${role} ${titleOf(row)}`)
        if (title === '' && role === undefined && refused.includes(row))
          t.match(small, { status: 401, text: /"code":"42501"/ }, row.send[1])
      }
    }
    if (title === 'with a pre-request function') {
      for (const more of [{ 'X-Refuse': 'yes' }, { 'X-Trust': 'yes' }]) {
        for (const row of refused) {
          const [small, large] = await pair(application, row, more)
          t.strictSame(large, small, `${Object.keys(more).join()} ${titleOf(row)}`)
        }
      }
    }
  })
}

t.test('db-pre-request runs once per request', async (t) => {
  const application = await startApplication(t, uri, { ...settings, PGRST_DB_PRE_REQUEST: 'hidden.refuses' })
  let total = 0
  const counted = async () => Number((await database.query("select nextval('garage.counter') as n")).rows[0]?.n)
  for (const headers of [{}, { 'X-Trust': 'yes' }] as Record<string, string>[]) {
    for (const row of refused) {
      const { method, path, headers: own } = await requestOf(row)
      const before = await counted()
      await application.call(method, `/rest/v1${path}`, {
        body: `${blank}${row.send[2]}`,
        headers: { ...own, ...headers },
      })
      const runs = (await counted()) - before - 1
      total += runs
      // It does not run at all if the body is found to be invalid first.
      t.ok(runs <= 1, `${Object.keys(headers).join()} ${method} ${path}: ${runs}`)
    }
  }
  t.ok(total >= refused.length, `${total} in total`)
})

t.test('a refused body is not read, even if a stable pre-request function runs first', async (t) => {
  const plain = await startApplication(t, uri, settings)
  const guarded = await startApplication(t, uri, { ...settings, PGRST_DB_PRE_REQUEST: 'hidden.looks' })
  const rows = [
    ...refused.map((row) => ({ application: plain, row })),
    ...refused.slice(0, 1).map((row) => ({ application: guarded, row })),
  ]
  for (const { application, row } of rows) {
    const { method, path, headers } = await requestOf(row)
    const length = 9_000_000
    const head = postHead(`/rest/v1${path}`, length, headers).replace('POST', method)
    const { socket, text, closed } = rawRequest(application.url, head)
    t.ok(await until(() => text().includes('"code":"42501"')), `${method} ${path}: answered before the body arrived`)
    t.match(text(), /^HTTP\/1.1 401 /)
    // The connection is reusable after the body has arrived.
    socket.write(Buffer.alloc(length, 0x20))
    socket.write('GET /rest/v1/tags HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match((await closed).split(/(?=HTTP\/1\.1 )/)[1], /^HTTP\/1.1 200 /)
  }
})

t.test('a refused body without Content-Length is not read once it is large', async (t) => {
  const application = await startApplication(t, uri, settings)
  const { socket, text, closed } = rawRequest(
    application.url,
    postHead('/rest/v1/shut', 0, { 'Transfer-Encoding': 'chunked' }),
  )
  const piece = Buffer.from(`2000\r\n${' '.repeat(0x2000)}\r\n`)
  for (let sent = 0; sent < 16 && text() === ''; sent++) {
    socket.write(piece)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.ok(await until(() => text().includes('"code":"42501"')))
  t.match(text(), /^HTTP\/1.1 401 [^]*\r\nConnection: close\r\n/)
  socket.write('0\r\n\r\n')
  await closed
})

t.test('the client can read the 413 response', async (t) => {
  const application = await startApplication(t, uri, { ...settings, REST_BODY_LIMIT: '100kb' })
  for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }] as Record<string, string>[]) {
    const { socket, text, closed } = rawRequest(application.url, postHead('/rest/v1/tags', 50_000_000, headers))
    const isChunked = headers['Transfer-Encoding'] !== undefined
    if (!isChunked) t.ok(await until(() => text().includes('413')), 'answered before the body arrived')
    const piece = Buffer.alloc(0x10000, 0x20)
    // A client that reads the response only after sending the whole body.
    for (let sent = 0; sent < 50_000_000 && !socket.destroyed; sent += piece.length) {
      const chunk = isChunked ? Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]) : piece
      if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
    }
    if (isChunked) socket.write('0\r\n\r\n')
    t.match(
      await closed,
      /^HTTP\/1.1 413 [^]*\r\nConnection: close\r\n[^]*"details":"The limit is 102400 bytes\."[^]*}$/,
    )
  }
  const { status } = await application.call('POST', '/rest/v1/tags', { body: 'x'.repeat(200_000) })
  t.equal(status, 413, 'a typical client, too')
})

t.test('granting and revoking privileges takes effect at once', async (t) => {
  const application = await startApplication(t, uri, { ...settings, PGRST_DB_CHANNEL_ENABLED: 'false' })
  const row: Row = { send: ['POST', '/shut', '{"name":"a"}'] }
  const statuses = async () => (await pair(application, row)).map(({ status }) => status)
  t.strictSame(await statuses(), [401, 401])
  await database.query('grant insert on garage.shut to garage_anon')
  t.strictSame(await statuses(), [201, 201])
  await database.query('revoke insert on garage.shut from garage_anon')
  t.strictSame(await statuses(), [401, 401])
})

t.test('small bodies need no query for privileges', async (t) => {
  const counter = await countRoundTrips(t, uri)
  const application = await startApplication(t, counter.uri, {
    ...settings,
    SERVICES: 'rest',
    PGRST_DB_CHANNEL_ENABLED: 'false',
    PGRST_DB_POOL: '1',
  })
  await application.call('GET', '/rest/v1/tags')
  const trips = async (t: Test, body: string, status: number) => {
    counter.take()
    const answer = await application.call('POST', '/rest/v1/notes', { body })
    t.equal(answer.status, status)
    return counter.take()
  }
  const message = (length: number) => JSON.stringify({ message: 'x'.repeat(length) })
  t.equal(await trips(t, message(60_000), 201), 1)
  t.ok((await trips(t, message(80_000), 201)) > 1)
})

t.test('a large body is read in parts, and never parsed as a whole', async (t) => {
  const application = await startApplication(t, uri, settings)
  const row = { message: 'x'.repeat(100_000) }
  const bodies = [row, row, row, [row, row], { ...row, id: 70_001 }, row, { ...row, no_such_column: 1 }].map((value) =>
    JSON.stringify(value),
  )
  const statuses: number[] = []
  const parses = t.capture(JSON, 'parse', JSON.parse)
  for (const body of bodies) statuses.push((await application.call('POST', '/rest/v1/notes', { body })).status)
  t.strictSame([...new Set(statuses)], [201, 400])
  const large = parses().filter(({ args: [text] }) => String(text).length > 65_536)
  t.equal(large.length, 0)
})
