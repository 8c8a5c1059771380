// `POST /$batch`: many requests in one transaction, in the JSON format of OData 4.01.
import t from 'tap'
import { startBatchService } from '../support/batch-service.ts'
import { countRoundTrips } from '../support/round-trips.ts'

const file = t
const service = await startBatchService(file, 'batch_user')
const { database, batch, as } = service

type Part = Readonly<{ id: string; status: number; headers: Record<string, string>; body?: unknown }>
type Step = Readonly<Record<string, unknown>>

const representation = { Prefer: 'return=representation' }
const single = { ...representation, Accept: 'application/vnd.pgrst.object+json' }
const responsesOf = (body: unknown): readonly Part[] => (body as { responses: readonly Part[] }).responses
const clear = (): Promise<unknown> => database.query('truncate api.orders, api.lines, api.docs restart identity')
const count = async (table: string): Promise<unknown> =>
  (await database.query(`select count(*)::int as count from api.${table}`)).rows[0]?.count

/** Sends a batch that succeeds, and returns its responses. */
async function run(
  requests: readonly Step[],
  user?: string,
  headers?: Record<string, string>,
): Promise<readonly Part[]> {
  const answer = await batch(requests, user, headers)
  if (answer.status !== 200) throw new Error(answer.text)
  return responsesOf(answer.body)
}

t.test('every form of request, in order', async (t) => {
  await clear()
  const answer = await batch([
    { id: 'insert', method: 'POST', url: '/orders', headers: single, body: { customer: 'Ä', total: 1.1 } },
    { id: 'many', method: 'post', url: '/docs', body: [{ id: 'a' }, { id: 'b' }] },
    {
      id: 'upsert',
      method: 'POST',
      url: '/docs?on_conflict=id',
      headers: { prefer: 'resolution=merge-duplicates' },
      body: { id: 'a', tags: ['x'] },
    },
    {
      id: 'put',
      method: 'PUT',
      url: '/docs?id=eq.c',
      headers: representation,
      body: { id: 'c', data: { n: 12345678901234567890123n.toString() }, tags: null },
    },
    { id: 'read', method: 'GET', url: '/docs?select=id,tags&order=id&id=in.(a,c)', headers: { Prefer: 'count=exact' } },
    { id: 'row', method: 'GET', url: '/docs/a?select=tags' },
    { id: 'patch', method: 'PATCH', url: '/docs?id=eq.b', body: { tags: ['y'] } },
    { id: 'head', method: 'HEAD', url: '/docs', headers: { Prefer: 'count=exact' } },
    { id: 'call', method: 'POST', url: '/rpc/echo', body: { value: 'said' } },
    { id: 'called', method: 'GET', url: '/rpc/echo?value=asked' },
    { id: 'csv', method: 'GET', url: '/docs?select=id&order=id', headers: { Accept: 'text/csv' } },
    { id: 'csv-in', method: 'POST', url: '/docs', headers: { 'Content-Type': 'text/csv' }, body: 'id\nd\n' },
    { id: 'bytes', method: 'GET', url: '/rpc/bytes', headers: { Accept: 'application/octet-stream' } },
    { id: 'delete', method: 'DELETE', url: '/docs?id=eq.b', headers: representation },
    { id: 'options', method: 'OPTIONS', url: '/docs' },
  ])
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  const got = Object.fromEntries(responsesOf(answer.body).map(({ id, status, body }) => [id, [status, body]]))
  t.strictSame(got, {
    insert: [201, { id: 1, customer: 'Ä', owner: 'ann', total: 1.1 }],
    many: [201, undefined],
    upsert: [200, undefined],
    put: [201, [{ id: 'c', data: { n: '12345678901234567890123' }, tags: null }]],
    read: [
      200,
      [
        { id: 'a', tags: ['x'] },
        { id: 'c', tags: null },
      ],
    ],
    row: [200, { tags: ['x'] }],
    patch: [204, undefined],
    head: [200, undefined],
    call: [200, 'said'],
    called: [200, 'asked'],
    csv: [200, 'id\na\nb\nc'],
    'csv-in': [201, undefined],
    bytes: [200, '_wA'],
    delete: [200, [{ id: 'b', data: null, tags: ['y'] }]],
    options: [200, undefined],
  })
  const { headers } = responsesOf(answer.body).find(({ id }) => id === 'read') ?? { headers: {} }
  t.match(headers, { 'content-range': '0-1/2', 'preference-applied': 'count=exact' })
  t.notOk('content-length' in headers)
})

