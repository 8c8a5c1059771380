// The extensions of PostgREST's requests as requests of a batch: pages, conditions, distinct rows, media types, nested
// writes, pre-request functions.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { startBatchService } from '../support/batch-service.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'

const service = await startBatchService(t, 'batch_forms', { PGRST_DB_POOL: '2', PGRST_DB_AGGREGATES_ENABLED: 'true' })
const { database, batch, call, as } = service
const file = t

type Part = Readonly<{ id: string; status: number; headers: Record<string, string>; body?: unknown }>
const responsesOf = (body: unknown): readonly Part[] => (body as { responses: readonly Part[] }).responses
const docs = async (): Promise<unknown> => (await database.query('select id, tags from api.docs order by id')).rows
const get = (id: string, url: string, headers: Record<string, string> = {}) => ({ id, method: 'GET', url, headers })
await database.query(
  `insert into api.docs (id, tags) select n::text, array[(n % 2)::text] from generate_series(1, 5) n`,
)

t.test('keyset pages: a link of a page is the url of a request, alone and in a batch', async (t) => {
  const first = await batch([
    get('page', '/docs?select=id&order=id&limit=2', { Prefer: 'pagination=keyset' }),
    get('count', '/docs?select=id&order=id&limit=2', { Prefer: 'pagination=keyset, count=exact' }),
  ])
  const [page, counted] = responsesOf(first.body)
  t.match(page, {
    status: 200,
    body: [{ id: '1' }, { id: '2' }],
    headers: { 'preference-applied': 'pagination=keyset' },
  })
  t.equal(counted?.headers['content-range'], '0-1/5')
  const [, link = ''] = /^<([^>]*)>; rel="next"$/.exec(page?.headers.link ?? '') ?? []
  const second = [{ id: '3' }, { id: '4' }]
  t.match(responsesOf((await batch([get('next', `/docs${link}`)])).body), [{ status: 200, body: second }])
  t.strictSame((await call('GET', `/rest/v1/docs${link}`, { headers: await as('ann') })).body, second)
  t.match((await batch([get('other', `/docs${link}&id=neq.1`)])).body, { code: 'PGRSTX42', request: 'other' })
})

t.test('distinct rows and filters on groups', async (t) => {
  const answer = await batch([
    get('distinct', '/docs?select=tags&distinct=on.*&order=tags'),
    get('on', '/docs?select=id,tags&distinct=on.(tags)&order=tags,id.desc'),
    get('having', '/docs?select=tags,id.count()&having=id.count().gt.2'),
  ])
  t.strictSame(
    responsesOf(answer.body).map(({ body }) => body),
    [
      [{ tags: ['0'] }, { tags: ['1'] }],
      [
        { id: '4', tags: ['0'] },
        { id: '5', tags: ['1'] },
      ],
      [{ tags: ['1'], count: 3 }],
    ],
    answer.text,
  )
})

t.test('exports are texts, as a whole; imports are requests of their own', async (t) => {
  const answer = await batch([
    get('ndjson', '/docs?select=id&limit=2&order=id', { Accept: 'application/x-ndjson' }),
    get('csv', '/docs?select=id&limit=2&order=id', { Accept: 'text/csv' }),
  ])
  t.match(responsesOf(answer.body), [
    { headers: { 'content-type': /^application\/x-ndjson/ }, body: '{"id":"1"}\n{"id":"2"}\n' },
    { headers: { 'content-type': /^text\/csv/ }, body: 'id\n1\n2' },
  ])
  const before = await docs()
  for (const type of ['application/x-ndjson', 'Application/X-NDJSON; charset=utf-8']) {
    const refused = await batch([
      { id: 'w', method: 'POST', url: '/docs', body: { id: 'w' } },
      { id: 'import', method: 'POST', url: '/docs', headers: { 'content-type': type }, body: '{"id":"x"}\n' },
    ])
    t.match(
      [refused.status, refused.body],
      [400, { code: 'PGRSTX10', request: 'import', details: /is a request of its own: send a JSON array or CSV/ }],
    )
  }
  t.strictSame(await docs(), before)
})

