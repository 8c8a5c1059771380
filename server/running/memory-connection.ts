// A connection that reads its request from memory and writes its response to a socket.
import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

class MemoryConnection extends Duplex {
  readonly remoteAddress: string | undefined
  /** The socket for the response. */
  readonly carrier: Socket

  constructor(request: Buffer, socket: Socket) {
    super()
    this.carrier = socket
    // Rate limits and logs need the address of the client.
    this.remoteAddress = socket.remoteAddress
    socket.once('close', () => this.destroy())
    this.push(request)
  }

  override _read(): void {
    // The constructor has pushed the whole request.
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

/** The socket for the responses of a connection: the carrier of an in-memory one, otherwise the connection itself. */
export const carrierOf = (connection: Socket): Socket =>
  connection instanceof MemoryConnection ? connection.carrier : connection

/** @param request the bytes of one whole request */
export const memoryConnection = (request: Buffer, socket: Socket): Duplex => new MemoryConnection(request, socket)
