// `GET /realtime/v1/changes`: row changes as server-sent events.
import { once } from 'node:events'
import { request as send, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { startRealtimeServer, hourToken } from '../support/realtime.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const user = '00000000-0000-4000-8000-000000000001'
const { url, database } = await startRealtimeServer(t, { REALTIME_MAX_BUFFERED_BYTES: '100000' })
await database.query(`create table public.items (id int primary key, owner uuid, v text, j json);
  create table public.own (id int primary key, owner uuid);
  alter table public.own enable row level security;
  create policy own on public.own for select to authenticated using (owner = auth.uid());
  grant select on public.items, public.own to anon, authenticated;
  alter publication supabase_realtime add table public.items, public.own;`)

type Open = { readonly response: IncomingMessage; readonly text: () => string; readonly isOver: () => boolean }

async function open(
  t: Pick<Test, 'teardown'>,
  query: string,
  { token, headers = {} }: { readonly token?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Open> {
  const authorization = `Bearer ${token ?? (await hourToken('anon'))}`
  const request = send(`${url}/realtime/v1/changes?${query}`, { headers: { authorization, ...headers }, agent: false })
  request.end()
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  let isOver = false
  response.on('data', (chunk: Buffer) => (text += chunk.toString()))
  response.on('error', () => undefined)
  response.on('close', () => (isOver = true))
  return { response, text: () => text, isOver: () => isOver }
}

type Event = { readonly id: string; readonly data: { readonly record?: { readonly id: number; readonly j?: unknown } } }

const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)].map(([, id = '', data = '']) => ({
    id,
    data: JSON.parse(data) as Event['data'],
  }))

const idsOf = (text: string): unknown[] => eventsOf(text).map(({ data }) => data.record?.id)

t.test('events with positions, which resume', async (t) => {
  const stream = await open(t, 'schema=public&table=items&event=INSERT&filter=id=lt.100&select=id,j')
  t.equal(stream.response.statusCode, 200)
  t.match(stream.response.headers, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  await database.query(`insert into items (id, j) select n, E'{"a":\\n\\r1}' from generate_series(98, 101) n`)
  await database.query('insert into items (id) values (1)')
  t.ok(await until(() => eventsOf(stream.text()).length === 3))
  t.match(stream.text(), /^retry: \d+\n: subscribed\n\nid: /)
  t.strictSame(idsOf(stream.text()), [98, 99, 1])
  t.strictSame(eventsOf(stream.text())[0]?.data.record, { id: 98, j: { a: 1 } })
  const [first, second] = eventsOf(stream.text())
  const resumed = await open(t, 'schema=public&table=items', { headers: { 'last-event-id': first?.id ?? '' } })
  t.ok(await until(() => eventsOf(resumed.text()).length === 4))
  t.strictSame(idsOf(resumed.text()), [99, 100, 101, 1])
  const bySince = await open(t, `table=items&since=${second?.id ?? ''}`)
  t.ok(await until(() => eventsOf(bySince.text()).length === 3))
  const gap = await open(t, 'table=items', { headers: { 'last-event-id': '0/1:0' } })
  t.ok(await until(() => gap.text().includes('event: system')))
  t.match(
    gap.text(),
    /event: system\ndata: {"extension":"postgres_changes","status":"error","message":"[^"]*","code":"Gap"}\n\n/,
  )
})

t.test('policies of the caller', async (t) => {
  const [mine, anyone] = [
    await open(t, 'table=own', { token: await hourToken('authenticated', { sub: user }) }),
    await open(t, `table=own&apikey=${await hourToken('anon')}`),
  ]
  await database.query(`insert into own values (1, '${user}'), (2, null)`)
  t.ok(await until(() => eventsOf(mine.text()).length === 1))
  t.strictSame(idsOf(mine.text()), [1])
  t.strictSame(idsOf(anyone.text()), [])
})

t.test('refused requests', async (t) => {
  const cases = [
    ['', 400, /No subscription params provided/],
    ['table=unknown', 400, /Please check Realtime is enabled/],
    ['schema=public&table=items&filter=nope=eq.1', 400, /invalid column for filter nope/],
    ['table=items&since=x', 400, /`since` must be the position/],
  ] as const
  for (const [query, status, message] of cases) {
    const refused = await open(t, query)
    t.equal(refused.response.statusCode, status)
    t.ok(await until(refused.isOver))
    t.match(JSON.parse(refused.text()), { message })
  }
  for (const token of ['x', await signToken({ role: 'anon', exp: 1 })]) {
    t.equal((await open(t, 'table=items', { token })).response.statusCode, 401)
  }
})

t.test('ends with the token', async (t) => {
  const token = await signToken({ role: 'anon', exp: Math.floor(Date.now() / 1000) + 5 })
  const stream = await open(t, 'table=items', { token })
  t.ok(await until(stream.isOver))
  t.match(stream.text(), /event: system\ndata: {[^\n]*"message":"Token has expired \d+ seconds ago"}\n\n$/)
})

t.test('a client that does not read is disconnected', async (t) => {
  const stream = await open(t, 'table=items')
  stream.response.pause()
  stream.response.removeAllListeners('data')
  for (let count = 0; count < 30; count++) {
    await database.query(
      `insert into items (id, v) select ${1000 + count * 20} + n, repeat('x', 50000) from generate_series(0, 19) n`,
    )
  }
  stream.response.resume()
  t.ok(await until(stream.isOver))
})
