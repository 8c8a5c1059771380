// Keyset pages: headers, errors, cursors of other requests and forged ones, row-level security, changes between pages.
import t from 'tap'
import { createPagedDatabase, startPaged } from '../support/paged-rest.ts'
import { follow, keyset, linksOf, pageOf, type Ask } from '../support/page-walk.ts'

const database = await createPagedDatabase(t)
const ask = await startPaged(t, database)

const headersOf = (response: Response, ...names: string[]): Record<string, string | null> =>
  Object.fromEntries(names.map((name) => [name, response.headers.get(name)]))

t.test('headers of the first page, one in the middle and the last', async (t) => {
  const path = '/cursors?select=id&order=id.desc&limit=2'
  const prefer = { Prefer: 'pagination=keyset, count=exact, handling=strict' }
  const names = ['content-range', 'preference-applied', 'vary', 'content-type'] as const
  const first = await pageOf(ask, path, prefer)
  t.equal(first.response.status, 206)
  t.match(headersOf(first.response, ...names), {
    'content-range': '0-1/5',
    'preference-applied': 'count=exact, handling=strict, pagination=keyset',
    vary: 'Accept, Prefer, Range',
    'content-type': 'application/json; charset=utf-8',
  })
  t.match(first.response.headers.get('link'), /^<\?limit=2&order=id\.desc&select=id&cursor=[\w-]+>; rel="next"$/)
  const second = await pageOf(ask, first.links.next ?? '', prefer)
  t.strictSame(second.rows, [{ id: 3 }, { id: 2 }])
  t.equal(second.response.status, 206)
  t.equal(second.response.headers.get('content-range'), '*/5', 'the number of rows before it is unknown')
  t.match(Object.keys(second.links), ['next', 'prev'])
  const last = await pageOf(ask, second.links.next ?? '')
  t.strictSame(last.rows, [{ id: 1 }])
  t.match(headersOf(last.response, 'content-range', 'preference-applied'), {
    'content-range': '*/*',
    'preference-applied': null,
  })
  t.strictSame(Object.keys(last.links), ['prev'])
  const back = await pageOf(ask, last.links.prev ?? '')
  t.strictSame(back.rows, second.rows, 'in the order of the request')
  t.strictSame((await pageOf(ask, back.links.prev ?? '')).rows, first.rows)
  t.equal(linksOf(back.response.headers.get('link'), path).next, second.links.next, 'equal positions have equal links')
})

t.test('HEAD has the links of GET', async (t) => {
  const get = await ask('/cursors?limit=2', keyset)
  const head = await ask('/cursors?limit=2', keyset, 'HEAD')
  t.equal(await head.text(), '')
  t.equal(head.headers.get('link'), get.headers.get('link'))
  t.ok(head.headers.get('link'))
})

t.test('pages in other media types, and single objects', async (t) => {
  const csv = await ask('/cursors?limit=2&select=id,cursor', { ...keyset, Accept: 'text/csv' })
  t.equal(await csv.text(), 'id,cursor\n1,c1\n2,c2')
  t.ok(csv.headers.get('link'))
  const one = await ask('/cursors?limit=1', { ...keyset, Accept: 'application/vnd.pgrst.object+json' })
  t.strictSame(await one.json(), { id: 1, cursor: 'c1' })
  const { next = '' } = linksOf(one.headers.get('link'), '/cursors')
  const two = await ask(next, { Accept: 'application/vnd.pgrst.object+json' })
  t.strictSame(await two.json(), { id: 2, cursor: 'c2' })
})

t.test('without a limit, everything is on one page', async (t) => {
  const { rows, response } = await pageOf(ask, '/cursors', keyset)
  t.equal(rows.length, 5)
  t.equal(response.headers.get('link'), null)
  t.equal(response.headers.get('preference-applied'), 'pagination=keyset')
  const { links } = await pageOf(ask, '/cursors?limit=2', keyset)
  const rest = await pageOf(ask, (links.next ?? '').replace('limit=2&', ''), { Prefer: 'count=exact' })
  t.strictSame(rest.rows.length, 3, 'the size of the page may change')
  t.equal(rest.response.headers.get('content-range'), '*/5')
  t.strictSame(Object.keys(rest.links), ['prev'])
})