t.test('conditional requests', async (t) => {
  const read = await call('GET', '/rest/v1/docs?id=eq.1', { headers: await as('ann') })
  const tag = read.headers.get('etag') ?? ''
  const patch = (id: string, condition: string, tags: readonly string[]) => ({
    id,
    method: 'PATCH',
    url: '/docs?id=eq.1',
    headers: { 'If-Match': condition },
    body: { tags },
  })
  const lost = await batch([
    { id: 'w', method: 'POST', url: '/docs', body: { id: 'undone' } },
    patch('fits', tag, ['x']),
    patch('stale', tag, ['y']),
  ])
  t.match([lost.status, lost.body], [412, { code: 'PGRSTX50', request: 'stale' }])
  t.notMatch(await docs(), [{ id: 'undone' }], 'the whole batch is undone')
  const won = await batch([get('same', '/docs?id=eq.1', { 'If-None-Match': tag }), patch('fits', tag, ['x'])])
  const [same, fits] = responsesOf(won.body)
  t.match([same?.status, same?.headers.etag, fits?.status], [304, tag, 204])
  t.notOk(same && 'body' in same)
  t.not(fits?.headers.etag, tag)
  const after = await call('GET', '/rest/v1/docs?id=eq.1', { headers: await as('ann') })
  const version = (value: string | null | undefined): unknown => /^"(\d+)/.exec(value ?? '')?.[1]
  t.equal(version(after.headers.get('etag')), version(fits?.headers.etag), 'the version after the batch')
  const headed = await batch([
    { id: 'beyond', method: 'HEAD', url: '/docs?offset=9', headers: { Prefer: 'count=exact' } },
  ])
  t.match([headed.status, headed.body], [416, { code: 'PGRST103', request: 'beyond' }])
})

t.test('nested writes, and references to their rows', async (t) => {
  const order = {
    id: 'order',
    method: 'POST',
    url: '/orders?select=id,lines(sku,qty)',
    headers: { Prefer: 'return=representation', Accept: 'application/vnd.pgrst.object+json' },
    body: {
      customer: 'Ada',
      lines: [
        { sku: 'a', qty: 1 },
        { sku: 'b', qty: 2 },
      ],
    },
  }
  const answer = await batch(
    [
      order,
      {
        id: 'more',
        method: 'POST',
        url: '/lines',
        body: { order_id: { $ref: 'order#/id' }, sku: { $ref: 'order#/lines/1/sku' }, qty: 3 },
        headers: { Prefer: 'resolution=merge-duplicates' },
      },
    ].map((request, index) => (index === 1 ? { ...request, url: '/lines?on_conflict=order_id,sku' } : request)),
  )
  t.equal(answer.status, 200, answer.text)
  t.strictSame((await database.query('select sku, qty from api.lines order by sku')).rows, [
    { sku: 'a', qty: 1 },
    { sku: 'b', qty: 3 },
  ])
  const failed = await batch([
    { id: 'w', method: 'POST', url: '/docs', body: { id: 'undone' } },
    {
      ...order,
      body: {
        customer: 'Bo',
        lines: [
          { sku: 'a', qty: 1 },
          { sku: 'b', qty: 0 },
        ],
      },
    },
  ])
  t.match([failed.status, failed.body], [400, { code: '23514', request: 'order' }])
  t.equal((await database.query('select from api.orders')).rowCount, 1)
})

