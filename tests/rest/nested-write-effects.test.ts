// Nested writes as clients send them: atomic, alone among others, with many rows, and beside cached writes.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { errorPath } from '../../server/client/index.ts'
import { createRest, type Rest } from '../../server/index.ts'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { connect } from '../../server/postgres/index.ts'
import type { BodyProblem } from '../../server/rest/validation.ts'
import { readmeSection, runSection, sectionFunction } from '../support/readme-section.ts'
import { startNested, user } from '../support/nested-service.ts'

const { call, database, url, uri } = await startNested(t, {
  PGRST_DB_TX_END: 'commit-allow-override',
  DB_MAX_EMBED_DEPTH: '3',
})
const alice = await user('alice')
const bob = await user('bob')

type Options = { readonly prefer?: string; readonly headers?: Record<string, string> }

const post = (path: string, body: unknown, { prefer = 'return=representation', headers = alice }: Options = {}) =>
  call('POST', `/rest/v1${path}`, { body, headers: { ...headers, Prefer: prefer } })

const count = async (table: string): Promise<number> => {
  const { rows } = await database.query(`select count(*)::int as n from store.${table}`)
  return Number(rows[0]?.n)
}

const client = (authorization: string) =>
  createClient(url, authorization.replace('Bearer ', ''), {
    db: { schema: 'store' },
    accessToken: () => Promise.resolve(authorization.replace('Bearer ', '')),
    // Node 20 has no WebSocket.
    realtime: { transport: class {} as never },
  })

t.test('the lines of the README', async (t) => {
  const token = alice.Authorization.replace('Bearer ', '')
  const printed = await runSection('nested-curl', { URL: url, TOKEN: token })
  t.match(JSON.parse(printed), [{ customers: { name: 'Ada' }, lines: [{ sku: 'nut' }, { sku: 'bolt' }] }])
  const run = await sectionFunction<[unknown]>('nested', ['client'], ['data', 'error'])
  const { data, error } = await run(client(alice.Authorization))
  t.equal(error, null)
  t.match(data, [{ customers: { name: 'Bo' }, lines: [{ sku: 'nut' }] }])
  t.match(readmeSection('nested'), '.insert(')
})

t.test('supabase-js: an array, an upsert, and the pointer of an error', async (t) => {
  const orders = client(alice.Authorization).from('orders')
  const { data, error } = await orders
    .insert([
      { id: 1, lines: [{ sku: 'a', price: 1 }] },
      { id: 2, customers: { name: 'Cy' } },
    ])
    .select('id, customers(name), lines(sku)')
  t.equal(error, null)
  t.strictSame(data, [
    { id: 1, customers: null, lines: [{ sku: 'a' }] },
    { id: 2, customers: { name: 'Cy' }, lines: [] },
  ])
  const again = await orders
    .upsert({ id: 1, reference: 'changed', lines: [{ sku: 'b', price: 2 }] })
    .select('reference, lines(sku)')
  t.strictSame(again.data, [{ reference: 'changed', lines: [{ sku: 'a' }, { sku: 'b' }] }])
  const refused = await orders.insert({
    lines: [
      { sku: 'a', price: 1 },
      { sku: 'b', price: -1 },
    ],
  })
  t.equal(refused.error && errorPath(refused.error), '/lines/1/price')
  const other = await orders.insert({ id: 1 })
  t.equal(other.error && errorPath(other.error), undefined, 'an error without a pointer')
})

t.test('all or nothing', async (t) => {
  const before = [await count('customers'), await count('orders'), await count('lines'), await count('tags')]
  const { status } = await post('/orders', {
    customers: { name: 'gone' },
    tags: [{ name: 'gone' }],
    lines: [
      { sku: 'a', price: 1 },
      { sku: 'a', price: 1 },
    ],
  })
  t.equal(status, 409)
  const rolledBack = await post('/orders', { lines: [{ sku: 'a', price: 1 }] }, { prefer: 'tx=rollback' })
  t.equal(rolledBack.status, 201)
  t.strictSame([await count('customers'), await count('orders'), await count('lines'), await count('tags')], before)
})

t.test('many rows are written by few statements, and matched with their rows', async (t) => {
  const orders = Array.from({ length: 400 }, (_, order) => ({
    reference: `many-${order}`,
    customers: order % 3 === 0 ? null : { name: `customer ${order}` },
    lines: Array.from({ length: 10 }, (_, line) => ({ sku: `${order}/${line}`, price: line })),
  }))
  const { status, body } = await post('/orders?select=reference,customers(name),lines(sku)', orders)
  t.equal(status, 201)
  t.strictSame(
    body,
    orders.map(({ reference, customers, lines }) => ({
      reference,
      customers,
      lines: lines.map(({ sku }) => ({ sku })),
    })),
  )
})

