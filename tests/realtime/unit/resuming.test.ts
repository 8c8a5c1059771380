// `resumingTransport` of `rowhouse/client` on a WebSocket that only records.
import t from 'tap'
import { resumingTransport } from '../../../server/client/resuming.ts'

type Listener = (event: { readonly data: unknown }) => void

class RecordingSocket {
  readonly sent: unknown[] = []
  readonly #listeners: Listener[] = []

  send(data: unknown): void {
    this.sent.push(data)
  }

  addEventListener(_type: 'message', listener: Listener): void {
    this.#listeners.push(listener)
  }

  receive(data: unknown): void {
    for (const listener of this.#listeners) listener({ data })
  }
}

const topic = 'realtime:todos'
const join = (config: object): string => JSON.stringify(['1', '1', topic, 'phx_join', { config, access_token: 'x' }])
const changeAt = (position: string): string =>
  JSON.stringify([null, null, topic, 'postgres_changes', { ids: [1], data: { type: 'INSERT', position } }])
const configOf = (frame: unknown): unknown => {
  const [, , , , payload] = JSON.parse(String(frame)) as [null, null, string, string, { config: unknown }]
  return payload.config
}

t.test('a channel that joins again names the last position that any of its sockets has seen', (t) => {
  const Socket = resumingTransport(RecordingSocket)
  const first = new Socket()
  first.send(join({ private: false }))
  t.strictSame(first.sent, [join({ private: false })], 'nothing is known at first')
  first.receive(changeAt('0/1A:2'))
  first.receive(changeAt('0/1B:0'))
  const second = new Socket()
  second.send(join({ private: false, postgres_changes_options: { wait: true } }))
  t.strictSame(configOf(second.sent[0]), {
    private: false,
    postgres_changes_options: { wait: true, since: '0/1B:0' },
  })
  t.end()
})

t.test('the position of the subscription counts until the first change', (t) => {
  const Socket = resumingTransport(RecordingSocket)
  const socket = new Socket()
  socket.receive(
    JSON.stringify([null, null, topic, 'system', { extension: 'postgres_changes', status: 'ok', position: '0/10:0' }]),
  )
  socket.send(join({}))
  t.strictSame(configOf(socket.sent[0]), { postgres_changes_options: { since: '0/10:0' } })
  t.end()
})

t.test('frames of the first protocol are objects', (t) => {
  const Socket = resumingTransport(RecordingSocket)
  const socket = new Socket()
  socket.receive(
    JSON.stringify({ topic, event: 'postgres_changes', payload: { data: { position: '0/2:0' } }, ref: null }),
  )
  socket.send(JSON.stringify({ topic, event: 'phx_join', payload: { config: {} }, ref: '1' }))
  const [sent] = socket.sent
  t.strictSame(JSON.parse(String(sent)), {
    topic,
    event: 'phx_join',
    payload: { config: { postgres_changes_options: { since: '0/2:0' } } },
    ref: '1',
  })
  t.end()
})

t.test('a channel that was left begins anew', (t) => {
  const Socket = resumingTransport(RecordingSocket)
  const socket = new Socket()
  socket.receive(changeAt('0/1:0'))
  socket.send(JSON.stringify(['1', '2', topic, 'phx_leave', {}]))
  socket.send(join({}))
  t.strictSame(configOf(socket.sent[1]), {})
  t.end()
})

t.test('what is none of its business passes unchanged', (t) => {
  const Socket = resumingTransport(RecordingSocket)
  const socket = new Socket()
  const bytes = new Uint8Array([3, 1])
  const frames = [
    bytes,
    '[null,"1","phoenix","heartbeat",{}]',
    join({}),
    '{"a":"phx_join"}',
    '["phx_leave"]',
    '"phx_join"',
  ]
  for (const frame of frames) socket.send(frame)
  for (const frame of [
    bytes,
    '[]',
    '{"position":1}',
    '["position"]',
    changeAt('0/1:0').replace(topic, 'realtime:other'),
  ]) {
    socket.receive(frame)
  }
  socket.send(join({}))
  t.strictSame(socket.sent, [...frames, join({})])
  t.end()
})
