// A proxy in front of Postgres that counts network round trips: a request followed by a response.
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { startDatabaseProxy } from './database-proxy.ts'

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
  let trips = 0
  const proxied = await startDatabaseProxy(t, uri, (client, upstream) => {
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
  })
  return {
    uri: proxied,
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
