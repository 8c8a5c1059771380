// Reads the body of a Node request.
import type { IncomingMessage } from 'node:http'
import { errors } from '../rest/errors.ts'
import { BodyMeter, type BodyGate } from '../rest/request/body.ts'

/**
 * Reads the whole body; see `RestRequest.readBody`.
 *
 * @throws TypeError as a rejection, when something has read of the body before: a body parser, for example
 */
export function readNodeBody(request: IncomingMessage, gate: BodyGate): Promise<Buffer> {
  // It would be waited for without end.
  if (request.readableDidRead) {
    return Promise.reject(new TypeError('the request body was already read before the request reached rowhouse'))
  }
  const meter = new BodyMeter(gate)
  try {
    const waiting = meter.begin(Number(request.headers['content-length'] ?? 0))
    return waiting ? waiting.then(() => collect(request, meter)) : collect(request, meter)
  } catch (error) {
    return Promise.reject(asError(error))
  }
}

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
