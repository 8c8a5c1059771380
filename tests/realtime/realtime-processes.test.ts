// Several processes of one database: broadcasts, presence, and processes that come and go.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { withClient } from '../support/database.ts'
import { dial, hourToken, push, startRealtimeServer } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const first = await startRealtimeServer(t)
const { database } = first
const env = { REALTIME_DATABASE_URL: database.adminUri }
const second = await startApplication(t, database.authenticatorUri, env)

/** The number of processes that listen. */
const listening = async (): Promise<number> => {
  const { rowCount } = await database.query(
    `select from pg_stat_activity where datname = current_database() and application_name like 'rowhouse realtime %'
       and query like 'LISTEN%'`,
  )
  return rowCount ?? 0
}

t.test('a process without channels has no connection', async (t) => {
  t.equal(await listening(), 0)
})

t.test('broadcasts and presence', async (t) => {
  const [here, there] = [await dial(t, first.url), await dial(t, second.url, { version: 1 })]
  for (const client of [here, there]) await client.opened
  await here.join('room', { presence: { key: 'here', enabled: true } })
  await here.next('presence_state')
  here.send('presence', 'realtime:room', { type: 'presence', event: 'track', payload: { n: 1 } })
  await here.next('presence_diff')
  await there.join('room', { presence: { key: 'there', enabled: true } })
  await there.next('presence_state')
  // The state of the other process may be part of the state, or follow as a diff.
  t.ok(await until(() => there.received.some(({ payload }) => JSON.stringify(payload).includes('"here"'))))
  there.send('presence', 'realtime:room', { type: 'presence', event: 'track', payload: { n: 2 } })
  t.match(await here.next('presence_diff'), { payload: { joins: { there: { metas: [{ n: 2 }] } } } })

  const long = 'ä€🎉'.repeat(10_000)
  here.sendRaw(push('room', 'long', { long }))
  here.sendRaw(push('room', 'bytes', Buffer.from([0, 1])))
  there.send('broadcast', 'realtime:room', { type: 'broadcast', event: 'text', payload: { n: 3 } })
  t.strictSame((await there.next('broadcast')).payload, { type: 'broadcast', event: 'long', payload: { long } })
  t.match((await here.next('broadcast')).payload, { event: 'text', payload: { n: 3 } })

  for (let n = 0; n < 200; n++)
    there.send('broadcast', 'realtime:room', { type: 'broadcast', event: 'n', payload: { n } })
  const received: unknown[] = []
  for (let n = 0; n < 200; n++) {
    received.push(((await here.next('broadcast')).payload as { payload: { n: number } }).payload.n)
  }
  t.strictSame(
    received,
    Array.from({ length: 200 }, (_, n) => n),
    'in order',
  )

  const response = await fetch(`${second.url}/realtime/v1/api/broadcast/room/events/http`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${await hourToken('anon')}`, 'Content-Type': 'application/json' },
    body: '{}',
  })
  t.equal(response.status, 202)
  t.match((await here.next('broadcast')).payload, { event: 'http' })

  there.socket.terminate()
  t.match(await here.next('presence_diff'), { payload: { leaves: { there: { metas: [{ n: 2 }] } } } })
})

t.test('a process without channels sends to those of others', async (t) => {
  const third = await startApplication(t, database.authenticatorUri, env)
  const here = await dial(t, first.url)
  await here.opened
  await here.join('other')
  const response = await fetch(`${third.url}/realtime/v1/api/broadcast/other/events/http`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${await hourToken('anon')}`, 'Content-Type': 'application/json' },
    body: '{"n":1}',
  })
  t.equal(response.status, 202)
  t.match((await here.next('broadcast')).payload, { event: 'http', payload: { n: 1 } })
})

