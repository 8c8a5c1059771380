// Looks at the beginning of an upload: pages must not be stored as something that browsers show or play.
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ObjectKey, ObjectStore } from './object-store.ts'
import { storageErrors } from './storage-error.ts'

/** As many bytes as browsers look at. https://mimesniff.spec.whatwg.org/#resource-header */
const sniffedBytes = 1445

/** Types of formats that never begin with markup. Of other types, the bytes may be anything. */
const binary = /^(?:image\/(?!svg\b)|audio\/|video\/|font\/|application\/(?:pdf|zip|gzip|wasm)\b)/i

/** The tags that browsers recognise, and SVG. https://mimesniff.spec.whatwg.org/#rules-for-identifying-an-unknown-mime-type */
const markup =
  /^(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:\?xml|!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|svg)(?=[ \t\n\f\r>/]))/i

/** Whether the beginning of an upload is to be looked at. */
const isSniffed = (type: string): boolean => binary.test(type)

/**
 * @param type that is sniffed
 * @throws StorageError 415 `InvalidMimeType` for markup
 */
function requireContentOf(type: string, beginning: Buffer): void {
  if (markup.test(beginning.toString('latin1'))) throw storageErrors.otherContent(type)
}

/**
 * The bytes of an upload, after its beginning was looked at if its type is a binary one.
 *
 * @throws StorageError 415 `InvalidMimeType` for markup that is said to be an image, sound, video, font or archive; the error of
 *   the stream
 */
export async function sniffed(source: Readable, type: string): Promise<Readable> {
  if (!isSniffed(type)) return source
  // A failed upload leaves the request open for the response.
  const pieces = source.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  const read: Buffer[] = []
  let next = await pieces.next()
  for (let length = 0; next.done !== true; next = await pieces.next()) {
    read.push(next.value)
    length += next.value.length
    if (length >= sniffedBytes) break
  }
  requireContentOf(type, Buffer.concat(read))
  return Readable.from(
    (async function* () {
      yield* read
      // Of a source that has ended, there are no more.
      yield* pieces
    })(),
    { objectMode: false },
  )
}

/**
 * The same for bytes that are stored.
 *
 * @param size bytes of the object
 * @throws StorageError as `sniffed`; MissingBytesError
 */
export async function requireStoredContent(
  store: Pick<ObjectStore, 'get'>,
  key: ObjectKey,
  { size, type }: { readonly size: number; readonly type: string },
): Promise<void> {
  if (size === 0 || !isSniffed(type)) return
  const beginning = await store.get(key, { start: 0, end: Math.min(size, sniffedBytes) - 1 })
  requireContentOf(type, await buffer(beginning))
}
