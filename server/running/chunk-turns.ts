// Gives other connections their turn while a body of many small chunks arrives. Node reads up to two megabytes at once from a
// fast client, and parses each chunk by itself: chunks of one byte would keep the event loop busy for more than a second.
import type { IncomingMessage } from 'node:http'

/** Chunks after which the connection pauses. */
const chunksPerTurn = 1024

/** Pauses the connection of a request whenever many chunks of its body have arrived, until other connections were served. */
export function takeTurns(request: IncomingMessage): void {
  const push = request.push.bind(request)
  const { socket } = request
  let count = 0
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    count += 1
    if (chunk !== null && count % chunksPerTurn === 0) {
      socket.pause()
      setImmediate(() => {
        // Otherwise the connection continues when the reader of the body does.
        if (request.readableLength < request.readableHighWaterMark) socket.resume()
      })
    }
    return push(chunk, encoding)
  }
}
