// Reads the body of a Node request.
import type { IncomingMessage } from 'node:http'
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
    const waiting = meter.begin(Number(request.headers['content-length'] ?? 0))
    return waiting ? waiting.then(() => collect(request, meter)) : collect(request, meter)
  } catch (error) {
    return Promise.reject(asError(error))
  }
}

const alreadyRead = (): Error => new TypeError('the request body was already read before the request reached rowhouse')

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

function collect(request: IncomingMessage, meter: BodyMeter): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
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
        chunks.push(chunk)
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

/** Reads the body piece by piece; see `RestRequest.streamBody`. The socket is paused while no piece is wanted. */
export class NodeBodyStream implements BodyStream {
  readonly #request: IncomingMessage
  readonly #arrived: Buffer[] = []
  #state: 'open' | 'ended' | 'broken' = 'open'
  #wake: (() => void) | undefined

  /** @throws TypeError when something has read of the body before */
  constructor(request: IncomingMessage) {
    if (request.readableDidRead) throw alreadyRead()
    this.#request = request
    if (request.destroyed) this.#state = 'broken'
    else request.on('data', this.#onData).on('end', this.#onEnd).on('error', this.stop).on('close', this.stop).pause()
  }

  async next(): Promise<Buffer | undefined> {
    while (this.#arrived.length === 0 && this.#state === 'open') {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        this.#request.resume()
      })
    }
    const piece = this.#arrived.shift()
    if (piece || this.#state === 'ended') return piece
    throw errors.incompleteBody()
  }

  readonly stop = (): void => this.#settle('broken')

  readonly #onEnd = (): void => this.#settle('ended')

  readonly #onData = (piece: Buffer): void => {
    this.#arrived.push(piece)
    this.#request.pause()
    this.#wake?.()
  }

  #settle(state: 'ended' | 'broken'): void {
    if (this.#state !== 'open') return
    this.#state = state
    const { stop } = this
    this.#request.off('data', this.#onData).off('end', this.#onEnd).off('error', stop).off('close', stop)
    if (state === 'broken') this.#arrived.length = 0
    this.#wake?.()
  }
}
