// Reads the body of a Node request.
import type { IncomingMessage } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { JoinedPieces } from '../common/joined-pieces.ts'
import { errors } from '../rest/errors.ts'
import { BodyMeter, type BodyGate, type BodyStream } from '../rest/request/body.ts'

/**
 * Reads the whole body; see `RestRequest.readBody`.
 *
 * @throws TypeError as a rejection, when something has read of the body before: a body parser, for example
 */
export function readNodeBody(request: IncomingMessage, gate: BodyGate): Promise<Buffer> {
  // It would be waited for without end.
  if (request.readableDidRead) return Promise.reject(alreadyRead())
  const meter = new BodyMeter(gate)
  try {
    const declared = Number(request.headers['content-length'] ?? 0)
    const waiting = meter.begin(declared)
    return waiting ? waiting.then(() => collect(request, meter, declared)) : collect(request, meter, declared)
  } catch (error) {
    return Promise.reject(asError(error))
  }
}

const alreadyRead = (): Error => new TypeError('the request body was already read before the request reached rowhouse')

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

function collect(request: IncomingMessage, meter: BodyMeter, declared: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new JoinedPieces(declared)
    const stop = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
    }
    const fail = (error: unknown): void => {
      stop()
      request.pause()
      reject(asError(error))
    }
    // A stream that is paused during its last chunk still emits `end`.
    let isPaused = false
    let hasEnded = false
    const onData = (chunk: Buffer): void => {
      try {
        const waiting = meter.add(chunk.length)
        pieces.add(chunk)
        if (!waiting) return
        isPaused = true
        request.pause()
        waiting.then(() => {
          isPaused = false
          if (hasEnded) finish()
          else request.resume()
        }, fail)
      } catch (error) {
        fail(error)
      }
    }
    const finish = (): void => {
      stop()
      resolve(pieces.join())
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

/** Bytes below which a piece costs more than its bytes. */
const smallPiece = 1024

/**
 * Reads the body piece by piece; see `RestRequest.streamBody`. A piece is all that has arrived, so that small chunks are joined. The
 * socket is paused while no piece is wanted.
 */
export class NodeBodyStream implements BodyStream {
  readonly #request: IncomingMessage
  #state: 'open' | 'ended' | 'broken' = 'open'
  #wasSmall = false
  #wake: (() => void) | undefined

  /** @throws TypeError when something has read of the body before */
  constructor(request: IncomingMessage) {
    if (request.readableDidRead) throw alreadyRead()
    this.#request = request
    if (request.destroyed) this.#state = 'broken'
    else request.on('readable', this.#onReadable).on('end', this.#onEnd).on('error', this.stop).on('close', this.stop)
  }

  async next(): Promise<Buffer | undefined> {
    // Small chunks are joined with those that arrive in the same turn.
    if (this.#wasSmall) await setImmediate()
    while (this.#state === 'open') {
      const piece = this.#request.read() as Buffer | null
      if (piece) {
        this.#wasSmall = piece.length < smallPiece
        return piece
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#state === 'ended') return undefined
    throw errors.incompleteBody()
  }

  readonly stop = (): void => this.#settle('broken')

  readonly #onEnd = (): void => this.#settle('ended')

  readonly #onReadable = (): void => this.#wake?.()

  #settle(state: 'ended' | 'broken'): void {
    if (this.#state !== 'open') return
    this.#state = state
    const { stop } = this
    this.#request.off('readable', this.#onReadable).off('end', this.#onEnd).off('error', stop).off('close', stop)
    this.#wake?.()
  }
}
