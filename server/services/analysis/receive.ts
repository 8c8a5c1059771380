// Receives the body of a request in chunks, limited by the memory budget.
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { JoinedPieces } from '../../common/joined-pieces.ts'
import type { BodyShare } from '../../rest/request/body-budget.ts'
import { problems } from './problem.ts'

/**
 * Bytes after which other requests have their turn. Node.js would otherwise read up to two megabytes at once from a fast
 * client.
 */
const bytesPerTurn = 128 * 1024

/** The client has closed the connection, so no response can be sent. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection')
    this.name = 'ClientGone'
  }
}

/**
 * Passes the chunks of a body to `take`, which may return a promise that the next chunk waits for.
 *
 * @param share counts the received bytes against the budget; reading pauses while the budget is exhausted
 * @throws the result of `tooLarge` as soon as the body is known to exceed `limit` bytes; ClientGone; the errors of `share`
 *   and of `take`. The rest of the body is not read.
 */
export function receivePieces(
  request: IncomingMessage,
  { limit, share, tooLarge }: { readonly limit: number; readonly share: BodyShare; readonly tooLarge: () => Error },
  take: (piece: Buffer) => Promise<void> | undefined,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    let size = 0
    let turnEnd = bytesPerTurn
    let pending: Promise<unknown> | undefined
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
      let taken: Promise<unknown> | undefined
      try {
        taken = room ? room.then(() => take(piece)) : take(piece)
      } catch (error) {
        fail(error)
        return
      }
      if (!taken && size >= turnEnd) {
        turnEnd = size + bytesPerTurn
        taken = setImmediate()
      }
      if (!taken) return
      request.pause()
      pending = taken
      taken.then(() => request.resume(), fail)
    }
    // A stream that is paused during its last chunk still emits `end`.
    const onEnd = (): void => {
      stop()
      if (pending) pending.then(() => resolve(), fail)
      else resolve()
    }
    const onClose = (): void => fail(new ClientGone())
    if (request.destroyed && !request.readableEnded) onClose()
    else if (request.readableEnded) resolve()
    else request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
  })
}

/** Receives a whole body; see `receivePieces`. */
export async function receive(
  request: IncomingMessage,
  limit: number,
  share: BodyShare,
  tooLarge: () => Error = () => problems.bodyTooLarge(limit),
): Promise<Buffer> {
  const pieces = new JoinedPieces()
  await receivePieces(request, { limit, share, tooLarge }, (piece) => {
    pieces.add(piece)
    return undefined
  })
  return pieces.join()
}
