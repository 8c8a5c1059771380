// A form with one file, which is read as it arrives. https://www.rfc-editor.org/rfc/rfc7578
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { gatheredBytes } from './gathered-bytes.ts'
import { storageErrors } from './storage-error.ts'

export type UploadForm = {
  /** Text fields before the file, and perhaps some after it. */
  readonly fields: ReadonlyMap<string, string>
  /** Media type of the file. */
  readonly fileType: string
  /** The bytes of the file. Ends when the whole form has arrived, and fails if it breaks off. */
  readonly bytes: Readable
  /** Stops reading, so that the rest of the request can be discarded. */
  readonly stop: () => void
}

/** Bytes of all text fields. */
const mostFieldBytes = 1024 * 1024

const limits = { fields: 10, files: 1, parts: 100, fieldSize: mostFieldBytes, headerPairs: 64 }

/**
 * Reads a form up to the bytes of its file, which may have any field name.
 *
 * @throws StorageError 400 without a file, with too many parts, or when the request has broken off; 413 if its fields are larger than 1 MiB
 */
export function readForm(request: IncomingMessage): Promise<UploadForm> {
  // Its events are over, so that nothing would ever end the form.
  if (request.destroyed)
    return Promise.reject(storageErrors.noContent('Request stream closed before upload could complete'))
  const parser = createParser(request)
  const fields = new Map<string, string>()
  const bytes = gatheredBytes(request)
  const stop = (): void => {
    bytes.unpipe(parser).destroy()
    parser.destroy()
  }
  const finished = new Promise<void>((resolve, reject) => {
    parser.on('finish', resolve)
    parser.on('error', reject)
    parser.on('partsLimit', () => parser.destroy(new Error('the form has too many parts')))
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('the request broke off'))
    })
  })
  let fieldBytes = 0
  let hasFile = false
  return new Promise((resolve, reject) => {
    parser.on('field', (name, value, _isNameCut, isCut) => {
      fieldBytes += Buffer.byteLength(value)
      if (!isCut && fieldBytes <= mostFieldBytes) fields.set(name, value)
      else if (!hasFile) {
        stop()
        reject(storageErrors.tooLarge('fields of the form'))
      }
    })
    parser.on('file', (_name, file, _fileName, _encoding, fileType) => {
      hasFile = true
      // The parser also reports this error on the stream of the file, at any time.
      file.on('error', () => undefined)
      finished.catch((error: unknown) => file.destroy(error instanceof Error ? error : undefined))
      resolve({ fields, fileType, stop, bytes: Readable.from(bytesOf(file, finished), { objectMode: false }) })
    })
    finished.then(
      () => reject(storageErrors.noContent()),
      (error: unknown) => {
        stop()
        reject(storageErrors.noContent(undefined, error))
      },
    )
    bytes.pipe(parser)
  })
}

function createParser(request: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({ headers: request.headers as BusboyHeaders, limits })
  } catch (error) {
    // The boundary is missing.
    throw storageErrors.noContent(undefined, error)
  }
}

async function* bytesOf(file: BusboyFileStream, finished: Promise<void>): AsyncGenerator<Buffer> {
  try {
    yield* file as AsyncIterable<Buffer>
    await finished
  } catch (error) {
    throw storageErrors.noContent(undefined, error)
  }
}
