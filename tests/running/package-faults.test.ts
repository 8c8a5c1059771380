// The package in the hands of an application that makes mistakes, and of clients that are hostile: nothing reaches another
// request, the process goes on, and errors say what is wrong to the application, not to the client.
import express from 'express'
import t, { type Test } from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { nodeHandler } from '../../server/adapters/node.ts'
import { createRest, type Identify, type RestObservation, type RestOptions } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import { createDatabase } from '../support/database.ts'
import { listen } from '../support/listening.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { until } from '../support/until.ts'

// Also on connections that statements share: what one caller leaves there would reach the others.
trustAllStatements()
const fixture = await createDatabase()
t.teardown(() => fixture.drop())
const role = `faults_${fixture.name}`
await fixture.query(`
  create role ${role} nologin;
  create table public.items (id int primary key, owner text);
  insert into public.items select i, 'nobody' from generate_series(1, 3) i;
  create function public.who() returns text stable language sql as
    $$ select current_user || ' ' || (current_setting('request.jwt.claims')::json ->> 'sub') $$;
  create function public.length_of(body json) returns int immutable language sql as $$ select length(body::text) $$;
  create function public.wait() returns void volatile language sql as $$ select pg_sleep(600) $$;
  grant all on public.items to ${role}`)
t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))

const ofHeader: Identify = (request) => ({ role, claims: { sub: request.header('x-user') ?? 'none' } })

type Started = {
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>
  readonly observed: RestObservation[]
  readonly rest: Awaited<ReturnType<typeof createRest>>
  readonly database: ReturnType<typeof connect>
}

async function start(t: Pick<Test, 'teardown'>, options: Partial<RestOptions> = {}): Promise<Started> {
  const database = connect(fixture.adminUri, { dbPool: 3 })
  const observed: RestObservation[] = []
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: ofHeader,
    onRequest: (observation) => observed.push(observation),
    onSchema: () => undefined,
    ...options,
  })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  const handle = fetchHandler(rest)
  return { ask: (path, init) => handle(new Request(`http://localhost${path}`, init)), observed, rest, database }
}

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic
/** A promise of another library. */
const thenable = (value: unknown, outcome: 'resolve' | 'reject' = 'resolve') => ({
  then: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) =>
    outcome === 'resolve' ? resolve(value) : reject(value),
})
const wrongIdentities: readonly (readonly [name: string, identity: () => unknown, status: number, message: RegExp])[] =
  [
    ['undefined', () => undefined, 500, /returned undefined/],
    ['null', () => null, 500, /returned null/],
    ['a string', () => 'anon', 500, /returned string/],
    ['no role', () => ({ claims: {} }), 500, /role is not/],
    ['a role that is a number', () => ({ role: 1, claims: {} }), 500, /role is not/],
    ['an empty role', () => ({ role: '', claims: {} }), 500, /role is not/],
    ['no claims', () => ({ role }), 500, /claims is not/],
    ['claims that are a text', () => ({ role, claims: 'sub' }), 500, /claims is not/],
    ['a claims text that is none', () => ({ role, claims: {}, claimsText: 5 }), 500, /claimsText is not/],
    ['a promise of no identity', async () => undefined, 500, /returned undefined/],
    ['a foreign promise of no role', () => thenable({ claims: {} }), 500, /role is not/],
    ['a promise that rejects', async () => Promise.reject(new Error('the store is down')), 500, /the store is down/],
    ['a promise that rejects with nothing', () => thenable(undefined, 'reject'), 500, /^$/],
    ['a role that does not exist', () => ({ role: 'no such role', claims: {} }), 401, /does not exist/],
    ['claims with a BigInt', () => ({ role, claims: { sub: 1n } }), 500, /BigInt/],
    ['claims with a cycle', () => ({ role, claims: cyclic }), 500, /./],
  ]

