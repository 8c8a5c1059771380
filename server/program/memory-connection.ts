// A connection whose request is in memory, and whose response goes to a socket.
import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

class MemoryConnection extends Duplex {
  readonly remoteAddress: string | undefined
  /** Where the response goes. */
  readonly carrier: Socket

  constructor(request: Buffer, socket: Socket) {
    super()
    this.carrier = socket
    // Who is asking decides about limits and stands in logs.
    this.remoteAddress = socket.remoteAddress
    socket.once('close', () => this.destroy())
    this.push(request)
  }

  override _read(): void {
    // The whole request is there already.
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.carrier.write(chunk, done)
  }

  override _final(done: () => void): void {
    this.carrier.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.carrier.destroySoon()
    done(error)
  }
}

/** The socket that the responses of a connection go to: its own, unless it is one in memory. */
export const carrierOf = (connection: Socket): Socket =>
  connection instanceof MemoryConnection ? connection.carrier : connection

/** @param request the bytes of one whole request */
export const memoryConnection = (request: Buffer, socket: Socket): Duplex => new MemoryConnection(request, socket)
