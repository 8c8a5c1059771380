// The body of a request, as bytes, up to a limit.
import type { IncomingMessage } from 'node:http'
import { errors } from '../errors.ts'
import type { BodyShare } from './body-budget.ts'

/** Bytes up to which a body needs no share of the budget. */
const smallBody = 16 * 1024

/** Bytes above which a body is looked at with care: it takes noticeable memory to hold and time to parse. */
export const largeBody = 64 * 1024

export type BodyGate = {
  /** Bytes. */
  readonly limit: number
  readonly share: BodyShare
  /** Asked once before more than `largeBody` bytes are read. Rejects with the answer when the request is refused anyway. */
  readonly admit: () => Promise<void>
}

/**
 * Reads the whole body.
 *
 * @throws ApiError 413 when it is larger than the limit, as soon as that is known; 400 when the client ends the
 * connection first; the errors of `admit` and of the budget. The rest of the body is not read.
 */
export function readBody(request: IncomingMessage, gate: BodyGate): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > gate.limit) return Promise.reject(errors.bodyTooLarge(gate.limit))
  return declared > largeBody ? gate.admit().then(() => collect(request, gate, true)) : collect(request, gate, false)
}

function collect(request: IncomingMessage, { limit, share, admit }: BodyGate, isAdmitted: boolean): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let needsAdmission = !isAdmitted
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
    }
    const fail = (error: Error): void => {
      stop()
      request.pause()
      reject(error)
    }
    // A stream that is paused while it hands out its last chunk ends nevertheless.
    let isPaused = false
    let hasEnded = false
    const pauseFor = (turn: Promise<void>): void => {
      isPaused = true
      request.pause()
      turn.then(
        () => {
          isPaused = false
          if (hasEnded) finish()
          else request.resume()
        },
        (error: unknown) => fail(error instanceof Error ? error : new Error(String(error))),
      )
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limit) {
        fail(errors.bodyTooLarge(limit))
        return
      }
      chunks.push(chunk)
      if (size <= smallBody) return
      if (needsAdmission && size > largeBody) {
        needsAdmission = false
        pauseFor(admit().then(() => share.grow(size)))
        return
      }
      const turn = share.grow(size)
      if (turn) pauseFor(turn)
    }
    const finish = (): void => {
      stop()
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
    }
    const onEnd = (): void => {
      hasEnded = true
      if (!isPaused) finish()
    }
    const onClose = (): void => {
      if (!hasEnded) fail(errors.incompleteBody())
    }
    if (request.destroyed) onClose()
    else request.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
  })
}