t.test('later requests use earlier results', async (t) => {
  await clear()
  const answers = await run([
    {
      id: 'order',
      method: 'POST',
      url: '/orders',
      headers: single,
      body: { customer: 'a, "b"', total: 12.5 },
    },
    {
      id: 'lines',
      method: 'POST',
      url: '/lines?select=order_id,sku',
      headers: representation,
      body: [
        { order_id: { $ref: 'order#/id' }, sku: 'x' },
        { order_id: { $ref: 'order#/id' }, sku: { $ref: 'order#/customer' } },
      ],
    },
    { id: 'found', method: 'GET', url: '/lines?select=sku&order_id=eq.${order#/id}&sku=eq.${lines#/1/sku}' },
    { id: 'list', method: 'GET', url: '/lines?select=sku&sku=in.(${lines#/0/sku},${lines#/1/sku})&order=sku' },
    { id: 'row', method: 'GET', url: '/orders/${order#/id}?select=customer' },
    {
      id: 'kept',
      method: 'POST',
      url: '/docs?select=data',
      headers: single,
      body: {
        id: 'doc',
        data: {
          whole: { $ref: 'lines#' },
          price: '$5 ${order} $ref',
          schema: { $ref: '#/definitions/a' },
          two: { $ref: 'order#/id', b: 1 },
          escaped: { $$ref: 'order#/id' },
        },
      },
    },
    { id: 'dollar', method: 'GET', url: '/rpc/echo?value=$5${order}' },
  ])
  t.strictSame(answers.map(({ body }) => body).slice(1), [
    [
      { order_id: 1, sku: 'x' },
      { order_id: 1, sku: 'a, "b"' },
    ],
    [{ sku: 'a, "b"' }],
    [{ sku: 'a, "b"' }, { sku: 'x' }],
    { customer: 'a, "b"' },
    {
      data: {
        whole: [
          { order_id: 1, sku: 'x' },
          { order_id: 1, sku: 'a, "b"' },
        ],
        price: '$5 ${order} $ref',
        schema: { $ref: '#/definitions/a' },
        two: { $ref: 'order#/id', b: 1 },
        escaped: { $ref: 'order#/id' },
      },
    },
    '$5${order}',
  ])
})

t.test('numbers keep their digits on their way through a batch', async (t) => {
  await clear()
  const digits = '12345678901234567890.12345678901234567890'
  const text = `{"requests": [
    {"id": "a", "method": "POST", "url": "/orders", "headers": {"Prefer": "return=representation", "Accept": "application/vnd.pgrst.object+json"},
     "body": {"customer": "c", "total": ${digits}}},
    {"id": "b", "method": "POST", "url": "/orders?select=total", "headers": {"Prefer": "return=representation"},
     "body": {"customer": "d", "total": {"$ref": "a#/total"}}},
    {"id": "c", "method": "GET", "url": "/orders?select=id&total=eq.\${b#/0/total}"}]}`
  const answer = await service.call('POST', '/rest/v1/$batch', { body: text, headers: await as('ann') })
  t.equal(answer.status, 200, answer.text)
  t.ok(answer.text.includes(`"body":[{"total":${digits}}]`), answer.text)
  t.strictSame(responsesOf(answer.body)[2]?.body, [{ id: 1 }, { id: 2 }])
})

