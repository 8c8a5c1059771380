// ETag, If-None-Match and If-Match of reads, and who may store responses.
import t from 'tap'
import { startConditional, tagOf } from '../support/conditional.ts'

const { as, call, database, reload } = await startConditional(t)
const single = { Accept: 'application/vnd.pgrst.object+json' }

const reads: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
  ['/counters?order=id'],
  ['/counters?id=eq.1'],
  ['/counters/1'],
  ['/counters?select=value&id=eq.1', single],
  ['/counters?order=id', { Accept: 'text/csv' }],
  ['/counters?order=id&limit=1', { Prefer: 'count=exact' }],
  ['/counters?id=eq.99'],
  ['/counter_view?order=id'],
  ['/papers?select=*,lines(text)&order=id'],
  ['/papers?select=*,lines(text)&id=eq.1'],
  ['/rpc/total'],
  ['/'],
]

t.test('304 for representations that the client has', async (t) => {
  for (const [path, headers = {}] of reads) {
    const label = `${path} ${JSON.stringify(headers)}`
    const first = await as('ann', 'GET', path, { headers })
    const tag = tagOf(first)
    t.match(tag, /^"\d*\/[\w+/]{16}"$/, label)
    t.equal(tagOf(await as('ann', 'GET', path, { headers })), tag, `${label}: equal for the same representation`)
    for (const known of [tag, `W/${tag}`, `"a,b", ${tag}`, '*', ` "x" ,, ${tag}, `]) {
      const second = await as('ann', 'GET', path, { headers: { ...headers, 'If-None-Match': known } })
      t.strictSame([second.status, second.text, tagOf(second)], [304, '', tag], `${label}: ${known}`)
      for (const name of ['vary', 'cache-control', 'content-location']) {
        t.equal(second.headers.get(name), first.headers.get(name), `${label}: ${name}`)
      }
      for (const name of ['content-type', 'content-length', 'content-range']) {
        t.equal(second.headers.get(name), null, `${label}: ${name}`)
      }
    }
    for (const other of ['"x"', 'W/"x"', tag.replace('/', '-'), tag.slice(1, -1), '', 'nonsense, "']) {
      const second = await as('ann', 'GET', path, { headers: { ...headers, 'If-None-Match': other } })
      t.strictSame([second.status, second.text], [first.status, first.text], `${label}: ${other}`)
    }
  }
})

t.test('HEAD', async (t) => {
  const row = await as('ann', 'GET', '/counters?id=eq.1')
  t.equal(tagOf(await as('ann', 'HEAD', '/counters?id=eq.1')), tagOf(row), 'one row')
  t.equal(tagOf(await as('ann', 'HEAD', '/counters?order=id')), '', 'no body, no tag')
  for (const path of ['/counters?order=id', '/rpc/total', '/papers/1']) {
    const tag = tagOf(await as('ann', 'GET', path))
    for (let time = 0; time < 3; time++) {
      t.equal((await as('ann', 'HEAD', path, { headers: { 'If-None-Match': tag } })).status, 304, path)
      const changed = await as('ann', 'HEAD', path, { headers: { 'If-None-Match': '"x"' } })
      t.strictSame([changed.status, tagOf(changed)], [200, tag], path)
    }
  }
})

t.test('a change of the representation changes the tag', async (t) => {
  const paths = ['/papers?select=id,lines(text)&id=eq.1', '/papers?select=id,lines(text)&order=id']
  for (const path of paths) {
    const before = tagOf(await as('ann', 'GET', path))
    await database.query("update cond.lines set text = text || '!' where id = 1")
    const after = await as('ann', 'GET', path, { headers: { 'If-None-Match': before } })
    t.strictSame([after.status, tagOf(after) === before], [200, false], `${path}: a related row`)
  }
  const page = { Prefer: 'count=exact' }
  const before = await as('ann', 'GET', '/counters?order=id&limit=1', { headers: page })
  await database.query('insert into cond.counters values (70, 0)')
  const after = await as('ann', 'GET', '/counters?order=id&limit=1', {
    headers: { ...page, 'If-None-Match': tagOf(before) },
  })
  t.strictSame([after.status, after.text === before.text], [206, true], 'the total is part of the representation')
  const formats = [{}, single, { Accept: 'text/csv' }, { Accept: 'application/vnd.pgrst.object+json;nulls=stripped' }]
  const tags = await Promise.all(
    formats.map(async (headers) => tagOf(await as('ann', 'GET', '/counters?id=eq.1', { headers }))),
  )
  t.equal(new Set(tags).size, formats.length, 'media types differ')
})

