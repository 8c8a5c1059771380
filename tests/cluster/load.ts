// HTTP requests on connections that stay open.
import { Agent, request as startRequest } from 'node:http'

export type Reply = {
  readonly status: number
  readonly body: string
  readonly position: string | undefined
  /** A header that SQL has set. */
  readonly trace: string | undefined
}

export type Client = (method: string, path: string, headers?: Record<string, string>, body?: string) => Promise<Reply>

/** A client of a server. Errors of the connection are rejections. */
export function clientOf(url: string, connections: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(url)
  return (method, path, headers = {}, body) =>
    new Promise((resolve, reject) => {
      const length =
        body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
      const request = startRequest({ hostname, port, method, path, headers: { ...headers, ...length }, agent })
      request.once('error', reject)
      request.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('error', reject)
        response.once('end', () => {
          const { 'rowhouse-position': position, trace } = response.headers
          const [status, body] = [response.statusCode ?? 0, text]
          resolve({ status, body, position: position?.toString(), trace: trace?.toString() })
        })
      })
      request.end(body)
    })
}

export type Load = { readonly stop: () => Promise<void>; readonly statuses: ReadonlyMap<number, number> }

/** Sends a request again and again. Status 0 is an error of the connection. */
export function startLoad(send: () => Promise<Reply>, workers: number): Load {
  let isOver = false
  const statuses = new Map<number, number>()
  const work = async (): Promise<void> => {
    while (!isOver) {
      const status = await send().then(
        (reply) => reply.status,
        () => 0,
      )
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const running = Promise.all(Array.from({ length: workers }, work))
  return {
    statuses,
    stop: async () => {
      isOver = true
      await running
    },
  }
}

/** Requests per second. */
export async function rateOf(send: () => Promise<Reply>, workers: number, seconds: number): Promise<number> {
  const load = startLoad(send, workers)
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const elapsed = (performance.now() - start) / 1000
  const count = [...load.statuses].reduce((sum, [status, number]) => sum + (status === 200 ? number : 0), 0)
  await load.stop()
  return count / elapsed
}