const rows: readonly (readonly [name: string, requests: unknown, status: number, error: Step])[] = [
  [
    'a violated constraint',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/docs', body: { id: 'x' } },
    ],
    409,
    { code: '23505', request: 'b' },
  ],
  [
    'an unknown table after a write',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'GET', url: '/nothing' },
    ],
    404,
    { code: 'PGRST205', request: 'b' },
  ],
  [
    'the first of two errors, in order',
    [
      { id: 'a', method: 'POST', url: '/lines', body: { order_id: 1, sku: 'x', qty: 0 } },
      { id: 'b', method: 'GET', url: '/nothing' },
    ],
    400,
    { code: '23514', request: 'a' },
  ],
  [
    'a result that is refused before an error of the database',
    [
      { id: 'a', method: 'GET', url: '/docs?id=eq.none', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      { id: 'b', method: 'POST', url: '/lines', body: { order_id: 1, sku: 'x', qty: 0 } },
    ],
    406,
    { code: 'PGRST116', request: 'a' },
  ],
  [
    'a write whose result is refused',
    [
      { id: 'a', method: 'POST', url: '/docs', body: [{ id: 'x' }, { id: 'y' }] },
      {
        id: 'b',
        method: 'PATCH',
        url: '/docs',
        headers: { Prefer: 'handling=strict, max-affected=1' },
        body: { tags: [] },
      },
    ],
    400,
    { code: 'PGRST124', request: 'b' },
  ],
  [
    'a page beyond the rows',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'GET', url: '/docs?offset=5', headers: { Prefer: 'count=exact' } },
    ],
    416,
    { code: 'PGRST103', request: 'b' },
  ],
  [
    'a status of an error set by SQL',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/rpc/status', body: { code: '418' } },
    ],
    418,
    { code: 'PGRSTX13', request: 'b', details: '{"code" : "418"}' },
  ],
  [
    'a deferred constraint, which fails when all requests have succeeded',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/lines', body: { order_id: 99, sku: 'x' } },
    ],
    409,
    { code: '23503', request: undefined },
  ],
  [
    'a write by GET',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'GET', url: '/rpc/writes' },
    ],
    405,
    { code: '25006', request: 'b' },
  ],
  [
    'the end of the transaction by a function',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/rpc/ends' },
    ],
    500,
    { code: '2D000', request: 'b' },
  ],
  [
    'a body that is refused',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/docs', body: [{ id: 'y' }, {}] },
    ],
    400,
    { code: 'PGRST102', request: 'b' },
  ],
  [
    'a reference to a response without a body',
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'GET', url: '/docs?id=eq.${a#/id}' },
    ],
    400,
    { code: 'PGRSTX12', request: 'b' },
  ],
  [
    'a reference to a member that is not there',
    [
      { id: 'a', method: 'POST', url: '/docs', headers: single, body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/docs', body: { id: { $ref: 'a#/0/id' } } },
    ],
    400,
    { code: 'PGRSTX12', request: 'b', message: 'The reference a#/0/id has no value' },
  ],
  [
    'a reference to null in a url',
    [
      { id: 'a', method: 'POST', url: '/docs', headers: single, body: { id: 'x' } },
      { id: 'b', method: 'GET', url: '/docs?id=eq.${a#/tags}' },
    ],
    400,
    { code: 'PGRSTX12', request: 'b' },
  ],
  [
    'a value that would become a filter',
    [
      { id: 'a', method: 'POST', url: '/docs', headers: single, body: { id: 'eq.1' } },
      { id: 'b', method: 'GET', url: '/rpc/echo?value=${a#/id}' },
    ],
    400,
    { code: 'PGRSTX12', request: 'b' },
  ],
  [
    'a batch in a batch, by a reference',
    [
      { id: 'a', method: 'POST', url: '/docs', headers: single, body: { id: '$batch' } },
      { id: 'b', method: 'POST', url: '/${a#/id}', body: { requests: [] } },
    ],
    400,
    { code: 'PGRSTX12', request: 'b' },
  ],
]

t.test('the first error undoes everything', async (t) => {
  for (const [name, requests, status, error] of rows) {
    await clear()
    const answer = await batch(requests)
    t.equal(answer.status, status, `${name}: ${answer.text}`)
    t.match(answer.body, error, name)
    t.equal(await count('docs'), 0, `${name}: nothing is left`)
  }
})