t.test('too many related rows, values and characters are refused', async (t) => {
  const before = [await count('orders'), await count('lines')]
  const rows = Array.from({ length: 5000 }, (_, line) => ({ sku: `${line}` }))
  const many = await post('/orders', { reference: 'many', lines: rows })
  t.match([many.status, many.body], [400, { code: 'PGRSTX24', details: '/lines/*' }])
  const values = await post('/orders', { reference: Array.from({ length: 100_001 }, () => 0), lines: [] })
  t.match([values.status, values.body], [413, { code: 'PGRSTX24' }])
  const long = await post('/orders', { reference: 'x'.repeat(1_000_001), lines: [] })
  t.match([long.status, long.body], [413, { code: 'PGRSTX24' }])
  t.strictSame([await count('orders'), await count('lines')], before)
})

t.test('different keys of many rows: only the columns of an object are written', async (t) => {
  const tags = Array.from({ length: 30 }, (_, index) =>
    index % 2 === 0 ? { id: 1000 + index, name: `t${index}` } : { name: `t${index}` },
  )
  const { body } = await post('/orders?select=tags(name)&tags.order=id', { tags })
  t.equal((body as [{ tags: unknown[] }])[0].tags.length, 30)
})

t.test('races: the same rows at the same time', async (t) => {
  const writes = Array.from({ length: 20 }, (_, index) =>
    post(
      '/orders?select=reference,tags(id)',
      { reference: `race-${index}`, tags: [{ id: 7000 + (index % 2), name: `race ${index % 2}` }] },
      { prefer: 'return=representation, resolution=ignore-duplicates', headers: index % 3 === 0 ? bob : alice },
    ),
  )
  const answers = await Promise.all(writes)
  t.strictSame([...new Set(answers.map(({ status }) => status))], [201])
  for (const [index, { body }] of answers.entries()) {
    t.strictSame(body, [{ reference: `race-${index}`, tags: [{ id: 7000 + (index % 2) }] }])
  }
})

t.test('both OpenAPI documents have the related rows', async (t) => {
  const swagger = await call('GET', '/rest/v1/', { headers: alice })
  t.match(swagger.body, {
    paths: { '/orders': { 'x-related-rows': ['customers', 'lines', 'order_tags', 'shipments', 'tags'] } },
  })
  const { body } = await call('GET', '/openapi.json', { headers: alice })
  const path = '/rest/v1/orders'
  const { paths } = body as { paths: Record<string, { post: { requestBody: { content: Record<string, unknown> } } }> }
  t.match(paths[path]?.post.requestBody.content['application/json'], {
    schema: {
      anyOf: [
        {},
        {},
        { properties: { lines: { type: 'array' }, customers: { type: ['object', 'null'] } } },
        { type: 'array' },
      ],
    },
  })
})

t.test('in a batch', async (t) => {
  const batch = (lines: object[]) =>
    call('POST', '/rest/v1/$batch', {
      headers: alice,
      body: {
        requests: [
          {
            id: 'tag',
            method: 'POST',
            url: '/tags?select=id',
            headers: { Prefer: 'return=representation' },
            body: { name: 'batched' },
          },
          {
            id: 'order',
            method: 'POST',
            url: '/orders?select=reference,lines(sku)',
            headers: { Prefer: 'return=representation' },
            body: { reference: 'batched', lines, order_tags: [{ tag_id: { $ref: 'tag#/0/id' } }] },
          },
        ],
      },
    })
  const refused = await batch([
    { sku: 'a', price: 1 },
    { sku: 'b', price: 'x' },
  ])
  t.equal(refused.status, 400)
  t.match(refused.body, { code: '22P02', details: '/lines/1/price', request: 'order' })
  const { status, body } = await batch([{ sku: 'a', price: 1 }])
  t.equal(status, 200)
  t.match(body, { responses: [{}, { status: 201, body: [{ reference: 'batched', lines: [{ sku: 'a' }] }] }] })
})

t.test('an object that is ignored leaves nothing behind', async (t) => {
  const prefer = 'resolution=ignore-duplicates, return=minimal'
  const before = await count('tags')
  for (const time of [1, 2]) {
    const body = { id: 900, order_tags: [{ tags: { name: `tag of time ${time}` } }] }
    t.equal((await post('/orders', body, { prefer })).status, 201)
  }
  t.equal(await count('tags'), before + 1, 'the second order exists, so its tag is not written')
})