for (const dbPreparedStatements of [true, false]) {
  t.test(`identities that cannot be used, prepared statements ${dbPreparedStatements ? 'on' : 'off'}`, async (t) => {
    let identity: (() => unknown) | undefined
    const { ask, observed } = await start(t, {
      identify: (request) => (identity ? (identity() as ReturnType<Identify>) : ofHeader(request)),
      settings: { dbPreparedStatements },
    })
    t.equal((await ask('/items')).status, 200)
    for (const [name, wrong, status, message] of wrongIdentities) {
      await t.test(name, async (t) => {
        observed.length = 0
        // Requests of others are under way meanwhile.
        const others = Array.from({ length: 5 }, (_, index) => ask('/rpc/who', { headers: { 'X-User': `u${index}` } }))
        identity = wrong
        const answers = [ask('/items?id=eq.1'), ask('/items?id=eq.2')]
        identity = undefined
        const responses = await Promise.all(answers)
        for (const response of responses) {
          t.equal(response.status, status)
          const text = await response.text()
          if (status === 500) t.match(JSON.parse(text), { code: 'PGRSTX00', message: 'Internal server error' })
        }
        for (const [index, other] of (await Promise.all(others)).entries()) {
          t.equal(await other.json(), `${role} u${index}`)
        }
        const failed = observed.filter((observation) => observation.response.status === status)
        const messages = failed.map(({ error }) => (error instanceof Error ? error.message : ''))
        t.equal(messages.length, 2)
        for (const each of messages) t.match(each, message, 'the application gets the reason')
      })
    }
  })
}

t.test('a promise of another library is waited for', async (t) => {
  const { ask } = await start(t, {
    identify: () => thenable({ role, claims: { sub: 'me' } }) as unknown as ReturnType<Identify>,
  })
  t.equal(await (await ask('/rpc/who')).json(), `${role} me`)
})

t.test('a statement with too many parameters fails alone', async (t) => {
  const { ask } = await start(t)
  const conditions = (count: number): string =>
    `/items?select=id&or=(${Array.from({ length: count }, (_, index) => `id.eq.${(index % 3) + 10}`).join(',')})`
  for (const count of [30, 40_000, 66_000]) {
    const others = Array.from({ length: 6 }, (_, index) => ask('/rpc/who', { headers: { 'X-User': `u${index}` } }))
    const many = await ask(conditions(count))
    const body: unknown = await many.json()
    for (const [index, other] of (await Promise.all(others)).entries()) {
      t.equal(other.status, 200)
      t.equal(await other.json(), `${role} u${index}`)
    }
    if (count < 65_000) t.strictSame([many.status, body], [200, []], `${count} are possible`)
    else {
      t.equal(many.status, 500)
      t.match(body, {
        code: '54000',
        message: /^a statement has at most 65535 parameters, but this one needs 660\d\d$/,
      })
    }
    t.equal((await ask('/items?id=eq.1')).status, 200)
  }
})

t.test('callbacks that throw end nothing', async (t) => {
  const written: unknown[][] = []
  const { error } = console
  console.error = (...values: unknown[]) => void written.push(values)
  t.teardown(() => void (console.error = error))
  const fail = (): never => {
    throw new Error('a mistake')
  }
  const { ask, rest } = await start(t, { onRequest: fail, onSchema: fail })
  t.equal((await ask('/items')).status, 200)
  await rest.reload()
  t.equal((await ask('/items')).status, 200)
  t.strictSame(
    written.map(([text]) => text),
    ['onSchema', 'onRequest', 'onSchema', 'onRequest'].map((name) => `rowhouse: ${name} threw`),
  )
})

t.test('a request whose signal aborts while its body is read ends', async (t) => {
  const { ask } = await start(t)
  const abort = new AbortController()
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from('{"id":')),
    cancel: () => {
      isCancelled = true
      // A source that never finishes.
      return new Promise(() => undefined)
    },
  })
  const answered = ask('/items', { method: 'POST', body, duplex: 'half', signal: abort.signal })
  abort.abort()
  t.equal((await answered).status, 400)
  t.ok(isCancelled)
  const { rows } = await fixture.query('select count(*)::int as n from public.items')
  t.equal(rows[0]?.n, 3)
})

