// The protocol of the WebSocket: tables of sent and received frames, in both versions.
import t from 'tap'
import { dial, hourToken, push, startRealtimeServer, type Frame } from '../support/realtime.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const server = await startRealtimeServer(t)
const { url } = server
const now = (): number => Math.floor(Date.now() / 1000)

type Row = {
  readonly name: string
  readonly version?: 1 | 2
  /** Frames as text, one after the other; each is answered before the next. */
  readonly sends: readonly unknown[]
  readonly receives: readonly unknown[]
}

const config = (more: object = {}): object => ({ config: { broadcast: { ack: false, self: false }, ...more } })

const rows: readonly Row[] = [
  {
    name: 'heartbeat',
    sends: [[null, '1', 'phoenix', 'heartbeat', {}]],
    receives: [[null, '1', 'phoenix', 'phx_reply', { status: 'ok', response: {} }]],
  },
  {
    name: 'heartbeat of version 1.0.0',
    version: 1,
    sends: [{ topic: 'phoenix', event: 'heartbeat', payload: {}, ref: '7' }],
    receives: [{ ref: '7', topic: 'phoenix', event: 'phx_reply', payload: { status: 'ok', response: {} } }],
  },
  {
    name: 'join and leave',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', config()],
      ['1', '2', 'realtime:a', 'phx_leave', {}],
    ],
    receives: [
      ['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      ['1', '2', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
      ['1', '1', 'realtime:a', 'phx_close', {}],
    ],
  },
  {
    name: 'join and leave of version 1.0.0',
    version: 1,
    sends: [
      { topic: 'realtime:a', event: 'phx_join', payload: config(), ref: '1', join_ref: '1' },
      { topic: 'realtime:a', event: 'phx_leave', payload: {}, ref: '2', join_ref: '1' },
    ],
    receives: [
      {
        ref: '1',
        topic: 'realtime:a',
        event: 'phx_reply',
        payload: { status: 'ok', response: { postgres_changes: [] } },
      },
      { ref: '2', topic: 'realtime:a', event: 'phx_reply', payload: { status: 'ok', response: {} } },
      { ref: '1', topic: 'realtime:a', event: 'phx_close', payload: {} },
    ],
  },
  {
    name: 'topics without the prefix, and without a name',
    sends: [
      ['1', '1', 'other:a', 'phx_join', {}],
      ['2', '2', 'realtime:', 'phx_join', {}],
      [null, '3', 'realtime:unknown', 'broadcast', {}],
      [null, '4', 'realtime:unknown', 'phx_leave', {}],
    ],
    receives: [
      ['1', '1', 'other:a', 'phx_reply', { status: 'error', response: { reason: 'unmatched topic' } }],
      [
        '2',
        '2',
        'realtime:',
        'phx_reply',
        { status: 'error', response: { reason: 'TopicNameRequired: You must provide a topic name' } },
      ],
      [null, '3', 'realtime:unknown', 'phx_reply', { status: 'error', response: { reason: 'unmatched topic' } }],
      [null, '4', 'realtime:unknown', 'phx_reply', { status: 'ok', response: {} }],
    ],
  },
  {
    name: 'a second join of a topic',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', config()],
      ['2', '2', 'realtime:a', 'phx_join', config()],
      // Of the channel before: the client knows that it is closed.
      ['1', '3', 'realtime:a', 'phx_leave', {}],
    ],
    receives: [
      ['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      ['1', '1', 'realtime:a', 'phx_close', {}],
      ['2', '2', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
    ],
  },
  {
    name: 'broadcasts to oneself, with and without replies',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', config({ broadcast: { ack: true, self: 'true' } })],
      ['1', '2', 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 1 }, extra: true }],
      // A stale and an absent reference of the join.
      ['9', '3', 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 2 } }],
      [null, '4', 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 3 } }],
    ],
    receives: [
      ['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      [null, null, 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 1 }, extra: true }],
      ['1', '2', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
      [null, null, 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 2 } }],
      ['1', '3', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
      [null, null, 'realtime:a', 'broadcast', { type: 'broadcast', event: 'e', payload: { n: 3 } }],
      ['1', '4', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
    ],
  },
  {
    name: 'payloads of joins that are not valid count as missing',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', { config: { broadcast: 'x', presence: [], postgres_changes: null } }],
      ['2', '2', 'realtime:b', 'phx_join', { config: { postgres_changes: [null] } }],
      ['3', '3', 'realtime:c', 'phx_join', { config: 5 }],
    ],
    receives: [
      ['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      ['2', '2', 'realtime:b', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      ['3', '3', 'realtime:c', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
    ],
  },
  {
    name: 'presence errors',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', config({ presence: { enabled: false } })],
      ['1', '2', 'realtime:a', 'presence', { type: 'presence', event: 'track', payload: 'text' }],
      ['1', '3', 'realtime:a', 'presence', { type: 'presence', event: 'unknown' }],
      ['1', '4', 'realtime:a', 'presence', { type: 'presence' }],
      ['1', '5', 'realtime:a', 'presence', { type: 'presence', event: 'UNTRACK' }],
    ],
    receives: [
      ['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      [
        '1',
        '2',
        'realtime:a',
        'phx_reply',
        { status: 'error', response: { reason: 'Presence track payload must be a map' } },
      ],
      ['1', '3', 'realtime:a', 'phx_reply', { status: 'error', response: {} }],
      ['1', '4', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
      ['1', '5', 'realtime:a', 'phx_reply', { status: 'ok', response: {} }],
    ],
  },
  {
    name: 'broken frames and unknown events have no answer',
    sends: [
      'text that is no JSON',
      { topic: 'phoenix', event: 'heartbeat', payload: {}, ref: '1' },
      [null, '1', 'phoenix'],
      [null, '1', 5, 'heartbeat', {}],
      null,
      ['1', '1', 'realtime:a', 'phx_join', config()],
      ['1', '2', 'realtime:a', 'unknown', {}],
      ['1', '3', 'realtime:a', 'broadcast', null],
      ['1', '4', 'realtime:a', 'access_token', { access_token: null }],
      ['1', '5', 'realtime:a', 'access_token', { access_token: 'sb_publishable_x' }],
    ],
    receives: [['1', '1', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }]],
  },
  {
    name: 'replay is for private channels',
    sends: [['1', '1', 'realtime:a', 'phx_join', config({ broadcast: { replay: { since: 0 } } })]],
    receives: [
      [
        '1',
        '1',
        'realtime:a',
        'phx_reply',
        {
          status: 'error',
          response: { reason: 'UnableToReplayMessages: Replay is not allowed for public channels' },
        },
      ],
    ],
  },
  {
    name: 'tokens of joins',
    sends: [
      ['1', '1', 'realtime:a', 'phx_join', { ...config(), access_token: 'nonsense' }],
      ['2', '2', 'realtime:a', 'phx_join', { ...config(), user_token: 'a.b.c' }],
      ['3', '3', 'realtime:a', 'phx_join', { ...config(), access_token: await signToken({ role: 'anon' }) }],
      ['4', '4', 'realtime:a', 'phx_join', { ...config(), access_token: 'sb_publishable_anything' }],
      ['5', '5', 'realtime:b', 'phx_join', { ...config(), access_token: await forged() }],
    ],
    receives: [
      refusal('1', 'a', 'MalformedJWT: The token provided is not a valid JWT'),
      refusal('2', 'a', 'MalformedJWT: The token provided is not a valid JWT'),
      refusal('3', 'a', 'InvalidJWTToken: Fields `role` and `exp` are required in JWT'),
      ['4', '4', 'realtime:a', 'phx_reply', { status: 'ok', response: { postgres_changes: [] } }],
      refusal('5', 'b', 'JwtSignatureError: Failed to validate JWT signature'),
    ],
  },
]