t.test('the pre-request function runs before each request, with its settings', async (t) => {
  await database.query(`
    create table api.seen_requests (number int generated always as identity, method text, path text, zone text, role text);
    grant insert on api.seen_requests to ${service.role};
    create function api.note() returns void security definer language plpgsql as $$ begin
      if current_setting('request.path') = '/rpc/ends' then raise sqlstate 'PT403' using message = 'not this one'; end if;
      insert into api.seen_requests (method, path, zone, role) values (current_setting('request.method'),
        current_setting('request.path'), current_setting('timezone'), current_setting('role'));
      perform set_config('response.headers', json_build_array(json_build_object('X-Seen', current_setting('request.path')))::text, true);
    end $$`)
  const { call } = await service.start({ PGRST_DB_PRE_REQUEST: 'api.note' })
  const send = async (requests: readonly unknown[]) =>
    call('POST', '/rest/v1/$batch', { body: { requests }, headers: await as('ann') })
  const answer = await send(
    [
      { id: 'a', method: 'POST', url: '/docs', body: { id: 'noted' } },
      get('b', '/rpc/echo?value=1', { Prefer: 'timezone=Asia/Tokyo' }),
      { id: 'c', method: 'DELETE', url: '/docs?id=eq.noted' },
    ].filter(({ method }) => method !== 'GET'),
  )
  t.strictSame(
    responsesOf(answer.body).map(({ headers }) => headers['x-seen']),
    ['/docs', '/docs'],
    answer.text,
  )
  t.match((await database.query('select method, path, role from api.seen_requests order by number')).rows, [
    { method: 'POST', path: '/docs', role: service.role },
    { method: 'DELETE', path: '/docs', role: service.role },
  ])
  const refused = await send([
    { id: 'a', method: 'POST', url: '/docs', body: { id: 'undone' } },
    { id: 'b', method: 'POST', url: '/rpc/ends' },
  ])
  t.match([refused.status, refused.body], [403, { message: 'not this one', request: 'b' }])
  t.equal((await database.query('select from api.seen_requests')).rowCount, 2, 'its own writes are undone, too')
})

t.test('the columns that the role may read are found within a batch', async (t) => {
  const granted = await createMigratedDatabase()
  file.teardown(() => granted.drop())
  await loadFixture(granted, 'column-grants')
  const { call } = await startApplication(file, granted.authenticatorUri, {
    PGRST_DB_SCHEMAS: 'staff',
    DB_SELECT_READABLE_COLUMNS: 'true',
    SERVICES: 'rest',
  })
  const send = (...requests: readonly unknown[]) => call('POST', '/rest/v1/$batch', { body: { requests } })
  const people = [{ id: 1, name: 'Ada', team_id: 1 }]
  const read = get('people', '/people?id=eq.1')
  t.match(responsesOf((await send(read, get('teams', '/teams?id=eq.1'))).body), [
    { body: people },
    { body: [{ id: 1, name: 'red' }] },
  ])
  await granted.query('grant select (notes) on staff.people to anon')
  const write = {
    id: 'w',
    method: 'POST',
    url: '/people',
    headers: { Prefer: 'return=minimal' },
    body: { id: 3, name: 'Cy' },
  }
  const changed = await send(write, read)
  t.match(responsesOf(changed.body), [{ status: 201 }, { body: [{ ...people[0], notes: 'a' }] }])
  t.equal((await granted.query('select from staff.people where id = 3')).rowCount, 1, 'written once')
})

t.test('two users at once, in batches with a page each', async (t) => {
  const own = Array.from({ length: 20 }, async (_, index) => {
    const user = index % 2 === 0 ? 'cat' : 'dan'
    const answer = await batch(
      [
        { id: 'w', method: 'POST', url: '/orders', body: { customer: `of ${user}` } },
        get('page', '/orders?select=owner&order=id&limit=3', { Prefer: 'pagination=keyset' }),
        {
          id: 'p',
          method: 'PATCH',
          url: '/orders?select=owner',
          headers: { Prefer: 'return=representation' },
          body: { total: index },
        },
      ],
      user,
    )
    const [, page, patched] = responsesOf(answer.body)
    const rows = [page, patched].flatMap((part) => part?.body as { owner: string }[])
    return rows.length > 1 && rows.every(({ owner }) => owner === user)
  })
  t.ok((await Promise.all(own)).every(Boolean))
})