t.test('what is not asked for as a page is answered as before', async (t) => {
  for (const [path, headers] of [
    ['/cursors?limit=2', {}],
    ['/cursors?limit=2', { Prefer: 'pagination=offset' }],
    ['/cursors?cursor=eq.c2', {}],
    ['/rpc/echo?cursor=abc', {}],
    ['/rpc/from_cursor?cursor=c1', {}],
    ['/rpc/from_cursor?cursor=c1&id=gt.1', {}],
  ] as const) {
    const response = await ask(path, headers)
    t.equal(response.status, 200, path)
    t.equal(response.headers.get('link'), null)
    t.equal(response.headers.get('preference-applied'), null)
  }
  t.equal(await (await ask('/rpc/echo?cursor=abc')).json(), 'abc')
  const filtered = await pageOf(ask, '/cursors?cursor=gt.c1&limit=2', keyset)
  t.strictSame(
    filtered.rows.map(({ id }) => id),
    [2, 3],
    'a column of that name is filtered',
  )
  const next = await pageOf(ask, filtered.links.next ?? '')
  t.strictSame(
    next.rows.map(({ id }) => id),
    [4, 5],
    'together with a cursor',
  )
  const { links } = await pageOf(ask, '/clients?limit=1', keyset)
  const cursor = new URLSearchParams(links.next?.split('?')[1]).get('cursor') ?? ''
  for (let time = 0; time < 4; time++) {
    t.equal(await (await ask(`/rpc/echo?cursor=${cursor}`)).json(), cursor, 'a cursor as an argument')
  }
  const invalid = await ask('/cursors?cursor=a.b')
  t.match(await invalid.json(), { code: 'PGRST100' }, 'text that has not the form of a cursor is a filter')
})

/** A cursor of a request. */
async function cursorOf(ask: Ask, path: string): Promise<string> {
  const { links } = await pageOf(ask, path, keyset)
  return new URLSearchParams(links.next?.split('?')[1]).get('cursor') ?? ''
}

