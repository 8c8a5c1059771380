// A proxy in front of Postgres that counts network round trips: a request followed by a response.
import { createServer, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'

/** Milliseconds without a round trip after which none is expected. */
const quietTime = 100

export type RoundTripCounter = {
  /** Connection string of the proxy. */
  readonly uri: string
  /** Round trips since the last call, on all connections. */
  readonly take: () => number
  /** Waits until connections that are being opened in the background, for later requests, are open. */
  readonly quiet: () => Promise<void>
}

/** Starts a proxy for the duration of a test. `uri` must name a host and a port. */
export async function countRoundTrips(t: Pick<Test, 'teardown'>, uri: string): Promise<RoundTripCounter> {
  const target = new URL(uri)
  let trips = 0
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    // Data sent before the server responds belongs to the same round trip.
    let asking = false
    client.on('data', (chunk) => {
      if (!asking) trips++
      asking = true
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      asking = false
      client.write(chunk)
    })
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
  return {
    uri: proxied.href,
    take: () => {
      const taken = trips
      trips = 0
      return taken
    },
    quiet: async () => {
      for (let before = -1; before !== trips;) {
        before = trips
        await pause(quietTime)
      }
    },
  }
}
