// Request lines and headers on the wire: targets and methods that Node's parser rejects, long headers, bytes above 127.
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createHttpServer } from '../../../server/running/http-server.ts'
import { startApplication } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { loadFixture } from '../../support/fixture.ts'
import { startPostgrest, withoutPostgrest } from '../../support/postgrest.ts'
import { RawConnection, requestHead, type RawResponse } from '../../support/raw-connection.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'cache-differential')
await database.query(`
  create table public."café" (id integer primary key);
  insert into public."café" values (1);
  grant select on public."café" to anon;
  create table public.word (id integer primary key, word text);
  insert into public.word values (1, 'x');
  grant select on public.word to anon;
  create function public.all_words() returns setof public.word stable language sql as 'select * from public.word';
  create function public.raised() returns void language plpgsql as $$ begin
    raise sqlstate 'PGRST' using message = '{"code":"1","message":"é"}',
      detail = '{"status":400,"status_text":"né","headers":{"X-Raised":"ünï"}}';
  end $$;
  create function public.set_header() returns text language sql as $$
    select set_config('response.headers', '[{"X-Raised":"ünï"}]', true)
  $$;
  grant execute on all functions in schema public to anon;
`)
const env = {
  PGRST_DB_SCHEMAS: 'public,archive',
  PGRST_DB_ANON_ROLE: 'anon',
  PGRST_SERVER_TRACE_HEADER: 'X-Trace',
}
const application = await startApplication(t, database.authenticatorUri, { ...env, REST_BASE_PATH: '/' })
const url = await serve(t, application.service.listener)

