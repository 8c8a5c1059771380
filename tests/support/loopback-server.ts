// A TCP server of a test.
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

/** Listens on a free port for the duration of a test, and returns the port. */
export async function listenOnLoopback(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}
