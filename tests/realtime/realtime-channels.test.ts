// Presence, private channels, messages of SQL and their replay, ends of sessions and keys.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { withClient } from '../support/database.ts'
import { dial, hourToken, push, startRealtimeServer, type Frame } from '../support/realtime.ts'

const server = await startRealtimeServer(t)
const { url, database } = server
const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

await database.query(`
  create table public.members (topic text, member uuid);
  insert into public.members values ('team', '${ann}'), ('readers', '${ann}'), ('readers', '${bob}');
  grant select on public.members to authenticated;
  create policy receive on realtime.messages for select to authenticated using (
    exists (select from public.members where members.topic = (select realtime.topic()) and member = (select auth.uid()))
  );
  create policy send on realtime.messages for insert to authenticated with check (
    (select realtime.topic()) <> 'readers' and (select realtime.topic()) <> 'raises' and exists (
      select from public.members where members.topic = (select realtime.topic()) and member = (select auth.uid())
    )
  );
  create policy raises on realtime.messages for select to authenticated using (
    (select realtime.topic()) = 'raises' and 1 / (length(realtime.topic()) - 6) = 1
  );
  create policy listen on realtime.messages for select to anon using (
    (select realtime.topic()) = 'presence only' and extension = 'presence'
  );`)

const annToken = await hourToken('authenticated', { sub: ann })
const bobToken = await hourToken('authenticated', { sub: bob })

const clientOf = async (t: Parameters<typeof dial>[0], token?: string, version: 1 | 2 = 2) => {
  const client = await dial(t, url, token === undefined ? { version } : { token, version })
  await client.opened
  return client
}

const payloadOf = ({ payload }: Frame) => payload as Readonly<Record<string, unknown>>

t.test('presence: state, diffs, updates, several sockets of one key', async (t) => {
  const [one, two, three] = [await clientOf(t), await clientOf(t, undefined, 1), await clientOf(t)]
  await one.join('p', { presence: { key: 'k', enabled: true } })
  t.strictSame(payloadOf(await one.next('presence_state')), {})
  one.send('presence', 'realtime:p', { type: 'presence', event: 'track', payload: { n: 1 } })
  t.match(payloadOf(await one.next('phx_reply')), { status: 'ok', response: {} })
  const joined = payloadOf(await one.next('presence_diff')) as { joins: { k: { metas: { phx_ref: string }[] } } }
  t.match(joined, { joins: { k: { metas: [{ n: 1, phx_ref: String }] } }, leaves: {} })

  await two.join('p', { presence: { key: 'k', enabled: true } })
  t.strictSame(payloadOf(await two.next('presence_state')), joined.joins)
  two.send('presence', 'realtime:p', { type: 'presence', event: 'track', payload: {} })
  await two.next('phx_reply')
  t.match(payloadOf(await one.next('presence_diff')), { joins: { k: { metas: [{ phx_ref: String }] } }, leaves: {} })

  // The same payload again changes nothing.
  one.send('presence', 'realtime:p', { type: 'presence', event: 'track', payload: { n: 1 } })
  await one.next('phx_reply')
  one.send('presence', 'realtime:p', { type: 'presence', event: 'track', payload: { n: 2 } })
  await one.next('phx_reply')
  const [{ phx_ref: before }] = joined.joins.k.metas as [{ phx_ref: string }]
  t.match(payloadOf(await one.next('presence_diff')), {
    joins: { k: { metas: [{ n: 2, phx_ref_prev: before }] } },
    leaves: { k: { metas: [{ n: 1, phx_ref: before }] } },
  })

  // Presence is off until the client tracks.
  await three.join('p', {})
  t.strictSame(await three.events(), [])
  three.send('presence', 'realtime:p', { type: 'presence', event: 'track', payload: { name: 'three' } })
  await three.next('phx_reply')
  t.equal((payloadOf(await three.next('presence_state')) as { k: { metas: unknown[] } }).k.metas.length, 2)

  two.socket.terminate()
  t.ok(
    await (async () => {
      for (;;) {
        const { leaves } = payloadOf(await one.next('presence_diff')) as { leaves: object }
        if (Object.keys(leaves).length > 0) return true
      }
    })(),
  )
  one.send('presence', 'realtime:p', { type: 'presence', event: 'untrack' })
  await one.next('phx_reply')
  t.match(payloadOf(await one.next('presence_diff')), { leaves: { k: { metas: [{ n: 2 }] } } })
})