t.test('a body that was complete but for its end is not carried out when the signal aborts', async (t) => {
  const { ask } = await start(t)
  const abort = new AbortController()
  const body = new ReadableStream<Uint8Array>({ start: (it) => it.enqueue(Buffer.from('{"id":77}')) })
  const headers = { 'Content-Type': 'application/json' }
  const answered = ask('/items', { method: 'POST', body, duplex: 'half', signal: abort.signal, headers })
  await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  t.equal((await answered).status, 400)
  t.equal((await fixture.query('select from public.items where id = 77')).rowCount, 0)
})

t.test('an announced body that is too large is cancelled unread', async (t) => {
  const { ask } = await start(t, { settings: { restBodyLimit: 1000 } })
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) })
  const headers = { 'Content-Length': '1001' }
  t.equal((await ask('/items', { method: 'POST', body, duplex: 'half', headers })).status, 413)
  t.ok(await until(() => isCancelled))
})

t.test('mount paths are written as in a URL', async (t) => {
  const { rest } = await start(t)
  for (const [written, right] of [
    ['/a b', '/a%20b'],
    ['/café', '/caf%C3%A9'],
    ['/a/../b', '/b'],
    ['/a\\b', '/a/b'],
  ] as const) {
    const message = `basePath is ${JSON.stringify(written)}, but must be written as in a URL: "${right}"`
    t.throws(() => fetchHandler(rest, { basePath: written }), { name: 'TypeError', message })
    t.throws(() => nodeHandler(rest, { basePath: written }), { name: 'TypeError', message })
    const handle = fetchHandler(rest, { basePath: right })
    t.equal((await handle(new Request(`http://localhost${written}/items?limit=1`))).status, 200)
  }
})

t.test('closing twice, while requests run, and before the database is there', async (t) => {
  const { ask, rest, database } = await start(t)
  const running = Array.from({ length: 4 }, () => ask('/items'))
  await Promise.all([rest.close(), rest.close()])
  await Promise.all([database.close(), database.close()])
  t.strictSame(new Set((await Promise.all(running)).map(({ status }) => status)), new Set([200]))
  const late = await ask('/items')
  t.equal(late.status, 503, 'a request after the end')
  await rest.reload()

  const nowhere = connect('postgres://nobody@127.0.0.1:1/none', { env: {} })
  const failures: unknown[] = []
  const early = await createRest({
    database: nowhere,
    schemas: ['public'],
    identify: ofHeader,
    onSchema: (event) => failures.push(event),
  })
  t.ok(failures.length > 0)
  t.equal((await fetchHandler(early)(new Request('http://localhost/items'))).status, 503)
  await early.close()
  await early.close()
  await nowhere.close()
})

t.test('two engines on one database have schemas, settings and callers of their own', async (t) => {
  const { database, ask } = await start(t)
  await fixture.query(`create schema other create table things (id int); grant usage on schema other to ${role};
    grant all on other.things to ${role}`)
  t.teardown(() => fixture.query('drop schema other cascade'))
  const second = await createRest({
    database,
    schemas: ['other'],
    identify: () => ({ role, claims: { sub: 'second' } }),
    settings: { dbMaxRows: 1 },
    onSchema: () => undefined,
  })
  const handle = fetchHandler(second)
  const askSecond = (path: string) => handle(new Request(`http://localhost${path}`))
  const statuses = await Promise.all([ask('/items'), askSecond('/things'), ask('/things'), askSecond('/items')])
  t.strictSame(
    statuses.map(({ status }) => status),
    [200, 200, 404, 404],
  )
  await second.close()
  t.equal(((await (await ask('/items')).json()) as unknown[]).length, 3, 'closing one leaves the other')
})

