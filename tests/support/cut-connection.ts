// A proxy in front of Postgres that can break a connection between two messages of the server, or withhold what follows.
import type { Test } from 'tap'
import { startDatabaseProxy } from './database-proxy.ts'

/** DataRow, CommandComplete and ReadyForQuery. */
type MessageType = 'D' | 'C' | 'Z'

export type CuttingProxy = {
  /** Connection string of the proxy. */
  readonly uri: string
  /**
   * Breaks the connection that a result of at least so many bytes arrives on, after a message that follows its rows.
   *
   * @param then runs before the connection is broken
   */
  readonly cutAfter: (type: MessageType, bytes: number, then?: () => Promise<unknown>) => void
  /** Connections that were broken. */
  readonly cuts: () => number
}

/** Starts a proxy for the duration of a test. `uri` must name a host and a port. */
export async function startCuttingProxy(t: Pick<Test, 'teardown'>, uri: string): Promise<CuttingProxy> {
  let cuts = 0
  let next: { readonly type: MessageType; readonly bytes: number; readonly then: () => Promise<unknown> } | undefined
  const proxied = await startDatabaseProxy(t, uri, (client, upstream) => {
    let rest: Buffer = Buffer.alloc(0)
    let rows = 0
    let isFirst = true
    client.on('data', (chunk) => upstream.write(chunk))
    const cut = async (then: () => Promise<unknown>): Promise<void> => {
      upstream.pause()
      await then()
      cuts++
      client.end()
      upstream.destroy()
    }
    upstream.on('data', (chunk) => {
      if (upstream.isPaused()) return
      const bytes = Buffer.concat([rest, chunk])
      // The reply to the question for TLS is a single letter.
      if (isFirst && bytes.length === 1) return void client.write(bytes)
      isFirst = false
      let at = 0
      while (at + 5 <= bytes.length) {
        const end = at + 1 + bytes.readInt32BE(at + 1)
        if (end > bytes.length) break
        const type = String.fromCharCode(bytes[at] ?? 0)
        if (type === 'D') rows += end - at
        const chosen = next
        if (chosen?.type === type && rows >= chosen.bytes) {
          next = undefined
          client.write(bytes.subarray(0, end))
          void cut(chosen.then)
          return
        }
        if (type === 'C') rows = 0
        at = end
      }
      client.write(bytes.subarray(0, at))
      rest = bytes.subarray(at)
    })
  })
  return {
    uri: proxied,
    cutAfter: (type, bytes, then = () => Promise.resolve()) => {
      next = { type, bytes, then }
    },
    cuts: () => cuts,
  }
}