t.test('private channels', async (t) => {
  const [forAnn, forBob, anonymous] = [await clientOf(t, annToken), await clientOf(t, bobToken), await clientOf(t)]
  const refused = (name: string) => ({
    status: 'error',
    response: { reason: `Unauthorized: You do not have permissions to read from this Channel topic: ${name}` },
  })
  t.match(await forAnn.join('team', { private: true }), { status: 'ok' })
  t.strictSame(await forBob.join('team', { private: true }), refused('team'))
  t.strictSame(await anonymous.join('team', { private: true }), refused('team'))
  t.match(await forBob.join('team', { private: false }), { status: 'ok' }, 'the public channel of that name is another')

  t.match(await forAnn.join('readers', { private: true, broadcast: { ack: true } }), { status: 'ok' })
  t.match(await forBob.join('readers', { private: true }), { status: 'ok' })
  forAnn.sendRaw(push('readers', 'e', {}, { ref: 'not allowed' }))
  forAnn.sendRaw(push('team', 'e', { text: 'secret' }))
  t.strictSame(await forBob.events(), [])
  t.strictSame(await forAnn.events(), [], 'no reply without the right')

  t.strictSame(await forAnn.join('raises', { private: true }), refused('raises'))
  t.match(
    await forAnn.join('team', { private: true, broadcast: { self: true } }),
    { status: 'ok' },
    'others are not harmed',
  )
  forAnn.sendRaw(push('team', 'e', { text: 'secret' }))
  t.match(await forAnn.next('broadcast'), { payload: { payload: { text: 'secret' } } })

  // Presence alone may be received; without presence, nothing could be.
  t.strictSame(await anonymous.join('presence only', { private: true }), refused('presence only'))
  t.match(await anonymous.join('presence only', { private: true, presence: { enabled: true } }), { status: 'ok' })
  anonymous.send('presence', 'realtime:presence only', { type: 'presence', event: 'track', payload: {} })
  t.match(await anonymous.next('phx_reply'), { payload: { status: 'error' } })
  t.strictSame(await anonymous.events(), ['presence_state'])
})

t.test("another person's token in the middle", async (t) => {
  const client = await clientOf(t, annToken)
  await client.join('team', { private: true })
  await client.join('readers', { private: true })
  for (const name of ['team', 'readers']) client.send('access_token', `realtime:${name}`, { access_token: bobToken })
  t.match(await client.next('system', 'realtime:team'), {
    payload: {
      status: 'error',
      message: 'You do not have permissions to read from this Channel topic: team',
    },
  })
  await client.next('phx_close', 'realtime:team')
  t.strictSame(await client.events(), [])
})

t.test('messages of SQL, and their replay', async (t) => {
  const [forAnn, second, old] = [
    await clientOf(t, annToken),
    await clientOf(t, annToken),
    await clientOf(t, annToken, 1),
  ]
  const since = Date.now() - 1000
  for (const client of [forAnn, old]) {
    await client.join('team', { private: true, broadcast: { replication_ready: true } })
    t.match(await client.next('system'), {
      payload: { extension: 'system', status: 'ok', message: 'Replication connection established', channel: 'team' },
    })
  }
  await database.query(`select realtime.send('{"a": 12345678901234567890}', 'sql', 'team')`)
  await database.query(`select realtime.send_binary('\\x00ff', 'bytes', 'team')`)
  await database.query(`select realtime.send('{"public": true}', 'sql', 'team', false)`)
  const text = await forAnn.next('broadcast')
  t.match(text, { payload: { type: 'broadcast', event: 'sql', payload: { id: String }, meta: { id: String } } })
  t.match(await forAnn.next('broadcast'), { payload: { event: 'bytes', payload: '00ff', meta: { id: String } } })
  t.match(await old.next('broadcast'), { payload: { event: 'sql', payload: { id: String }, meta: { id: String } } })
  t.strictSame(await forAnn.events(), [], 'nothing of the public channel')
  t.strictSame(await old.events(), [], 'no bytes for version 1.0.0')

  await second.join('team', { private: true, broadcast: { replay: { since } } })
  t.match(await second.next('broadcast'), {
    payload: { event: 'sql', meta: { replayed: true, id: (text.payload as { meta: { id: string } }).meta.id } },
  })
  t.match(await second.next('broadcast'), { payload: { event: 'bytes', payload: '00ff', meta: { replayed: true } } })
  await second.join('team', { private: true, broadcast: { replay: { since, limit: 1 } } })
  t.match(await second.next('broadcast'), { payload: { event: 'bytes' } })
  t.strictSame(await second.events(), ['phx_close'])
  for (const replay of [{ since: 'x' }, {}, { since, limit: 1.5 }]) {
    t.strictSame(await second.join('team', { private: true, broadcast: { replay } }), {
      status: 'error',
      response: { reason: 'UnableToReplayMessages: Replay params are not valid' },
    })
  }
})

