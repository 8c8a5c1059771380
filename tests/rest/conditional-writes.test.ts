// If-Match and If-None-Match: * of writes: rows by key, by filters, of views, of two users.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { startConditional, tagOf } from '../support/conditional.ts'
import { runSection, sectionFunction } from '../support/readme-section.ts'

const { as, database, token, url } = await startConditional(t)
const single = { Accept: 'application/vnd.pgrst.object+json' }
const full = { Prefer: 'return=representation' }

t.test('a chain of writes needs one read', async (t) => {
  const read = await as('ann', 'GET', '/counters?id=eq.1&select=value')
  t.match(tagOf(read), /^"\d+\/[\w+/]{16}"$/)
  let tag = tagOf(read)
  const steps = [
    ['PATCH', '/counters?id=eq.1', { value: 1 }, {}, 204],
    ['PATCH', '/counters?id=eq.1', { value: 2 }, full, 200],
    ['PATCH', '/counters/1', { value: 3 }, {}, 200],
    ['PUT', '/counters?id=eq.1', { id: 1, value: 4 }, {}, 200],
    ['PUT', '/counters/1', { id: 1, value: 5 }, full, 200],
    ['PATCH', '/counters?value=eq.5', { value: 6 }, { ...single, ...full }, 200],
    ['PATCH', '/counters/1', {}, {}, 200],
    ['DELETE', '/counters?id=eq.1', undefined, {}, 204],
  ] as const
  for (const [method, path, body, headers, status] of steps) {
    const stale = tag.replace(/\d+/, (version) => String(Number(version) - 1))
    const refused = await as('ann', method, path, { body, headers: { ...headers, 'If-Match': stale } })
    t.match(refused, { status: 412, body: { code: 'PGRSTX50' } }, `${method} ${path} with another version`)
    const done = await as('ann', method, path, { body, headers: { ...headers, 'If-Match': tag } })
    t.equal(done.status, status === 200 && done.text === '' ? done.status : status, `${method} ${path}: ${done.text}`)
    t.ok(done.status < 300)
    if (method === 'DELETE') t.equal(tagOf(done), '')
    else t.match(tagOf(done), done.text === '' ? /^"\d+"$|^"\d+\// : /^"\d+\/[\w+/]{16}"$/)
    tag = tagOf(done)
  }
  t.match(await as('ann', 'GET', '/counters?id=eq.1'), { body: [] })
})

t.test('the tag of a write is the version that the next read has', async (t) => {
  const version = (tag: string): string => tag.replace(/\/.*/, '"')
  const rows = [
    ['POST', '/counters', { id: 20, value: 1 }],
    ['PATCH', '/counters?id=eq.20', { value: 2 }],
    ['PUT', '/counters?id=eq.20', { id: 20, value: 3 }],
    ['POST', '/counters?on_conflict=id', { id: 20, value: 4 }],
  ] as const
  for (const [method, path, body] of rows) {
    const written = await as('ann', method, path, { body, headers: { Prefer: 'resolution=merge-duplicates' } })
    const read = await as('ann', 'GET', '/counters/20')
    t.equal(tagOf(written), version(tagOf(read)), `${method}: ${written.status} ${written.text}`)
  }
  const rolledBack = await as('ann', 'POST', '/counters', {
    body: [
      { id: 21, value: 1 },
      { id: 22, value: 1 },
    ],
  })
  t.strictSame([rolledBack.status, tagOf(rolledBack)], [201, ''], 'several rows have no tag')
})

t.test('a version serves whatever was selected, and as xmin', async (t) => {
  const reads = ['/counters/2', '/counters?id=eq.2&select=id', '/counters?id=eq.2&select=note,v:value&order=id&limit=1']
  for (const path of reads) {
    const tag = tagOf(await as('ann', 'GET', path))
    const done = await as('ann', 'PATCH', '/counters?id=eq.2', { body: { note: path }, headers: { 'If-Match': tag } })
    t.equal(done.status, 204, path)
  }
  const { body } = await as('ann', 'GET', '/counters?id=eq.2&select=xmin')
  const [{ xmin = '' } = {}] = body as { xmin?: string }[]
  const done = await as('ann', 'PATCH', '/counters/2', { body: { value: 1 }, headers: { 'If-Match': `"${xmin}"` } })
  t.equal(done.status, 200)
  const listed = await as('ann', 'PATCH', '/counters/2', {
    body: { value: 2 },
    headers: { 'If-Match': `"other", W/"weak", ${tagOf(done)}` },
  })
  t.equal(listed.status, 200, 'one of several tags')
})

t.test('refused preconditions change nothing', async (t) => {
  const tag = tagOf(await as('ann', 'GET', '/counters/3'))
  const rows: readonly (readonly [string, string, unknown, Record<string, string>, number, string])[] = [
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': `W/${tag}` }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': '"0"' }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': '""' }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': '"%ff"' }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': `"' or 1=1 --"` }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': `"%00"` }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': `"{1,2}", "%22,%22"` }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': tag.slice(1, -1) }, 400, 'PGRSTX51'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': '' }, 400, 'PGRSTX51'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-Match': '*, "a"' }, 400, 'PGRSTX51'],
    ['PATCH', '/counters?id=lte.5', { value: 9 }, { 'If-Match': tag }, 400, 'PGRSTX52'],
    ['PATCH', '/counters', { value: 9 }, { 'If-Match': '*' }, 400, 'PGRSTX52'],
    ['DELETE', '/counters?id=lte.5', undefined, { 'If-Match': '*' }, 400, 'PGRSTX52'],
    ['DELETE', '/counters?id=in.(3,4)', undefined, { 'If-Match': tag }, 400, 'PGRSTX52'],
    ['PATCH', '/counters?id=eq.99', { value: 9 }, { 'If-Match': tag }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.99', { value: 9 }, { 'If-Match': '*' }, 412, 'PGRSTX50'],
    ['PATCH', '/counters?id=eq.99', { value: 9 }, { 'If-Match': tag, ...single, ...full }, 406, 'PGRST116'],
    ['PATCH', '/counters/99', { value: 9 }, { 'If-Match': tag }, 404, 'PGRST116'],
    ['DELETE', '/counters/99', undefined, { 'If-Match': '*' }, 404, 'PGRST116'],
    ['PATCH', '/counters/3', { nothing: 9 }, { 'If-Match': '"1"' }, 400, 'PGRST204'],
    ['PUT', '/counters?id=eq.99', { id: 99, value: 9 }, { 'If-Match': tag }, 412, 'PGRSTX50'],
    ['PUT', '/counters?id=eq.99', { id: 99, value: 9 }, { 'If-Match': '*' }, 412, 'PGRSTX50'],
    ['PUT', '/counters?id=eq.3', { id: 4, value: 9 }, { 'If-Match': tag }, 400, 'PGRST115'],
    ['PUT', '/counters?id=eq.3', { id: 3, value: 9 }, { 'If-None-Match': '*' }, 412, 'PGRSTX50'],
    ['PUT', '/counters?id=eq.3', { id: 4, value: 9 }, { 'If-None-Match': '*' }, 400, 'PGRST115'],
    ['PUT', '/counters?id=eq.3', { id: 3, value: 9 }, { 'If-None-Match': tag }, 400, 'PGRSTX54'],
    ['PUT', '/counters?id=eq.3', { id: 3, value: 9 }, { 'If-None-Match': '*', 'If-Match': tag }, 400, 'PGRSTX54'],
    ['PATCH', '/counters?id=eq.3', { value: 9 }, { 'If-None-Match': '*' }, 400, 'PGRSTX54'],
    ['DELETE', '/counters?id=eq.3', undefined, { 'If-None-Match': tag }, 400, 'PGRSTX54'],
    ['POST', '/counters', { id: 98, value: 9 }, { 'If-Match': '*' }, 400, 'PGRSTX54'],
    ['PATCH', '/counter_view?id=eq.3', { value: 9 }, { 'If-Match': tag }, 400, 'PGRSTX53'],
  ]
  for (const [method, path, body, headers, status, code] of rows) {
    const label = `${method} ${path} ${JSON.stringify(headers)}`
    t.match(await as('ann', method, path, { body, headers }), { status, body: { code } }, label)
  }
  const { rows: changed } = await database.query('select * from cond.counters where value = 9 or id > 90')
  t.strictSame(changed, [])
  t.equal(tagOf(await as('ann', 'GET', '/counters/3')), tag)
})

