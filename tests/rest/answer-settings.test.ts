// Functions that set status and headers of the response: what is refused, and that settings end with the request.
import { connect } from 'node:net'
import t from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { bearer } from '../support/token.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())
await database.query(`
  create function garage.answers(headers json, status text default null) returns text language plpgsql as $$
  begin
    perform set_config('response.headers', headers::text, true), set_config('response.status', coalesce(status, ''), true);
    return 'done';
  end $$;
  create function garage.raises(headers json) returns text language plpgsql as $$
  begin
    raise sqlstate 'PGRST' using message = '{"code":"X1","message":"no"}',
      detail = json_build_object('status', 418, 'headers', headers)::text;
  end $$;
  create function garage.leaks(name text, value text) returns text language plpgsql as $$
  begin
    perform set_config(name, value, false);
    return 'leaked';
  end $$;
`)

const settings = {
  PGRST_DB_SCHEMAS: 'garage',
  PGRST_DB_ANON_ROLE: 'garage_anon',
  PGRST_DB_POOL: '1',
  PGRST_DB_TX_END: 'commit-allow-override',
  PGRST_DB_CHANNEL_ENABLED: 'false',
}

/** The complete responses of a server to requests on one connection, as received. */
async function raw({ url }: Application, requests: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(requests.join(''))
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const post = (path: string, body: unknown): string => {
  const text = JSON.stringify(body)
  return `POST /rest/v1${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}
const get = (path: string): string => `GET /rest/v1${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`

t.test('framing headers set by functions are not sent to the client', async (t) => {
  const application = await startApplication(t, database.uri('garage_server', 'garage'), settings)
  const framing = [
    ['Content-Length', '3'],
    ['content-length', '100000'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Keep-Alive', 'timeout=100000'],
    ['Proxy-Connection', 'close'],
    ['Upgrade', 'h2c'],
    ['Trailer', 'X-Test'],
    ['TE', 'trailers'],
  ]
  for (const [name = '', value] of framing) {
    const bodies = {
      answers: { headers: [{ 'X-Test': 'yes' }, { [name]: value }] },
      raises: { headers: { 'X-Test': 'yes', [name]: value } },
    }
    for (const [path, body] of Object.entries(bodies)) {
      const text = await raw(application, [post(`/rpc/${path}`, body), get('/tags')])
      const answers = text.split(/(?=HTTP\/1\.1 \d)/)
      t.match(
        answers,
        [
          path === 'answers' ? /^HTTP\/1.1 200 [^]*"done"$/ : /^HTTP\/1.1 418 [^]*"message":"no"}$/,
          /^HTTP\/1.1 200 [^]*\]$/,
        ],
        `${path}: ${name}`,
      )
      t.equal(answers.length, 2)
      t.match(answers[0], /\r\nX-Test: yes\r\n/i)
      t.equal([...(answers[0] ?? '').matchAll(/\r\nContent-Length: \d+\r\n/gi)].length, 1)
      t.notMatch(answers[0]?.toLowerCase(), `\r\n${name.toLowerCase()}: ${value}`)
      const warning = application
        .logged()
        .map(({ msg, message }) => String(msg ?? message))
        .findLast((line) => line.includes('must not set'))
      t.match(warning, `must not set ${name}: reserved for the server; ignored`)
    }
  }
})

t.test('a header value cannot inject another header or response', async (t) => {
  const application = await startApplication(t, database.uri('garage_server', 'garage'), settings)
  for (const header of [
    { 'X-Test': 'a\r\nX-More: b' },
    { 'X-Test': 'a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n' },
    { 'X-Test\r\nX-More': 'a' },
    { 'X-Test': 'a\nb' },
    { 'X Test': 'a' },
    { '': 'a' },
  ]) {
    const text = await raw(application, [post('/rpc/answers', { headers: [header] }), get('/tags')])
    t.match(text.split(/(?=HTTP\/1\.1 \d)/), [/^HTTP\/1.1 500 [^]*"code":"PGRST111"/, /^HTTP\/1.1 200 /], text)
    t.notMatch(text, /^X-(?:More|Test)/im)
  }
})

t.test('a response whose status forbids a body has no Content-Length', async (t) => {
  const application = await startApplication(t, database.uri('garage_server', 'garage'), settings)
  for (const status of ['204', '304', '205', '999']) {
    const text = await raw(application, [post('/rpc/answers', { headers: [], status }), get('/tags')])
    const answers = text.split(/(?=HTTP\/1\.1 \d)/)
    t.match(answers, [new RegExp(`^HTTP/1.1 ${status} `), /^HTTP\/1.1 200 [^]*\]$/], status)
    if (status === '204') t.notMatch(answers[0], /Content-Length/i)
  }
  for (const status of ['100', '101', '199', '0', '1000', '99999999999', '-1', 'x']) {
    const { body } = await application.call('POST', '/rest/v1/rpc/answers', { body: { headers: [], status } })
    t.match(body, { code: 'PGRST112' }, status)
  }
})

/** Values whose leak would change a later response. */
async function bystander({ call }: Application): Promise<unknown> {
  const anonymous = await call('GET', '/rest/v1/rpc/who')
  // The settings of this role are applied before it is switched to.
  const clerk = await call('GET', '/rest/v1/rpc/who', { headers: { Authorization: await bearer('garage_clerk') } })
  const written = await call('POST', '/rest/v1/tags', {
    body: { name: 'fast' },
    headers: { Prefer: 'tx=rollback, resolution=ignore-duplicates' },
  })
  return [anonymous, clerk, written].map(({ status, headers, body }) => ({
    status,
    headers: [...headers].filter(([name]) => name !== 'date'),
    body,
  }))
}

for (const prepared of ['true', 'false']) {
  t.test(`session settings of a function end with its request, prepared statements: ${prepared}`, async (t) => {
    const application = await startApplication(t, database.uri('garage_server', 'garage'), {
      ...settings,
      PGRST_DB_PREPARED_STATEMENTS: prepared,
    })
    const { call } = application
    const expected = await bystander(application)
    const leaks = {
      'response.headers': '[{"X-Leak": "yes"}]',
      'response.status': '418',
      role: 'garage_auditor',
      search_path: 'hidden',
      'request.jwt.claims': '{"sub":"somebody"}',
      'request.headers': '{"x":"y"}',
      'request.cookies': '{"x":"y"}',
      'request.method': 'PUT',
      'request.path': '/x',
      transaction_read_only: 'off',
    }
    for (const [name, value] of Object.entries(leaks)) {
      const first = await call('POST', '/rest/v1/rpc/leaks', { body: { name, value } })
      // They are in effect within the request, as in PostgREST.
      if (name === 'response.status') t.equal(first.status, 418)
      else t.equal(first.status, 200, first.text)
      if (name === 'response.headers') t.equal(first.headers.get('x-leak'), 'yes')
      for (let round = 0; round < 3; round++) t.strictSame(await bystander(application), expected, name)
    }
  })
}

t.test('requests that share a connection do not see settings of a function', async (t) => {
  const application = await startApplication(t, database.uri('garage_server', 'garage'), settings)
  const { call } = application
  const read = async () => {
    const { status, headers } = await call('GET', '/rest/v1/tags?limit=1')
    return `${status} ${headers.get('x-leak')}`
  }
  // Repeats the request until it is known to be fast and shares a connection.
  for (let round = 0; round < 60; round++) await read()
  const answers = new Set<string>()
  for (let round = 0; round < 10; round++) {
    const leaking = ['response.headers', 'response.status'].map((name) =>
      call('POST', '/rest/v1/rpc/leaks', { body: { name, value: name.endsWith('s') ? '[{"X-Leak":"yes"}]' : '418' } }),
    )
    for (const answer of await Promise.all(Array.from({ length: 20 }, read))) answers.add(answer)
    await Promise.all(leaking)
    for (const answer of await Promise.all(Array.from({ length: 20 }, read))) answers.add(answer)
  }
  t.strictSame([...answers], ['200 null'])
})

t.test('a default of the login role is kept', async (t) => {
  const role = 'garage_server'
  await database.query(
    `alter role ${role} in database ${database.name} set "response.headers" = '[{"X-Default":"yes"}]'`,
  )
  const { call } = await startApplication(t, database.uri('garage_server', 'garage'), settings)
  const header = async () => (await call('GET', '/rest/v1/tags')).headers.get('x-default')
  t.strictSame([await header(), await header()], ['yes', 'yes'])
  await call('POST', '/rest/v1/rpc/leaks', { body: { name: 'response.headers', value: '[]' } })
  t.equal(await header(), 'yes')
})
