// Keyset pages in every kind of order: each row is on exactly one page, in both directions, with and without the plan cache.
import t from 'tap'
import { follow, keyset, pageOf, type Ask } from '../support/page-walk.ts'
import { createPagedDatabase, startPaged } from '../support/paged-rest.ts'

const database = await createPagedDatabase(t)
const cached = await startPaged(t, database)
const uncached = await startPaged(t, database, { planCacheMaxEntries: 0 })

const json = (value: unknown): string => JSON.stringify(value)

/** Reads all pages forward, then back from the last one. All rows must be those of one large page. */
async function walk(ask: Ask, path: string, sizes: readonly number[]): Promise<readonly string[]> {
  const separator = path.includes('?') ? '&' : '?'
  const all = (await pageOf(ask, `${path}${separator}limit=1000`, keyset)).rows.map(json)
  const log: string[] = []
  for (const size of sizes) {
    const first = await pageOf(ask, `${path}${separator}limit=${size}`, keyset)
    const forward = await follow(ask, first, 'next')
    t.strictSame(forward.flatMap(({ rows }) => rows).map(json), all, `${path}: pages of ${size}, forward`)
    const last = forward.at(-1) ?? first
    const backward = await follow(ask, last, 'prev')
    t.strictSame(
      backward
        .toReversed()
        .flatMap(({ rows }) => rows)
        .map(json),
      all,
      `${path}: pages of ${size}, backward`,
    )
    t.equal(forward.length, Math.ceil(all.length / size), 'there is no empty page at the end')
    t.equal(first.links.prev, undefined, 'there is no page before the first')
    log.push(...[...forward, ...backward].map(({ rows, links }) => json([rows, links])))
  }
  return log
}

/** The order that PostgREST gives the rows: the key is added in the direction of the last term. */
async function expected(ask: Ask, path: string, order: string, key: string): Promise<readonly unknown[]> {
  const direction = /\.desc[^,]*$/.test(order) ? '.desc' : ''
  const total = order === '' ? key : `${order},${key}${direction}`
  return (await pageOf(ask, `${path}&order=${encodeURIComponent(total)}`)).rows
}

const orders = [
  '',
  'id.desc',
  'name',
  'name.desc',
  'name.nullsfirst',
  'name.desc.nullslast',
  'title,code.desc',
  'code',
  'score',
  'score.desc',
  'ratio.nullsfirst,score.desc',
  'at.desc',
  'at,day.desc',
  'day',
  'length',
  'amount,name.desc',
  'kind.desc,flag,name',
  'raw',
  'data',
  'data->a',
  'data->>b.desc,data->0',
  'tags.desc',
  'spot',
  'uid',
  'span',
  'about',
  'flag,flag.desc,id.desc',
  'clients(name)',
  'clients(name).desc.nullslast,score',
  'label.desc',
  'flag.desc,name.nullsfirst,score.desc.nullslast',
]

for (const [index, order] of orders.entries()) {
  const sizes = [[2, 9][index % 2] ?? 1]
  t.test(`order=${order}`, async (t) => {
    const select = '/items?select=id,name,clients(id,name)'
    const path = order === '' ? select : `${select}&order=${encodeURIComponent(order)}`
    const whole = await pageOf(cached, `${path}&limit=1000`, keyset)
    t.strictSame(whole.rows, await expected(cached, select, order, 'id'), 'the order of the request')
    const on = await walk(cached, path, sizes)
    t.strictSame(await walk(uncached, path, sizes), on, 'the plan cache changes nothing')
  })
}

t.test('other relations, filters and forms of select', async (t) => {
  for (const path of [
    '/items',
    '/items?name=not.is.null&order=name',
    '/items?or=(id.lt.9,name.is.null)&order=score.desc',
    '/items?select=*,clients!inner(name)&clients.name=eq.ann&order=clients(name),name.desc',
    '/items?select=id,...clients(client:name)&order=name.desc',
    '/items?select=clients(name)&clients=not.is.null&order=at',
    '/items?select=id,same:id,name,name&id=gt.2&id=lt.30',
    '/clients?select=name,items(id,name)&items.limit=2&items.order=id.desc&order=name',
    '/pairs',
    '/pairs?order=a.desc',
    '/pairs?order=note,b',
    '/accounts',
    '/accounts?order=age',
    '/accounts?order=age,nick.desc',
    '/bare?order=m.desc',
    '/names?order=name.desc',
    '/names?order=name',
    '/repeated?order=id',
    '/rpc/from_id?minimum=5&order=name.desc',
    '/rpc/from_id?minimum=5&select=name&order=name',
    '/rpc/outline?minimum=1&order=n.desc&select=twice',
  ]) {
    t.strictSame(await walk(uncached, path, [3]), await walk(cached, path, [3]), path)
  }
})
