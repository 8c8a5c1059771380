// The body of a call: passed on while it arrives, up to a limit.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { requireLength } from '../../http/json-body.ts'
import { allowLongUpload } from '../../http/long-upload.ts'
import { functionErrors } from './function-error.ts'
import { BodyLimit } from './runtime/body-limit.ts'

export type CallBody = {
  /** Undefined for a request without a body. */
  readonly stream: Readable | undefined
  /** Stops receiving, and lets the rest of the body arrive unread. */
  readonly end: () => void
}

/**
 * The bytes of the body as they were sent.
 *
 * @param limit maximum number of bytes
 * @param failed called when the body is larger, or does not arrive completely
 * @throws FunctionError 413 when `Content-Length` is larger
 */
export function callBody(request: IncomingMessage, limit: number, failed: (error: unknown) => void): CallBody {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding === undefined && (length === undefined || Number(length) === 0)) {
    return { stream: undefined, end: () => undefined }
  }
  requireLength(request, limit, () => functionErrors.requestTooLarge(limit))
  const stopAllowing = allowLongUpload(request)
  let hasArrived = false
  // Later, the connection may receive another upload.
  const arrived = (): void => {
    if (!hasArrived) stopAllowing()
    hasArrived = true
  }
  const stream = new BodyLimit(limit, () => stream.destroy(functionErrors.requestTooLarge(limit)))
  stream.on('error', failed)
  request.on('error', () => stream.destroy(functionErrors.incompleteRequest()))
  request.once('end', arrived)
  request.once('close', arrived)
  request.pipe(stream)
  return {
    stream,
    end: () => {
      request.unpipe(stream)
      stream.destroy()
      arrived()
      request.resume()
    },
  }
}
