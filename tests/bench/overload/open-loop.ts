// An open-loop load: requests are sent at a constant rate, however slowly they are answered. A closed loop, such as wrk's,
// waits for responses before it sends more, and so never offers more than the server can do.
import { setTimeout as pause } from 'node:timers/promises'
import { connect, type Socket } from 'node:net'

export type OpenLoopLoad = {
  readonly host: string
  readonly port: number
  /** Complete requests, sent in turn. */
  readonly requests: readonly Buffer[]
  /** Requests per second. */
  readonly rate: number
  readonly seconds: number
  /** Number of connections. Requests that find none free wait for one, and their latency includes the wait. */
  readonly connections: number
}

export type OpenLoopResult = {
  /** Requests that were due. */
  readonly offered: number
  /** Responses by status; 0 for requests without a response within the time limit. */
  readonly statuses: ReadonlyMap<number, number>
  /** Milliseconds from when a request was due until its response, of those with a status below 400; ascending. */
  readonly latencies: readonly number[]
  /** The same of those with status 503. */
  readonly shedLatencies: readonly number[]
  /** Responses with 503 that have no `Retry-After`. */
  readonly withoutRetryAfter: number
  /** Responses with a status below 400 that came while requests were sent. */
  readonly inTime: number
}

/** Milliseconds after which a request counts as failed, as in a client that gives up. */
const timeLimit = 5000
/** Milliseconds between two looks at the schedule. */
const tick = 1

/** A request that is due, by its time. */
type Due = { readonly at: number; readonly bytes: Buffer }

const noBytes = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')

type Settle = (connection: Connection, due: Due, status: number, hasRetryAfter: boolean) => void

/** A connection that sends one request at a time. */
class Connection {
  #socket: Socket
  #due: Due | undefined
  #received: Buffer[] = []
  #length = 0
  #expected = -1
  #status = 0
  #hasRetryAfter = true
  #isClosed = false
  readonly #settle: Settle
  readonly #open: () => Socket

  constructor(socket: Socket, open: () => Socket, settle: Settle) {
    this.#open = open
    this.#settle = settle
    this.#socket = this.#watch(socket)
  }

  send(due: Due): void {
    this.#due = due
    this.#socket.write(due.bytes)
  }

  /** When the pending request was due; undefined when there is none. */
  get pendingSince(): number | undefined {
    return this.#due?.at
  }

  /** Gives up the pending request, and opens another connection. */
  reset(): void {
    this.#socket.destroy()
    this.#socket = this.#watch(this.#open())
    this.#end(0)
  }

  close(): void {
    this.#isClosed = true
    this.#due = undefined
    this.#socket.destroy()
  }

  #watch(socket: Socket): Socket {
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('close', () => {
      if (this.#isClosed) return
      if (socket === this.#socket && this.#due) this.reset()
      else if (socket === this.#socket) this.#socket = this.#watch(this.#open())
    })
    return socket
  }

  #read(chunk: Buffer): void {
    if (!this.#due) return
    this.#received.push(chunk)
    this.#length += chunk.length
    if (this.#expected < 0) {
      const all = this.#received.length === 1 ? chunk : Buffer.concat(this.#received)
      const end = all.indexOf(headEnd)
      if (end < 0) return
      const head = all.toString('latin1', 0, end)
      this.#status = Number(head.slice(9, 12))
      this.#hasRetryAfter = this.#status !== 503 || /\r\nretry-after: \d/i.test(head)
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      this.#expected = end + headEnd.length + Number(length ?? 0)
    }
    if (this.#length >= this.#expected) this.#end(this.#status)
  }

  #end(status: number): void {
    const due = this.#due
    const hasRetryAfter = this.#hasRetryAfter
    this.#due = undefined
    this.#received = []
    this.#length = 0
    this.#expected = -1
    if (due) this.#settle(this, due, status, hasRetryAfter)
  }
}

const ascending = (a: number, b: number): number => a - b

/** Connections that are opened at once: fewer than a listening socket queues. */
const openedAtOnce = 100
/** Milliseconds in which the server accepts the last of them. */
const settling = 500

/** Plays a load on connections that are open already, and waits for the responses to all of its requests. */
export async function playOpenLoop(load: OpenLoopLoad): Promise<OpenLoopResult> {
  const { host, port, connections } = load
  const sockets: Socket[] = []
  while (sockets.length < connections) {
    const opened = Array.from({ length: Math.min(openedAtOnce, connections - sockets.length) }, () =>
      opening(connect(port, host)),
    )
    sockets.push(...(await Promise.all(opened)))
  }
  // Connected is not yet accepted.
  await pause(settling)
  return play(load, sockets)
}

const opening = (socket: Socket): Promise<Socket> =>
  new Promise((resolve, reject) => socket.once('error', reject).once('connect', () => resolve(socket)))

function play(
  { host, port, requests, rate, seconds }: OpenLoopLoad,
  sockets: readonly Socket[],
): Promise<OpenLoopResult> {
  const statuses = new Map<number, number>()
  const latencies: number[] = []
  const shedLatencies: number[] = []
  let withoutRetryAfter = 0
  let inTime = 0
  const waiting: Due[] = []
  let firstWaiting = 0
  const total = Math.round(rate * seconds)
  let offered = 0
  let settled = 0
  const start = performance.now()
  return new Promise((resolve) => {
    const settle = (connection: Connection | undefined, due: Due, status: number, hasRetryAfter: boolean): void => {
      settled++
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const latency = performance.now() - due.at
      if (status === 503) shedLatencies.push(latency)
      else if (status > 0 && status < 400) {
        latencies.push(latency)
        if (performance.now() - start <= seconds * 1000) inTime++
      }
      if (!hasRetryAfter) withoutRetryAfter++
      if (connection) {
        const next = waiting[firstWaiting]
        if (next) {
          firstWaiting++
          connection.send(next)
        } else free.push(connection)
      }
      if (settled === total) end()
    }
    const all = sockets.map((socket) => new Connection(socket, () => connect(port, host), settle))
    const free = [...all]
    const timer = setInterval(() => {
      const now = performance.now()
      const due = Math.min(total, Math.floor(((now - start) * rate) / 1000) + 1)
      for (; offered < due; offered++) {
        const request = { at: start + (offered * 1000) / rate, bytes: requests[offered % requests.length] ?? noBytes }
        const connection = free.pop()
        if (connection) connection.send(request)
        else waiting.push(request)
      }
    }, tick)
    const watch = setInterval(() => {
      const limit = performance.now() - timeLimit
      for (const connection of all) if ((connection.pendingSince ?? Infinity) < limit) connection.reset()
      for (let next = waiting[firstWaiting]; next && next.at < limit; next = waiting[firstWaiting]) {
        firstWaiting++
        settle(undefined, next, 0, true)
      }
    }, 100)
    const end = (): void => {
      clearInterval(timer)
      clearInterval(watch)
      for (const connection of all) connection.close()
      resolve({
        ...{ offered, statuses, withoutRetryAfter, inTime },
        latencies: latencies.sort(ascending),
        shedLatencies: shedLatencies.sort(ascending),
      })
    }
  })
}

/** The value below which a share of ascending numbers lies; NaN without numbers. */
export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
