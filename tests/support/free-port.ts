// Finds a port for a program that must know its port before it listens.
import { createServer } from 'node:net'

/**
 * The ports of a process are next to each other, and below those that the system gives to connections and to servers that
 * ask for any port: between the choice of a port and its use, it would give the port to another test.
 */
const [first, blocks, blockSize] = [20_000, 300, 40]
let taken = 0

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** Returns a port of 127.0.0.1 without a listener, another one at each call. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < blocks * blockSize; tries++) {
    const port = first + ((process.pid * blockSize + taken++) % (blocks * blockSize))
    if (await isFree(port)) return port
  }
  throw new Error('no port is free')
}
