// `rowhouse/client` must run in browsers: it imports no package, nothing of Node, and nothing of the server.
import t from 'tap'
import { WebSocket } from 'ws'
import type { RestClient } from 'rowhouse/client'
import { createClient } from '@supabase/supabase-js'
import { errorPath, rows } from '../../../server/client/index.ts'
import { readSource } from '../../support/imports.ts'

t.test('the client imports its own files only', async (t) => {
  const files = readSource().filter(({ path }) => path.startsWith('client/'))
  t.ok(files.some(({ path }) => path === 'client/index.ts'))
  const foreign = files.flatMap(({ imports }) => imports.filter(({ to }) => !to.startsWith('client/')))
  t.strictSame(foreign, [])
})

t.test('clients of supabase-js have the type of a client', async (t) => {
  // Node 20 has no WebSocket, which supabase-js's realtime client requires.
  const supabase = createClient('http://127.0.0.1:1', 'a key', { realtime: { transport: WebSocket as never } })
  const clients: readonly RestClient[] = [supabase, supabase.schema('public')]
  for (const client of clients) t.ok('then' in client.from('orders').insert({ note: 'never sent' }))
})

t.test('rows() without a response', async (t) => {
  const supabase = createClient('http://127.0.0.1:1', 'a key', { realtime: { transport: WebSocket as never } })
  const first = (signal?: AbortSignal): Promise<unknown> => {
    const query = supabase.from('orders').select()
    return rows(signal ? query.abortSignal(signal) : query).next()
  }
  await t.rejects(first(), { name: 'RowsError', status: undefined, cause: { name: 'TypeError' } })
  await t.rejects(first(AbortSignal.abort()), { name: 'AbortError' })
})

t.test('the pointer of an error', (t) => {
  const rows = [
    ['/lines/3/price', '/lines/3/price'],
    ['/lines/0: Key (id)=(1) already exists.', '/lines/0'],
    ['/x:customers/name', '/x:customers/name'],
    ['/0/x:lines!order_id/1: Key (id)=(/a: b) already exists.', '/0/x:lines!order_id/1'],
    ['Key (id)=(1) already exists.', undefined],
    ['', undefined],
  ] as const
  for (const [details, path] of rows) t.equal(errorPath({ details }), path)
  t.end()
})