const get = (more: Step = {}): Step => ({ id: 'a', method: 'GET', url: '/docs', ...more })
const invalid: readonly (readonly [name: string, body: unknown, details: RegExp, request?: string])[] = [
  ['no JSON', '{', /must be a JSON object/],
  ['an array', [], /must be a JSON object/],
  ['no array of requests', { requests: {} }, /must be a JSON object/],
  ['an unknown member', { requests: [], atomic: true }, /unknown member atomic/],
  ['a request that is none', { requests: [null] }, /requests\[0\] must be an object/],
  ['no id', { requests: [get({ id: undefined })] }, /id of requests\[\d\]/],
  ['an id that cannot be referred to', { requests: [get({ id: 'a#b' })] }, /id of requests\[\d\]/],
  ['a repeated id', { requests: [get(), get()] }, /Two requests have the id a/],
  ['an unknown member of a request', { requests: [get({ uri: '/' })] }, /unknown member uri/, 'a'],
  ['no method', { requests: [get({ method: undefined })] }, /method must be one of GET/, 'a'],
  ['an unknown method', { requests: [get({ method: 'TRACE' })] }, /method must be one of GET/, 'a'],
  ['a url that is no text', { requests: [get({ url: 1 })] }, /url must be a text/, 'a'],
  ['a relative url', { requests: [get({ url: 'docs' })] }, /must begin with a slash/, 'a'],
  ['an absolute url', { requests: [get({ url: 'http://example.org/docs' })] }, /must begin with a slash/, 'a'],
  ['a line break in a url', { requests: [get({ url: '/docs\r\nX: y' })] }, /percent-encode/, 'a'],
  ['a fragment', { requests: [get({ url: '/docs#a' })] }, /percent-encode/, 'a'],
  ['a body of a GET', { requests: [get({ body: {} })] }, /has no body/, 'a'],
  ['headers that are none', { requests: [get({ headers: [] })] }, /headers must be an object/, 'a'],
  ['a header with a line break', { requests: [get({ headers: { Prefer: 'a\nb' } })] }, /control characters/, 'a'],
  [
    'a token of its own',
    { requests: [get({ headers: { authorization: 'Bearer x' } })] },
    /header authorization must be/,
    'a',
  ],
  ['a key of its own', { requests: [get({ headers: { apikey: 'x' } })] }, /header apikey must be/, 'a'],
  [
    'an address of its own',
    { requests: [get({ headers: { 'X-Forwarded-For': '::1' } })] },
    /X-Forwarded-For must be/,
    'a',
  ],
  [
    'the end of its own transaction',
    { requests: [get({ headers: { Prefer: 'tx=rollback' } })] },
    /must be a header of the batch/,
    'a',
  ],
  ['a reference to itself', { requests: [get({ url: '/docs?id=eq.${a#/id}' })] }, /not to itself/, 'a'],
  [
    'a reference forward',
    { requests: [get({ url: '/docs?id=eq.${b#/id}' }), get({ id: 'b' })] },
    /a request before it/,
    'a',
  ],
  [
    'a reference to nothing',
    { requests: [get({ method: 'POST', body: [{ id: { $ref: 'z#/id' } }] })] },
    /refers to the request z/,
    'a',
  ],
  ['a dependency on nothing', { requests: [get({ dependsOn: ['z'] })] }, /refers to the request z/, 'a'],
  [
    'an invalid pointer',
    { requests: [get(), get({ id: 'b', url: '/docs?id=eq.${a#/%zz}' })] },
    /invalid JSON Pointer/,
    'b',
  ],
  [
    'bytes that are no base64',
    {
      requests: [
        get({ method: 'POST', url: '/rpc/echo', headers: { 'Content-Type': 'application/octet-stream' }, body: '?' }),
      ],
    },
    /base64url/,
    'a',
  ],
  [
    'a batch in a batch',
    { requests: [get({ method: 'POST', url: '/%24batch', body: {} })] },
    /cannot contain a batch/,
    'a',
  ],
]

t.test('an invalid batch is refused before anything runs', async (t) => {
  await clear()
  for (const [name, body, details, request] of invalid) {
    const written = { id: 'w', method: 'POST', url: '/rpc/writes' }
    const requests = (body as { requests?: unknown }).requests
    const whole =
      Array.isArray(requests) && name !== 'a request that is none'
        ? { ...(body as object), requests: [written, ...(requests as unknown[])] }
        : body
    const answer = await service.call('POST', '/rest/v1/$batch', { body: whole, headers: await as('ann') })
    t.equal(answer.status, 400, `${name}: ${answer.text}`)
    t.match(answer.body, { code: 'PGRSTX10', details, ...(request === undefined ? {} : { request }) }, name)
  }
  t.equal(await count('docs'), 0)
})