t.test('a part of a batch without rows returns none of an earlier part', async (t) => {
  const Prefer = 'return=representation'
  const part = (id: string, query: string, body: unknown) => {
    return { id, method: 'POST', url: `/orders?select=reference${query}`, headers: { Prefer }, body }
  }
  const { body } = await call('POST', '/rest/v1/$batch', {
    headers: alice,
    body: { requests: [part('one', '', { reference: 'part', lines: [] }), part('two', '&columns=id,lines', [])] },
  })
  t.match(body, { responses: [{ body: [{ reference: 'part' }] }, { status: 201, body: [] }] })
  t.strictSame((body as { responses: [unknown, { body: unknown }] }).responses[1].body, [])
})

t.test('the depth is limited', async (t) => {
  const nest = (depth: number): object =>
    depth === 0 ? { name: 'leaf' } : { name: 'n', categories: [nest(depth - 1)] }
  t.equal((await post('/categories?select=name', nest(3))).status, 201)
  const { status, body } = await post('/categories', nest(4))
  t.equal(status, 403)
  t.match(body, { code: 'PGRSTX82' })
})

t.test('hostile bodies', async (t) => {
  const lone = (text: string): string => JSON.stringify({ id: 5, lines: [{ sku: text, price: 1 }] })
  const rows: readonly (readonly [string, number])[] = [
    ['{"lines":[{"sku":"a","price":1}],"lines":[]}', 201],
    ['{"lines":[{"__proto__":{"sku":"x"},"price":1}]}', 400],
    ['{"__proto__":[{"price":1}],"lines":[]}', 400],
    [`{"lines":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400],
    [lone('a"}],"lines":[{"sku":"'), 201],
    ['{"lines":[{"sku":"\\ud800","price":1}]}', 400],
    ['{"lines":[{"sku":"\\u0000","price":1}]}', 400],
    [`{"lines)--":[],"lines":[]}`, 400],
    [`{"lines\\"); drop table store.lines; --":[],"lines":[]}`, 400],
    [JSON.stringify({ lines: Array.from({ length: 600 }, (_, index) => ({ [`k${index}`]: 1 })) }), 400],
  ]
  for (const [body, status] of rows) {
    const answer = await post('/orders', body, { prefer: 'tx=rollback' })
    t.equal(answer.status, status, `${body.slice(0, 60)} ${answer.text.slice(0, 200)}`)
  }
  t.ok(await count('lines'))
})

t.test('plain and nested writes of the same shape do not disturb each other', async (t) => {
  for (let time = 0; time < 4; time++) {
    const plain = await post('/places?select=code', { code: `p${time}` })
    t.strictSame(plain.body, [{ code: `P${time}` }])
    const nested = await post('/places?select=code', { code: `n${time}`, 'trips!origin': [{ id: time }] })
    t.strictSame(nested.body, [{ code: `N${time}` }])
    const unknown = await post('/places?select=code', { code: `u${time}`, nothing: [] })
    t.match(unknown.body, { code: 'PGRST204', details: null })
  }
})

t.test('the JSON Schema of each table counts, apart from what relationships set', async (t) => {
  const required = (names: readonly string[]) => ({
    validateInsert: (row: unknown): readonly BodyProblem[] =>
      names
        .filter((name) => !Object.hasOwn(row as object, name))
        .map((name) => ({ pointer: `/${name}`, message: 'is required' })),
    validateUpdate: () => [],
  })
  const schemas = new Map([
    ['lines', required(['order_id', 'sku', 'price'])],
    ['orders', required(['reference'])],
  ])
  const store = connect(uri)
  const rest: Rest = await createRest({
    database: store,
    schemas: ['store'],
    identify: () => ({ role: 'nested_clerk', claims: { sub: 'alice' } }),
    validator: { forTable: (_, table) => schemas.get(table) },
  })
  t.teardown(async () => {
    await rest.close()
    await store.close()
  })
  const handle = fetchHandler(rest)
  const send = (body: object): Promise<Response> =>
    handle(
      new Request('http://localhost/orders', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  t.equal((await send({ reference: 'schema', lines: [{ sku: 'a', price: 1 }] })).status, 201)
  const refused = await send({ lines: [{ sku: 'a', price: 1 }, { sku: 'b' }] })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { code: 'PGRST102', details: '/reference is required; /lines/1/price is required' })
})