t.test('If-Match: * and If-None-Match: *', async (t) => {
  t.match(await as('ann', 'PATCH', '/counters?id=eq.3', { body: { value: 1 }, headers: { 'If-Match': '*' } }), {
    status: 204,
  })
  t.match(await as('ann', 'PATCH', '/counter_view?id=eq.3', { body: { value: 2 }, headers: { 'If-Match': '*' } }), {
    status: 204,
  })
  t.match(await as('ann', 'PUT', '/counters?id=eq.3', { body: { id: 3, value: 3 }, headers: { 'If-Match': '*' } }), {
    status: 204,
  })
  const created = await as('ann', 'PUT', '/counters?id=eq.30', {
    body: { id: 30, value: 1 },
    headers: { 'If-None-Match': '*' },
  })
  t.equal(created.status, 204, created.text)
  const next = await as('ann', 'DELETE', '/counters/30', { headers: { 'If-Match': tagOf(created) } })
  t.equal(next.status, 204, 'with the tag of the created row')
  t.match(await as('ann', 'POST', '/counters', { body: { id: 31, value: 1 }, headers: { 'If-None-Match': '*' } }), {
    status: 201,
  })
})

t.test('keys of two columns, partitioned tables, version columns and views', async (t) => {
  const paths = [
    '/pairs?a=eq.1&b=eq.x',
    '/parts?id=eq.1&region=eq.north',
    '/versioned?id=eq.1',
    '/versioned_view?id=eq.1',
  ]
  for (const path of paths) {
    const tag = tagOf(await as('ann', 'GET', path))
    t.match(tag, /^"\d+\//, path)
    const first = await as('ann', 'PATCH', path, { body: { value: 5 }, headers: { 'If-Match': tag } })
    t.equal(first.status, 204, `${path}: ${first.text}`)
    t.match(await as('ann', 'PATCH', path, { body: { value: 6 }, headers: { 'If-Match': tag } }), { status: 412 }, path)
    const second = await as('ann', 'PATCH', path, { body: { value: 7 }, headers: { 'If-Match': tagOf(first) } })
    t.equal(second.status, 204, `${path} with the tag of the write`)
    t.match(await as('ann', 'DELETE', path, { headers: { 'If-Match': tag } }), { status: 412 }, path)
  }
  t.match(await as('ann', 'GET', '/versioned?id=eq.1'), { body: [{ row_version: 5 }] })
  const put = await as('ann', 'PUT', '/versioned?id=eq.2', {
    body: { id: 2, value: 1 },
    headers: { 'If-Match': '"1"' },
  })
  t.strictSame([put.status, tagOf(put)], [204, '"2"'])
  t.match(await as('ann', 'PUT', '/versioned?id=eq.2', { body: { id: 2, value: 1 }, headers: { 'If-Match': '"1"' } }), {
    status: 412,
  })
  const plain = await as('ann', 'PATCH', '/versioned?id=eq.2', { body: { value: 2 } })
  t.strictSame([plain.status, tagOf(plain)], [204, ''], 'a version column is not read without need')
})

t.test('rows of other users', async (t) => {
  const tags = [1, 2, 3].map(async (id) => tagOf(await as('bob', 'GET', `/papers/${id}`)))
  const [one = '', two = '', three = ''] = await Promise.all(tags)
  const ofAnn = tagOf(await as('ann', 'GET', '/papers/2'))
  t.equal(ofAnn, two, 'a shared row')
  const rows = [
    ['ann', '/papers?id=eq.3', three, 412, 'a hidden row is like none'],
    ['ann', '/papers?id=eq.3', '"1"', 412, 'a hidden row, another version'],
    ['ann', '/papers?id=eq.4', '"1"', 412, 'no row'],
    ['ann', '/papers/3', three, 404, 'a hidden row by key'],
    ['ann', '/papers/3', '"1"', 404, 'a hidden row by key, another version'],
    [
      'ann',
      '/papers?id=eq.2',
      two,
      204,
      'a visible row that ann may not change: nothing is changed, as without If-Match',
    ],
    ['ann', '/papers?id=eq.2', '"1"', 412, 'a visible row that ann may not change, another version'],
    ['ann', '/papers/2', two, 404, 'by key'],
    ['ann', '/papers?id=eq.1', one, 204, 'her own row'],
    ['bob', '/papers?id=eq.3', three, 204, 'his own row'],
  ] as const
  for (const [user, path, tag, status, label] of rows) {
    const answer = await as(user, 'PATCH', path, { body: { title: 'changed' }, headers: { 'If-Match': tag } })
    t.equal(answer.status, status, label)
  }
  const { rows: changed } = await database.query("select id from cond.papers where title = 'changed' order by id")
  t.strictSame(changed, [{ id: 1 }, { id: 3 }])
})

t.test('privileges', async (t) => {
  const read = await as('ann', 'GET', '/secrets?id=eq.1&select=id,title')
  t.strictSame([read.status, read.body], [200, [{ id: 1, title: 'title' }]])
  t.match(tagOf(read), /^"\/[\w+/]{16}"$/, 'no version without the privilege to read it')
  const known = await as('ann', 'GET', '/secrets?id=eq.1&select=id,title', {
    headers: { 'If-None-Match': tagOf(read) },
  })
  t.equal(known.status, 304)
  const refused = await as('ann', 'PATCH', '/secrets?id=eq.1', { body: { title: 'x' }, headers: { 'If-Match': '"1"' } })
  t.match(refused, { status: 403, body: { code: '42501' } })
  t.equal((await as('ann', 'PATCH', '/secrets?id=eq.1', { body: { title: 'y' } })).status, 204)
  const sent = await as('ann', 'POST', '/letters', { body: { id: 1, text: 'hello' } })
  t.match(sent, { status: 201 }, 'a write without the privilege to read')
  t.match(tagOf(sent), /^"\d+"$/)
})

t.test(
  'reads continue when a privilege on a table becomes one on columns, until the schema cache is loaded',
  async (t) => {
    const read = () => as('ann', 'GET', '/pairs?a=eq.1&b=eq.x&select=a')
    t.match(tagOf(await read()), /^"\d+\//)
    await database.query(
      'revoke select on cond.pairs from authenticated; grant select (a, b) on cond.pairs to authenticated',
    )
    const answer = await read()
    t.strictSame([answer.status, answer.body], [200, [{ a: 1 }]])
    t.match(tagOf(answer), /^"\/[\w+/]{16}"$/)
    t.match(await as('ann', 'GET', '/pairs?a=eq.1&b=eq.x'), { status: 403, body: { code: '42501' } })
    await database.query('grant select on cond.pairs to authenticated')
  },
)

t.test('an Idempotency-Key with a precondition', async (t) => {
  const read = await as('ann', 'GET', '/counters/4')
  const headers = { 'If-Match': tagOf(read), 'Idempotency-Key': '"once"' }
  const send = () => as('ann', 'PATCH', '/counters?id=eq.4', { body: { value: 11 }, headers })
  const [first, second] = [await send(), await send()]
  t.strictSame([first.status, second.status], [204, 204], first.text + second.text)
  t.equal(tagOf(second), tagOf(first), 'the stored response')
  t.equal(tagOf(first), tagOf(await as('ann', 'GET', '/counters/4')).replace(/\/.*/, '"'))
  const other = await as('ann', 'PATCH', '/counters/4', {
    body: { value: 12 },
    headers: { 'If-Match': '"1"', 'Idempotency-Key': '"refused"' },
  })
  t.equal(other.status, 412)
})

t.test("the README's lines", async (t) => {
  await database.query('insert into cond.counters (id, value) values (1, 0), (2, 0) on conflict (id) do nothing')
  const printed = await runSection('conditional-curl', { URL: url, TOKEN: token })
  t.strictSame(printed.trim().split('\n'), ['304', '200', '412'])
  const run = await sectionFunction<[unknown]>('conditional', ['client'], ['status'])
  const client = createClient(url, token, {
    db: { schema: 'cond' },
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: class {} as never },
  })
  t.strictSame(await run(client), { status: 204 })
})
