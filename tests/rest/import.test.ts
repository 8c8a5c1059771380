// Imports: faults with their lines, limits, and what remains when they end early.
import { request as httpRequest, type ClientRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { compileSchemas } from '../../server/validation/validator.ts'
import {
  createImportDatabase,
  type ImportContent,
  inPieces,
  ndjson,
  send,
  startImportApi,
} from '../support/import-database.ts'
import { until } from '../support/until.ts'

const database = await createImportDatabase(t)
const { role } = database
await database.query(`
  create table public.ages (id int primary key, age int);
  create table public.slow (id int primary key);
  create function public.wait() returns trigger language plpgsql as 'begin perform pg_sleep(30); return new; end';
  create trigger wait before insert on public.slow for each row execute function public.wait();
  grant all on public.ages, public.slow to ${role};
  alter role ${role} set statement_timeout = '1s'`)
const validator = compileSchemas([
  {
    id: 'ages',
    table: { schema: 'public', name: 'ages' },
    schema: {
      $id: 'ages',
      type: 'object',
      properties: { id: { type: 'integer' }, age: { type: 'integer', minimum: 0 } },
      required: ['id'],
      additionalProperties: false,
    },
  },
])
const api = await startImportApi(t, database, { dbPoolAcquisitionTimeout: 1, restImportSlots: 2 }, validator)
const small = await startImportApi(t, database, { restBodyLimit: 200, restImportLimit: 2000 }, validator)

const count = async (table: string): Promise<number> =>
  Number((await database.query(`select count(*) from ${table}`)).rows[0]?.count)
/** Temporary tables, and transactions of the server that are open. */
const leftovers = async (): Promise<number> =>
  Number(
    (
      await database.query(
        `select (select count(*) from pg_class where relname like 'rowhouse\\_import%') +
          (select count(*) from pg_stat_activity where datname = current_database() and usename like 'server%' and state <> 'idle')
          as count`,
      )
    ).rows[0]?.count,
  )

const lines = (...rows: readonly unknown[]): string => rows.map((row) => JSON.stringify(row)).join('\n')
const numbered = (length: number, more: (id: number) => object): string =>
  lines(...Array.from({ length }, (_, index) => ({ id: index + 1, ...more(index + 1) })))

t.test('faults have the line of the body', async (t) => {
  const item = (id: number, more = {}) => ({ id, name: 'x', price: 1, parent: 1, ...more })
  const table: readonly (readonly [
    name: string,
    path: string,
    body: string,
    expected: readonly [status: number, code: string, line: number | undefined],
    headers?: Readonly<Record<string, string>>,
  ])[] = [
    ['JSON', '/items', `${lines(item(1))}\n\n{"id":2`, [400, 'PGRST102', 3]],
    ['keys', '/items', lines(item(1), item(2, { tags: 1 })), [400, 'PGRST102', 2]],
    ['an array', '/items', `${lines(item(1))}\n[]`, [400, 'PGRST102', 2]],
    ['a column', '/items', lines({ id: 1, nme: 'x' }), [400, 'PGRST204', undefined]],
    ['a type', '/items', `\n\n${lines(item(1), item(2, { price: 'much' }), item(3))}`, [400, '22P02', 4]],
    [
      'the first of two types',
      '/items',
      lines(item(1), item(2, { price: 'a' }), item(3, { price: 'a' })),
      [400, '22P02', 2],
    ],
    ['not null', '/items', lines(item(1), item(2), item(3, { name: null })), [400, '23502', 3]],
    ['check', '/items', lines(item(1, { price: -1 }), item(2)), [400, '23514', 1]],
    ['unique', '/items', numbered(100, (id) => ({ ...item(id === 77 ? 33 : id) })), [409, '23505', 77]],
    ['foreign key', '/items', numbered(100, (id) => ({ name: 'x', parent: id === 64 ? 9 : 1 })), [409, '23503', 64]],
    ['a generated key', '/numbered', lines({ name: 'a' }, { name: 'b' }, { name: 'a' }), [409, '23505', 3]],
    [
      'a policy',
      '/notes',
      lines({ id: 1, owner: 'ann' }, { id: 2, owner: 'bob' }),
      [403, '42501', 2],
      { 'X-User': 'ann' },
    ],
    ['a trigger', '/labels', lines({ id: 1, label: 'A' }, { id: 2, label: 'BAD' }), [400, 'P0001', 2]],
    [
      'a row twice',
      '/items',
      lines(item(1), item(2), item(1)),
      [500, '21000', 3],
      { Prefer: 'resolution=merge-duplicates' },
    ],
    [
      'depth',
      '/items',
      `${lines({ id: 1, name: 'x', tags: 1 })}\n{"id":2,"name":"x","tags":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
      [500, '54001', 2],
    ],
    ['NUL', '/items', lines(item(1), item(2, { name: 'a\0b' })), [400, '22P05', 2]],
    ['a privilege', '/partial', lines({ id: 1, secret: 'x' }), [403, '42501', undefined]],
    ['a deferred constraint', '/later', lines({ id: 1, parent: 9 }), [409, '23503', undefined]],
    [
      'a row that refers to a later one, and one to none',
      '/trees',
      lines({ id: 1, parent: 3 }, { id: 2, parent: 9 }, { id: 3, parent: 1 }),
      [409, '23503', 2],
    ],
    ['JSON Schema', '/ages', lines({ id: 1, age: 1 }, { id: 2, age: -1 }), [400, 'PGRST102', 2]],
  ]
  for (const [name, path, body, [status, code, line], headers] of table) {
    const answer = await send(api.url, path, ndjson, body, headers)
    t.match(answer, { status, body: { code } }, name)
    t.equal((answer.body as { line?: number }).line, line, `${name}: line`)
  }
  const fault = await send(api.url, '/items', ndjson, lines(item(1), item(1)))
  t.strictSame(fault.body, {
    code: '23505',
    details: 'Key (id)=(1) already exists.',
    hint: null,
    line: 2,
    message: 'duplicate key value violates unique constraint "items_pkey"',
  })
  t.match(api.events.at(-1), { state: 'failed', relation: 'public.items', rows: 2 })
  const csv = `id,age\n1,1\n2,x\n${'\n'.repeat(300)}`
  const text = await send(small.url, '/ages', 'text/csv', csv)
  t.match(text, { status: 400, body: { code: 'PGRST102', details: '/age must be integer', line: 3 } })
  t.equal(await count('items'), 0)
  t.equal(await leftovers(), 0)
})

t.test('limits', async (t) => {
  const body = numbered(40, () => ({ age: 1 }))
  const big = numbered(200, () => ({ age: 1 }))
  const refusal = { code: 'PGRST102', message: 'Content-Type not acceptable: application/x-ndjson' }
  const off = await startImportApi(t, database, { restImportLimit: 0, restBodyLimit: 200 })
  const table: readonly (readonly [string, string, string, ImportContent, object, Record<string, string>?])[] = [
    ['ndjson above rest-body-limit', small.url, ndjson, body, { status: 201 }],
    [
      'declared above rest-import-limit',
      small.url,
      ndjson,
      big,
      { status: 413, body: { details: 'The limit is 2000 bytes.' } },
    ],
    ['sent above rest-import-limit', small.url, ndjson, inPieces(big, 100), { status: 413 }],
    [
      'a long line',
      small.url,
      ndjson,
      `{"id":1,"age":${' '.repeat(300)}1}`,
      { status: 413, body: { code: 'PGRSTX72', line: 1 } },
    ],
    [
      'a large representation',
      small.url,
      ndjson,
      body,
      { status: 413, body: { code: 'PGRSTX71' } },
      { Prefer: 'return=representation' },
    ],
    [
      'a compressed body',
      small.url,
      ndjson,
      body,
      { status: 415, headers: { 'accept-encoding': 'identity' }, body: { code: 'PGRSTX75' } },
      { 'Content-Encoding': 'gzip' },
    ],
    ['no imports: ndjson', off.url, ndjson, '{"id":1}', { status: 400, body: refusal }],
    ['no imports: CSV', off.url, 'text/csv', `id\n${'1\n'.repeat(200)}`, { status: 413 }],
    ['a function', `${api.url}/rpc`, ndjson, body, { status: 400, body: refusal }],
  ]
  for (const [name, url, type, sent, expected, headers] of table) {
    await database.query('truncate ages')
    t.match(await send(url, '/ages', type, sent, headers), expected, name)
  }
  const patch = await fetch(`${api.url}/ages?id=eq.1`, {
    method: 'PATCH',
    headers: { 'Content-Type': ndjson },
    body: '{"age":1}',
  })
  t.match(await patch.json(), refusal, 'PATCH is refused as before')
  t.equal(await leftovers(), 0)
})

/** Begins a chunked import, and sends so many rows. */
function begin(url: string, path: string, rows: number, from = 0, user = 'ann'): ClientRequest {
  const sent = httpRequest(url + path, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': ndjson, 'X-User': user },
  })
  sent.on('error', () => undefined)
  sent.write(`${numbered(rows, (id) => ({ id: from + id }))}\n`)
  return sent
}

const statusOf = (sent: ClientRequest): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
  })

/** Waits until so many imports copy rows. */
const copying = (imports: number): Promise<boolean> =>
  until(async () => {
    const { rows } = await database.query(
      "select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like 'copy pg_temp.%'",
    )
    return rows.length === imports
  })

t.test('nothing remains when the client hangs up', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 5000)
  await copying(1)
  sent.destroy()
  t.ok(await until(async () => (await leftovers()) === 0))
  t.equal(await count('ages'), 0)
  const again = await send(
    api.url,
    '/ages',
    ndjson,
    numbered(3, () => ({})),
  )
  t.equal(again.status, 201, 'the connections are in order')
  t.equal(await count('ages'), 3)
})

t.test('nothing remains when the connection to the database is lost', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 10)
  const status = statusOf(sent)
  await copying(1)
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'copy pg_temp.%' and pid <> pg_backend_pid()",
  )
  t.equal(await status, 503)
  sent.destroy()
  t.equal(await count('ages'), 0)
  t.ok(await until(async () => (await send(api.url, '/ages', ndjson, '{"id":1}')).status === 201))
})

t.test('nothing remains when the database cancels the COPY', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 10)
  const status = statusOf(sent)
  await copying(1)
  await database.query(
    "select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and query like 'copy pg_temp.%' and pid <> pg_backend_pid()",
  )
  // The server notices a cancellation when the next rows arrive. After its error the client stays silent.
  sent.write('{"id":11}\n')
  t.equal(await status, 500)
  for (let id = 1; id <= 5; id++) t.equal((await send(api.url, '/ages', ndjson, `{"id":${id}}`)).status, 201)
  sent.destroy()
  t.equal(await count('ages'), 5)
})

t.test('a fault ends an import while the client sends', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 10)
  const status = statusOf(sent)
  sent.write('{"id":\n')
  t.equal(await status, 400)
  sent.destroy()
  t.equal(await count('ages'), 0)
})

t.test('few imports run at once', async (t) => {
  await database.query('truncate ages')
  const running = [begin(api.url, '/ages', 1), begin(api.url, '/ages', 1, 1, 'bob')]
  const statuses = running.map(statusOf)
  await copying(2)
  const refused = await send(api.url, '/ages', ndjson, '{"id":5}')
  t.match(refused, { status: 503, headers: { 'retry-after': '1' }, body: { code: 'PGRSTX70' } })
  const waiting = send(api.url, '/ages', ndjson, '{"id":6}')
  running[0]?.end()
  t.equal((await waiting).status, 201, 'one that waited')
  running[1]?.end('{"id":7}')
  t.strictSame(await Promise.all(statuses), [201, 201])
  t.equal(await count('ages'), 4)
})

t.test('half-sent imports of one user do not block other users', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 1)
  const status = statusOf(sent)
  await copying(1)
  const more = await send(api.url, '/ages', ndjson, '{"id":8}', { 'X-User': 'ann' })
  t.match(more, { status: 429, headers: { 'retry-after': '1' }, body: { code: 'PGRSTX70' } })
  t.equal((await send(api.url, '/ages', ndjson, '{"id":9}', { 'X-User': 'bob' })).status, 201)
  sent.end()
  t.equal(await status, 201)
  t.equal(await count('ages'), 2)
})

t.test('the timeout of the role counts for the statement, not for the client', async (t) => {
  await database.query('truncate ages')
  const sent = begin(api.url, '/ages', 1)
  const status = statusOf(sent)
  await copying(1)
  await pause(1200)
  sent.end()
  t.equal(await status, 201)
  const slow = await send(api.url, '/slow', ndjson, '{"id":1}')
  t.match(slow, { status: 500, body: { code: '57014', line: undefined } })
})

t.test('each user writes own rows, at the same time', async (t) => {
  await database.query('truncate notes')
  const write = (owner: string, from: number) =>
    send(
      api.url,
      '/notes',
      ndjson,
      numbered(500, (id) => ({ id: from + id, owner })),
      { 'X-User': owner },
    )
  const answers = await Promise.all([write('ann', 0), write('bob', 1000)])
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201],
  )
  const { rows } = await database.query('select owner, count(*)::int from notes group by owner order by owner')
  t.strictSame(rows, [
    { owner: 'ann', count: 500 },
    { owner: 'bob', count: 500 },
  ])
})

t.test('the Fetch adapter imports, and stops when the request is aborted', async (t) => {
  await database.query('truncate ages')
  const handle = fetchHandler(api.rest)
  const post = (body: ImportContent, signal: AbortSignal | null = null) =>
    handle(
      new Request('http://localhost/ages', {
        method: 'POST',
        headers: { 'Content-Type': ndjson },
        body,
        signal,
        duplex: 'half' as const,
      }),
    )
  t.equal(
    (
      await post(
        inPieces(
          numbered(20, () => ({})),
          10,
        ),
      )
    ).status,
    201,
  )
  const controller = new AbortController()
  const endless = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(Buffer.from('{"id":100}\n')),
  })
  const answer = post(endless, controller.signal)
  await copying(1)
  controller.abort()
  t.not((await answer).status, 201)
  t.ok(await until(async () => (await leftovers()) === 0))
  t.equal(await count('ages'), 20)
})

t.test('the login role needs the privilege TEMPORARY', async (t) => {
  const server = new URL(database.serverUri).username
  await database.query(`revoke temporary on database ${database.name} from ${server}`)
  t.match(await send(api.url, '/ages', ndjson, '{"id":900}'), { status: 500, body: { code: 'PGRSTX73' } })
  await database.query(`grant temporary on database ${database.name} to ${server}`)
})

t.test('the end is reported', async (t) => {
  await database.query('truncate ages')
  await send(
    api.url,
    '/ages',
    ndjson,
    numbered(30, () => ({})),
  )
  t.match(api.events.at(-1), { state: 'done', relation: 'public.ages', rows: 30 })
})
