// The process of `realtime-clients.ts`: many sockets of `/realtime/v1`, and the delays of what they receive.
import WebSocket from 'ws'
import type { ClientsCommand, ClientsReport } from './realtime-clients.ts'

/** `"at":1764412345678.25` in the payload of a message, or as a column of a row. */
const sentAt = /"at":\s*([\d.]+)/

/** A message of kind 4 is binary, and all others are text. */
const textOf = (data: WebSocket.RawData): string => (data as Buffer).toString('latin1')

let delays: number[] = []
const sockets: WebSocket[] = []
const report = (message: ClientsReport): void => void process.send?.(message)
const now = (): number => performance.timeOrigin + performance.now()

function received(text: string): void {
  const at = sentAt.exec(text)?.[1]
  if (at !== undefined) delays.push(now() - Number(at))
}

/** Opens a socket that joins a channel, unless it has none. Resolves when the channel gets what it asked for. */
function open(url: string, token: string, topic: string | undefined, config: object): Promise<void> {
  const socket = new WebSocket(`${url}/realtime/v1/websocket?vsn=2.0.0&apikey=${token}`, { perMessageDeflate: false })
  sockets.push(socket)
  const isFinished = 'postgres_changes' in config ? '"Subscribed to PostgreSQL"' : '"phx_reply"'
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', (code, reason) => reject(new Error(`closed with ${code} ${reason.toString()}`)))
    socket.once('open', () => {
      if (topic === undefined) resolve()
      else socket.send(JSON.stringify(['1', '1', `realtime:${topic}`, 'phx_join', { config, access_token: token }]))
    })
    let isLive = topic === undefined
    socket.on('message', (data) => {
      const text = textOf(data)
      if (isLive) received(text)
      else if (text.includes('"status":"error"')) reject(new Error(text))
      else if (text.includes(isFinished)) {
        isLive = true
        resolve()
      }
    })
  })
}

async function openAll({
  url,
  tokens,
  count,
  topic,
  config,
}: Extract<ClientsCommand, { kind: 'open' }>): Promise<void> {
  const opening = new Set<Promise<void>>()
  for (let index = 0; index < count; index++) {
    const one = open(url, tokens[index % tokens.length] ?? '', topic, config)
    opening.add(one)
    void one.then(() => opening.delete(one))
    if (opening.size >= 50) await Promise.race(opening)
  }
  await Promise.all(opening)
}

/** Sends a broadcast of some 100 bytes so many times a second, with the first socket. */
async function send({ topic, perSecond, seconds }: Extract<ClientsCommand, { kind: 'send' }>): Promise<void> {
  const [socket] = sockets
  const begin = performance.now()
  for (let sent = 0; sent < perSecond * seconds;) {
    const due = Math.min(((performance.now() - begin) / 1000) * perSecond, perSecond * seconds)
    for (; sent < due; sent++) socket?.send(broadcast(topic, JSON.stringify({ at: now(), filler: 'x'.repeat(60) })))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A message of kind 3. */
function broadcast(topic: string, payload: string): Buffer {
  const parts = ['1', '2', `realtime:${topic}`, 'load', ''].map((part) => Buffer.from(part))
  return Buffer.concat([Buffer.from([3, ...parts.map(({ length }) => length), 1]), ...parts, Buffer.from(payload)])
}

async function obey(command: ClientsCommand): Promise<void> {
  switch (command.kind) {
    case 'open':
      return openAll(command)
    case 'send':
      return send(command)
    case 'take':
      report({ kind: 'delays', delays })
      delays = []
      return
    case 'close':
      for (const socket of sockets.splice(0)) {
        socket.removeAllListeners('close')
        socket.terminate()
      }
      return
    default:
      command satisfies never
  }
}

process.on('message', (command: ClientsCommand) => {
  obey(command).then(
    () => report({ kind: 'done' }),
    (error: unknown) => report({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  )
})
