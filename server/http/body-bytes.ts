// Receives a whole body through Express, which decompresses it.
import express, { type Request, type Response } from 'express'

/** Why a body was not received. */
export type BodyFault = 'too large' | 'unsupported encoding' | 'unreadable'

/**
 * A function that receives a body of any content type; without a body it returns no bytes.
 *
 * @param limit bytes, after decompression
 * @param errorOf the error that the receiver throws; `cause` is that of Express's body parser, if it found the fault
 */
export function bodyReceiver(
  limit: number,
  errorOf: (fault: BodyFault, cause?: unknown) => Error,
): (request: Request, response: Response) => Promise<Buffer> {
  const receive = express.raw({ type: () => true, limit })
  return async (request, response) => {
    // Rejects a large body before receiving it.
    if (Number(request.headers['content-length'] ?? 0) > limit) throw errorOf('too large')
    await new Promise<void>((resolve, reject) => {
      receive(request, response, (error?: unknown) => {
        if (error === undefined) resolve()
        else reject(errorOf(faultOf(error), error))
      })
    })
    const bytes = request.body as unknown
    // Without a body, `express.raw` sets no buffer.
    return Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0)
  }
}

/** The fault of an error of Express's body parser, by its status. */
function faultOf(error: unknown): BodyFault {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  return status === 413 ? 'too large' : status === 415 ? 'unsupported encoding' : 'unreadable'
}
