// A process that is asked to end: its clients, unmodified, go on at another one.
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { WebSocket } from 'ws'
import { resumingTransport } from '../../../server/client/resuming.ts'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { createGate } from '../../support/gate.ts'
import { startProcesses } from '../../support/processes.ts'
import { hourToken } from '../../support/realtime.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`create table public.items (id int primary key);
  grant select on public.items to anon;
  alter publication supabase_realtime add table public.items;`)

const env = {
  DATABASE_URL: database.authenticatorUri,
  REALTIME_DATABASE_URL: database.adminUri,
  PGRST_JWT_SECRET: jwtSecret,
  LOAD_SHEDDING_WAIT: '0',
}
const portOf = (url: string): number => Number(new URL(url).port)

t.test('SIGTERM under clients of supabase-js', async (t) => {
  const [first, second] = await startProcesses(t, [env, env])
  if (!first || !second) throw new Error('not started')
  let target = portOf(first.url())
  const gate = await createGate(t, () => target)
  await gate.open()
  const key = await hourToken('anon')
  const people = Array.from({ length: 5 }, (_, index) => {
    const client = createClient(`http://127.0.0.1:${gate.port}`, key, {
      realtime: { transport: resumingTransport(WebSocket) as never },
    })
    const ids: number[] = []
    const states: string[] = []
    const gaps: unknown[] = []
    const channel = client
      .channel('items', { config: { presence: { key: `person ${index}` } } })
      .on('postgres_changes', { event: 'INSERT', schema: 'public', table: 'items' }, ({ new: row }) =>
        ids.push((row as { readonly id: number }).id),
      )
      .on('system', {}, (message: { readonly code?: string }) => {
        if (message.code !== undefined) gaps.push(message)
      })
      .on('presence', { event: 'sync' }, () => undefined)
      .subscribe((status: string) => {
        states.push(status)
        if (status === 'SUBSCRIBED') void channel.track({})
      })
    return { client, channel, ids, states, gaps }
  })
  t.teardown(async () => {
    for (const { client } of people) {
      await client.removeAllChannels()
      await client.realtime.disconnect()
    }
  })
  const isPresent = (): boolean => people.every(({ channel }) => Object.keys(channel.presenceState()).length === 5)
  t.ok(await until(isPresent), 'all see each other')
  t.ok(
    await until(async () => {
      const { rowCount } = await database.query(
        'select from pg_replication_slots where database = current_database() and active',
      )
      return rowCount === 2
    }),
  )

  let written = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) await database.query(`insert into items values (${++written})`)
  })()
  t.ok(await until(() => people.every(({ ids }) => ids.length > 20)))
  target = portOf(second.url())
  first.kill('SIGTERM')
  t.equal(await first.ended, 0, 'the process ends')
  const before = written
  t.ok(await until(() => people.every(({ ids }) => (ids.at(-1) ?? 0) > before)), 'events come from the other one')
  t.ok(await until(isPresent), 'and all see each other again')
  isOver = true
  await writing
  t.ok(await until(() => people.every(({ ids }) => ids.at(-1) === written)))
  for (const { ids, states, gaps } of people) {
    t.strictSame(
      ids,
      Array.from({ length: written }, (_, index) => index + 1),
      'every row, once and in order',
    )
    t.strictSame(gaps, [])
    t.notOk(states.includes('CLOSED'), 'no channel is removed')
  }
})