t.test('errors', async (t) => {
  const order = encodeURIComponent('name.desc')
  const cursor = await cursorOf(ask, `/items?order=${order}&limit=2&id=gt.0`)
  const other = await startPaged(t, database, {}, { cursorSecrets: ['another secret of at least 32 characters'] })
  const foreign = await cursorOf(other, `/items?order=${order}&limit=2&id=gt.0`)
  const long = 'x'.repeat(4000)
  await database.query('insert into clients values (90, $1), (91, $1)', [long])
  const flipped = (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1)
  const mine = `/items?order=${order}&limit=2&id=gt.0&cursor=`
  const rows: readonly (readonly [path: string, status: number, code: string, headers?: Record<string, string>])[] = [
    [mine + cursor, 200, ''],
    [`/items?cursor=${cursor}&id=gt.0&limit=9&order=${order}`, 200, ''],
    [mine + flipped, 400, 'PGRSTX41'],
    [mine + cursor.slice(0, -1), 400, 'PGRSTX41'],
    [mine + cursor.slice(4), 400, 'PGRSTX41'],
    [mine + foreign, 400, 'PGRSTX41'],
    [`${mine}x`, 400, 'PGRSTX41'],
    [mine + 'A'.repeat(12_000), 400, 'PGRSTX41'],
    [`${mine + cursor}&cursor=${cursor}`, 400, 'PGRSTX41'],
    [`/items?order=name&limit=2&id=gt.0&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`/items?order=${order}&limit=2&id=gt.1&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`/items?order=${order}&limit=2&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`/items?order=${order}&limit=2&id=gt.0&select=id&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`/names?order=${order}&limit=2&id=gt.0&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`/rpc/from_id?minimum=1&order=${order}&cursor=${cursor}`, 400, 'PGRSTX42'],
    [`${mine + cursor}&offset=2`, 400, 'PGRSTX43'],
    ['/items?limit=2&offset=1', 400, 'PGRSTX43', keyset],
    ['/items?limit=2', 400, 'PGRSTX43', { ...keyset, Range: '0-4' }],
    ['/items?limit=0', 400, 'PGRSTX43', keyset],
    ['/bare?limit=2', 400, 'PGRSTX40', keyset],
    ['/rpc/outline?minimum=1&limit=2', 400, 'PGRSTX40', keyset],
    ['/bare?limit=1&order=n', 400, 'PGRSTX45', keyset],
    ['/only_client?limit=3', 400, 'PGRSTX45', keyset],
    ['/items?select=flag,count()', 400, 'PGRSTX44', keyset],
    ['/items?select=...clients(id.max())', 400, 'PGRSTX44', keyset],
    ['/rpc/risky?limit=2', 400, 'PGRSTX44', keyset],
    ['/rpc/numbers?limit=2', 400, 'PGRSTX44', keyset],
    ['/rpc/single', 400, 'PGRSTX44', keyset],
    ['/rpc/from_cursor?cursor=x&limit=1', 400, 'PGRSTX44', keyset],
    ['/clients?order=name.desc&name=like.x*&limit=1', 400, 'PGRSTX46', keyset],
    ['/clients?order=name.desc&name=like.x*&limit=2', 200, '', keyset],
    ['/items?limit=9223372036854775807', 200, '', keyset],
    ['/items?limit=9223372036854775808', 400, '22003', keyset],
    ['/nothing?limit=2', 404, 'PGRST205', keyset],
    ['/items?order=nothing&limit=2', 400, '42703', keyset],
    ['/items?limit=2', 200, '', { Prefer: 'pagination=keyset, handling=strict' }],
    ['/items?limit=2', 400, 'PGRST122', { Prefer: 'pagination=offset, handling=strict' }],
  ]
  for (const [path, status, code, headers] of rows) {
    for (let time = 0; time < 3; time++) {
      const response = await ask(path, headers)
      const body = (await response.json()) as { code?: string; message?: string; hint?: string }
      t.equal(response.status, status, `${path.slice(0, 200)} ${JSON.stringify(body).slice(0, 200)}`)
      t.equal(body.code ?? '', code, path.slice(0, 200))
      if (code.startsWith('PGRSTX4')) t.ok(body.message && body.hint)
    }
  }
  await database.query('delete from clients where id > 80')
})

t.test('a cursor reveals nothing, and every single change of it is noticed', async (t) => {
  const path = '/cursors?order=cursor&limit=2'
  const cursor = await cursorOf(ask, path)
  t.notOk(Buffer.from(cursor, 'base64url').includes('c2'))
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let at = 0; at < cursor.length; at++) {
    const letter = alphabet[(alphabet.indexOf(cursor[at] ?? '') + 1) % 64] ?? ''
    const response = await ask(`${path}&cursor=${cursor.slice(0, at)}${letter}${cursor.slice(at + 1)}`)
    if (response.status !== 400) t.fail(`character ${at}`)
    await response.body?.cancel()
  }
})

t.test('parameters with any characters are kept, and repeated ones', async (t) => {
  const path = `/items?${['name=neq.', encodeURIComponent('ü>;&="x'), '&id=gt.1&id=lt.30&or=(id.gt.0,name.is.null)&limit=3'].join('')}`
  const pages = await follow(ask, await pageOf(ask, path, keyset), 'next')
  const ids = pages.flatMap(({ rows }) => rows.map(({ id }) => id))
  const whole = await pageOf(ask, `${path.replace('&limit=3', '')}&order=id`)
  t.strictSame(
    ids,
    whole.rows.map(({ id }) => id),
  )
  t.ok(pages.length > 3)
})

t.test('rows of other users stay invisible to a cursor', async (t) => {
  await database.query(`
    create table notes (id int primary key, owner text, title text);
    insert into notes select n, (array['ann', 'bob'])[n % 2 + 1], 't' || n from generate_series(1, 12) n;
    alter table notes enable row level security;
    create policy own on notes using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
    grant all on notes to ${database.role}`)
  const ask = await startPaged(t, database)
  const path = '/notes?select=id,owner&order=title.desc&limit=2'
  const ann = { 'X-User': 'ann' }
  const bob = { 'X-User': 'bob' }
  const first = await pageOf(ask, path, { ...keyset, ...ann })
  const pages = await follow(ask, first, 'next', ann)
  t.strictSame(new Set(pages.flatMap(({ rows }) => rows.map(({ owner }) => owner))), new Set(['ann']))
  t.equal(pages.length, 3)
  const bobs = await pageOf(ask, first.links.next ?? '', bob)
  t.strictSame(new Set(bobs.rows.map(({ owner }) => owner)), new Set(['bob']), 'a position is no permission')
  const noOne = await pageOf(ask, first.links.next ?? '', { 'X-User': 'eve' })
  t.strictSame(noOne.rows, [])
  t.equal(noOne.response.headers.get('link'), null)
  const role = `${database.role}_title`
  await database.query(
    `create role ${role} nologin; grant ${role} to current_user; grant select (id, owner) on notes to ${role}`,
  )
  t.teardown(() => database.query(`drop owned by ${role}; drop role ${role}`))
  const refused = await ask(first.links.next ?? '', { ...ann, 'X-Role': role })
  t.equal(refused.status, 403, 'the order needs the privilege for its column')
})

t.test('rows that exist throughout are on exactly one page, whatever else is inserted and deleted', async (t) => {
  await database.query(`
    create table busy (id int primary key, rank int);
    insert into busy select n, case when n % 7 > 0 then n % 5 end from generate_series(0, 300, 3) n;
    grant all on busy to ${database.role}`)
  const ask = await startPaged(t, database)
  for (const order of ['rank', 'rank.desc', 'rank.desc.nullslast,id', 'id.desc']) {
    const seen: number[] = []
    let page = await pageOf(ask, `/busy?order=${order}&limit=7`, keyset)
    for (let step = 0; ; step++) {
      seen.push(...page.rows.map(({ id }) => Number(id)))
      // Rows come and go everywhere, also the one that the cursor stands on.
      const at = Number(page.rows.at(-1)?.id ?? 0)
      await database.query(
        'insert into busy select n, n % 4 from generate_series(1 + $1 % 2, 300, 3) n on conflict do nothing',
        [step],
      )
      await database.query('delete from busy where id % 3 > 0 and (id + $1::int) % 2 = 0 or id % 3 > 0 and id = $2', [
        step,
        at,
      ])
      if (page.links.next === undefined) break
      page = await pageOf(ask, page.links.next)
    }
    const kept = seen.filter((id) => id % 3 === 0)
    t.equal(kept.length, 101, `order=${order}`)
    t.equal(new Set(kept).size, 101)
    await database.query('delete from busy where id % 3 > 0')
  }
})

t.test('pages at which all rows have gone', async (t) => {
  await database.query(
    `create table gone (id int primary key); insert into gone select generate_series(1, 9); grant all on gone to ${database.role}`,
  )
  const ask = await startPaged(t, database)
  const first = await pageOf(ask, '/gone?limit=3', keyset)
  const second = await pageOf(ask, first.links.next ?? '')
  await database.query('delete from gone where id > 3')
  const empty = await pageOf(ask, second.links.next ?? '')
  t.strictSame(empty.rows, [])
  t.strictSame(Object.keys(empty.links), ['prev'])
  t.strictSame((await pageOf(ask, empty.links.prev ?? '')).rows, [{ id: 1 }, { id: 2 }, { id: 3 }])
  await database.query('insert into gone select generate_series(4, 9); delete from gone where id < 4')
  const start = await pageOf(ask, second.links.prev ?? '')
  t.strictSame(start.rows, [])
  t.strictSame(Object.keys(start.links), ['next'])
  t.strictSame((await pageOf(ask, start.links.next ?? '')).rows, [{ id: 4 }, { id: 5 }, { id: 6 }])
  const again = await pageOf(ask, second.links.next ?? '')
  t.strictSame(again.rows.length, 3)
  await database.query('delete from gone where id < 7')
  t.strictSame(Object.keys((await pageOf(ask, second.links.next ?? '')).links), [], 'no link to rows that are gone')
})

t.test('pages share one plan', async (t) => {
  const statements = new Set<string>()
  const ask = await startPaged(
    t,
    database,
    { logQuery: true },
    { onRequest: (seen) => seen.statements?.forEach((text) => statements.add(text)) },
  )
  const first = await pageOf(ask, '/items?id=lt.50&order=id&limit=2', keyset)
  await follow(ask, first, 'next')
  t.equal([...statements].filter((text) => text.includes('pgrst_page')).length, 2, 'the first page, and all others')
})

t.test('a secret that was used before the current one', async (t) => {
  const [old, current] = ['an old secret of more than 32 characters', 'a current secret of more than 32 characters']
  const before = await startPaged(t, database, {}, { cursorSecrets: [old] })
  const after = await startPaged(t, database, {}, { cursorSecrets: [current, old] })
  const path = '/cursors?limit=2'
  const cursor = await cursorOf(before, path)
  t.equal((await after(`${path}&cursor=${cursor}`)).status, 200)
  t.not(await cursorOf(after, path), cursor)
  t.equal((await before(`${path}&cursor=${await cursorOf(after, path)}`)).status, 400)
  const own = await startPaged(t, database, {}, { cursorSecrets: [] })
  t.equal((await own(`${path}&cursor=${await cursorOf(own, path)}`)).status, 200, 'a secret of the process')
  await t.rejects(startPaged(t, database, {}, { cursorSecrets: ['short'] }), { message: /at least 32 characters/ })
})
