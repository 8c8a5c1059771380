// Receives bytes whose number is not known before.
import type { IncomingMessage } from 'node:http'
import { RequestAborted } from '../common/incomplete-request.ts'
import { JoinedPieces } from '../common/joined-pieces.ts'

/**
 * The bytes of all chunks. Stops reading as soon as there are more than `limit`.
 *
 * @throws the result of `tooMany`; the error of the source
 */
export async function limitedBytes(
  source: AsyncIterable<Uint8Array>,
  limit: number,
  tooMany: () => Error,
): Promise<Buffer> {
  const pieces = new JoinedPieces()
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limit) throw tooMany()
    pieces.add(chunk)
  }
  return pieces.join()
}

/**
 * The body of a request, which stays open for the response when there are more than `limit` bytes. Each chunk is taken when it
 * arrives: an iterator would collect the smallest ones in a list first, and take five times the time to join them.
 *
 * @throws the result of `tooMany`; RequestAborted
 */
export function limitedBody(request: IncomingMessage, limit: number, tooMany: () => Error): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new JoinedPieces()
    let size = 0
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
    }
    const fail = (error: Error): void => {
      stop()
      request.pause()
      reject(error)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limit) fail(tooMany())
      else pieces.add(chunk)
    }
    const onEnd = (): void => {
      stop()
      resolve(pieces.join())
    }
    const onClose = (): void => fail(new RequestAborted(request.errored))
    if (request.destroyed) onClose()
    else request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
  })
}
