// `batch` of `rowhouse/client`: queries of supabase-js in one transaction.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { batch } from 'rowhouse/client'
import { startBatchService } from '../support/batch-service.ts'
import { runSection, sectionFunction } from '../support/readme-section.ts'

type Order = { id: number; customer: string; owner: string; total: number | null }
type Line = { id: number; order_id: number; sku: string; qty: number | null }
type Doc = { id: string; data: unknown; tags: string[] | null }
type Table<Row> = { Row: Row; Insert: Partial<Row>; Update: Partial<Row>; Relationships: [] }
type Database = {
  __InternalSupabase: { PostgrestVersion: '14' }
  api: {
    Tables: { orders: Table<Order>; lines: Table<Line>; docs: Table<Doc> }
    Views: Record<string, never>
    Functions: { echo: { Args: { value: string }; Returns: string } }
  }
}

const service = await startBatchService(t, 'batch_client')
const authorization = await service.as('ann')
const supabase = createClient<Database, 'api'>(service.url, 'no key', {
  db: { schema: 'api' },
  auth: { persistSession: false, autoRefreshToken: false },
  accessToken: () => Promise.resolve(authorization.Authorization?.slice('Bearer '.length) ?? null),
  // Node 20 has no WebSocket, which the client requires.
  realtime: { transport: class {} as never },
  global: {
    fetch: (url, init) => {
      sent.push(url instanceof Request ? url.url : url.toString())
      const headers = new Headers(init?.headers)
      // The gateway of a hosted project removes it; here it would be taken for a key of the service.
      headers.delete('apikey')
      return fetch(url, { ...init, headers })
    },
  },
})
const sent: string[] = []

t.test('queries that refer to each other', async (t) => {
  sent.length = 0
  const { data, error, status } = await batch(supabase, (b) => {
    const order = b.add(supabase.from('orders').insert({ customer: 'Ada & Söhne' }).select().single())
    const lines = b.add(
      supabase
        .from('lines')
        .insert([
          { order_id: order.ref('/id'), sku: 'X1' },
          { order_id: order.ref('/id'), sku: 'X2' },
        ])
        .select('sku, order_id'),
    )
    const found = b.add(
      supabase
        .from('lines')
        .select('sku')
        .in('sku', [lines.ref('/0/sku'), 'none']),
    )
    const none = b.add(supabase.from('lines').select('sku', { count: 'exact' }).eq('sku', 'none').maybeSingle())
    const said = b.add(supabase.rpc('echo', { value: order.ref('/customer') }))
    return { order, list: [lines, found] as const, none, said, other: 1 }
  })
  t.equal(error, null)
  t.equal(status, 200)
  t.strictSame(data, {
    order: { id: 1, customer: 'Ada & Söhne', owner: 'ann', total: null },
    list: [
      [
        { sku: 'X1', order_id: 1 },
        { sku: 'X2', order_id: 1 },
      ],
      [{ sku: 'X1' }],
    ],
    none: null,
    said: 'Ada & Söhne',
    other: 1,
  })
  const typed: Order | undefined = data?.order
  t.ok(typed, 'results have the types of their queries')
  t.strictSame(sent, [`${service.url}/rest/v1/$batch`], 'one request')
})

t.test('the error of a query undoes all of them', async (t) => {
  const { data, error, status } = await batch(supabase, (b) => {
    b.add(supabase.from('docs').insert({ id: 'x' }))
    return b.add(supabase.from('docs').insert({ id: 'x' }).select())
  })
  t.strictSame([data, status], [null, 409])
  t.match(error, { code: '23505', request: 'q1' })
  t.strictSame((await supabase.from('docs').select()).data, [])
})

t.test('data that looks like a reference is data', async (t) => {
  const user = [{ $ref: 'q0#/id' }, { $$ref: 'q0#/id' }, '${q0#/id}']
  const { data, error } = await batch(supabase, (b) => {
    const doc = b.add(supabase.from('docs').insert({ id: '${q0#/id}', data: user }).select().single())
    b.add(
      supabase
        .from('docs')
        .update({ tags: [doc.ref('/id')] })
        .eq('id', '${q0#/id}'),
    )
    return b.add(supabase.from('docs').select())
  })
  t.equal(error, null)
  t.strictSame(data, [{ id: '${q0#/id}', data: user, tags: ['${q0#/id}'] }])
})

t.test('only queries of supabase-js', async (t) => {
  await t.rejects(
    batch(supabase, (b) => b.add(Promise.resolve(1))),
    { message: 'rowhouse/client: only queries of supabase-js can be in a batch' },
  )
})

t.test('the examples of the README', async (t) => {
  await service.database.query('truncate api.orders, api.lines restart identity')
  const printed = await runSection('batch-curl', {
    URL: service.url,
    TOKEN: authorization.Authorization?.slice('Bearer '.length) ?? '',
  })
  t.match(JSON.parse(printed), {
    responses: [{ body: { id: 1 } }, { status: 201 }, { status: 200, body: [{ sku: 'X1' }] }],
  })
  const run = await sectionFunction<[typeof supabase, typeof batch]>('batch', ['client', 'batch'], ['data', 'error'])
  t.strictSame(await run(supabase, batch), { data: { order: { id: 2 }, lines: [{ sku: 'X1' }] }, error: null })
})
