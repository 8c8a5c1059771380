// Responses that are streamed row by row against the same responses as one aggregated value, which are PostgREST's.
import t, { type Test } from 'tap'
import { createExportDatabase, lineCount, startExportApi } from '../support/export-database.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const fixture = await createExportDatabase(t)
const settings = { dbTxEnd: 'commit-allow-override', dbAggregatesEnabled: true } as const
const [streaming, aggregating] = await Promise.all([
  startExportApi(t, fixture, settings),
  startExportApi(t, fixture, { ...settings, restExportLimit: 0 }),
])

const random = seededRandom(testSeed(18))

/** Texts that are hard to quote. */
const texts: readonly [string, ...string[]] = [
  '',
  ' ',
  'a',
  '"',
  '""',
  '\\',
  ',',
  '(',
  ')',
  '\n',
  '\r\n',
  '\t',
  "'",
  'ä',
  '日本',
  '😀',
  '\u00a0',
  '\u0085',
  '\u2028',
]
const text = (): string => Array.from({ length: random.below(4) }, () => random.pick(texts)).join('')
const literal = (value: string | null): string => (value === null ? 'null' : `'${value.replaceAll("'", "''")}'`)
const maybe = (value: string): string => (random.chance(0.2) ? 'null' : value)

const json = (): string =>
  random.pick<() => string>([
    () => '{"a":\n 1,\r\n\t"b": [1, 2]}',
    () => JSON.stringify(text()),
    () => JSON.stringify({ [text()]: text(), deep: [null, 1.5, { x: text() }] }),
    () => '[]',
    () => 'null',
  ])()

function generatedRow(id: number): string {
  const cells = [
    maybe(literal(text())),
    maybe(literal(text())),
    maybe(random.pick(['1.50', '-0', '1e30', "'NaN'"])),
    maybe(random.pick(['0.1', "'Infinity'", '-1.5e-300'])),
    maybe(random.pick(['true', 'false'])),
    maybe(`${literal(json())}::json`),
    maybe(`${literal(json())}::jsonb`),
    maybe(`'\\x${Buffer.from(text()).toString('hex')}'::bytea`),
    maybe(`array[${[literal(text()), 'null', literal(text())].join(', ')}]::text[]`),
    maybe("'{}'::int[]"),
    maybe("'2020-01-01 12:00:00.5+02'"),
    maybe("'2020-02-29'"),
    maybe("'1 year 2 days 03:04:05'"),
    maybe("'[1,5)'"),
    maybe("'ab'"),
    maybe("'00000000-0000-4000-8000-000000000001'"),
  ]
  return `(${[id, ...cells].join(', ')})`
}

const rows = Array.from({ length: 2000 }, (_, index) => generatedRow(index + 1))
await fixture.query(`insert into public.kinds values ${rows.join(', ')}; analyze`)
// The caches of column types.
await Promise.all([streaming.rest.reload(), aggregating.rest.reload()])

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }

async function ask(url: string, path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url + path, { ...init, headers: { 'Accept-Encoding': 'identity', ...init.headers } })
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'date'))
  return { status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) }
}

/** What differs for a response that is larger than what is kept until it is complete. */
const streamedHeaders = new Set(['content-length', 'transfer-encoding', 'vary', 'content-range'])

async function compare(t: Test, path: string, init: RequestInit = {}): Promise<{ readonly isStreamed: boolean }> {
  const [ours, theirs] = await Promise.all([ask(streaming.url, path, init), ask(aggregating.url, path, init)])
  const name = `${init.method ?? 'GET'} ${path} ${JSON.stringify(init.headers ?? {})}`
  t.equal(ours.status, theirs.status, name)
  t.ok(ours.body.equals(theirs.body), `the same bytes: ${name}`)
  const isStreamed = ours.headers['content-length'] === undefined && ours.body.length > 0
  // A body that is streamed in any way has no entity tag.
  const isTagged = ours.headers.etag !== undefined && theirs.headers.etag !== undefined
  const compared = (headers: Answer['headers']): Answer['headers'] =>
    Object.fromEntries(
      Object.entries(headers).filter(
        ([key]) => (key === 'etag' ? isTagged : true) && (!isStreamed || !streamedHeaders.has(key)),
      ),
    )
  t.strictSame(compared(ours.headers), compared(theirs.headers), name)
  if (isStreamed) {
    const [range = '', own = ''] = [theirs.headers['content-range'], ours.headers['content-range']]
    const isEarly = theirs.headers['content-type']?.startsWith('text/csv') !== true
    t.ok(own === range || (isEarly && own === range.replace(/^(\d+)-\d+/, '$1-*')), `${own} for ${range}: ${name}`)
  }
  return { isStreamed }
}

