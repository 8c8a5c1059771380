// One table of requests through both adapters: status, headers and bodies are equal.
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import express from 'express'
import t, { type Test } from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { targetOf } from '../../server/adapters/fetch-request.ts'
import { nodeHandler } from '../../server/adapters/node.ts'
import { connect } from '../../server/postgres/index.ts'
import { createRest, type RestObservation } from '../../server/index.ts'
import { createDatabase } from '../support/database.ts'
import { listen } from '../support/listening.ts'
import { until } from '../support/until.ts'

const fixture = await createDatabase()
t.teardown(() => fixture.drop())
const role = `adapters_${fixture.name}`
await fixture.query(`
  create role ${role} nologin;
  create table public.items (id int primary key, "wörter" text);
  insert into public.items values (1, 'Häuser'), (2, 'a b');
  create table public.lines (id int primary key, text text);
  insert into public.lines select i, repeat('ä' || i, 100) from generate_series(1, 20000) i;
  create function public.headed() returns json stable language plpgsql as $$
    begin
      perform set_config('response.headers', '[{"Set-Cookie": "a=1"}, {"Set-Cookie": "b=2"}, {"X-Wörter": "no"}]', true);
      return '[]';
    end $$;
  create function public.cookies() returns json stable language plpgsql as $$
    begin
      perform set_config('response.headers', '[{"Set-Cookie": "a=1"}, {"Set-Cookie": "b=ä"}]', true);
      return '[]';
    end $$;
  create function public.status(code text) returns void stable language plpgsql as $$
    begin perform set_config('response.status', code, true); end $$;
  create function public.path() returns text stable language sql as $$ select current_setting('request.path') $$;
  create function public.reason() returns void language plpgsql as $$ begin raise sqlstate 'PT402' using message = 'Zähl, bitte'; end $$;
  create function public.large(body json) returns int immutable language sql as $$ select length(body::text) $$;
  create function public.wait() returns void volatile language sql as $$ select pg_sleep(600) $$;
  grant all on public.items, public.lines to ${role}`)
t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))

const database = connect(fixture.adminUri, { dbPool: 2 })
const observed: RestObservation[] = []
const rest = await createRest({
  database,
  schemas: ['public'],
  identify: (request) => {
    if (request.header('x-fail') !== undefined) throw new Error('a fault of the application')
    return { role, claims: { sub: request.header('x-user') ?? null } }
  },
  settings: { serverTraceHeader: 'X-Trace', dbTxEnd: 'rollback-allow-override', restBodyLimit: 300_000 },
  onRequest: (observation) => observed.push(observation),
})
t.teardown(async () => {
  await rest.close()
  await database.close()
})

const basePath = '/api/rest'
const url = await listen(t, nodeHandler(rest, { basePath }))
const handle = fetchHandler(rest, { basePath })

type Sent = {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

type Received = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string
}

/** Headers that a server adds to every response, or that describe its connection. */
const ofServer: ReadonlySet<string> = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])

function comparable(headers: IncomingHttpHeaders): Received['headers'] {
  const kept = Object.entries(headers).filter(([name, value]) => !ofServer.has(name) && value !== undefined)
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))) as Received['headers']
}

const throughNode = ({ method = 'GET', path, headers, body }: Sent): Promise<Received> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const sent = httpRequest(url + basePath, {
      agent: false,
      path: basePath + path,
      method,
      headers: { ...length, ...headers },
    })
    sent.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: comparable(response.headers),
          body: Buffer.concat(chunks).toString('latin1'),
        }),
      )
    })
    sent.end(body)
  })

async function throughFetch({ method = 'GET', path, headers, body }: Sent): Promise<Received> {
  const request = new Request(url + basePath + path, {
    method,
    ...(headers ? { headers } : {}),
    ...(body ? { body } : {}),
  })
  const response = await handle(request)
  const pairs = Object.fromEntries([...response.headers].filter(([name]) => name !== 'set-cookie'))
  const cookies = response.headers.getSetCookie()
  return {
    status: response.status,
    headers: comparable({ ...pairs, ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) }),
    body: Buffer.from(await response.arrayBuffer()).toString('latin1'),
  }
}

