// Requests whose body arrives when the test says so.
import { request as httpRequest } from 'node:http'

export type HeldRequest = {
  /** The status is 0 when the connection ended without a response. */
  readonly answer: Promise<{ readonly status: number; readonly text: string }>
  readonly send: (bytes: string | Buffer) => Promise<void>
  /** Sends the rest of the body, and resolves with the answer. */
  readonly finish: (rest: string | Buffer) => HeldRequest['answer']
  readonly hangUp: () => void
}

/**
 * Sends the head of a request on a connection of its own.
 *
 * @param length bytes of the body
 */
export function holdRequest(
  method: string,
  url: string,
  length: number,
  headers: Readonly<Record<string, string>>,
): HeldRequest {
  const request = httpRequest(url, { method, agent: false, headers: { 'Content-Length': length, ...headers } })
  const answer = new Promise<{ status: number; text: string }>((resolve) => {
    request.on('error', () => resolve({ status: 0, text: '' }))
    request.on('response', (message) => {
      let text = ''
      message.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      message.on('close', () => resolve({ status: message.complete ? (message.statusCode ?? 0) : 0, text }))
      message.on('error', () => undefined)
    })
  })
  request.flushHeaders()
  return {
    answer,
    send: (bytes) =>
      new Promise((resolve) => {
        request.write(bytes, () => resolve())
      }),
    finish: (rest) => {
      request.end(rest)
      return answer
    },
    hangUp: () => void request.destroy(),
  }
}