function refusal(ref: string, name: string, reason: string): unknown {
  return [ref, ref, `realtime:${name}`, 'phx_reply', { status: 'error', response: { reason } }]
}

async function forged(): Promise<string> {
  const [head = '', payload = ''] = (await hourToken('service_role')).split('.')
  return `${head}.${payload}.${Buffer.from('another signature, as long as it is').toString('base64url')}`
}

for (const { name, version = 2, sends, receives } of rows) {
  t.test(name, async (t) => {
    const client = await dial(t, url, { version })
    t.equal((await client.opened).status, 101)
    const seen: unknown[] = []
    client.socket.on('message', (data) => seen.push(JSON.parse((data as Buffer).toString()) as unknown))
    for (const message of sends) {
      client.sendRaw(typeof message === 'string' ? message : JSON.stringify(message))
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    const own = (): unknown[] => seen.filter((frame) => !JSON.stringify(frame).includes('"events '))
    t.ok(await until(() => own().length >= receives.length))
    await client.events()
    t.strictSame(own(), receives)
  })
}

t.test('broadcasts from each version to each', async (t) => {
  const [one, two, three] = [
    await dial(t, url, { version: 1 }),
    await dial(t, url),
    await dial(t, url, { path: '/socket/websocket' }),
  ]
  for (const client of [one, two, three]) {
    t.equal((await client.opened).status, 101)
    t.match(await client.join('room', { broadcast: { self: false } }), { status: 'ok' })
  }
  const payloadOf = ({ payload }: Frame): unknown => payload
  const hello = { type: 'broadcast', event: 'hello', payload: { text: 'Grüße 🎉' } }

  two.sendRaw(push('room', 'hello', hello.payload, { joinRef: '1', ref: '2' }))
  t.strictSame(payloadOf(await one.next('broadcast')), hello)
  t.strictSame(payloadOf(await three.next('broadcast')), hello)

  one.send('broadcast', 'realtime:room', hello)
  t.strictSame(payloadOf(await two.next('broadcast')), hello)
  t.strictSame(payloadOf(await three.next('broadcast')), hello)

  // As with the original, a payload need not be an object. But its event is a text.
  two.send('broadcast', 'realtime:room', { type: 'broadcast', event: 5, payload: {} })
  for (const payload of ['text', 1, [true]]) {
    two.send('broadcast', 'realtime:room', payload)
    t.strictSame(payloadOf(await one.next('broadcast')), payload)
    t.strictSame(payloadOf(await three.next('broadcast')), payload)
  }
  two.sendRaw(push('room', 'bytes', Buffer.from([0, 255, 1])))
  t.strictSame(payloadOf(await three.next('broadcast')), { type: 'broadcast', event: 'bytes', payload: '00ff01' })
  t.strictSame(await one.events(), [], 'no bytes for version 1.0.0')
  t.strictSame(await two.events(), [], 'nothing for the sender')
})

t.test('hostile binary frames', async (t) => {
  const [sender, receiver] = [await dial(t, url), await dial(t, url, { version: 1 })]
  for (const client of [sender, receiver]) {
    await client.opened
    await client.join('room')
  }
  const [forgedEnd, cut] = [Buffer.from('{}},"topic":"realtime:other"'), push('room', 'e', {}).subarray(0, 12)]
  const asJson = (payload: Buffer): Buffer => {
    const frame = push('room', 'e', payload)
    frame[6] = 1
    return frame
  }
  for (const frame of [
    Buffer.alloc(0),
    Buffer.from([3]),
    Buffer.from([4, 1, 1, 1, 1]),
    Buffer.alloc(7, 255),
    cut,
    asJson(forgedEnd),
    asJson(Buffer.from([0x22, 0xff, 0x22])),
    asJson(Buffer.alloc(0)),
    asJson(Buffer.from('['.repeat(400_000))),
  ]) {
    sender.sendRaw(frame)
  }
  sender.sendRaw(push('room', 'last', {}))
  t.match(await receiver.next('broadcast'), { payload: { event: 'last' } })
  t.strictSame(await receiver.events(), [])
  t.strictSame(await sender.events(), [])
})

t.test('refusals before the upgrade', async (t) => {
  const expired = await signToken({ role: 'anon', exp: now() - 100 })
  const barely = await signToken({ role: 'anon', exp: now() - 5 })
  const cases: readonly (readonly [string | undefined, number, string])[] = [
    [undefined, 401, 'API key is missing'],
    ['', 401, 'The token provided is not a valid JWT'],
    ['nonsense', 401, 'The token provided is not a valid JWT'],
    [expired, 401, 'Token has expired'],
    [barely, 401, 'Token has expired'],
    [await signToken({ role: 'anon' }), 401, 'Fields `role` and `exp` are required in JWT'],
    [await signToken({ exp: now() + 100 }), 401, 'Fields `role` and `exp` are required in JWT'],
    [await forged(), 401, 'Failed to validate JWT signature'],
    [await hourToken('supabase_realtime_admin'), 401, 'permission denied to set role "supabase_realtime_admin"'],
    ['sb_publishable_unknown', 401, 'The API key is unknown, expired or revoked'],
  ]
  for (const [token, status, error] of cases) {
    const client = await dial(t, url, { token })
    const opened = await client.opened
    t.same([opened.status, JSON.parse(opened.body)], [status, { error }], token ?? 'none')
  }
  const fractional = await dial(t, url, { token: await signToken({ role: 'anon', exp: now() + 100.6 }) })
  t.equal((await fractional.opened).status, 101, 'a fraction of a second is rounded')
  const client = await dial(t, url, { token: 'nonsense', headers: { 'x-api-key': await hourToken('anon') } })
  t.equal((await client.opened).status, 101, 'the header counts')
})

t.test('the end of a token ends its channels, which may join again', async (t) => {
  const client = await dial(t, url)
  await client.opened
  const exp = now() + 2
  t.match(await client.join('a', {}, { access_token: await signToken({ role: 'anon', exp }) }), { status: 'ok' })
  t.match(await client.join('b'), { status: 'ok' })
  const { payload } = await client.next('system', 'realtime:a')
  t.match(payload, {
    extension: 'system',
    status: 'error',
    message: /^Token has expired \d+ seconds ago$/,
    channel: 'a',
  })
  await client.next('phx_error', 'realtime:a')
  t.strictSame(await client.events(), [], 'the other channel stays')
})

t.test('settings that concern a connection close it, so that its client joins again', async (t) => {
  const { url, reload } = await startRealtimeServer(t)
  const [here, idle] = [await dial(t, url), await dial(t, url)]
  for (const client of [here, idle]) await client.opened
  await here.join('a')
  const disconnected = { extension: 'system', status: 'ok', message: 'Server requested disconnect', channel: 'a' }
  const closed = { code: 1012, reason: 'Server requested disconnect' }
  await reload({ REALTIME_PRIVATE_ONLY: 'true' })
  t.strictSame((await here.next('system')).payload, disconnected)
  t.strictSame(await here.closed, closed)
  t.notOk(here.received.some(({ event }) => event === 'phx_close'))
  t.equal(idle.socket.readyState, idle.socket.OPEN)
  await reload({ PGRST_JWT_SECRET: 'another secret for tests, of more than 32 characters' })
  t.strictSame(await idle.closed, closed)
})

t.test('new tokens', async (t) => {
  const client = await dial(t, url)
  await client.opened
  await client.join('a')
  client.send('access_token', 'realtime:a', { access_token: await hourToken('anon', { sub: 'x' }) })
  t.strictSame(await client.events(), [])
  client.send('phx_leave', 'realtime:a', {})
  await client.next('phx_close', 'realtime:a')
  for (const token of ['nonsense', '']) {
    await client.join('a')
    client.send('access_token', 'realtime:a', { access_token: token })
    t.match(await client.next('system'), { payload: { message: 'The token provided is not a valid JWT' } })
    await client.next('phx_close', 'realtime:a')
  }
  t.match((await client.join('a', {}, { access_token: '' })).response, {
    reason: 'MalformedJWT: The token provided is not a valid JWT',
  })
})

t.test('a stopping server makes clients come back', async (t) => {
  const { url, service } = await startRealtimeServer(t)
  const client = await dial(t, url)
  await client.opened
  await client.join('a')
  service.closeSockets()
  t.match(await client.closed, { code: 1012 })
  t.notOk(client.received.some(({ event }) => event === 'phx_close'))
  t.match(await (await dial(t, url)).opened, { status: 503 })
})