t.test('the tag of a streamed row answers no later read, and is valid for writes', async (t) => {
  await database.query("update cond.papers set title = repeat('x', 3000000) where id = 1")
  const path = '/papers?select=*,lines(text)&id=eq.1'
  const read = (known: string) => as('ann', 'GET', path, { headers: { 'If-None-Match': known } })
  const first = await as('ann', 'GET', path)
  t.match(tagOf(first), /^"\d+\//)
  t.ok(first.text.length > 3e6)
  await database.query("update cond.lines set text = text || '?' where id = 1")
  const second = await read(tagOf(first))
  t.equal(second.status, 200, 'a related row has changed')
  t.not(second.text, first.text)
  const written = await as('ann', 'PATCH', '/papers?id=eq.1', {
    body: { counter: 5 },
    headers: { 'If-Match': tagOf(second) },
  })
  t.equal(written.status, 204)
  t.equal((await read(tagOf(written))).status, 200, 'the client of a write without a body does not have the row')
  await database.query("update cond.papers set title = 'one' where id = 1")
})

t.test('a change of the headers about other rows changes the tag', async (t) => {
  const ask = (path: string, headers = {}) => as('ann', 'GET', path, { headers })
  const page = { Prefer: 'pagination=keyset' }
  const first = await ask('/counters?limit=3&order=id', page)
  t.ok(first.headers.get('link'))
  const { rows } = await database.query('delete from cond.counters where id > 3 returning *')
  const second = await ask('/counters?limit=3&order=id', { ...page, 'If-None-Match': tagOf(first) })
  t.strictSame([second.status, second.text, second.headers.get('link')], [200, first.text, null])
  await database.query('insert into cond.counters select * from json_populate_recordset(null::cond.counters, $1)', [
    JSON.stringify(rows),
  ])
})

t.test('two users: a tag of one does not answer the other', async (t) => {
  const path = '/papers?order=id'
  const [ann, bob, nobody] = await Promise.all((['ann', 'bob', 'nobody'] as const).map((user) => as(user, 'GET', path)))
  if (!ann || !bob || !nobody) throw new Error('three answers are needed')
  t.not(tagOf(ann), tagOf(bob))
  t.equal((await as('bob', 'GET', path, { headers: { 'If-None-Match': tagOf(ann) } })).status, 200)
  t.equal((await as('bob', 'GET', '/papers/3')).status, 200)
  t.equal((await as('ann', 'GET', '/papers/3', { headers: { 'If-None-Match': '*' } })).status, 404, 'a hidden row')
  t.equal(ann.headers.get('cache-control'), 'private, no-cache')
  t.equal(nobody.headers.get('cache-control'), 'no-cache')
  for (const { headers } of [ann, nobody]) {
    t.equal(headers.get('vary'), 'Accept, Prefer, Range, Accept-Profile, Authorization, apikey, Cookie')
  }
  const credentials: readonly Record<string, string>[] = [{ apikey: 'x' }, { Cookie: 'a=b' }]
  for (const headers of credentials) {
    const answer = await call('GET', `/rest/v1${path}`, { headers })
    t.match(answer.headers.get('cache-control'), /^private, no-cache$|^no-store$/)
  }
  t.equal((await as('ann', 'GET', '/papers/3')).headers.get('cache-control'), 'no-store', 'errors')
  t.equal((await as('ann', 'PATCH', '/papers/3', { body: {} })).headers.get('cache-control'), null, 'writes')
})

t.test('headers that the database sets are kept', async (t) => {
  const answer = await as('ann', 'GET', '/rpc/tagged')
  t.strictSame([tagOf(answer), answer.headers.get('cache-control')], ['W/"mine"', 'max-age=60'])
  const known = await as('ann', 'GET', '/rpc/tagged', { headers: { 'If-None-Match': '"mine"' } })
  t.strictSame([known.status, tagOf(known), known.headers.get('cache-control')], [304, 'W/"mine"', 'max-age=60'])
  t.equal(
    (await as('ann', 'GET', '/rpc/tagged', { headers: { 'If-Match': 'W/"mine"' } })).status,
    412,
    'weak tags never match',
  )
})

t.test('If-Match of reads', async (t) => {
  for (const [path, headers = {}] of reads.slice(0, 6)) {
    const tag = tagOf(await as('ann', 'GET', path, { headers }))
    t.ok((await as('ann', 'GET', path, { headers: { ...headers, 'If-Match': tag } })).status < 300, path)
    t.ok((await as('ann', 'GET', path, { headers: { ...headers, 'If-Match': '*' } })).status < 300, path)
    const refused = await as('ann', 'GET', path, { headers: { ...headers, 'If-Match': '"1"' } })
    t.match(refused, { status: 412, body: { code: 'PGRSTX50' } }, path)
  }
})

t.test('other conditions are ignored: there is no Last-Modified, and ranges are of rows', async (t) => {
  const date = new Date(Date.now() + 1e6).toUTCString()
  const conditions: readonly Record<string, string>[] = [
    { 'If-Modified-Since': date },
    { 'If-Range': '"x"', Range: '0-0' },
    { 'If-Unmodified-Since': new Date(0).toUTCString() },
  ]
  for (const headers of conditions) {
    t.match(await as('ann', 'GET', '/counters?order=id', { headers }), {
      status: 200,
    })
  }
})

t.test('other origins may read the tag', async (t) => {
  const { headers } = await as('ann', 'GET', '/counters/1', { headers: { Origin: 'https://shop.test' } })
  t.match(headers.get('access-control-expose-headers'), /(?:^|, )ETag$/)
  const preflight = await call('OPTIONS', '/rest/v1/counters', {
    headers: {
      Origin: 'https://shop.test',
      'Access-Control-Request-Method': 'PATCH',
      'Access-Control-Request-Headers': 'if-match,if-none-match',
    },
  })
  t.match(preflight.headers.get('access-control-allow-headers'), 'if-match, if-none-match')
})

t.test('a write that is rolled back has no tag', async (t) => {
  await reload({ PGRST_DB_TX_END: 'commit-allow-override' })
  const headers = { Prefer: 'tx=rollback, return=representation' }
  const written = await as('ann', 'PATCH', '/counters/1', { body: { value: 5 }, headers })
  t.strictSame([written.status, tagOf(written)], [200, ''], written.text)
})

t.test(
  'lists up to 64 KiB have a tag, also on their own connection; larger ones, which are streamed, have none',
  async (t) => {
    const path = '/counters?id=gte.100&select=note'
    await database.query("insert into cond.counters values (100, 0, repeat('a', 60000))")
    // A statement that was slow does not share a connection.
    for (let run = 0; run < 5; run++) {
      const read = await as('ann', 'GET', path)
      const known = await as('ann', 'GET', path, { headers: { 'If-None-Match': tagOf(read) } })
      t.strictSame([read.text.length > 60_000, known.status], [true, 304])
    }
    await database.query("update cond.counters set note = repeat('a', 70000) where id = 100")
    const large = await as('ann', 'GET', path, { headers: { 'If-None-Match': '"/x"' } })
    t.strictSame([large.status, large.text.length > 70_000, tagOf(large)], [200, true, ''])
    t.match(tagOf(await as('ann', 'GET', '/counters?id=eq.100')), /^"\d+\/[\w+/]{16}"$/, 'the version of one row')
    await database.query('delete from cond.counters where id = 100')
  },
)
