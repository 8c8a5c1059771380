// A TCP proxy in front of the database, or of the program, that can be closed.
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'

export type Gate = {
  readonly port: number
  /** Closes every connection, and refuses new ones. */
  readonly shut: () => Promise<void>
  /** Discards what the target sends on the open connections. */
  readonly mute: () => void
  readonly open: () => Promise<void>
}

/**
 * Starts closed, on a free port.
 *
 * @param target port, asked for each connection if it is a function
 */
export async function createGate(t: Pick<Test, 'teardown'>, target: number | (() => number)): Promise<Gate> {
  const sockets = new Set<Socket>()
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket }>()
  let server: Server | undefined
  const port = await freePort()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
  }
  const open = async (): Promise<void> => {
    server = createServer((near) => {
      const far = connect(typeof target === 'number' ? target : target(), '127.0.0.1')
      keep(near)
      keep(far)
      near.pipe(far).pipe(near)
      const pair = { near, far }
      pairs.add(pair)
      far.on('close', () => pairs.delete(pair))
    })
    await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve))
  }
  const shut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
    server = undefined
  }
  const mute = (): void => {
    for (const { near, far } of pairs) far.unpipe(near).resume()
  }
  t.teardown(shut)
  return { port, open, shut, mute }
}
