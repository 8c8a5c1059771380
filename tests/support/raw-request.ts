// Requests written to a socket piece by piece, and what came back.
import { connect, type Socket } from 'node:net'

export type RawRequest = {
  readonly socket: Socket
  /** What has come so far. */
  readonly text: () => string
  /** Resolves with all of it when the connection has ended, in whatever way. */
  readonly closed: Promise<string>
}

/** Connects, and sends the text. */
export function rawRequest(url: string, text: string): RawRequest {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  const all = (): string => Buffer.concat(chunks).toString()
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A reset shows in what has come.
  socket.on('error', () => undefined)
  socket.write(text)
  return { socket, text: all, closed: new Promise((resolve) => socket.on('close', () => resolve(all()))) }
}

/** The head of a request with a JSON body. */
export const postHead = (path: string, length: number, more: Readonly<Record<string, string>> = {}): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    'Content-Type: application/json',
    ...(more['Transfer-Encoding'] === undefined ? [`Content-Length: ${length}`] : []),
    ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')