t.test('ends of sessions and of users', async (t) => {
  const session = 'cccccccc-0000-4000-8000-000000000003'
  await database.query(`insert into auth.users (id, email) values ($1, 'ann@example.org') on conflict do nothing`, [
    ann,
  ])
  await database.query(
    `insert into auth.sessions (id, user_id, created_at, updated_at) values ($1, $2, now(), now())`,
    [session, ann],
  )
  const token = await hourToken('authenticated', { sub: ann, session_id: session })
  const client = await clientOf(t)
  t.match(await client.join('a', {}, { access_token: token }), { status: 'ok' })
  t.match(await client.join('b'), { status: 'ok' })
  // The process listens by now.
  await pause(300)
  await database.query('delete from auth.sessions where id = $1', [session])
  t.match(await client.next('system', 'realtime:a'), { payload: { message: 'The session of this token has ended' } })
  await client.next('phx_close', 'realtime:a')
  t.strictSame(await client.events(), [])
  t.match(await client.join('a', {}, { access_token: token }), {
    response: { reason: 'InvalidJWTToken: The session of this token has ended' },
  })
  t.equal((await (await dial(t, url, { token })).opened).status, 401)
})

t.test('the end of an API key closes its sockets', async (t) => {
  const created = await withClient(database.adminUri, (client) =>
    createApiKey(client, { role: 'anon', label: 'to be revoked' }),
  )
  const client = await clientOf(t, created.key)
  t.match(await client.join('a', {}, { access_token: created.key }), { status: 'ok' })
  await pause(300)
  await database.query('update auth.api_keys set revoked_at = now() where id = $1', [created.id])
  t.match(await client.closed, { code: 1008, reason: 'The API key is unknown, expired or revoked' })
})

t.test('broadcasts by HTTP', async (t) => {
  const client = await clientOf(t, annToken)
  await client.join('room')
  await client.join('team', { private: true })
  const post = async (path: string, body: string | Buffer, token?: string, type = 'application/json') => {
    const response = await fetch(`${url}/realtime/v1/api/broadcast${path}`, {
      method: 'POST',
      headers: { 'Content-Type': type, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
      body,
    })
    const text = await response.text()
    return [response.status, text === '' ? '' : (JSON.parse(text) as unknown)]
  }
  const batch = (...messages: object[]) => JSON.stringify({ messages })
  const message = { topic: 'room', event: 'e', payload: { n: 1 } }
  t.strictSame(await post('', batch(message), annToken), [202, ''])
  t.match(await client.next('broadcast'), { topic: 'realtime:room', payload: { event: 'e', payload: { n: 1 } } })
  t.strictSame(await post('', batch({ ...message, topic: 'team', private: true }), bobToken), [202, ''], 'left out')
  t.strictSame(await post('', batch({ ...message, topic: 'team', private: true, id: 'i' }), annToken), [202, ''])
  t.match(await client.next('broadcast'), { topic: 'realtime:team', payload: { meta: { id: 'i' } } })

  t.strictSame(await post('/room/events/e%2Ff', '{"n":2}', annToken), [202, ''])
  t.match(await client.next('broadcast'), { payload: { event: 'e/f', payload: { n: 2 } } })
  t.strictSame(await post('/room/events/e', Buffer.from([1, 2]), annToken, 'application/octet-stream'), [202, ''])
  t.match(await client.next('broadcast'), { payload: { payload: '0102' } })
  t.strictSame(await post('/team/events/e?private=true', '{}', annToken), [202, ''])
  t.match(await client.next('broadcast'), { topic: 'realtime:team' })
  t.strictSame(await client.events(), [])

  const unauthorized = { message: 'Unauthorized' }
  for (const [path, body, token, expected] of [
    ['', batch(message), undefined, [401, unauthorized]],
    ['', batch(message), 'nonsense', [401, unauthorized]],
    ['/team/events/e?private=true', '{}', bobToken, [403, unauthorized]],
    ['', '{}', annToken, [422, { errors: { messages: ["can't be blank"] } }]],
    ['', batch(), annToken, [422, { errors: { messages: ["can't be blank"] } }]],
    [
      '',
      batch(message, { topic: '' }),
      annToken,
      [
        422,
        {
          errors: {
            messages: [{}, { payload: ["can't be blank"], event: ["can't be blank"], topic: ["can't be blank"] }],
          },
        },
      ],
    ],
    ['', batch({ ...message, payload: 'x' }), annToken, [422, { errors: { messages: [{ payload: ['is invalid'] }] } }]],
    ['', '{', annToken, [422, { errors: { body: ['is not valid JSON'] } }]],
    ['/room/events/e', '{', annToken, [422, { errors: { payload: ['is not valid JSON'] } }]],
  ] as const) {
    t.same(await post(path, body, token), expected)
  }
  t.strictSame(await post('/room/events/e', 'x', annToken, 'text/plain'), [
    415,
    { error: 'Unsupported Media Type. Use application/json or application/octet-stream' },
  ])
})