const formats = ['text/csv', 'application/x-ndjson'] as const
const paths = [
  '/kinds',
  '/kinds?order=id.desc',
  '/kinds?select=id,"wörter",j&order=id',
  '/kinds?select="wörter"&order=id&limit=1500',
  '/kinds?select=j&order=id',
  '/kinds?select=list,numbers,bytes&order=id&offset=100',
  '/kinds?id=lt.1',
  '/kinds?id=eq.7',
  '/kinds?order=id&limit=10',
  '/kinds?order=id&limit=0',
  '/kinds?id=gt.1990&order=id&offset=20',
  '/kinds?select=id,x:n,y:at::text&order=id',
  '/kinds?select=id.count()',
  '/kinds?select=b,id.count()&order=b',
  '/lines?order=id',
  '/lines?select=text&order=id&offset=2000',
  '/lines?order=id&limit=4500&offset=1000',
  '/lines?order=id&offset=9000',
  '/lines?select=id,parts(id,name)&order=id&parts.order=id',
  '/lines?select=id,parts!inner(name)&order=id&parts.order=id',
  '/lines?select=id,...parts(names:name)&order=id&parts.order=id&limit=2000',
  '/parts?select=id,lines(*)&order=id',
  '/line_names?order=name',
  '/empty',
  '/empty?select=id',
  '/rpc/set_of_lines?most=5',
  '/rpc/set_of_lines?most=6000',
  '/rpc/set_of_lines?most=6000&select=text&id=gt.5&order=id',
  '/rpc/set_of_lines?most=0',
  '/rpc/set_of_lines?most=5&offset=9',
  '/rpc/set_of_lines?most=5&id=gt.9',
  '/rpc/set_of_lines?most=0&offset=9',
  '/rpc/set_of_lines?most=5&id=gt.9&select=text,key:id',
  '/rpc/numbers?most=5',
  '/rpc/numbers?most=50000',
  '/rpc/numbers?most=0',
  '/rpc/numbers?most=5&offset=9',
  '/rpc/pairs?most=6000&order=a.desc&limit=5500',
  '/rpc/one_line',
  '/rpc/five',
  '/rpc/headed?most=3',
  '/rpc/headed?most=6000',
  '/rpc/logged?most=3',
  '/rpc/failing?at=3',
  '/rpc/missing',
  '/kinds?nothing=eq.1',
  '/kinds?n=eq.x',
] as const

for (const accept of formats) {
  t.test(`${accept} is the same, streamed or not`, async (t) => {
    let streamed = 0
    for (const path of paths) {
      for (const prefer of [undefined, 'count=exact', 'count=planned', 'count=estimated']) {
        // The others are the same for all paths.
        if (prefer !== undefined && !random.chance(prefer === 'count=exact' ? 0.5 : 0.2)) continue
        const headers = { Accept: accept, ...(prefer === undefined ? {} : { Prefer: prefer }) }
        if ((await compare(t, path, { headers })).isStreamed) streamed++
      }
      await compare(t, path, { headers: { Accept: accept }, method: 'HEAD' })
    }
    // Rows that only the limit of an embed leaves in the response count.
    const limited = '/lines?select=id,parts(id)&parts=is.null&parts.order=id&parts.offset=3&order=id&id=lt.200'
    await compare(t, limited, { headers: { Accept: accept, Prefer: 'count=exact' } })
    t.ok(streamed > 10, `${streamed} responses were streamed`)
  })

  t.test(`${accept}: calls by POST, rollbacks, ranges, representations`, async (t) => {
    const post = (body: object, prefer = ''): RequestInit => ({
      method: 'POST',
      headers: { Accept: accept, 'Content-Type': 'application/json', ...(prefer === '' ? {} : { Prefer: prefer }) },
      body: JSON.stringify(body),
    })
    for (const most of [3, lineCount]) {
      await compare(t, '/rpc/set_of_lines', post({ most }))
      await compare(t, '/rpc/logged', post({ most }, 'tx=rollback'))
      await compare(t, '/rpc/logged', post({ most }, 'count=exact'))
      await compare(t, '/rpc/headed?order=id', post({ most }))
      await compare(t, '/rpc/set_of_lines', post({ most }, 'handling=strict, max-affected=5'))
    }
    await compare(t, '/lines?order=id', { headers: { Accept: accept, Range: '5-9' } })
    await compare(t, '/lines?order=id', { headers: { Accept: accept, Range: '5-5000', Prefer: 'count=exact' } })
    await compare(t, '/lines?id=lt.5', {
      method: 'PATCH',
      headers: { Accept: accept, 'Content-Type': 'application/json', Prefer: 'return=representation, tx=rollback' },
      body: '{"text": "a\\nb"}',
    })
  })
}

t.test('a function runs once, and commits only without tx=rollback', async (t) => {
  const count = async (): Promise<unknown> =>
    (await fixture.query('select count(*)::int as n from public.log')).rows[0]?.n
  const before = Number(await count())
  const call = (prefer: string): Promise<Answer> =>
    ask(streaming.url, `/rpc/logged`, {
      method: 'POST',
      headers: { Accept: 'text/csv', 'Content-Type': 'application/json', Prefer: prefer },
      body: `{"most": ${lineCount}}`,
    })
  await call('count=exact')
  t.equal(await count(), before + 1)
  await call('tx=rollback')
  t.equal(await count(), before + 1)
})
