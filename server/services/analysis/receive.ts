// Receives the body of a request in pieces, as fast as there is memory for them.
import type { IncomingMessage } from 'node:http'
import type { BodyShare } from '../../rest/request/body-budget.ts'
import { problems } from './problem.ts'

/** The client has closed the connection, so a response would reach no one. */
export class ClientGone extends Error {
  constructor() {
    super('the client has ended the connection')
    this.name = 'ClientGone'
  }
}

/**
 * Passes the pieces of a body to `take` as they come; it may return a promise to wait for.
 *
 * @param share takes the bytes that have come; the body waits while there is no room for them
 * @throws what `tooLarge` gives when the body has more than `limit` bytes, as soon as that is known; ClientGone; the errors
 *   of `share` and of `take`. What is left of the body is not read.
 */
export function receivePieces(
  request: IncomingMessage,
  { limit, share, tooLarge }: { readonly limit: number; readonly share: BodyShare; readonly tooLarge: () => Error },
  take: (piece: Buffer) => Promise<void> | undefined,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    let size = 0
    let pending: Promise<void> | undefined
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
    }
    const fail = (error: unknown): void => {
      stop()
      request.pause()
      reject(error instanceof Error ? error : new Error(String(error)))
    }
    const onData = (piece: Buffer): void => {
      size += piece.length
      if (size > limit) {
        fail(tooLarge())
        return
      }
      const room = share.grow(size)
      let taken: Promise<void> | undefined
      try {
        taken = room ? room.then(() => take(piece)) : take(piece)
      } catch (error) {
        fail(error)
        return
      }
      if (!taken) return
      request.pause()
      pending = taken
      taken.then(() => request.resume(), fail)
    }
    // The stream ends although it is paused, when the last piece was all that it had.
    const onEnd = (): void => {
      stop()
      if (pending) pending.then(resolve, fail)
      else resolve()
    }
    const onClose = (): void => fail(new ClientGone())
    if (request.destroyed && !request.readableEnded) onClose()
    else if (request.readableEnded) resolve()
    else request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
  })
}

/** Receives a body as a whole; see `receivePieces`. */
export async function receive(
  request: IncomingMessage,
  limit: number,
  share: BodyShare,
  tooLarge: () => Error = () => problems.bodyTooLarge(limit),
): Promise<Buffer> {
  const pieces: Buffer[] = []
  await receivePieces(request, { limit, share, tooLarge }, (piece) => {
    pieces.push(piece)
    return undefined
  })
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
}
