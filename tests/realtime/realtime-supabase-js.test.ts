// `@supabase/supabase-js`, unmodified: two people in public and private channels.
import { createClient, type RealtimeChannel, type SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { WebSocket } from 'ws'
import { hourToken, startRealtimeServer } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const { url, database } = await startRealtimeServer(t)
const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']
const publishable = await hourToken('anon')

await database.query(`
  create policy receive on realtime.messages for select to authenticated using ((select realtime.topic()) = 'team');
  create policy send on realtime.messages for insert to authenticated
    with check ((select realtime.topic()) = 'team' and (select auth.uid()) = '${ann}');
  create table public.notes (id int primary key, text text);
  grant select on public.notes to authenticated;
  alter publication supabase_realtime add table public.notes;`)

const clients: SupabaseClient[] = []
t.teardown(async () => {
  for (const client of clients) {
    await client.removeAllChannels()
    await client.realtime.disconnect()
  }
})

async function clientOf(sub: string, vsn: '1.0.0' | '2.0.0' = '2.0.0'): Promise<SupabaseClient> {
  const token = await hourToken('authenticated', { sub })
  const client = createClient(url, publishable, {
    accessToken: () => Promise.resolve(token),
    realtime: { transport: WebSocket as never, vsn },
  })
  clients.push(client)
  return client
}

async function subscribed(channel: RealtimeChannel): Promise<string> {
  return new Promise((resolve) => {
    channel.subscribe((status, error) => resolve(error ? `${status}: ${error.message}` : status))
  })
}

const [asAnn, asBob] = [await clientOf(ann), await clientOf(bob, '1.0.0')]

t.test('broadcast', async (t) => {
  const received: unknown[] = []
  const [from, to] = [asAnn.channel('room', { config: { broadcast: { ack: true } } }), asBob.channel('room')]
  to.on('broadcast', { event: '*' }, ({ event, payload }) => received.push([event, payload]))
  t.strictSame([await subscribed(from), await subscribed(to)], ['SUBSCRIBED', 'SUBSCRIBED'])
  t.equal(await from.send({ type: 'broadcast', event: 'e', payload: { n: 1 } }), 'ok')
  t.strictSame(await from.httpSend('http', { n: 2 }), { success: true })
  t.ok(await until(() => received.length === 2))
  t.strictSame(received, [
    ['e', { n: 1 }],
    ['http', { n: 2 }],
  ])
  t.strictSame([await from.unsubscribe(), await to.unsubscribe()], ['ok', 'ok'])
})

t.test('presence', async (t) => {
  const [one, two] = [
    asAnn.channel('present', { config: { presence: { key: 'ann' } } }),
    asBob.channel('present', { config: { presence: { key: 'bob' } } }),
  ]
  const changes: unknown[] = []
  one.on('presence', { event: 'join' }, ({ key }) => changes.push(['join', key]))
  one.on('presence', { event: 'leave' }, ({ key }) => changes.push(['leave', key]))
  two.on('presence', { event: 'sync' }, () => undefined)
  t.strictSame([await subscribed(one), await subscribed(two)], ['SUBSCRIBED', 'SUBSCRIBED'])
  t.equal(await one.track({ status: 'here' }), 'ok')
  t.equal(await two.track({ status: 'there' }), 'ok')
  t.ok(
    await until(() => Object.keys(one.presenceState()).length === 2 && Object.keys(two.presenceState()).length === 2),
  )
  t.match(two.presenceState(), { ann: [{ status: 'here' }], bob: [{ status: 'there' }] })
  t.equal(await two.untrack(), 'ok')
  t.ok(await until(() => Object.keys(one.presenceState()).length === 1))
  t.match(changes, [
    ['join', 'ann'],
    ['join', 'bob'],
  ])
  await one.unsubscribe()
  await two.unsubscribe()
})

t.test('private channels', async (t) => {
  const options = { config: { private: true, broadcast: { ack: true } } }
  const received: unknown[] = []
  const [from, to] = [asAnn.channel('team', options), asBob.channel('team', options)]
  to.on('broadcast', { event: 'e' }, ({ payload }) => received.push(payload))
  t.strictSame([await subscribed(from), await subscribed(to)], ['SUBSCRIBED', 'SUBSCRIBED'])
  t.equal(await from.send({ type: 'broadcast', event: 'e', payload: { n: 1 } }), 'ok')
  t.ok(await until(() => received.length === 1))
  t.match(
    await subscribed(asBob.channel('other', options)),
    /^CHANNEL_ERROR: .*Unauthorized: You do not have permissions/,
  )
})

t.test('row changes, from the moment of SUBSCRIBED', async (t) => {
  const received: unknown[] = []
  const channel = asBob
    .channel('rows')
    .on('postgres_changes', { event: '*', schema: 'public', table: 'notes' }, (change) => received.push(change.new))
  t.equal(await subscribed(channel), 'SUBSCRIBED')
  await database.query("insert into public.notes values (1, 'one')")
  t.ok(await until(() => received.length === 1))
  t.strictSame(received, [{ id: 1, text: 'one' }])
})
