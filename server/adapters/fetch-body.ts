// Bodies of the Fetch standard's requests and responses.
import { Writable } from 'node:stream'
import type { StreamedBody } from '../rest/database.ts'
import { errors } from '../rest/errors.ts'
import { BodyMeter, type BodyGate } from '../rest/request/body.ts'

/** Reads the whole body of a request; see `RestRequest.readBody`. */
export async function readFetchBody(request: Request, gate: BodyGate): Promise<Buffer> {
  const meter = new BodyMeter(gate)
  await meter.begin(Number(request.headers.get('content-length') ?? 0))
  if (request.bodyUsed) throw new TypeError('the body of the request was read before it came to rowhouse')
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  if (!reader) return Buffer.alloc(0)
  try {
    for (;;) {
      const { done, value } = await next(reader)
      if (done) return Buffer.concat(chunks)
      const waiting = meter.add(value.length)
      if (waiting) await waiting
      chunks.push(value)
    }
  } catch (error) {
    // Not awaited: a source that is stuck would hold up the response.
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

/** @throws ApiError 400 when the client ended the connection */
async function next(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> {
  try {
    return await reader.read()
  } catch {
    throw errors.incompleteBody()
  }
}

/**
 * A body that is passed on while it arrives from the database, at the pace of the reader. Cancelling the stream, or
 * aborting the request, gives the body up and frees its connection.
 *
 * @param request is kept as long as the stream: Node's loses its signal once it has been garbage collected
 */
export function streamOf(body: StreamedBody, request: Request): ReadableStream<Uint8Array> {
  // Written but not read yet: at most one chunk, because the next one comes after the callback.
  let pending: { readonly chunk: Buffer; readonly written: () => void } | undefined
  let awaitsChunk = false
  let isEnded = false
  let writable: Writable | undefined
  let deliverNext = (): void => undefined

  const abandon = (): void => {
    request.signal.removeEventListener('abort', abandon)
    body.drop()
    writable?.destroy()
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const deliver = (): void => {
          if (!pending || !awaitsChunk) return
          const { chunk, written } = pending
          pending = undefined
          awaitsChunk = false
          // A copy: the memory of a chunk is used again as soon as it is written, and the reader may keep what it gets.
          controller.enqueue(new Uint8Array(chunk))
          written()
        }
        deliverNext = deliver
        writable = new Writable({
          write(chunk: Buffer, _encoding, written) {
            pending = { chunk, written }
            deliver()
          },
          final(done) {
            isEnded = true
            request.signal.removeEventListener('abort', abandon)
            controller.close()
            done()
          },
          destroy(error, done) {
            if (!isEnded) controller.error(error ?? new Error('the response was given up'))
            isEnded = true
            done(null)
          },
        })
        if (request.signal.aborted) abandon()
        else {
          request.signal.addEventListener('abort', abandon)
          body.sendTo(writable)
        }
      },
      pull() {
        awaitsChunk = true
        deliverNext()
      },
      cancel() {
        isEnded = true
        abandon()
      },
    },
    // Nothing is fetched before it is asked for; the database and the socket have buffers of their own.
    { highWaterMark: 0 },
  )
}
