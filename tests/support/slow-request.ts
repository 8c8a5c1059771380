// A request whose response is read at a controlled speed.
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'

export type SlowRequest = {
  readonly response: Promise<IncomingMessage>
  /** Reads the rest at full speed. Resolves with the size and hash of the body; rejects if the server aborts. */
  readonly finish: () => Promise<{ readonly length: number; readonly hash: string }>
  readonly hangUp: () => void
}

/** Sends a request on a new connection. The body is not read before `finish` is called. */
export function requestSlowly(url: string, headers: Readonly<Record<string, string>> = {}): SlowRequest {
  const request = get(url, { agent: false, headers })
  request.on('error', () => undefined)
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('error', reject)
    request.once('response', (incoming) => {
      incoming.pause()
      incoming.on('error', () => undefined)
      resolve(incoming)
    })
  })
  response.catch(() => undefined)
  return {
    response,
    finish: async () => {
      const hash = createHash('sha256')
      let length = 0
      for await (const chunk of await response) {
        hash.update(chunk as Buffer)
        length += (chunk as Buffer).length
      }
      return { length, hash: hash.digest('hex') }
    },
    hangUp: () => {
      request.destroy()
    },
  }
}