const json = { 'Content-Type': 'application/json' }
/** A result is streamed only if its transaction is not rolled back. */
const streamed = { Prefer: 'tx=commit' }
const table: Readonly<Record<string, Sent & { readonly status: number }>> = {
  'a read': { path: '/items?order=id', status: 200 },
  'a column that is not ASCII': { path: '/items?select=w%C3%B6rter&w%C3%B6rter=eq.H%C3%A4user', status: 200 },
  'spaces and quotes in a value': { path: '/items?w%C3%B6rter=eq.%22a%20b%22', status: 200 },
  'a HEAD request': { method: 'HEAD', path: '/items', status: 200 },
  'a HEAD request for a large result': { method: 'HEAD', path: '/lines', headers: streamed, status: 200 },
  'a large result': { path: '/lines?order=id', headers: streamed, status: 200 },
  'an empty page': { path: '/items?id=eq.9', headers: { Accept: 'application/vnd.pgrst.object+json' }, status: 406 },
  'a range': { path: '/items?order=id', headers: { Range: '1-1', Prefer: 'count=exact' }, status: 206 },
  'the OpenAPI document': { path: '/', status: 200 },
  'the mount path itself': { path: '', status: 200 },
  'a missing table': { path: '/nothing', status: 404 },
  'an insert': { method: 'POST', path: '/items', headers: json, body: '{"id": 3}', status: 201 },
  'an insert with its location': {
    method: 'POST',
    path: '/items',
    headers: { ...json, Prefer: 'return=headers-only' },
    body: '{"id": 3}',
    status: 201,
  },
  'an update without content': {
    method: 'PATCH',
    path: '/items?id=eq.1',
    headers: json,
    body: '{"id": 1}',
    status: 204,
  },
  'a deletion': { method: 'DELETE', path: '/items?id=eq.1', status: 204 },
  'a body that is no JSON': { method: 'POST', path: '/items', headers: json, body: '{', status: 400 },
  'a body of a large call': {
    method: 'POST',
    path: '/rpc/large',
    headers: json,
    body: JSON.stringify({ body: 'x'.repeat(200_000) }),
    status: 200,
  },
  'a body that is too large': { method: 'POST', path: '/items', headers: json, body: ' '.repeat(300_001), status: 413 },
  'repeated headers': { path: '/rpc/cookies', status: 200 },
  'headers that cannot be sent': { path: '/rpc/headed', status: 500 },
  'a status of a function': { path: '/rpc/status?code=418', status: 418 },
  'a status without a body': { path: '/rpc/status?code=304', status: 304 },
  'a status and reason of an error': { method: 'POST', path: '/rpc/reason', status: 402 },
  'the path is unchanged': { path: '/rpc/path?', headers: { Accept: 'application/json' }, status: 200 },
  'a cross-origin request': { path: '/items?limit=1', headers: { Origin: 'https://a.example' }, status: 200 },
  'a preflight request': {
    method: 'OPTIONS',
    path: '/items',
    headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PATCH' },
    status: 200,
  },
  'the methods of a table': { method: 'OPTIONS', path: '/items', status: 200 },
  'an unknown method': { method: 'PROPFIND', path: '/items', status: 405 },
  'a trace header': { path: '/items?limit=0', headers: { 'X-Trace': 'a-b' }, status: 200 },
  'a fault of identify': { path: '/items', headers: { 'X-Fail': 'yes' }, status: 500 },
}

for (const [name, { status, ...sent }] of Object.entries(table)) {
  t.test(name, async (t) => {
    const [node, web] = await Promise.all([throughNode(sent), throughFetch(sent)])
    t.equal(node.status, status)
    t.strictSame(web, node)
    t.notMatch(node.body, 'fault of the application')
  })
}

t.test('paths outside the mount path are left to the application', async (t) => {
  t.equal((await fetch(`${url}/api/restless`)).status, 404)
  t.equal((await handle(new Request(`${url}/api/restless`))).status, 404)
  for (const path of ['rest', '/rest?x', '']) {
    t.throws(() => fetchHandler(rest, { basePath: path }), {
      name: 'TypeError',
      message: /basePath is ".*", but must begin/,
    })
    t.throws(() => nodeHandler(rest, { basePath: path }), TypeError)
  }
  t.strictSame(['http://a/b%20c?d#e', 'http://a', 'https://a:1/?b=http://c/d'].map(targetOf), [
    '/b%20c?d',
    '/',
    '/?b=http://c/d',
  ])
})

