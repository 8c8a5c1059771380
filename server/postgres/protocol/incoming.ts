// What a connection of the database reads. A socket that was made with `sharedRead` reads into memory that all of them
// share, because a fresh buffer for every read keeps the garbage collector busy with nothing else.
import type { OnReadOpts, Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Takes what has arrived. On a socket with shared memory the bytes are good during the call only: copy what is kept. */
export type Consumer = (chunk: Buffer) => void

/** Ends an interception. `rest`: bytes that the usual listeners are to get. */
export type GiveBack = (rest?: Buffer) => void

/** Bytes that a socket reads at once, at most. */
export const readSize = 64 * 1024

const memory = Buffer.allocUnsafeSlow(readSize)
const consumers = new WeakMap<Duplex, { current: Consumer | undefined }>()

/**
 * A socket that reads into shared memory. To listeners of `data` it gives copies, so that they see nothing of it.
 *
 * @param connect makes the socket with these options for reading
 */
export function sharedRead(connect: (onread: OnReadOpts) => Socket): Socket {
  const consumer: { current: Consumer | undefined } = { current: undefined }
  const socket = connect({
    buffer: memory,
    callback: (bytes) => {
      const chunk = memory.subarray(0, bytes)
      if (consumer.current) consumer.current(chunk)
      else socket.emit('data', Buffer.from(chunk))
      return true
    },
  })
  consumers.set(socket, consumer)
  return socket
}

/** Gives everything that arrives to `consumer` instead of the usual listeners, until it is given back. */
export function intercept(stream: Duplex, consumer: Consumer): GiveBack {
  const shared = consumers.get(stream)
  if (shared) {
    shared.current = consumer
    return (rest) => {
      shared.current = undefined
      if (rest && rest.length > 0) stream.emit('data', Buffer.from(rest))
    }
  }
  const listeners = stream.listeners('data') as Consumer[]
  stream.removeAllListeners('data')
  stream.on('data', consumer)
  return (rest) => {
    stream.off('data', consumer)
    for (const listener of listeners) stream.on('data', listener)
    if (rest && rest.length > 0) stream.emit('data', rest)
  }
}
