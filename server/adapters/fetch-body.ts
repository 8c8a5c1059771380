// Reads request bodies and streams response bodies of the Fetch standard.
import { Writable } from 'node:stream'
import { JoinedPieces } from '../common/joined-pieces.ts'
import type { StreamedBody } from '../rest/row-transfer.ts'
import { errors } from '../rest/errors.ts'
import { BodyMeter, type BodyGate, type BodyStream } from '../rest/request/body.ts'

type BodyReader = ReadableStreamDefaultReader<Uint8Array>

/**
 * Reads the whole body of a request; see `RestRequest.readBody`. Ends when the request's signal aborts, however long the
 * body takes.
 */
export async function readFetchBody(request: Request, gate: BodyGate): Promise<Buffer> {
  requireUnused(request)
  const meter = new BodyMeter(gate)
  const declared = Number(request.headers.get('content-length') ?? 0)
  const reader = request.body?.getReader()
  if (!reader) {
    await meter.begin(declared)
    return Buffer.alloc(0)
  }
  const { signal } = request
  // Not awaited, because a stalled source would delay the response. A cancelled reader ends what it waits for.
  const cancel = (reason: unknown): void => void reader.cancel(reason).catch(() => undefined)
  const onAbort = (): void => cancel(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    await meter.begin(declared)
    const pieces = new JoinedPieces()
    for (;;) {
      const { done, value } = await next(reader, signal)
      if (done) return pieces.join()
      const waiting = meter.add(value.length)
      if (waiting) await waiting
      pieces.add(value)
    }
  } catch (error) {
    cancel(error)
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function requireUnused(request: Request): void {
  if (request.bodyUsed) throw new TypeError('the request body was already read before the request reached rowhouse')
}

/** Reads the body piece by piece; see `RestRequest.streamBody`. */
export class FetchBodyStream implements BodyStream {
  readonly #reader: BodyReader | undefined
  readonly #signal: AbortSignal
  #isStopped = false

  /** @throws TypeError when something has read of the body before */
  constructor(request: Request) {
    requireUnused(request)
    this.#reader = request.body?.getReader()
    this.#signal = request.signal
    this.#signal.addEventListener('abort', this.stop)
  }

  async next(): Promise<Buffer | undefined> {
    if (!this.#reader) return undefined
    const { done, value } = await next(this.#reader, this.#signal)
    if (this.#isStopped) throw errors.incompleteBody()
    if (!done) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    this.#signal.removeEventListener('abort', this.stop)
    return undefined
  }

  readonly stop = (): void => {
    this.#signal.removeEventListener('abort', this.stop)
    this.#isStopped = true
    void this.#reader?.cancel().catch(() => undefined)
  }
}

/** @throws ApiError 400 when the client closed the connection */
async function next(reader: BodyReader, signal: AbortSignal): ReturnType<BodyReader['read']> {
  try {
    signal.throwIfAborted()
    const chunk = await reader.read()
    // Reading a stream that was cancelled on the way ends like one that is complete.
    signal.throwIfAborted()
    return chunk
  } catch {
    throw errors.incompleteBody()
  }
}

/**
 * Streams a body from the database at the pace of the reader. Cancelling the stream or aborting the request discards the
 * body and releases its database connection.
 *
 * @param request stays referenced as long as the stream, because Node's `Request` loses its signal when it is collected
 */
export function streamOf(body: StreamedBody, request: Request): ReadableStream<Uint8Array> {
  // A chunk that is written but not read. At most one, because the next write waits for the callback.
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
          // Copies the chunk: its memory is reused after `written()`, and the reader may keep it longer.
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
            if (!isEnded) controller.error(error ?? new Error('the response was aborted'))
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
    // Buffers nothing here: the database connection and the socket have their own buffers.
    { highWaterMark: 0 },
  )
}