t.test('each request has its own settings, and the caller of the batch', async (t) => {
  const headers = { 'X-Client': 'mobile', Prefer: 'count=exact' }
  const [first, timeout, second, zoned, third, isolation] = await run(
    [
      { id: '1', method: 'POST', url: '/rpc/seen?select=*', headers: { Prefer: 'handling=lenient' } },
      { id: '2', method: 'POST', url: '/rpc/patient' },
      { id: '3', method: 'POST', url: '/rpc/seen' },
      { id: '4', method: 'POST', url: '/rpc/seen', headers: { Prefer: 'timezone=Asia/Tokyo' } },
      { id: '5', method: 'POST', url: '/rpc/seen' },
      { id: '6', method: 'POST', url: '/rpc/careful' },
    ],
    'ann',
    headers,
  )
  const seen = (part: Part | undefined) => part?.body as Record<string, unknown> & { headers: Record<string, string> }
  t.match(seen(first), { method: 'POST', path: '/rpc/seen', role: service.role, timeout: '20s' })
  t.match(seen(first).headers, { 'x-client': 'mobile', prefer: 'handling=lenient' })
  t.equal(seen(second).headers.prefer, undefined, 'preferences of the batch are not those of its requests')
  t.strictSame(timeout?.body, { timeout: '77s' }, 'the setting of a function')
  t.equal(seen(second).timeout, '20s', 'does not reach the next request')
  t.equal(seen(zoned).zone, 'Asia/Tokyo')
  t.not(seen(third).zone, 'Asia/Tokyo')
  t.equal(isolation?.body, 'serializable')
  t.equal(seen(first).isolation, 'serializable', 'the strictest level is that of the batch')
  t.equal(new Set([first, second, zoned, third].map((part) => seen(part).transaction)).size, 1, 'one transaction')
})

t.test('headers that SQL has set belong to one response', async (t) => {
  const [first, second] = await run([
    { id: '1', method: 'POST', url: '/rpc/headed' },
    { id: '2', method: 'POST', url: '/rpc/seen' },
  ])
  t.equal(first?.headers['x-count'], '1')
  t.equal(second?.headers['x-count'], undefined)
})

t.test('schemas are chosen by the headers of each request', async (t) => {
  const [things, docs] = await run([
    { id: '1', method: 'GET', url: '/things', headers: { 'Accept-Profile': 'other' } },
    { id: '2', method: 'GET', url: '/docs?id=eq.none' },
  ])
  t.strictSame([things?.body, docs?.body], [[], []])
})

t.test('users see their own rows, also within one batch', async (t) => {
  await clear()
  await run([{ id: 'a', method: 'POST', url: '/orders', body: { customer: 'of ann' } }], 'ann')
  const [seen, changed] = await run(
    [
      { id: 'a', method: 'GET', url: '/orders' },
      { id: 'b', method: 'PATCH', url: '/orders', headers: representation, body: { customer: 'of bob' } },
    ],
    'bob',
  )
  t.strictSame([seen?.body, changed?.body], [[], []])
  const refused = await batch(
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'x' } },
      { id: 'b', method: 'POST', url: '/orders', body: { customer: 'c', owner: 'ann' } },
    ],
    'bob',
  )
  t.match([refused.status, refused.body], [403, { code: '42501', request: 'b' }])
  t.equal(await count('docs'), 0)
})

t.test('a relation with the name of the path takes precedence', async (t) => {
  await database.query('create table api."$batch" (requests jsonb); grant all on api."$batch" to batch_user')
  t.teardown(() => database.query('drop table if exists api."$batch"'))
  const { call } = await service.start({})
  const answer = await call('POST', '/rest/v1/$batch', { body: { requests: [] }, headers: await as('ann') })
  t.equal(answer.status, 201)
  t.strictSame((await call('GET', '/rest/v1/$batch', { headers: await as('ann') })).body, [{ requests: [] }])
})

t.test('other methods and paths are those of relations', async (t) => {
  for (const [method, path] of [
    ['GET', '/$batch'],
    ['PATCH', '/$batch'],
    ['POST', '/$batches'],
    ['POST', '/$batch/'],
    ['POST', '/$batch/1'],
  ] as const) {
    const answer = await service.call(method, `/rest/v1${path}`, {
      ...(method === 'GET' ? {} : { body: {} }),
      headers: await as('ann'),
    })
    t.equal(answer.status, 404, `${method} ${path}`)
  }
  const encoded = await service.call('POST', '/rest/v1/%24batch', { body: { requests: [] }, headers: await as('ann') })
  t.strictSame(encoded.body, { responses: [] })
})

