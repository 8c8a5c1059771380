// A request whose response is read as slowly as wanted.
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'

export type SlowRequest = {
  readonly response: Promise<IncomingMessage>
  /** Reads the rest as fast as it comes: the bytes of the body and their hash. Rejects when the server breaks it off. */
  readonly finish: () => Promise<{ readonly length: number; readonly hash: string }>
  readonly hangUp: () => void
}

/** Sends a request on a connection of its own. Nothing of the body is read before `finish` is called. */
export function requestSlowly(url: string): SlowRequest {
  const request = get(url, { agent: false })
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
