// What a connection of the database reads. All `SharedReadSocket`s read into the same memory, because a fresh buffer for
// every read keeps the garbage collector busy with nothing else.
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffers, pieceSize } from './buffer-pool.ts'

/** Takes what has arrived. On a socket with shared memory the bytes are good during the call only: copy what is kept. */
export type Consumer = (chunk: Buffer) => void

/** Ends an interception. `rest`: bytes that the usual listeners are to get. */
export type GiveBack = (rest?: Buffer) => void

/** Never given back: a socket uses it during one call only. */
const memory = buffers.take(pieceSize)

/** The option `onread` of a socket, which the types know for `connect` only. https://nodejs.org/api/net.html#new-netsocketoptions */
const readsInto = (buffer: Buffer, take: Consumer): SocketConstructorOpts & { readonly onread: OnReadOpts } => ({
  onread: {
    buffer,
    callback: (bytes) => {
      take(buffer.subarray(0, bytes))
      return true
    },
  },
})

/** A socket that reads into shared memory. To listeners of `data` it gives copies, so that they see nothing of it. */
export class SharedReadSocket extends Socket {
  #consumer: Consumer | undefined

  /** It is not connected yet. */
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

/** Gives everything that arrives to `consumer` instead of the usual listeners, until it is given back. */
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