t.test('the end of the transaction follows db-tx-end', async (t) => {
  const requests = [{ id: 'a', method: 'POST', url: '/docs', headers: representation, body: { id: 'x' } }]
  for (const [setting, prefer, kept, applied] of [
    ['commit', 'tx=rollback', 1, null],
    ['rollback', 'tx=commit', 0, null],
    ['commit-allow-override', 'tx=rollback', 0, 'tx=rollback'],
    ['rollback-allow-override', 'tx=commit', 1, 'tx=commit'],
    ['rollback-allow-override', 'count=exact', 0, null],
  ] as const) {
    await clear()
    const { call } = await service.start({ PGRST_DB_TX_END: setting })
    const answer = await call('POST', '/rest/v1/$batch', {
      body: { requests },
      headers: { ...(await as('ann')), Prefer: prefer },
    })
    t.strictSame(
      [answer.status, await count('docs'), answer.headers.get('preference-applied')],
      [200, kept, applied],
      `${setting}, ${prefer}`,
    )
    const failing = [{ id: 'a', method: 'POST', url: '/lines', body: { order_id: 99, sku: 'x' } }]
    t.equal(
      (
        await call('POST', '/rest/v1/$batch', {
          body: { requests: failing },
          headers: { ...(await as('ann')), Prefer: prefer },
        })
      ).status,
      409,
    )
  }
})

t.test('limits', async (t) => {
  await clear()
  const { call, logged } = await service.start({
    BATCH_MAX_REQUESTS: '2',
    BATCH_MAX_BYTES: '1kb',
    PGRST_LOG_LEVEL: 'info',
  })
  const send = async (requests: readonly Step[]) =>
    call('POST', '/rest/v1/$batch', { body: { requests }, headers: await as('ann') })
  t.match(await send([get(), get({ id: 'b' }), get({ id: 'c' })]), { status: 413, body: { code: 'PGRSTX11' } })
  t.match(await send([get({ method: 'POST', body: { id: 'x'.repeat(1024) } })]), {
    status: 413,
    body: { code: 'PGRST102' },
  })
  await database.query("insert into api.docs (id) select repeat('x', 100) || n from generate_series(1, 10) n")
  t.match(await send([{ id: 'w', method: 'POST', url: '/rpc/writes' }, get()]), {
    status: 413,
    body: { code: 'PGRSTX11', request: 'a' },
  })
  t.equal(await count('docs'), 10)
  t.equal((await send([get({ url: '/docs?limit=1' }), get({ id: 'b', url: '/docs?limit=1' })])).status, 200)
  t.equal(
    logged().filter((line) => JSON.stringify(line).includes('$batch')).length,
    4,
    'one line of the log for each batch',
  )
})

t.test('ten inserts take two round trips: BEGIN with all of them, and COMMIT', async (t) => {
  // It ends after the service, which keeps connections open.
  const counter = await countRoundTrips(file, service.uri)
  const { call } = await service.start({ PGRST_DB_CHANNEL_ENABLED: 'false' }, counter.uri)
  const trips = async (requests: readonly Step[]): Promise<number> => {
    await clear()
    const send = async () => call('POST', '/rest/v1/$batch', { body: { requests }, headers: await as('ann') })
    await send()
    await clear()
    counter.take()
    const answer = await send()
    t.equal(answer.status, 200, answer.text)
    return counter.take()
  }
  const insert = (id: number): Step => ({
    id: `${id}`,
    method: 'POST',
    url: '/docs',
    headers: representation,
    body: { id: `${id}` },
  })
  const ten = Array.from({ length: 10 }, (_, id) => insert(id))
  t.equal(await trips(ten), 2)
  t.equal(
    await trips([...ten, get({ url: '/docs?id=eq.${0#/0/id}' }), get({ id: 'b', url: '/docs?id=eq.${1#/0/id}' })]),
    3,
  )
  t.equal(await trips([get({ method: 'OPTIONS' })]), 0)
  t.equal(await trips([]), 0)
})