t.test('a process that is killed leaves no presence behind', async (t) => {
  const [here, there] = [await dial(t, first.url), await dial(t, second.url)]
  for (const client of [here, there]) await client.opened
  await here.join('lost', { presence: { key: 'here', enabled: true } })
  await there.join('lost', { presence: { key: 'there', enabled: true } })
  there.send('presence', 'realtime:lost', { type: 'presence', event: 'track', payload: {} })
  t.match(await here.next('presence_diff'), { payload: { joins: { there: {} } } })
  const seen = here.received.length
  // The connection of the second process by name: its entry is gone until it listens again.
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'rowhouse realtime %'`,
  )
  t.ok(
    await until(() =>
      here.received.slice(seen).some(({ payload }) => JSON.stringify(payload).includes('"leaves":{"there"')),
    ),
  )
  t.ok(
    await until(() =>
      here.received.slice(seen).some(({ payload }) => JSON.stringify(payload).includes('"joins":{"there"')),
    ),
    'and comes back with the connection',
  )
})

t.test('another role of the database can neither read nor forge what processes tell each other', async (t) => {
  const ann = '00000000-0000-4000-8000-00000000000a'
  const session = '00000000-0000-4000-8000-00000000000b'
  await database.query(
    `create policy everyone on realtime.messages for all to authenticated using (true) with check (true)`,
  )
  await database.query(`insert into auth.users (id) values ('${ann}')`)
  await database.query(
    `insert into auth.sessions (id, user_id, created_at, updated_at) values ('${session}', '${ann}', now(), now())`,
  )
  const token = await hourToken('authenticated', { sub: ann, session_id: session })
  const [here, there] = [await dial(t, first.url, { token }), await dial(t, second.url, { token })]
  for (const client of [here, there]) await client.opened
  for (const client of [here, there]) {
    t.match(await client.join('secret', { private: true, presence: { enabled: true } }), { status: 'ok' })
  }
  const heard: string[] = []
  await withClient(database.adminUri, async (client) => {
    client.on('notification', ({ payload = '' }) => heard.push(payload))
    await client.query('set role anon')
    await client.query('listen rowhouse_realtime')
    here.send('broadcast', 'realtime:secret', { type: 'broadcast', event: 'e', payload: { text: 'for members' } })
    t.match(await there.next('broadcast'), { payload: { payload: { text: 'for members' } } })
    t.ok(await until(async () => (await client.query('select')) && heard.length > 0))
    t.notOk(heard.some((payload) => payload.includes('members') || payload.includes('secret')))
    t.notOk(heard.some((payload) => Buffer.from(payload.split(' ').at(-1) ?? '', 'base64').includes('members')))
    const sender = heard[0]?.split(' ', 1)[0] ?? ''
    const forged = [
      { k: 'send', t: 'secret', p: true, e: 'forged', j: '{}' },
      { k: 'send', t: 'secret', p: true, e: 'forged', x: '{}' },
      { k: 'presence', t: 'secret', p: true, o: 1, entry: { key: 'forged', ref: 'r', members: '' } },
      { k: 'presence', t: 'secret', p: true, o: 1, entry: { key: 'forged' } },
      { k: 'presence', t: 'secret', p: true, o: 1, entry: 1 },
      { k: 'bye' },
      null,
    ].flatMap((fields) => [sender, 'another'].map((name) => `${name} 1000 0 1 ${JSON.stringify(fields)}`))
    const ended = [`session ${session}`, `user ${ann}`, 'user x', 'session', '']
    for (const payload of [...heard, ...forged, ...ended, `${sender} 1000 0 999999999 x`]) {
      await client.query('select pg_notify($1, $2)', ['rowhouse_realtime', payload])
    }
    await t.rejects(client.query('select from rowhouse.realtime_secret'), { code: '42501' })
  })
  await pause(300)
  for (const client of [here, there]) {
    t.strictSame(
      (await client.events()).filter((event) => event !== 'presence_state'),
      [],
    )
  }
  there.send('broadcast', 'realtime:secret', { type: 'broadcast', event: 'e', payload: { n: 1 } })
  t.match(await here.next('broadcast'), { payload: { payload: { n: 1 } } }, 'the processes go on')
  await database.query(`delete from auth.sessions where id = '${session}'`)
  for (const client of [here, there]) t.match(await client.closed, { code: 1008 })
})
