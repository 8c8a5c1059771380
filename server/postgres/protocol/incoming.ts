// Intercepts what a database connection reads. All `SharedReadSocket`s read into the same memory: a new buffer for
// every read would cause a lot of garbage collection.
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffers, pieceSize } from './buffer-pool.ts'

/** Receives what has arrived. On a `SharedReadSocket` the bytes are valid during the call only: copy what you keep. */
export type Consumer = (chunk: Buffer) => void

/** Ends an interception. The usual listeners receive `rest`. */
export type GiveBack = (rest?: Buffer) => void

/** Shared by all sockets: each uses it during one call only. */
const memory = buffers.take(pieceSize)

/**
 * The option `onread` of the constructor, which Node's types declare for `connect` only.
 * https://nodejs.org/api/net.html#new-netsocketoptions
 */
const readsInto = (buffer: Buffer, take: Consumer): SocketConstructorOpts & { readonly onread: OnReadOpts } => ({
  onread: {
    buffer,
    callback: (bytes) => {
      take(buffer.subarray(0, bytes))
      return true
    },
  },
})

/** A socket that reads into shared memory. Listeners of `data` receive copies. */
export class SharedReadSocket extends Socket {
  #consumer: Consumer | undefined

  /** Creates a socket that is not connected yet. */
  constructor() {
    super(readsInto(memory, (chunk) => this.#receive(chunk)))
  }

  #receive(chunk: Buffer): void {
    if (this.#consumer) this.#consumer(chunk)
    else this.emit('data', Buffer.from(chunk))
  }

  /** See `intercept`. */
  intercept(consumer: Consumer): GiveBack {
    this.#consumer = consumer
    return (rest) => {
      this.#consumer = undefined
      if (rest && rest.length > 0) this.emit('data', Buffer.from(rest))
    }
  }
}

/**
 * Passes everything that arrives to `consumer` instead of the usual listeners, until the returned function is called.
 */
export function intercept(stream: Duplex, consumer: Consumer): GiveBack {
  if (stream instanceof SharedReadSocket) return stream.intercept(consumer)
  const listeners = stream.listeners('data') as Consumer[]
  stream.removeAllListeners('data')
  stream.on('data', consumer)
  return (rest) => {
    stream.off('data', consumer)
    for (const listener of listeners) stream.on('data', listener)
    if (rest && rest.length > 0) stream.emit('data', rest)
  }
}
