// Clients of `/realtime/v1` that send and record frames.
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'
import { signToken } from './token.ts'
import { until } from './until.ts'

type Ended = Pick<Test, 'teardown'>

export type RealtimeServer = Application & { readonly database: MigratedDatabase }

export async function startRealtimeServer(t: Ended, env: Environment = {}): Promise<RealtimeServer> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const log = { REALTIME_DATABASE_URL: database.adminUri }
  return { ...(await startApplication(t, database.authenticatorUri, { ...log, ...env })), database }
}

/** A token that is valid for an hour. */
export const hourToken = (role: string, claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  signToken({ role, exp: Math.floor(Date.now() / 1000) + 3600, ...claims })

export type Frame = {
  readonly joinRef: unknown
  readonly ref: unknown
  readonly topic: string
  readonly event: string
  readonly payload: unknown
}

export type RealtimeClient = {
  readonly socket: WebSocket
  /** All frames so far. */
  readonly received: readonly Frame[]
  /** HTTP status of the handshake, and the body of a refusal. */
  readonly opened: Promise<{ readonly status: number; readonly body: string }>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  /** Sends a frame in the notation of the client's version. */
  readonly send: (
    event: string,
    topic: string,
    payload: unknown,
    refs?: Pick<Partial<Frame>, 'ref' | 'joinRef'>,
  ) => void
  readonly sendRaw: (data: string | Buffer) => void
  /** Waits for a frame that has not been returned before. */
  readonly next: (event: string, topic?: string) => Promise<Frame>
  /** Sends `phx_join`, and waits for the reply. @returns status and response */
  readonly join: (name: string, config?: unknown, more?: Readonly<Record<string, unknown>>) => Promise<Reply>
  /** Waits until all that was sent before has been answered, and returns the events that have arrived since the last time. */
  readonly events: () => Promise<readonly string[]>
}

export type Reply = { readonly status: string; readonly response: Readonly<Record<string, unknown>> }

export type DialOptions = {
  readonly version?: 1 | 2
  readonly token?: string | undefined
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Opens a WebSocket. @param url of the server */
export async function dial(t: Ended, url: string, options: DialOptions = {}): Promise<RealtimeClient> {
  const { version = 2, path = '/realtime/v1/websocket', headers = {} } = options
  const token = 'token' in options ? options.token : await hourToken('anon')
  const query = new URLSearchParams({ vsn: `${version}.0.0`, ...(token === undefined ? {} : { apikey: token }) })
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}?${query.toString()}`, { headers })
  t.teardown(() => socket.terminate())
  const received: Frame[] = []
  const taken = new Set<Frame>()
  socket.on('message', (data, isBinary) => received.push(frameOf(data as Buffer, isBinary, version)))
  socket.on('error', () => undefined)
  const opened = new Promise<{ status: number; body: string }>((resolve) => {
    socket.once('open', () => resolve({ status: 101, body: '' }))
    socket.once('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  let refs = 0
  const send: RealtimeClient['send'] = (event, topic, payload, given = {}) => {
    const { joinRef = null, ref = String(++refs) } = given
    socket.send(
      JSON.stringify(
        version === 2 ? [joinRef, ref, topic, event, payload] : { topic, event, payload, ref, join_ref: joinRef },
      ),
    )
  }
  const next: RealtimeClient['next'] = async (event, topic) => {
    let found: Frame | undefined
    const isFound = await until(() => {
      found = received.find(
        (frame) => !taken.has(frame) && frame.event === event && (topic === undefined || frame.topic === topic),
      )
      return found !== undefined || socket.readyState === WebSocket.CLOSED
    })
    if (!isFound || !found) throw new Error(`no ${event} of ${topic ?? 'any topic'}: ${JSON.stringify(received)}`)
    taken.add(found)
    return found
  }
  return {
    socket,
    received,
    opened,
    closed,
    send,
    sendRaw: (data) => socket.send(data),
    next,
    join: async (name, config = {}, more = {}) => {
      const ref = String(++refs)
      send('phx_join', `realtime:${name}`, { config, ...more }, { ref, joinRef: ref })
      const isReply = ({ event, ref: of }: Frame): boolean => event === 'phx_reply' && of === ref
      await until(() => received.some(isReply) || socket.readyState === WebSocket.CLOSED)
      const reply = received.find(isReply)
      if (!reply) throw new Error(`no reply to the join of ${name}`)
      taken.add(reply)
      return reply.payload as Reply
    },
    events: async () => {
      const ref = `events ${++refs}`
      send('heartbeat', 'phoenix', {}, { ref })
      await until(() => received.some((frame) => frame.ref === ref) || socket.readyState === WebSocket.CLOSED)
      const fresh = received.filter((frame) => !taken.has(frame))
      for (const frame of fresh) taken.add(frame)
      return fresh.filter((frame) => frame.ref !== ref).map(({ event }) => event)
    },
  }
}

function frameOf(data: Buffer, isBinary: boolean, version: 1 | 2): Frame {
  if (isBinary) return broadcastOf(data)
  const value = JSON.parse(data.toString()) as unknown
  if (version === 2) {
    const [joinRef, ref, topic, event, payload] = value as [unknown, unknown, string, string, unknown]
    return { joinRef, ref, topic, event, payload }
  }
  const { topic, event, payload, ref } = value as Frame
  return { joinRef: null, ref, topic, event, payload }
}

/** A binary frame of the kind 4, as realtime-js reads it. */
function broadcastOf(data: Buffer): Frame {
  const [kind, topicLength = 0, eventLength = 0, metaLength = 0, encoding] = data
  if (kind !== 4) throw new Error(`a binary frame of kind ${kind}`)
  let at = 5
  const text = (length: number): string => data.toString('utf8', at, (at += length))
  const topic = text(topicLength)
  const event = text(eventLength)
  const meta = text(metaLength)
  const payload = data.subarray(at)
  return {
    joinRef: null,
    ref: null,
    topic,
    event: 'broadcast',
    payload: {
      type: 'broadcast',
      event,
      payload: encoding === 1 ? (JSON.parse(payload.toString()) as unknown) : payload.toString('hex'),
      ...(meta === '' ? {} : { meta: JSON.parse(meta) as unknown }),
    },
  }
}

/** A binary frame of the kind 3, as realtime-js writes it. */
export function push(
  name: string,
  event: string,
  payload: Buffer | object,
  {
    joinRef = '',
    ref = '',
    meta = '',
  }: { readonly joinRef?: string; readonly ref?: string; readonly meta?: string } = {},
): Buffer {
  const texts = [joinRef, ref, `realtime:${name}`, event, meta].map((text) => Buffer.from(text))
  const isBytes = Buffer.isBuffer(payload)
  return Buffer.concat([
    Buffer.from([3, ...texts.map(({ length }) => length), isBytes ? 0 : 1]),
    ...texts,
    isBytes ? payload : Buffer.from(JSON.stringify(payload)),
  ])
}