async function serve(t: Pick<Test, 'teardown'>, listener: Parameters<typeof createHttpServer>[0]): Promise<string> {
  const server = createHttpServer(listener, { requestHeaderLimit: 50 * 1024, serverRequestTimeout: 60 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8')

type Asked = {
  readonly line: readonly [method: string, target: string]
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
}

async function ask(to: string, { line: [method, target], headers = [], body = '' }: Asked): Promise<RawResponse> {
  const connection = new RawConnection(to)
  const length = [['Content-Length', String(body.length)]] as const
  const head = requestHead(method, latin1(target), [
    ['Host', 'x'],
    ...headers.map(([name, value]) => [name, latin1(value)] as const),
    ...(body === '' ? [] : length),
  ])
  const response = await connection.send({ head, body, isHead: method === 'HEAD' })
  connection.close()
  return response
}

const fault = (status: number, code: string, message: string, more: Record<string, unknown> = {}) =>
  ({ status, json: { code, details: null, hint: null, message, ...more } }) as const
const noMethod = (method: string) => fault(405, 'PGRST117', `Unsupported HTTP method: ${method}`)
const noPath = fault(404, 'PGRST125', 'Invalid path specified in request URL')
const beyondBigint = (number: string) => fault(400, '22003', `value "${number}" is out of range for type bigint`)
const huge = '99999999999999999999'
const noCast = fault(400, '42601', 'syntax error at or near ")"')

type Expected = { readonly status: number; readonly json?: unknown; readonly header?: readonly [string, string] }
type Row = readonly [title: string, asked: Asked, expected: Expected]

const get = (target: string, ...headers: (readonly [string, string])[]): Asked => ({ line: ['GET', target], headers })

/** Requests that PostgREST 12.0.2 answers in the same way. */
const same: readonly Row[] = [
  ['raw UTF-8 in the path', get('/café'), { status: 200, json: [{ id: 1 }] }],
  ['raw UTF-8 in the query', get('/items?select=id&name=eq.ünï'), { status: 200, json: [{ id: 32 }] }],
  ['a method in lower case', { line: ['get', '/items'] }, noMethod('get')],
  ['a method that Node does not know', { line: ['FOO', '/nothing'], body: 'ab' }, noMethod('FOO')],
  ['a method that Node takes for a tunnel', { line: ['CONNECT', '/items'] }, noMethod('CONNECT')],
  [
    'a method in lower case, of a function',
    { line: ['post', '/rpc/add'] },
    fault(405, 'PGRST101', 'Cannot use the post method on RPC'),
  ],
  ['a target in absolute form', get('http://other/items?select=id&limit=1&order=id'), { status: 200, json: [{ id: 2 }] }],
  ['one with TLS', get('https://other:80/items?select=id&limit=1&order=id'), { status: 200, json: [{ id: 2 }] }],
  [
    'a list of 4,000 numbers',
    get(`/items?select=id&id=in.(${Array.from({ length: 4000 }, (_, index) => 10_000 + index).join(',')})`),
    { status: 200, json: [] },
  ],
  ['a header of 48,000 bytes', get('/items?select=id&id=eq.2', ['X-Long', 'a'.repeat(48_000)]), { status: 200, json: [{ id: 2 }] }],
  ['a cast to blanks', get('/items?select=id::%20'), noCast],
  ['a cast of an aggregate to blanks', get('/word?select=word::%20&limit=0'), noCast],
  ['HEAD with a select that fails', { line: ['HEAD', '/word?select=word::int'] }, { status: 400 }],
  ['HEAD of a function with a select that fails', { line: ['HEAD', '/rpc/all_words?select=word::int'] }, { status: 400 }],
  ['HEAD with a select that does not', { line: ['HEAD', '/word?select=word'] }, { status: 200, header: ['content-range', '0-0/*'] }],
  ['HEAD with an embed that fails', { line: ['HEAD', '/items?select=id,parent:items!parent_id(name::int)'] }, { status: 400 }],
  ['a limit beyond bigint', get(`/items?limit=${huge}`), beyondBigint(huge)],
  ['an offset beyond bigint', get(`/items?offset=${huge}`), beyondBigint(huge)],
  ['the smallest offset beyond bigint', get('/items?offset=9223372036854775808'), beyondBigint('9223372036854775808')],
  ['the largest bigint', get('/items?limit=9223372036854775807&offset=9223372036854775807'), { status: 200, json: [] }],
  ['HEAD with a limit beyond bigint', { line: ['HEAD', `/items?limit=${huge}`] }, { status: 400 }],
  ['the limit of an embed', get(`/items?select=id,items(id)&items.limit=${huge}`), beyondBigint(huge)],
  ['a function’s', get(`/rpc/items_of?who=x&limit=${huge}`), beyondBigint(huge)],
  ['a Range beyond bigint', get('/items', ['Range', `${huge}-`]), beyondBigint(huge)],
  ['a Range that ends beyond it', get('/items', ['Range', `1-${huge}`]), beyondBigint(huge)],
  ['a limit beyond it within a Range', get(`/items?select=id&order=id&limit=${huge}0`, ['Range', '1-1']), { status: 200, json: [{ id: 5 }] }],
  [
    'an offset beyond the precision of a JavaScript number',
    get('/items?offset=9007199254740993', ['Prefer', 'count=exact']),
    fault(416, 'PGRST103', 'Requested range not satisfiable', {
      details: 'An offset of 9007199254740993 was requested, but there are only 9 rows.',
    }),
  ],
  ['a trace header in UTF-8', get('/word', ['X-Trace', 'ünï']), { status: 200, header: ['x-trace', 'ünï'] }],
  ['a trace header with an error', get('/word?x=eq.1', ['X-Trace', 'ünï']), { status: 400, header: ['x-trace', 'ünï'] }],
  ['a raised header', { line: ['POST', '/rpc/raised'], body: '{}' }, { ...fault(400, '1', 'é'), header: ['x-raised', 'ünï'] }],
  ['a header that a function sets', { line: ['POST', '/rpc/set_header'], body: '{}' }, { status: 200, header: ['x-raised', 'ünï'] }],
] // prettier-ignore

/** Requests with other responses: 12.0.2 sends no body for an unknown path, and does not address rows by key. */
const own: readonly Row[] = [
  ['one row by its key below raw UTF-8', get('/café/1'), { status: 200, json: { id: 1 } }],
  ['an unknown path in lower case', { line: ['get', '/a/b'] }, noPath],
  ['two segments before the query', get('/nothing/1?select=('), noPath],
  ['two segments before the schema', get('/nothing/1', ['Accept-Profile', 'no']), noPath],
  ['two segments before the method', { line: ['TRACE', '/nothing/1'] }, noPath],
  ['two segments before the body', { line: ['POST', '/nothing/1'], body: '{' }, noPath],
  ['two segments before the Range', get('/nothing/1', ['Range', '5-2']), noPath],
  ['two segments, OPTIONS', { line: ['OPTIONS', '/nothing/1'] }, noPath],
  ['two segments, of a table without a key of one column', get('/whoami/1?select=('), noPath],
  ['a head of 52,000 bytes', get(`/items?id=in.(${'1'.repeat(52_000)})`), { status: 431 }],
  ['headers of 52,000 bytes', get('/items', ['X-Long', 'a'.repeat(52_000)]), { status: 431 }],
  ['a request line without a version', get('/it ems'), { status: 400 }],
  ['a tunnel to somewhere', { line: ['CONNECT', 'other:443'] }, { status: 400 }],
]

function check(t: Test, { status, headers, body }: RawResponse, expected: Expected, title: string): void {
  const [name, value] = expected.header ?? []
  const found = {
    status,
    ...(expected.json === undefined ? {} : { json: JSON.parse(utf8(body)) as unknown }),
    ...(name === undefined ? {} : { header: [name, utf8(headers.find(([other]) => other === name)?.[1] ?? '')] }),
  }
  const wanted = {
    status: expected.status,
    ...(expected.json === undefined ? {} : { json: expected.json }),
    ...(name === undefined ? {} : { header: [name, value] }),
  }
  t.strictSame(found, wanted, title)
}

t.test('answers', async (t) => {
  for (const [title, asked, expected] of [...same, ...own]) check(t, await ask(url, asked), expected, title)
})

t.test("PostgREST's responses are the same", { skip: withoutPostgrest }, async (t) => {
  const theirs = await startPostgrest(t, { ...env, PGRST_DB_URI: database.authenticatorUri })
  for (const [title, asked, expected] of same) check(t, await ask(theirs, asked), expected, title)
})

t.test('functions see the path with the bytes of the request', async (t) => {
  const { body } = await ask(url, { line: ['GET', '/rpc/whoami'] })
  t.match(JSON.parse(body), { path: '/rpc/whoami', method: 'GET' })
  await database.query(`create function public."wörd"() returns text stable language sql as
    $$ select current_setting('request.path', true) $$; grant execute on function public."wörd"() to anon`)
  await application.service.engine.reload()
  t.equal(utf8((await ask(url, { line: ['GET', '/rpc/wörd'] })).body), '"/rpc/wörd"')
})

t.test('a rejected request closes its connection, and later data is not read', async (t) => {
  const reply = (text: string): Promise<RawResponse> => {
    const connection = new RawConnection(url)
    return connection.send({ head: text, body: '', isHead: false }).finally(() => connection.close())
  }
  const head = 'Host: x\r\n'
  t.match(await reply(`get /items HTTP/1.1\r\n${head}\r\nGET /items HTTP/1.1\r\n${head}\r\n`), { status: 400 })
  t.match(await reply(`get /items HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nab`), { status: 400 })
  t.match(await reply(`get /items HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`), { status: 400 })
  t.match(await reply(`get /items HTTP/1.1\r\n${head}Content-Length: 0\r\nContent-Length: 1\r\n\r\n`), { status: 400 })
  t.match(await reply(`get /items HTTP/1.1\r\n${head}Bad Header\r\n\r\n`), { status: 400 })
  const { status, headers } = await reply(`get /items HTTP/1.1\r\n${head}\r\n`)
  t.equal(status, 405)
  t.match(
    headers.find(([name]) => name === 'connection'),
    ['connection', 'close'],
  )
})
