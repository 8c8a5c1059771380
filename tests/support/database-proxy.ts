// A proxy in front of Postgres, for tests that look at what passes or break it off.
import { createServer, connect, type Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * Starts a proxy for the duration of a test.
 *
 * @param uri connection string with a host and a port
 * @param pass passes what both sides of a connection send; when one side closes, the other is closed
 * @returns connection string of the proxy
 */
export async function startDatabaseProxy(
  t: Pick<Test, 'teardown'>,
  uri: string,
  pass: (client: Socket, upstream: Socket) => void,
): Promise<string> {
  const target = new URL(uri)
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    pass(client, upstream)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port')
  const proxied = new URL(uri)
  proxied.host = `127.0.0.1:${address.port}`
  return proxied.href
}