t.test('a database that goes away and comes back', async (t) => {
  const { ask } = await start(t)
  t.equal((await ask('/items')).status, 200)
  await fixture.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '%LISTEN%'`)
  await fixture.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask('/items')))
  for (const { status } of outcomes) t.ok([200, 503].includes(status), `status ${status}`)
  t.ok(await until(async () => (await ask('/items')).status === 200))
  await fixture.query('create table public.after (id int)')
  await fixture.query('notify pgrst')
  t.ok(await until(async () => (await ask('/after')).status !== 404), 'it listens again')
  await fixture.query('drop table public.after')
})

t.test('hostile headers of a Fetch request', async (t) => {
  const { ask } = await start(t)
  const table: readonly (readonly [Record<string, string>, readonly number[]])[] = [
    [{ Prefer: 'x'.repeat(100_000) }, [200]],
    [{ Range: `${'9'.repeat(1000)}-` }, [200, 416]],
    [{ 'Content-Profile': '__proto__' }, [200]],
    [{ 'Accept-Profile': '__proto__' }, [406]],
    [{ __proto__x: 'y', constructor: 'z' }, [200]],
    [{ Cookie: `${'a=b;'.repeat(10_000)}__proto__=x` }, [200]],
    [{ Accept: 'ÿ'.repeat(100) }, [406]],
    [{ 'X-User': 'Ã¤ÿ' }, [200]],
    [{ 'Content-Length': 'many' }, [200]],
  ]
  for (const [headers, statuses] of table) {
    const { status } = await ask('/items?limit=1', { headers })
    t.ok(statuses.includes(status), `${JSON.stringify(headers).slice(0, 60)}: ${status}`)
  }
  const posted = await ask('/rpc/length_of', {
    method: 'POST',
    body: '{"body":1}',
    headers: { 'Content-Type': 'application/json', 'Content-Length': '-5' },
  })
  t.equal(await posted.text(), '1')
})

t.test('NUL characters in names reach no statement', async (t) => {
  const { ask } = await start(t)
  for (const path of ['/items?select=a%00b:id', '/items?select=id&a%00=eq.1', '/it%00ems', '/rpc/who?a%00=1']) {
    const others = Array.from({ length: 5 }, (_, index) => ask('/rpc/who', { headers: { 'X-User': `u${index}` } }))
    const { status } = await ask(path)
    t.ok(status < 500, `${path}: ${status}`)
    for (const [index, other] of (await Promise.all(others)).entries()) t.equal(await other.json(), `${role} u${index}`)
  }
})

t.test('a body that something else has read is an error, not waited for', async (t) => {
  const { rest, ask, observed } = await start(t)
  const app = express()
  app.use(express.json(), nodeHandler(rest))
  const url = await listen(t, app)
  const sent = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"id":50}' }
  t.equal((await fetch(`${url}/items`, sent)).status, 500)
  const request = new Request('http://localhost/items', sent)
  await request.text()
  t.equal((await fetchHandler(rest)(request)).status, 500)
  for (const { error } of observed) t.match(error, { message: /^the request body was already read before/ })
  t.equal(observed.length, 2)
  t.equal((await fetch(`${url}/items`)).status, 200)
  t.equal(((await (await ask('/items')).json()) as unknown[]).length, 3)
})

t.test('HEAD requests and empty responses have no body, below Express too', async (t) => {
  const { rest, ask } = await start(t)
  const app = express()
  app.use('/deep/er', nodeHandler(rest))
  app.use((_request, response) => void response.status(418).end())
  const url = await listen(t, app)
  const head = await fetch(`${url}/deep/er/items`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  t.equal((await fetch(`${url}/deep/elsewhere`)).status, 418)
  const headers = { 'Content-Type': 'application/json' }
  const patch = { method: 'PATCH', headers, body: '{"owner":"me"}' }
  const [node, web] = [await fetch(`${url}/deep/er/items?id=eq.1`, patch), await ask('/items?id=eq.1', patch)]
  t.strictSame([node.status, web.status, await node.text(), web.body], [204, 204, '', null])
  t.equal((await ask('/items', { method: 'HEAD' })).body, null)
})
