// The built program with the probe, and requests whose cost is measured.
import { spawn } from 'node:child_process'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { nodeOptions } from '../node-options.ts'

const probe = fileURLToPath(new URL('probe.mjs', import.meta.url))
const here = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

/** Milliseconds of processor time, and bytes. */
export type Cost = {
  /** Processor time since the last measurement. */
  readonly cpu: number
  /** The longest time in which the event loop was busy without a pause. */
  readonly busy: number
  /** Largest resident memory since the last measurement. */
  readonly peak: number
  /** Resident memory. */
  readonly rss: number
  /** Memory of live objects and of garbage; after `collect` of live objects only. */
  readonly heap: number
}

export type Sent = {
  readonly method: string
  /** Each character is a byte. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  /** Each character is a byte. */
  readonly body?: string
  /** Whether the body is sent on a WebSocket. */
  readonly isSocket?: boolean
}

export type MeasuredServer = {
  readonly url: string
  /** Sends a request, waits for the end of the response, and measures the cost since the previous one. */
  readonly send: (request: Sent) => Promise<Cost & { readonly status: number; readonly text: string }>
  /** Memory of live objects in bytes. */
  readonly liveMemory: () => Promise<number>
}

const inherited = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR|REST_|NODE_|TAP)/.test(name),
  ),
)

/** Starts the program: this build, or the one that `COSTS_OF` names, as the path of its `main.js`. */
export async function startMeasuredServer(
  t: Pick<Test, 'teardown'>,
  env: Readonly<Record<string, string>>,
): Promise<MeasuredServer> {
  const main = process.env.COSTS_OF ?? here
  const child = spawn(process.execPath, [...nodeOptions, `--import=${probe}`, main, 'serve'], {
    env: { ...inherited, PGRST_SERVER_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let written = ''
  for (const output of [child.stdout, child.stderr]) {
    output?.setEncoding('utf8').on('data', (text: string) => (written = (written + text).slice(0, 100_000)))
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  t.teardown(async () => {
    agent.destroy()
    child.kill('SIGTERM')
    await ended
  })
  const address = (): string | undefined => /Listening on (http:\/\/[^"\s]+)/.exec(written)?.[1]
  for (let time = 0; !address() && time < 1200; time++) {
    if (child.exitCode !== null) throw new Error(`the program has ended:\n${written}`)
    await pause(50)
  }
  const url = address() ?? ''
  for (let time = 0; time < 600; time++) {
    const { status } = await fetch(`${url}/ready`).catch(() => ({ status: 0 }))
    if (status === 200) break
    await pause(50)
  }
  const ask = (what: 'read' | 'collect'): Promise<Cost> =>
    new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error('the server has ended'))
      child.once('exit', fail)
      child.once('message', (cost) => {
        child.off('exit', fail)
        resolve(cost as Cost)
      })
      child.send(what)
    })
  return {
    url,
    send: async (request) => {
      const answer = request.isSocket ? await sendSocket(url, request) : await sendHttp(url, agent, request)
      const cost = await ask('read')
      return { ...cost, ...answer }
    },
    liveMemory: async () => {
      await ask('collect')
      return (await ask('collect')).heap
    },
  }
}

type Answer = { readonly status: number; readonly text: string }

function sendHttp(url: string, agent: Agent, { method, target, headers, body }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let status = 0
    let text = ''
    const settle = (): void => resolve({ status, text })
    const bytes = body === undefined ? undefined : Buffer.from(body, 'latin1')
    const length = bytes && headers?.['Content-Length'] === undefined ? { 'Content-Length': String(bytes.length) } : {}
    const sent = httpRequest(
      { agent, hostname, port, method, path: target, headers: { ...length, ...headers } },
      (response) => {
        status = response.statusCode ?? 0
        response.setEncoding('latin1').on('data', (piece: string) => (text = (text + piece).slice(0, 20_000)))
        response.once('close', settle).once('error', settle)
      },
    )
    // The server may refuse a body before it has arrived.
    sent.once('error', settle)
    // A response that does not come is none that costs time.
    sent.setTimeout(120_000, () => sent.destroy())
    sent.end(bytes)
  })
}

/** Milliseconds without a byte after which a WebSocket is taken as answered. */
const silence = 150

function sendSocket(url: string, { target, headers = {}, body = '' }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    let text = ''
    const settle = (): void => {
      socket.destroy()
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text })
    }
    socket.on('data', (piece) => (text = (text + piece.toString('latin1')).slice(0, 2000)))
    socket.once('close', settle).on('error', settle)
    socket.write(
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${lines.join('')}\r\n`,
    )
    socket.write(Buffer.from(body, 'latin1'), () => socket.setTimeout(silence, settle))
  })
}