t.test('the handler works below a mount path of Express', async (t) => {
  const app = express()
  app.use('/one', nodeHandler(rest, { basePath: '/two' }))
  app.use((_request, response) => void response.status(418).end())
  const mounted = await listen(t, app)
  const response = await fetch(`${mounted}/one/two/items`, {
    method: 'POST',
    headers: { ...json, Prefer: 'return=headers-only' },
    body: '{"id": 4}',
  })
  t.equal(response.headers.get('location'), '/one/two/items?id=eq.4')
  t.equal((await fetch(`${mounted}/one/three`)).status, 418, 'next is called')
})

t.test('a status that the Fetch standard does not allow becomes 500', async (t) => {
  t.equal((await throughNode({ path: '/rpc/status?code=999' })).status, 999)
  const response = await throughFetch({ path: '/rpc/status?code=999' })
  t.equal(response.status, 500)
  t.match(response.body, 'PGRST112')
})

/** Queries of this database that are running, or waiting for their client. */
async function busy(): Promise<number> {
  const { rows } = await fixture.query(
    `select count(*)::int as n from pg_stat_activity
     where datname = $1 and usename = current_user and state = 'active' and pid <> pg_backend_pid()`,
    [fixture.name],
  )
  return Number(rows[0]?.n)
}

const isIdle = async (t: Test): Promise<boolean> =>
  t.ok(await until(async () => (await busy()) === 0), 'no query is running')

t.test('cancelling the response stream cancels the query', async (t) => {
  for (let time = 0; time < 4; time++) {
    const response = await handle(new Request(`${url}${basePath}/lines`, { headers: streamed }))
    const reader = response.body?.getReader()
    const chunk = (await reader?.read())?.value as Uint8Array | undefined
    t.ok((chunk?.length ?? 0) > 0, 'a chunk arrived')
    await reader?.cancel()
  }
  await isIdle(t)
  t.equal((await throughFetch({ path: '/items' })).status, 200, 'both connections are available')
})

t.test('aborting the request of a stream cancels the query', async (t) => {
  const abort = new AbortController()
  const response = await handle(new Request(`${url}${basePath}/lines`, { headers: streamed, signal: abort.signal }))
  const reader = response.body?.getReader()
  await reader?.read()
  abort.abort()
  await t.rejects(async () => {
    while ((await reader?.read())?.done === false);
  })
  await isIdle(t)
})

t.test('aborting a request cancels its query', async (t) => {
  const abort = new AbortController()
  const request = new Request(`${url}${basePath}/rpc/wait`, { method: 'POST', signal: abort.signal })
  const answered = handle(request)
  t.ok(await until(async () => (await busy()) > 0))
  abort.abort()
  await answered
  await isIdle(t)
})

t.test('a body that ends prematurely is an error', async (t) => {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new Error('the client is gone'))
    },
  })
  const request = new Request(`${url}${basePath}/items`, { method: 'POST', headers: json, body, duplex: 'half' })
  t.equal((await handle(request)).status, 400)
})

t.test('a body above the limit is not read to its end', async (t) => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(50_000)),
    cancel: () => void (isCancelled = true),
  })
  const request = new Request(`${url}${basePath}/items`, { method: 'POST', headers: json, body, duplex: 'half' })
  t.equal((await handle(request)).status, 413)
  t.ok(await until(() => isCancelled))
})

t.test('identify and onRequest receive the request', async (t) => {
  observed.length = 0
  await throughNode({ path: '/items', headers: { 'X-User': 'someone' } })
  await throughFetch({ path: '/items', headers: { 'X-Fail': 'yes' } })
  t.match(observed, [
    { role, route: 'items', response: { status: 200 }, error: undefined },
    { role: undefined, response: { status: 500 }, error: { message: 'a fault of the application' } },
  ])
})
