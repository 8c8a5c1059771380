// Sends the bytes of an object.
import { pipeline } from 'node:stream/promises'
import { byteRange, isByteRange } from './byte-range.ts'
import { isNotModified, objectHeaders, rangeApplies, type HeaderOptions } from './object-headers.ts'
import { findAndRead, type StoredObject } from './object-reading.ts'
import { MissingBytesError, type ByteRange } from './object-store.ts'
import { smallSize } from './small-objects.ts'
import { storageErrors } from './storage-error.ts'
import type { StorageCall } from './dialect.ts'

type SendingCall = Pick<StorageCall<unknown>, 'context' | 'request' | 'response'>

/**
 * Finds and sends an object: whole, a part of it, or 304.
 *
 * @param find finds the object; called again when it was replaced between look-up and reading
 */
export const sendObject = (
  call: SendingCall,
  find: () => Promise<StoredObject>,
  options: HeaderOptions,
): Promise<undefined> => findAndRead(find, (object) => sendBytes(call, object, options))

/** Responds to HEAD. */
export function sendObjectHead(
  { request, response }: Pick<SendingCall, 'request' | 'response'>,
  { metadata }: StoredObject,
  options: HeaderOptions,
): undefined {
  response.writeHead(200, {
    ...objectHeaders(metadata, request.headers, options),
    ...(metadata.size === undefined ? {} : { 'Content-Length': metadata.size }),
  })
  response.end()
}

async function sendBytes(
  { context: { store, smallObjects }, request, response }: SendingCall,
  object: StoredObject,
  options: HeaderOptions,
): Promise<undefined> {
  const { metadata } = object
  const { size } = metadata
  if (size === undefined) throw new MissingBytesError()
  const headers = objectHeaders(metadata, request.headers, options)
  if (isNotModified(metadata, request.headers)) {
    response.writeHead(304, headers).end()
    return
  }
  const { range: asked } = request.headers
  const range = isByteRange(asked) && rangeApplies(metadata, request.headers) ? partOf(asked, size) : undefined
  const length = range ? range.end - range.start + 1 : size
  const whole = size > smallSize ? undefined : await smallObjects.read(object, size)
  const source = whole?.subarray(range?.start, range && range.end + 1) ?? (await store.get(object, range))
  response.writeHead(range ? 206 : 200, {
    ...headers,
    'Content-Length': length,
    ...(range ? { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` } : {}),
  })
  if (Buffer.isBuffer(source)) response.end(source)
  else await pipeline(source, response).catch(ifClientIsGone)
}

function partOf(header: string, size: number): ByteRange {
  const range = byteRange(header, size)
  if (range) return range
  throw storageErrors.invalidRange(size)
}

/** A client that disconnects during a download is no error. */
function ifClientIsGone(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (!goneCodes.has(code)) throw error
}

const goneCodes: ReadonlySet<unknown> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'])
