// The requests of this process as server-sent events. A slow reader gets fewer of them, and the number of those it lacks.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
import type { ServerResponse } from 'node:http'
import type { RequestEntry, RequestEvent, TailStart } from './request-protocol.ts'
import type { RequestSource } from './request-source.ts'

/** Requests that wait for a reader. */
const mostWaiting = 500
/** Milliseconds between two events. */
const interval = 200
/** Milliseconds between two comments that keep the connection open, at each of which the session is checked. */
const keepAliveInterval = 15_000

type TailResponse = Pick<ServerResponse, 'writeHead' | 'write' | 'end' | 'once' | 'closed' | 'writableNeedDrain'>

/**
 * Sends the requests that end from now on, until the client disconnects, its session ends or the server stops.
 *
 * @param checkSession rejects when the session has ended
 */
export function streamRequests(
  source: Pick<RequestSource, 'worker' | 'watch'>,
  response: TailResponse,
  checkSession: () => Promise<unknown>,
): void {
  // Nothing would stop the stream of a client that disconnected while its session was looked up.
  if (response.closed) return
  let waiting: RequestEntry[] = []
  let lost = 0
  const send = (event: string, data: RequestEvent | TailStart): void => {
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const flush = (): void => {
    if (response.writableNeedDrain || (waiting.length === 0 && lost === 0)) return
    send('requests', { entries: waiting, lost })
    waiting = []
    lost = 0
  }
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    // Nginx would collect the events.
    'X-Accel-Buffering': 'no',
  })
  send('start', { worker: source.worker })
  const stop = source.watch({
    onRequest: (entry) => {
      if (waiting.length < mostWaiting) waiting.push(entry)
      else lost++
    },
    onEnd: () => response.end(),
  })
  const timers = [
    setInterval(flush, interval),
    setInterval(() => {
      if (!response.writableNeedDrain) response.write(': keep-alive\n\n')
      checkSession().catch(() => response.end())
    }, keepAliveInterval),
  ]
  response.once('close', () => {
    stop()
    for (const timer of timers) clearInterval(timer)
  })
}
