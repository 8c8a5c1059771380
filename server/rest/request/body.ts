// The body of a request, as bytes, up to a limit.
import type { IncomingMessage } from 'node:http'
import { errors } from '../errors.ts'

/**
 * Reads the whole body.
 *
 * @param limit bytes
 * @throws ApiError with 413 when it is larger; the rest of it is not read. Rejects when the client goes away.
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(errors.bodyTooLarge(limit))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const goneAway = (): void => reject(new Error('the client went away'))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) {
        chunks.push(chunk)
        return
      }
      request.pause()
      request.removeAllListeners('data')
      reject(errors.bodyTooLarge(limit))
    })
    request.on('end', () => {
      request.off('close', goneAway)
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
    })
    request.on('error', reject)
    request.on('close', goneAway)
  })
}
