// Requests written to a socket in parts, and the received responses.
import { connect, type Socket } from 'node:net'

export type RawRequest = {
  readonly socket: Socket
  /** The data received so far. */
  readonly text: () => string
  /** Resolves with all data when the connection has ended, in any way. */
  readonly closed: Promise<string>
}

/** Connects, and sends the text. */
export function rawRequest(url: string, text: string): RawRequest {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  const all = (): string => Buffer.concat(chunks).toString()
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A reset is visible in the received data.
  socket.on('error', () => undefined)
  socket.write(text)
  return { socket, text: all, closed: new Promise((resolve) => socket.on('close', () => resolve(all()))) }
}

/** Request line and headers of a POST with a JSON body, or with the content type in `more`. */
export const postHead = (path: string, length: number, more: Readonly<Record<string, string>> = {}): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    ...(more['Content-Type'] === undefined ? ['Content-Type: application/json'] : []),
    ...(more['Transfer-Encoding'] === undefined ? [`Content-Length: ${length}`] : []),
    ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')
